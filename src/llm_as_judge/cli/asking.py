"""The configuration that a command line asks for, and what is wrong with its words."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from llm_as_judge.config import (
    ADDRESS_FORM,
    OWN_FILE,
    Config,
    clone_read,
    environment_key,
    keys_called,
    load_config,
)
from llm_as_judge.errors import ConfigError, UserError
from llm_as_judge.llm.client import OpenAIChat
from llm_as_judge.views.console import note

if TYPE_CHECKING:
    from llm_as_judge.cli.table import Verb


@dataclass(frozen=True, slots=True)
class Asked:
    """What the options of a verb say about the configuration."""

    config: str | None = None
    model: str | None = None
    overrides: Sequence[str] = ()
    """As ``--set`` gave them."""
    flags: Mapping[str, Any] = field(default_factory=dict)
    """By dotted key, of options that set one; those not given are None."""

    @classmethod
    def of(cls, keyed: Mapping[str, Any]) -> Asked:
        """Of values by the key of their option."""
        flags = {key: value for key, value in keyed.items() if "." in key}
        overrides = tuple(keyed.get("overrides") or ())
        return cls(keyed.get("config"), keyed.get("model"), overrides, flags)

    def settings(self, flags: Mapping[str, Any] | None = None) -> Config:
        """Of a verb with its own ``flags``, which go before those of options."""
        given = {**self.flags, **(flags or {})}
        given["executor.model"] = executor_named(given.get("executor.model"))
        if (folder := given.get("data.data_dir")) is not None:
            given["data.train_file"] = folder / "mixed" / "train_mixed.jsonl"
            given["data.val_file"] = folder / "mixed" / "val_mixed.jsonl"
        return load_config(self.config, model=self.model, overrides=self.overrides, flags=given)

    def require_told_budget(self, settings: Config, written: str | None) -> None:
        """Refuses a budget that nobody would be told: ``written`` is a program, None a policy that writes one."""
        budget = self.flags.get("reward.budget")
        if budget is None:
            return
        if written is not None:
            raise ConfigError(
                f"--budget {budget}: only a policy is told it, and {written} is a program that is written; "
                "leave --budget out"
            )
        if settings.reward.prompt_budget is None:
            raise ConfigError(
                f"--budget {budget}: under reward.scheme {settings.reward.scheme} a policy is told none; add "
                "--set reward.scheme=priced if it was trained so, or leave --budget out"
            )


@functools.cache
def executor_named(given: str | None) -> str | None:
    """``given`` as executor.model has it: a bare URL becomes ``openai:MODEL@URL``, by asking there."""
    if given is None or not given.startswith(("http://", "https://")):
        return given

    async def listed() -> list[str] | None:
        chat = OpenAIChat("of --executor", given, api_key=environment_key("OPENAI_API_KEY"))
        try:
            return await chat.served()
        finally:
            await chat.aclose()

    served = asyncio.run(listed())
    if served is None or len(served) != 1:
        found = "no list of models" if served is None else f"models {', '.join(served) or 'none'}"
        raise ConfigError(
            f"--executor: found {found} at this URL, wanted one; name it: --executor {ADDRESS_FORM}"
        )
    return f"openai:{served[0]}@{given}"


def refuse_keys_as_options(verb: Verb, words: Sequence[str]) -> None:
    """Of options that this verb has not, and that are keys of the configuration."""
    known = {flag for one in verb.options for flag in one.words}
    if "--set" not in known:
        return
    for word in words:
        name = word.partition("=")[0]
        if not name.startswith("--") or name in known:
            continue
        if keys := keys_called(name.removeprefix("--").replace("-", "_")):
            written = " or ".join(f"--set {key}=VALUE" for key in keys)
            raise ConfigError(
                f"{name}: no option of {verb.name.split()[-1]}; it is a key: {written}"
            )


def say_what_is_read(verb: Verb, words: Sequence[str]) -> None:
    """A line each where the working folder decides what is read; standard output may be piped."""
    if (clone := clone_read()) is not None:
        own = "config/ and workflows/ of this clone, not the copies that are installed"
        note(f"reading {clone}: {own}")
    if OWN_FILE.is_file() and _takes_config(verb, words):
        note(f"configuration: {OWN_FILE} of this folder (another: --config)")


def smaller_models(message: str, verb: Verb, words: Sequence[str]) -> str:
    """What to add to ``message`` where it is about a model of the full-size configuration that
    nobody asked for: a newcomer's next command after `make run` has no --config."""
    if not _takes_config(verb, words) or OWN_FILE.is_file():
        return ""
    try:
        usual = load_config()
    except UserError:  # then that is what the message says
        return ""
    names = (usual.policy.name, usual.executor.model, usual.judge.model)
    if not any(name in message for name in names):
        return ""
    return " (full-size configuration; for small models on this machine add --config embedded)"


def _takes_config(verb: Verb, words: Sequence[str]) -> bool:
    """Whether the verb reads a configuration and was not told which."""
    if any(word.partition("=")[0] == "--config" for word in words):
        return False
    if verb.name == "grade" and "--in" not in words:  # reads that of the evaluation
        return False
    return any("--config" in one.words and one.default is None for one in verb.options)

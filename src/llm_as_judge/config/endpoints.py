"""Endpoints to ask: aflow_llm.yaml, ``endpoints`` of llm-as-judge.yaml, ``openai:MODEL@URL``, ``PROVIDER/MODEL``."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, Field, SecretStr, field_validator, model_validator

from llm_as_judge.config.catalog import ENVIRONMENT_NAME, entries_of, expand
from llm_as_judge.config.credentials import checked_key, environment_key, from_environment
from llm_as_judge.config.providers import provided, provider_key
from llm_as_judge.config.reading import (
    OWN_FILE,
    Number,
    Section,
    config_folders,
    shipped_dir,
    validated,
)
from llm_as_judge.errors import ConfigError

_FILE = "aflow_llm.yaml"
ADDRESS_FORM = "openai:MODEL@http://HOST:PORT/v1"
_ADDRESS = re.compile(r"openai:(?P<model>[^@\s]+)@(?P<url>https?://[^\s@?#]+)")


class Endpoint(Section):
    """An OpenAI-compatible endpoint: an entry below `endpoints:` of llm-as-judge.yaml, or below `models:` of
    aflow_llm.yaml. One form serves both."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())

    api_type: Literal["openai"] = Field("openai", description="The protocol.")
    base_url: str = Field(
        "", description="http://HOST:PORT/v1; before several servers of a model put vllm-router."
    )
    api_key: SecretStr = Field(
        SecretStr(""), description="Empty: OPENAI_API_KEY; `${NAME}` reads another variable."
    )
    model_name: str | None = Field(None, description="Name sent to the server; default: the key.")
    temperature: Number | None = Field(
        None, ge=0, description="Of operator calls where executor.temperature is not set."
    )
    top_p: Number | None = Field(
        None, gt=0, le=1, description="Of operator calls where executor.top_p is not set."
    )
    no_proxy: bool | str = Field(
        False,
        description="true: never ask by a proxy of the environment; text: hosts that are asked "
        "without one, as in the variable NO_PROXY.",
    )
    requests_per_minute: Number | None = Field(
        None, gt=0, description="Requests that may start in a minute."
    )
    tokens_per_minute: Number | None = Field(
        None, gt=0, description="Prompt and completion tokens in a minute."
    )
    thinking_tokens: int = Field(
        0, ge=0, description="Added to every request's max_tokens: a reasoning model thinks first."
    )
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high"] | None = Field(
        None, description="How long a reasoning model thinks; null: the server's own choice."
    )
    logprobs: int | None = Field(
        None,
        ge=0,
        le=20,
        description="Asks for each reply's log-probs, with so many of the likeliest tokens (0: none).",
    )
    usd_per_million_prompt_tokens: Number | None = Field(
        None, ge=0, description="Price in dollars; both prices or neither."
    )
    usd_per_million_completion_tokens: Number | None = Field(
        None, ge=0, description="Of written tokens."
    )
    usd_per_million_cached_tokens: Number | None = Field(
        None,
        ge=0,
        description="Of prompt tokens that the endpoint had kept; default: as the others.",
    )

    @field_validator("no_proxy", mode="before")
    @classmethod
    def _yes_or_hosts(cls, value: object) -> object:
        """``"${VARIABLE}"`` gives text: the word true is no host."""
        words = {"true": True, "false": False}
        return words.get(value.strip().lower(), value) if isinstance(value, str) else value

    @model_validator(mode="before")
    @classmethod
    def _one_server(cls, entry: object) -> object:
        if isinstance(entry, Mapping) and "base_urls" in entry:
            raise ValueError(
                "base_urls is no key any more; start vllm-router before the servers and give base_url"
            )
        return entry

    @model_validator(mode="after")
    def _whole(self) -> Endpoint:
        if not self.base_url:
            raise ValueError("give base_url")
        prices = (self.usd_per_million_prompt_tokens, self.usd_per_million_completion_tokens)
        if prices.count(None) == 1:
            raise ValueError(
                "one price without the other; give usd_per_million_prompt_tokens and "
                "usd_per_million_completion_tokens, or neither"
            )
        if self.usd_per_million_cached_tokens is not None and prices.count(None):
            raise ValueError(
                "usd_per_million_cached_tokens without usd_per_million_prompt_tokens and "
                "usd_per_million_completion_tokens; give these, too"
            )
        return self


class Endpoints(Mapping[str, Endpoint]):
    """Endpoints by name. ``openai:MODEL@URL`` and ``PROVIDER/MODEL`` name some that no file lists;
    iteration gives the listed.

    Args:
        written: name -> where a person mends its entry, ``FILE: models.NAME``.
        variables: name -> of the environment, where its entry names one for its key.
    Raises:
        ConfigError: a name begins with ``openai:`` and is of another form.
    """

    def __init__(
        self,
        listed: Mapping[str, Endpoint],
        written: Mapping[str, str],
        variables: Mapping[str, str],
    ) -> None:
        self._listed = listed
        self._variables = variables
        self.written = written

    def __getitem__(self, name: str) -> Endpoint:
        # also asked whether it has a judge's name, which may be None
        if isinstance(name, str) and name not in self._listed:
            if name.startswith("openai:"):
                return endpoint_at(name)
            if "/" in name and (entry := provided(name)) is not None:
                return validated(Endpoint, entry, name)
        return self._listed[name]

    def key_variable(self, name: str) -> str:
        """The environment variable that its key is read from."""
        own = self._variables.get(name, "") if name in self._listed else provider_key(name)
        return own or "OPENAI_API_KEY"

    def __iter__(self) -> Iterator[str]:
        return iter(self._listed)

    def __len__(self) -> int:
        return len(self._listed)


def endpoint_at(address: str) -> Endpoint:
    """The endpoint of ``openai:MODEL@URL``; its key is that of OPENAI_API_KEY.

    Raises:
        ConfigError: another form. The text is not repeated: a URL may hold a password.
    """
    found = _ADDRESS.fullmatch(address)
    if found is None:
        raise ConfigError(
            f"executor: this begins with openai: and is not {ADDRESS_FORM} (a key or password "
            "belongs in OPENAI_API_KEY, never in the URL)"
        )
    return Endpoint(
        base_url=found["url"],
        model_name=found["model"],
        api_key=SecretStr(environment_key("OPENAI_API_KEY")),
    )


def entry_to_write(name: str) -> str:
    """Where a person writes an endpoint called ``name``: the file, and the place in it."""
    if OWN_FILE.is_file():
        return f"{OWN_FILE}: endpoints.{name}"
    return f"{_made_file() or Path('config') / _FILE}: models.{name}"


def _made_file() -> Path | None:
    """The aflow_llm.yaml that a person made, if there is one."""
    *own, shipped = config_folders()
    folders = [*own, Path("config"), shipped]
    return next((folder / _FILE for folder in folders if (folder / _FILE).is_file()), None)


def load_endpoints(path: Path | None = None) -> Endpoints:
    """Endpoints by name: of aflow_llm.yaml (the shipped example where no file was made), and over
    them those of llm-as-judge.yaml in the working folder.

    The file of a folder that ``$LLM_AS_JUDGE_CONFIG`` names goes before ``config/`` of the working
    folder: a job can have endpoints of its own beside a person's.
    ``${NAME}`` or ``${NAME:-default}`` in a value is read from the environment; an empty
    ``api_key`` is taken from OPENAI_API_KEY.
    """
    own = path is None and OWN_FILE.is_file()
    file = path or _made_file()
    listed, variables = _listed(file or shipped_dir() / f"{_FILE}.example", "models")
    written = {n: f"{file}: models.{n}" if file else entry_to_write(n) for n in listed}
    if own:
        owned, named = _listed(OWN_FILE, "endpoints")
        listed.update(owned)
        variables.update(named)
        written.update({name: entry_to_write(name) for name in owned})
    return Endpoints(listed, written, variables)


def _listed(path: Path, section: str) -> tuple[dict[str, Endpoint], dict[str, str]]:
    """Endpoints by name, and the variables that their keys are read from."""
    endpoints, variables = {}, {}
    for name, body in entries_of(path, section, "keys like base_url").items():
        where = f"{path}: {section}.{name}"
        filled = {key: expand(value, f"{where}.{key}") for key, value in body.items()}
        filled["api_key"] = _key(body.get("api_key"), filled.get("api_key"), where)
        endpoints[name] = validated(Endpoint, filled, where)
        if variable := ENVIRONMENT_NAME.fullmatch(str(body.get("api_key"))):
            variables[name] = variable[1]
    return endpoints, variables


def _key(written: Any, expanded: Any, where: str) -> Any:
    """The key of an entry that can be sent; anything but text is left for its section to refuse."""
    if isinstance(expanded, str):
        variable = ENVIRONMENT_NAME.fullmatch(written)
        of_variable = variable and os.environ.get(variable[1])
        origin = f": {from_environment(variable[1])}" if variable and of_variable else ""
        expanded = checked_key(expanded, f"{where}.api_key{origin}")
    return expanded or environment_key("OPENAI_API_KEY")

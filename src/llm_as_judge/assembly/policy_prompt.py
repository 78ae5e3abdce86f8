"""The policy prompt that a configuration describes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from llm_as_judge.assembly.executor_settings import written_price
from llm_as_judge.config import Config, config_file
from llm_as_judge.errors import ConfigError
from llm_as_judge.operators import Registry, executors_told, operator_docs, registry
from llm_as_judge.policy.prompt import CountTokens, PolicyPrompt
from llm_as_judge.types import DOMAINS, Domain

if TYPE_CHECKING:
    from llm_as_judge.policy.memory import Memory


def policy_prompt(
    config: Config,
    *,
    memory: Memory | None = None,
    count_tokens: CountTokens | None = None,
    context_tokens: int | None = None,
) -> PolicyPrompt:
    """The policy prompt.

    Args:
        context_tokens: tokens that the policy's context holds, prompt and program together.
    """
    sampling, shown = config.sampling, shown_operators(config)
    told = executors_told(
        {
            name: (written_price(config, name), one.strength)
            for name, one in config.executors.items()
        }
    )
    room = context_tokens - sampling.max_new_tokens if context_tokens else None
    return PolicyPrompt(
        config_file(f"prompts/policy/{sampling.form}.yaml").parent,
        sampling.form,
        {domain: _operator_lines(domain, config, shown) + told for domain in DOMAINS},
        budget=config.reward.prompt_budget,
        problem_chars=sampling.problem_chars,
        brief=sampling.prompt_style == "signatures",
        examples=sampling.examples,
        memory=memory,
        count_tokens=count_tokens,
        max_tokens=min((n for n in (sampling.max_prompt_tokens, room) if n), default=None),
        hidden=[
            name
            for entry in registry().values()
            if entry.name not in shown
            for name in (entry.name, entry.call_name)
        ],
        seed=config.training.seed,
    )


RETIRED: Mapping[str, tuple[str, tuple[Domain, ...]]] = {
    "Choose": ("choose(problem, solutions) -> answer, share", ("math", "qa")),
}
"""Line and domains of operators that are no more: a policy trained under such a line reads it still, and its
programs that call one are refused."""


def retired_operators(config: Config) -> list[str]:
    """Those of :data:`RETIRED` that the prompt shows; only the short prompt has a line of theirs."""
    sampling = config.sampling
    return sorted(RETIRED.keys() & set(sampling.operators or ())) * (
        sampling.prompt_style == "signatures"
    )


def prompt_operators(config: Config) -> tuple[str, ...]:
    """Names of all that the prompt shows.

    Raises:
        ConfigError: see :func:`shown_operators`.
    """
    shown, retired = shown_operators(config), retired_operators(config)
    return tuple(sorted([*shown, *retired]) if retired else shown)


def _operator_lines(domain: Domain, config: Config, shown: Registry) -> str:
    retired = {
        name: line
        for name, (line, domains) in RETIRED.items()
        if name in retired_operators(config) and domain in domains
    }
    style = config.sampling.prompt_style
    if not retired:
        return operator_docs(domain, style, shown)
    lines = {name: operator_docs(domain, style, {name: entry}) for name, entry in shown.items()}
    return "\n".join(line for _, line in sorted((lines | retired).items()) if line)


def shown_operators(config: Config) -> Registry:
    """Those that the prompt documents, where they fit the domain, without :func:`retired_operators`.

    Raises:
        ConfigError: one that is to be shown does not exist.
    """
    known, wanted = registry(), config.sampling.operators
    if unknown := sorted(set(wanted or ()) - known.keys() - set(retired_operators(config))):
        raise ConfigError(
            f"sampling.operators: there is no operator {unknown[0]!r}; wanted some of "
            f"{', '.join(known)}"
        )
    if wanted is not None:
        return {name: entry for name, entry in known.items() if name in wanted}
    return {
        name: entry
        for name, entry in known.items()
        if config.stop.table or not entry.operator.wants_stop_table
    }

"""Additions to :class:`GRPOTrainer` in Python: reward functions, graders, operators."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from llm_as_judge.errors import ConfigError
from llm_as_judge.grading.graders import GRADERS, GraderFunction
from llm_as_judge.operators import Operator
from llm_as_judge.operators.registry import OWN_OPERATORS, OperatorEntry, operator_entry
from llm_as_judge.reward import REWARD_PARTS, PartFunction

BARE_WEIGHT = 1.0
"""Of a reward function without ``@reward_part``."""


@dataclass(frozen=True, slots=True)
class Additions:
    """In force for one trainer alone, beside what plugins add."""

    parts: tuple[PartFunction, ...]
    graders: tuple[GraderFunction, ...]
    operators: tuple[OperatorEntry, ...]

    @classmethod
    def of(
        cls,
        reward_funcs: Sequence[Callable[..., float]],
        graders: Sequence[Callable[..., Any]],
        operators: Sequence[type[Operator]],
    ) -> Additions:
        """Functions and classes, under their decorator or bare; a bare one is known by its name.

        Raises:
            ConfigError: no list, a function without a name or with other arguments, an operator without a
                description or of another class.
        """
        given = {"reward_funcs": reward_funcs, "graders": graders, "operators": operators}
        for name, things in given.items():
            if not isinstance(things, Sequence):
                raise ConfigError(f"{name}=: found {things!r}, wanted a list")
        for kind in operators:
            if not (isinstance(kind, type) and issubclass(kind, Operator)):
                raise ConfigError(f"operators=: found {kind!r}, wanted a subclass of Operator")
        parts = {part.defined: part for part in REWARD_PARTS.all().values()}
        known = {one.defined: one for one in GRADERS.all().values()}
        own = {entry.operator: entry for entry in OWN_OPERATORS.all().values()}
        found = cls(
            tuple(
                parts.get(f) or PartFunction(_name(f), f, weight=BARE_WEIGHT) for f in reward_funcs
            ),
            tuple(known.get(f) or GraderFunction(_name(f), f) for f in graders),
            tuple(own.get(c) or operator_entry(c) for c in operators),
        )
        for part in found.parts:
            options = () if part.options is None else ("options",)
            _require_call("reward_funcs", part.defined, "rollout", "group", *options)
        for grader in found.graders:
            _require_call("graders", grader.defined, "problem", "answer")
        return found

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """Until the block ends.

        Raises:
            ConfigError: a name is taken.
        """
        with ExitStack() as stack:
            stack.enter_context(REWARD_PARTS.with_also(self.parts))
            stack.enter_context(GRADERS.with_also(self.graders))
            stack.enter_context(OWN_OPERATORS.with_also(self.operators))
            yield

    def require_here(self, backend: str) -> None:
        """
        Args:
            backend: of ``workers``.
        Raises:
            ConfigError: programs run and are graded where this process' objects are not.
        """
        if backend == "ray" and (self.graders or self.operators):
            raise ConfigError(
                "graders=, operators=: workers of a cluster have what plugins add and no more; put "
                "them into a module and name it in `plugins`"
            )


def _require_call(key: str, function: Callable[..., Any], *names: str) -> None:
    try:
        inspect.signature(function).bind(*names)
    except TypeError as error:
        wanted = ", ".join(names)
        raise ConfigError(f"{key}=: {_name(function)} is called with ({wanted}): {error}") from None


def _name(function: Callable[..., Any]) -> str:
    name = getattr(function, "__name__", "")
    if not name.isidentifier():
        raise ConfigError(
            f"{function!r} has no name to be logged by; write it with def, or under @reward_part or "
            "@grader with a name"
        )
    return name

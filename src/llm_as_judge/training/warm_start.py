"""Plan of a warm start, read from a bank before any model is loaded, and how far the stage is."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean
from typing import Any

from llm_as_judge.data.files import ProblemFile
from llm_as_judge.errors import ConfigError, DataError, ModelError
from llm_as_judge.policy.chat_template import FENCE
from llm_as_judge.policy.checkpoint import SavedState
from llm_as_judge.reward import PRICES
from llm_as_judge.runs.table import Bank, BankProgram
from llm_as_judge.training.imitation_targets import (
    Cells,
    ImitationTarget,
    Write,
    form_targets,
    imitation_targets,
    taught_cells,
)
from llm_as_judge.training.options import WarmStartMode, WarmStartOptions
from llm_as_judge.types import DOMAINS, Budget, from_json
from llm_as_judge.workflow.forms import in_form
from llm_as_judge.workflow.program import parse_program

KEY = "training.warm_start"
_TENTH = 10
"""Losses are told of the first and the last tenth of the updates."""
_ENOUGH = 2 * _TENTH
"""Updates, of fewer than which such a tenth is one update: two of them differ by their rows more than by what
was learned between them."""


def losses_in_words(found: Mapping[str, float]) -> str:
    """``, loss 1.35, then 0.04 nats a token``; of few updates ``, mean loss 1.17 nats a token``; of none nothing.

    Args:
        found: as :meth:`WarmStartState.metrics`; nats a token.
    """
    if found["warm_start/updates"] >= _ENOUGH:
        first, last = (found[f"warm_start/loss_{when}"] for when in ("first", "last"))
        return f", loss {first:.2f}, then {last:.2f} nats a token"
    mean = found.get("warm_start/loss_mean")
    return "" if mean is None else f", mean loss {mean:.2f} nats a token"


@dataclass
class WarmStartState:
    """How far the stage is; every checkpoint holds it."""

    bank: str
    bank_sha256: str
    mode: WarmStartMode = "best"
    problems: int = 0
    """That teach something."""
    programs: int = 0
    """Different ones that are taught."""
    batches: int | None = None
    """Of the whole stage; None = not yet begun."""
    losses: tuple[float, ...] = ()
    """Of each update so far, nats a token."""

    @property
    def done(self) -> bool:
        return self.batches == len(self.losses)

    def facts(self) -> dict[str, Any]:
        """For run.json."""
        of = {"bank": self.bank, "bank_sha256": self.bank_sha256, "mode": self.mode}
        return {**of, **self.metrics()}

    @property
    def words(self) -> str:
        """What it came to."""
        count = len(self.losses)
        return f"warm start: {count} update{'s' * (count != 1)}{losses_in_words(self.metrics())}"

    def metrics(self) -> dict[str, float]:
        """For the first step after it; so far."""
        part = max(1, len(self.losses) // _TENTH)
        means = {"first": self.losses[:part], "last": self.losses[-part:], "mean": self.losses}
        return {
            "warm_start/problems": float(self.problems),
            "warm_start/programs": float(self.programs),
            "warm_start/updates": float(len(self.losses)),
            **{f"warm_start/loss_{of}": fmean(some) for of, some in means.items() if some},
        }


@dataclass(frozen=True)
class WarmStartPlan:
    """A bank, read before any model is loaded."""

    bank: Bank
    problems: ProblemFile
    cells: Cells
    state: WarmStartState

    @classmethod
    def of(
        cls, options: WarmStartOptions, problems: ProblemFile, saved: SavedState | None
    ) -> WarmStartPlan | WarmStartState | None:
        """What is to be taught; what was, where the stage is over; None where there is none.

        Raises:
            DataError: the bank cannot be read, is of other problems, or has changed.
            ConfigError: the run that goes on began otherwise.
        """
        folder = options.bank
        before = saved.state.get("warm_start") if saved is not None else None
        if saved is not None and bool(before) != (folder is not None):
            began, now = ("with", "none is set") if before else ("without", f"it is {folder} now")
            raise ConfigError(
                f"{KEY}: the run of {saved.folder} began {began} one, and {now}; set it back, or "
                "start a new run"
            )
        earlier = _earlier(before, saved.folder) if saved is not None and before else None
        if folder is None or (earlier is not None and earlier.done):
            return earlier
        bank = Bank.named(folder, KEY)
        taught = earlier or WarmStartState(str(folder), bank.sha256(), options.mode)
        if taught.mode != options.mode:
            raise ConfigError(
                f"{KEY}_mode: the stage began as {taught.mode}, and it is {options.mode} now; set it back, "
                "or start a new run"
            )
        if taught.bank_sha256 != bank.sha256():
            raise DataError(
                f"{KEY}: {folder} has changed since the stage began, which stands at update "
                f"{len(taught.losses)} of {taught.batches}; put it back, or start a new run"
            )
        return cls(bank, problems, taught_cells(bank, list(problems), f"{KEY}: {folder}"), taught)

    def targets(
        self, options: WarmStartOptions, write: Write
    ) -> Mapping[Budget, Sequence[ImitationTarget]]:
        """At each budget that may be told, or at one that is not; of the same problems.

        Raises:
            DataError: the policy can write no program, or, of mode ``best``, none of those that were right.
        """
        which = ""
        if self.state.mode == "form":
            alike = form_targets(self.bank, self.problems, self.cells, write)
            found = dict.fromkeys(options.budgets.priced, alike)
        else:
            which = " that was right on a training problem"
            found = {
                word: imitation_targets(self.bank, self.problems, self.cells, PRICES[word], write)
                for word in options.budgets.priced
            }
        if not any(found.values()) and (not which or self._right(self.cells)):
            raise DataError(
                f"{KEY}: {self.state.bank}: no program{which} can "
                f"be written in form {options.form} with {options.max_new_tokens} "
                "tokens (sampling.form, sampling.max_new_tokens); search on more rows or programs"
            )
        return found

    def _right(self, problems: Collection[str]) -> bool:
        """Whether a program was right on one of them."""
        return any(cell.right for id_ in problems for cell in self.cells[id_])

    def says(self, targets: Sequence[ImitationTarget], updates: int) -> str:
        """``warm start: 7 of the bank's 12 training problems teach 8 programs (qa 4 of 4, code 3 of 4, math
        none: no program was right there): 4 updates``"""
        taught = {target.problem.id for target in targets}
        programs = len({ids for target in targets for ids in target.programs_K})
        domain_of = dict(zip(self.problems.ids, self.problems.domains, strict=True))
        here = {d: {id_ for id_ in self.cells if domain_of[id_] == d} for d in DOMAINS}
        told = [f"{d} {len(taught & ids)} of {len(ids)}" for d, ids in here.items() if taught & ids]
        told += [
            f"{d} none: {self._why_none(ids)}"
            for d, ids in here.items()
            if d in self.problems.domains and not taught & ids
        ]
        said = (
            f"warm start: {len(taught)} of the bank's {len(self.cells)} training problems teach "
            f"{programs} program{'s' * (programs != 1)} ({', '.join(told)}): {updates} "
            f"update{'s' * (updates != 1)}"
        )
        if taught:
            return said
        return (
            f"{said}. So GRPO begins with an untrained policy; {KEY}_mode=form would teach the form"
        )

    def _why_none(self, problems: Collection[str]) -> str:
        if not problems:
            return "the bank has no problem of it"
        if self.state.mode == "form":
            return "the policy cannot write the programs of it"
        if self._right(problems):
            return "the policy cannot write the programs that were right there"
        return "no program was right there"


def _earlier(state: Any, folder: Path) -> WarmStartState:
    try:
        found: WarmStartState = from_json(WarmStartState, state)
    except TypeError as error:
        raise ModelError(f"{folder}: not a checkpoint of a run: {error}") from None
    return found


def in_the_policys_form(options: WarmStartOptions) -> Callable[[BankProgram], str | None]:
    """A program of the bank -> its text as the policy is to write it; None where it is not to."""
    form, shown, executors = options.form, options.operators, options.executors

    def text_of(program: BankProgram) -> str | None:
        text = in_form(
            program.text,
            program.domain,
            form,
            max_calls=options.max_calls,
            executors=executors,
        )
        if text is None or FENCE in text:  # sampling ends at a fence, wherever it stands
            return None
        used = parse_program(text, program.domain, form, executors=executors).operators
        if shown is not None and not set(used) <= set(shown):  # the prompt does not speak of them
            return None
        return text

    return text_of


def foretold(options: WarmStartOptions, plan: WarmStartPlan) -> str:
    """What the stage will say of itself, as far as no tokenizer tells: a program may still be too long.

    Raises:
        DataError: as :meth:`WarmStartPlan.targets`.
    """
    text_of = cache(in_the_policys_form(options))

    def write(program: BankProgram) -> tuple[int, ...] | None:
        text = text_of(program)
        return None if text is None else tuple(text.encode())

    by_budget = plan.targets(options, write)
    of_epoch = math.ceil(len(next(iter(by_budget.values()))) / options.problems_per_update)
    targets = [target for one in by_budget.values() for target in one]
    return plan.says(targets, options.epochs * of_epoch)

"""A run: one program on one problem at one draw, its figures and, where it is kept, all of it; runs as
earlier versions kept them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from llm_as_judge.errors import DataError, GraderError
from llm_as_judge.files import read_json
from llm_as_judge.jsonl import JsonLines
from llm_as_judge.quoting import quoted
from llm_as_judge.types import Problem, PromptFacts, ReplyLogProbs, Rollout, from_json, to_json


class RunKey(NamedTuple):
    """Names a run in its table."""

    program: str
    """Of a bank: the key of the program; of an evaluation: the policy; of an audit: the pass; of
    training: step and group."""
    problem: str
    """Id of the problem."""
    draw: int
    """From which draw of the executor's the program began, or the number of the sample."""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run of a program on a problem."""

    program: str
    problem: str
    draw: int
    """These three are its :class:`RunKey`."""
    right: float | None
    """0..1, the share of right ones where a run is several; None = open: not graded."""
    cost: float
    """In written tokens: each prompt of the run once, at its price."""
    tokens: int
    """Prompt and written tokens, all alike."""
    calls: int
    status: str
    """``types.ExecutionStatus``, or ``failed`` by our fault."""
    answer: str = ""
    """Salted hash of the answer, see ``grading/answer_hash.py``; empty: none was given or kept."""
    grading_version: int = 1
    """Of the rules that graded, see ``grading/version.py``."""
    passed: bool | None = None
    """Of a bank: whether the answer, which is code, passes the tests that a program may run; None =
    not known, or there are none."""
    logprobs: tuple[ReplyLogProbs, ...] = ()
    """Of the executor's replies, call after call; those of an endpoint that gives none are left out."""
    rollout: Rollout | None = None
    """Program, execution and verdict in full; None in a bank, which keeps figures alone."""
    prompt: PromptFacts | None = None
    """What the prompt of its program showed; of training alone."""

    @classmethod
    def of(
        cls,
        program: str,
        rollout: Rollout,
        version: int,
        answer: str = "",
        passed: bool | None = None,
        *,
        whole: bool = True,
    ) -> RunRecord:
        """
        Args:
            program: see :class:`RunKey`; the rollout's own index is the draw.
            whole: keep the rollout, too.
        """
        execution, verdict = rollout.execution, rollout.verdict
        return cls(
            program,
            rollout.problem_id,
            rollout.index,
            verdict.right if verdict else None,
            round(execution.cost, 2) if execution else 0.0,
            execution.tokens if execution else 0,
            execution.llm_calls if execution else 0,
            execution.status if execution else "failed",
            answer,
            version,
            passed,
            tuple(one for call in execution.calls for one in call.logprobs) if execution else (),
            rollout=rollout if whole else None,
        )

    @property
    def key(self) -> RunKey:
        return RunKey(self.program, self.problem, self.draw)

    @property
    def finished(self) -> bool:
        """Whether it need not be run again: it did not fail by our fault. Where a grader raised, the
        answer is kept and can be graded again."""
        failure = self.rollout.failure if self.rollout else None
        return failure is None or failure.kind == GraderError.__name__

    def as_row(self) -> dict[str, Any]:
        """As JSON; what most records do not have is left out."""
        row = {name: getattr(self, name) for name in FIGURES}
        row |= {"answer": self.answer, "grading_version": self.grading_version}
        if self.passed is not None:
            row["passed"] = self.passed
        kept = {"logprobs": self.logprobs, "rollout": self.rollout, "prompt": self.prompt}
        return row | {name: to_json(one) for name, one in kept.items() if one}


FIGURES: Mapping[str, tuple[type, ...]] = {
    "program": (str,),
    "problem": (str,),
    "draw": (int,),
    "right": (float, int, type(None)),
    "cost": (float, int),
    "tokens": (int,),
    "calls": (int,),
    "status": (str,),
}
_MOST: Mapping[str, float] = {"right": 1, "cost": 1e12, "tokens": 1e12, "calls": 1e9, "draw": 1e9}
"""No run has more; none has less than 0."""
_OPTIONAL: Mapping[str, tuple[type, ...]] = {
    "answer": (str,),
    "grading_version": (int,),
    "passed": (bool,),
}
_WHOLE: Mapping[str, Any] = {
    "logprobs": tuple[ReplyLogProbs, ...],
    "rollout": Rollout,
    "prompt": PromptFacts,
}


def read_record(row: Mapping[str, Any]) -> RunRecord:
    """The inverse of :meth:`RunRecord.as_row`; ``from_json`` would take minutes at 100,000 rows.

    Raises:
        TypeError: the row is no run.
    """
    optional = {name: kinds for name, kinds in _OPTIONAL.items() if name in row}
    for name, kinds in {**FIGURES, **optional}.items():
        if name not in row or not isinstance(row[name], kinds):
            raise TypeError(f"{name!r} is {repr(row[name]) if name in row else 'missing'}")
    for name, most in _MOST.items():
        if not 0 <= (row[name] or 0) <= most:
            raise TypeError(f"{name!r} is {quoted(str(row[name]), 40)}")
    known = {name: row[name] for name in (*FIGURES, *optional)}
    kept = {name: from_json(kind, row[name]) for name, kind in _WHOLE.items() if name in row}
    return RunRecord(**known, **kept)


OLDER = ("cells.jsonl", "rollouts.jsonl")


def older_runs(path: Path) -> Iterator[tuple[Problem | None, RunRecord]]:
    """The runs of a file of :data:`OLDER`, each with its problem where the line holds it.

    Raises:
        DataError: a line is broken (``file:line``), or the file beside it that says the rest.
    """
    bank = path.name == OLDER[0]
    beside = _beside(path.with_name("about.json" if bank else "plan.json"))
    version = beside.get("version of the grading rules" if bank else "grading_version", 1)
    for number, row in enumerate(JsonLines(path).rows(), start=1):
        try:
            if bank:
                yield None, read_record({**row, "grading_version": version})
                continue
            rollout: Rollout = from_json(Rollout, row.get("rollout"))
            policy = str(beside.get("policy", ""))
            yield from_json(Problem, row.get("problem")), RunRecord.of(policy, rollout, version)
        except TypeError as error:
            raise DataError(f"{path}:{number}: not a run: {error}; remove that line") from None


def _beside(path: Path) -> Mapping[str, Any]:
    try:
        found = read_json(path)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from None
    return found if isinstance(found, dict) else {}

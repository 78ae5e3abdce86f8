"""The judge: rules first, a language model only where they cannot decide.

    thoughts off -> guard -> graders of one's own -> one declared answer -> exact form -> domain grader
          -> the judge of judge.kind -> abstain

A rule's word is final. ``correct is None`` means *not graded*: such a verdict is kept out of
reward and accuracy, and counted. Code never reaches the language model.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Protocol, runtime_checkable

from llm_as_judge.grading.extract import clean, declared_answer, guard
from llm_as_judge.grading.fingerprint import rules_fingerprint
from llm_as_judge.grading.graders import shipped_grading
from llm_as_judge.grading.qa import UNEQUAL
from llm_as_judge.grading.row_tests import TEST_LIMITS
from llm_as_judge.grading.rules import RuleGrader, Rules
from llm_as_judge.judge.rows import Grader
from llm_as_judge.thoughts import without_thoughts
from llm_as_judge.types import AnswerSpec, Problem, RunLimits, Sandbox, Verdict

EXACT_MATCH = "exact_match"
"""Rule of a short text that is no reference, with no judge to read it."""


@runtime_checkable
class CallLogger(Protocol):
    def log_calls(self, path: Path) -> None: ...


class LastJudge(Protocol):
    """Who judges what the rules leave open."""

    @property
    def fingerprint(self) -> str: ...

    async def judge(
        self, problem: Problem, candidate: str, score: float | None, *, fresh: bool = False
    ) -> Verdict:
        """Verdict; correct None where it cannot tell.

        Args:
            candidate: the declared answer, clean.
            score: the official metric so far, kept in the verdict.
            fresh: judge again even if the verdict is known.
        """
        ...


@dataclass(frozen=True, slots=True)
class SetAnswers:
    """What the owner of a set says of all its answers."""

    spec: AnswerSpec = field(default_factory=AnswerSpec)
    aliases: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Gold answer -> further accepted ones."""


def with_set_answers(problem: Problem, sets: Mapping[str, SetAnswers]) -> Problem:
    """``problem`` as its set wants it compared; what its row says stands. Tests alone grade code.

    Args:
        sets: by name of the set; ``mine`` stands for ``mine_math`` and ``mine_qa``, too.
    """
    said = _of_set(problem, sets) if problem.domain != "code" else None
    if said is None:
        return problem
    own, of_set = problem.spec, said.spec
    spec = AnswerSpec(
        kind=own.kind or of_set.kind,
        tolerance=of_set.tolerance if own.tolerance is None else own.tolerance,
        unit=own.unit or of_set.unit,
        grader=own.grader or of_set.grader,
    )
    aliases = {_folded(gold): others for gold, others in said.aliases.items()}
    further = (one for gold in problem.answers for one in aliases.get(_folded(gold), ()))
    return replace(problem, spec=spec, answers=tuple(dict.fromkeys((*problem.answers, *further))))


def _of_set(problem: Problem, sets: Mapping[str, SetAnswers]) -> SetAnswers | None:
    name = problem.dataset
    return sets.get(name) or sets.get(name.removesuffix(f"_{problem.domain}"))


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def judge_fingerprint(last: str | None, *, f1_threshold: float | None = None) -> str:
    """What ``Judge.fingerprint`` will be, before any model is started.

    Args:
        last: of the judge after the rules; None = rules alone.
    """
    text = rules_fingerprint() + (last or f"f1>={f1_threshold}")
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Judge:
    """Grades answers against the gold of their problems.

    Args:
        sandbox: runs hidden tests; None where no code is graded.
        last: judges what the rules leave open; None = rules alone.
        f1_threshold: rules alone, QA: official F1 from which a partial answer counts as correct.
            None (default): a partial answer is not graded. docs/grading.md says why.
        workers, math_cpu_s, test_limits: of the :class:`Rules`.
        rules: instead of rules on this machine, with ``sandbox``.
        sets: how the answers of sets are compared, where their rows do not say it.
    """

    def __init__(
        self,
        sandbox: Sandbox | None = None,
        last: LastJudge | None = None,
        *,
        f1_threshold: float | None = None,
        workers: int = 2,
        math_cpu_s: float = 2.0,
        test_limits: RunLimits = TEST_LIMITS,
        rules: RuleGrader | None = None,
        sets: Mapping[str, SetAnswers] = MappingProxyType({}),
    ) -> None:
        self._last = last
        self._f1_threshold = f1_threshold
        self._sets = sets
        self._rules: RuleGrader = rules or Rules(
            sandbox, workers=workers, math_cpu_s=math_cpu_s, test_limits=test_limits
        )

    @property
    def fingerprint(self) -> str:
        """Changes whenever a verdict may change: code, algebra, prompts, model, sampling."""
        last = self._last.fingerprint if self._last else None
        return judge_fingerprint(last, f1_threshold=self._f1_threshold)

    @property
    def fresh(self) -> Grader:
        """The same judge without its memory: for asking twice whether a verdict is steady."""
        return _Fresh(self)

    def log_calls(self, path: Path) -> None:
        """Writes every call of the shipped judge model from now on to ``path``, a JSON line each."""
        if isinstance(self._last, CallLogger):
            self._last.log_calls(path)

    async def grade(self, problem: Problem, answer: str, *, fresh: bool = False) -> Verdict:
        """Verdict on ``answer``.

        Args:
            fresh: ask the last judge even if its verdict is known.
        Raises:
            GraderError: a rule, a grader or the last judge raised; no run need end for it.
            SandboxError: the sandbox is broken (code).
        """
        with shipped_grading(problem):
            return await self._grade(problem, answer, fresh)

    async def _grade(self, problem: Problem, answer: str, fresh: bool) -> Verdict:
        problem = with_set_answers(problem, self._sets)
        answer = without_thoughts(answer)
        text = answer if problem.domain == "code" else clean(answer)
        broken = guard(answer, problem.answers, problem.question)
        if broken is not None and (problem.domain != "code" or broken == "guard.empty"):
            return Verdict(False, "guard", broken, "this is no answer", score=0.0)
        verdict = await self._rules.verdict(problem, text)
        if verdict.correct is not None or problem.domain == "code":
            return verdict
        if self._last is None:
            return self._without_model(verdict)
        declared = declared_answer(text, one_sentence=problem.domain == "math")
        judged = await self._last.judge(problem, declared.text, verdict.score, fresh=fresh)
        if judged.correct is None and verdict.rule == UNEQUAL and verdict.score == 0:
            return _exact_match(verdict)  # a judge that is not sure leaves open what shares no word
        return judged

    def _without_model(self, verdict: Verdict) -> Verdict:
        """What the rules left open: by the threshold, if there is one, else it stays open."""
        if self._f1_threshold is not None and verdict.stage == "qa" and verdict.score is not None:
            correct = verdict.score >= self._f1_threshold
            return replace(verdict, correct=correct, rule="qa.f1_threshold")
        if verdict.rule == UNEQUAL:
            return _exact_match(verdict)
        undecided = "undecided by the rules, and there is no judge model to ask"
        return replace(verdict, explanation=f"{verdict.explanation}; {undecided}")

    async def aclose(self) -> None:
        """Ends the rules' processes."""
        await self._rules.aclose()


def _exact_match(verdict: Verdict) -> Verdict:
    """A short text that is not the gold, with no judge that could say that it means the same."""
    return replace(verdict, correct=False, rule=EXACT_MATCH)


class _Fresh:
    def __init__(self, judge: Judge) -> None:
        self._judge = judge

    async def grade(self, problem: Problem, answer: str) -> Verdict:
        return await self._judge.grade(problem, answer, fresh=True)

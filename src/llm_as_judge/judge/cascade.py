"""The judge: rules first, a language model only where they cannot decide.

    guard -> graders of one's own -> one declared answer -> exact form -> domain grader
          -> LLM judge -> abstain

A rule's word is final. ``correct is None`` means *not graded*: such a verdict is kept out of
reward and accuracy, and counted. Code never reaches the language model.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

from llm_as_judge.grading.extract import clean, declared_answer, guard
from llm_as_judge.grading.fingerprint import rules_fingerprint
from llm_as_judge.grading.rules import RuleGrader, Rules
from llm_as_judge.judge.llm_judge import JudgePrompts, LlmJudge, llm_fingerprint
from llm_as_judge.judge.records import JudgeRecords
from llm_as_judge.judge.rows import Grader
from llm_as_judge.types import ChatModel, Limits, Problem, Sandbox, Verdict

__all__ = ["Judge", "judge_fingerprint"]


def judge_fingerprint(
    identity: str | None, *, f1_threshold: float | None = None, max_tokens: int = 1024
) -> str:
    """What ``Judge.fingerprint`` will be, before any model is started.

    Args:
        identity: of the judge model, see :func:`llm_fingerprint`; None = rules only.
        f1_threshold, max_tokens: as given to :class:`Judge`.
    """
    if identity is None:
        return _combined(f"f1>={f1_threshold}")
    return _combined(llm_fingerprint(identity, max_tokens=max_tokens))


def _combined(model: str) -> str:
    return hashlib.sha256((rules_fingerprint() + model).encode()).hexdigest()[:16]


class Judge:
    """Grades answers against the gold of their problems.

    Args:
        sandbox: runs hidden tests; None where no code is graded.
        llm: judge model for what the rules leave open; None = rules only.
        f1_threshold: rules only, QA: official F1 from which a partial answer counts as correct.
            None (default): a partial answer is not graded. docs/grading.md says why.
        prompts, max_tokens, use_schema, records, backoff_s, identity: of the :class:`LlmJudge`.
        workers, math_cpu_s, test_limits: of the :class:`Rules`.
        rules: instead of rules on this machine, with ``sandbox``.
    """

    def __init__(
        self,
        sandbox: Sandbox | None = None,
        llm: ChatModel | None = None,
        *,
        f1_threshold: float | None = None,
        prompts: JudgePrompts | None = None,
        max_tokens: int = 1024,
        use_schema: bool = True,
        records: JudgeRecords | None = None,
        backoff_s: float = 0.5,
        identity: str | None = None,
        workers: int = 2,
        math_cpu_s: float = 2.0,
        test_limits: Limits = Limits(wall_s=20.0, cpu_s=10.0),  # noqa: B008 - frozen
        rules: RuleGrader | None = None,
    ) -> None:
        self._llm: LlmJudge | None = None
        if llm is not None:
            self._llm = LlmJudge(
                llm,
                prompts=prompts,
                max_tokens=max_tokens,
                use_schema=use_schema,
                records=records,
                backoff_s=backoff_s,
                identity=identity,
            )
        self._f1_threshold = f1_threshold
        self._rules: RuleGrader = rules or Rules(
            sandbox, workers=workers, math_cpu_s=math_cpu_s, test_limits=test_limits
        )

    @property
    def fingerprint(self) -> str:
        """Changes whenever a verdict may change: code, algebra, prompts, model, sampling."""
        return _combined(self._llm.fingerprint if self._llm else f"f1>={self._f1_threshold}")

    @property
    def fresh(self) -> Grader:
        """The same judge without its memory: for asking twice whether a verdict is steady."""
        return _Fresh(self)

    def log_calls(self, path: Path) -> None:
        """Writes every call of the judge model from now on to ``path``, a JSON line each."""
        if self._llm is not None:
            self._llm.records.log_path = path

    async def grade(self, problem: Problem, answer: str, *, fresh: bool = False) -> Verdict:
        """Verdict on ``answer``.

        Args:
            fresh: ask the judge model even if its verdict is known.
        Raises:
            SandboxError: the sandbox is broken (code).
        """
        text = answer if problem.domain == "code" else clean(answer)
        broken = guard(answer, problem.answers, problem.question)
        if broken is not None and (problem.domain != "code" or broken == "guard.empty"):
            return Verdict(False, "guard", broken, "this is no answer", score=0.0)
        verdict = await self._rules.verdict(problem, text)
        if verdict.correct is not None or problem.domain == "code":
            return verdict
        if self._llm is None:
            return self._without_model(verdict)
        declared = declared_answer(text, one_sentence=problem.domain == "math")
        return await self._llm.judge(problem, declared.text, verdict.score, fresh=fresh)

    def _without_model(self, verdict: Verdict) -> Verdict:
        """What the rules left open: by the threshold, if there is one, else it stays open."""
        if self._f1_threshold is not None and verdict.stage == "qa" and verdict.score is not None:
            correct = verdict.score >= self._f1_threshold
            return replace(verdict, correct=correct, rule="qa.f1_threshold")
        undecided = "undecided by the rules, and there is no judge model to ask"
        return replace(verdict, explanation=f"{verdict.explanation}; {undecided}")

    async def aclose(self) -> None:
        """Ends the rules' processes."""
        await self._rules.aclose()


class _Fresh:
    def __init__(self, judge: Judge) -> None:
        self._judge = judge

    async def grade(self, problem: Problem, answer: str) -> Verdict:
        return await self._judge.grade(problem, answer, fresh=True)

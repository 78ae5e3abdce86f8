"""The judge is measured before it may train.

Labeled cases, attacks and controls go through the judge; the report says how often it was right,
what it let through and whether it is steady. A judge that is fooled teaches the policy to fool it.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from time import perf_counter
from typing import Any

from llm_as_judge.audit.attacks import Case, make_attacks, make_controls, sampled
from llm_as_judge.audit.bars import Bar, check_bars
from llm_as_judge.audit.drift import canaries, case_key
from llm_as_judge.audit.labeled import cases_sha256
from llm_as_judge.audit.search import search, searchable
from llm_as_judge.audit.seeds import seeds
from llm_as_judge.grading.number import parse_number
from llm_as_judge.grading.version import GRADING_VERSION
from llm_as_judge.judge.kinds import Mode
from llm_as_judge.judge.rows import Grader
from llm_as_judge.judge.scoring import UNSURE
from llm_as_judge.quoting import beginning
from llm_as_judge.runs.record import RunKey, RunRecord
from llm_as_judge.runs.runner import Keep, at_most, fill
from llm_as_judge.runs.table import Runs
from llm_as_judge.statistics import Interval, kappa_interval, proportion
from llm_as_judge.types import Completion, Execution, Program, Rollout, Verdict

Progress = Callable[[int, int], None]
_CONCURRENCY = 8
_AGAIN = 150
"""Cases graded a second time, to see whether verdicts are steady."""
_MADE = frozenset({"attack", "control"})
"""Sources of answers that no person labeled: they are made wrong, or right."""


@dataclass(frozen=True, slots=True)
class Graded:
    """A case with its verdict; ``again``: the verdict of a second pass, where there was one."""

    case: Case
    verdict: Verdict
    seconds: float
    again: Verdict | None = None

    @property
    def accepted(self) -> bool:
        return self.verdict.correct is True

    @property
    def label(self) -> str:
        return "right" if self.case.correct else "wrong"


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What :func:`run_audit` measured. Shares are 0..1, intervals 95 %."""

    fingerprint: str
    mode: Mode
    data_sha256: Mapping[str, str]
    precision: Interval
    recall: Interval
    false_positive_rate: Interval
    sources: Mapping[str, Mapping[str, Any]]
    """Source -> n, decided, precision, recall, kappa, kind (numeric, hard mathematics ...)."""
    stages: Mapping[str, Mapping[str, int]]
    """Stage -> correct, incorrect, not_graded."""
    by_model: Mapping[str, Mapping[str, int]]
    """Source -> right, right_accepted, wrong, wrong_accepted of what the rules left to the model."""
    wrong_accepted: int
    """Of labeled answers and attacks."""
    wrong_by_rule: Mapping[str, int]
    """Rule -> how many of these no model was asked about; most first."""
    attacks: Mapping[str, Mapping[str, int]]
    """Category -> accepted, n."""
    attacks_accepted: Interval
    controls_accepted: Interval
    abstain_rate: Interval
    parse_failure_rate: Interval
    flip_rate: Interval
    cost_usd: float | None
    median_s: float
    slowest_s: float
    bars: tuple[Bar, ...]
    canaries: Mapping[str, bool | None]
    """Verdicts on the canaries by case key, to which training compares; empty for rules alone."""
    sample: float | None
    """Share of the cases that was graded; None = all. A sample is no permission to train."""
    examples: tuple[Mapping[str, str], ...]
    """Up to 40 mistakes to look at: attacks accepted first."""
    searched: int = 0
    """Tries of the search for wrong answers that are accepted (:mod:`search`)."""
    finds: tuple[Mapping[str, Any], ...] = ()
    """What it found, the cheapest first, as rows that a judge may learn from."""

    @property
    def passed(self) -> bool:
        return not self.failures

    @property
    def failures(self) -> tuple[str, ...]:
        """Names of the required bars that were missed."""
        return tuple(bar.name for bar in self.bars if bar.required and not bar.passed)


async def run_audit(
    judge: Grader,
    fingerprint: str,
    mode: Mode,
    labeled: Sequence[Case] = (),
    *,
    own: Sequence[Case] = (),
    attack_numbers: int = 40,
    sample: float | None = None,
    tries: int = 0,
    runs: Runs | None = None,
    progress: Progress | None = None,
) -> AuditReport:
    """Measures ``judge``, which must have no memory (``Judge.fresh``): some cases are graded twice.

    Args:
        mode: who judges; of ``rules`` alone less is asked.
        labeled: rows with human labels; without them the attacks and controls are the labels.
        own: further such rows, of whom the judge is for: a sample has them all.
        attack_numbers: word problems that attacks are made from; more make more attacks.
        sample: share of each stratum (source, category, label) but ``own`` that is graded, and of the
            second pass; no canaries. None = all.
        tries: of the search for wrong answers that are accepted, after all else.
        runs: verdicts of an earlier, broken off part; new ones are added.
    """
    attacks, controls = make_attacks(0, attack_numbers), make_controls(0, attack_numbers)
    if sample is None:
        cases = [*labeled, *own, *attacks, *controls]
    else:
        cases = [*own, *sampled([*labeled, *attacks, *controls], sample, 0)]
    again = min(round(_AGAIN * (sample or 1)), len(cases))
    repeated = [cases[i] for i in sorted(random.Random(0).sample(range(len(cases)), again))]
    watched = canaries() if mode != "rules" and sample is None else []
    grading = _Grading(judge, Runs(None) if runs is None else runs, progress)
    grading.total = len(cases) + len(repeated) + len(watched) + tries
    if progress is not None:
        progress(0, grading.total)
    first = await grading.all(cases, "first")
    # A second pass, after the first: a judge that drifts answers otherwise now.
    second = {id(g.case): g.verdict for g in await grading.all(repeated, "again")}
    graded = [replace(g, again=second.get(id(g.case))) for g in first]
    report = _measure(graded, fingerprint, mode, sample)
    verdicts = {case_key(g.case): g.verdict.correct for g in await grading.all(watched, "canary")}
    questions = searchable(seeds(), own) if tries else []
    finds = await search(grading.verdicts, questions, tries=tries, seed=0)
    rows = tuple(find.row for find in finds)
    return replace(report, canaries=verdicts, searched=tries, finds=rows)


class _Grading:
    """Grades cases, a few at a time, those that are in the table excepted."""

    def __init__(self, judge: Grader, runs: Runs, progress: Progress | None) -> None:
        self._judge = judge
        self._runs = runs
        self._progress = progress
        self._done = 0
        self.total = 0

    async def all(self, cases: Sequence[Case], part: str) -> list[Graded]:
        keys = [RunKey(part, case_key(case), 0) for case in cases]
        times = Counter(keys)
        kept = [key for key in times if self._runs.holds(key)]
        self._report_progress(sum(times[key] for key in kept))
        await fill(
            self._runs,
            dict(zip(keys, cases, strict=True)),
            self._env,
            lambda run: self._report_progress(times[run.key]),
        )
        return [_graded(case, self._runs.runs[key]) for case, key in zip(cases, keys, strict=True)]

    async def verdicts(self, cases: Sequence[Case]) -> list[Verdict]:
        return [graded.verdict for graded in await self.all(cases, "search")]

    async def _env(self, wanted: Mapping[RunKey, Case], keep: Keep) -> None:
        async def one(item: tuple[RunKey, Case]) -> None:
            key, case = item
            start = perf_counter()
            verdict = await self._judge.grade(case.problem, case.candidate)
            keep(_record(key, case, verdict, perf_counter() - start))

        await at_most(_CONCURRENCY, wanted.items(), one)

    def _report_progress(self, graded: int) -> None:
        self._done += graded
        if self._progress is not None and graded:
            self._progress(self._done, self.total)


def _record(key: RunKey, case: Case, verdict: Verdict, seconds: float) -> RunRecord:
    """A run of no program: the answer is given, and the seconds are those of its grading."""
    nobody = Completion((), (), (), "", "stop")
    execution = Execution("ok", case.candidate, seconds=seconds)
    graded = Rollout(key.problem, key.draw, nobody, Program("", ""), execution, verdict)
    return RunRecord.of(key.program, graded, GRADING_VERSION)


def _graded(case: Case, run: RunRecord) -> Graded:
    assert run.rollout is not None
    assert run.rollout.execution is not None
    assert run.rollout.verdict is not None
    return Graded(case, run.rollout.verdict, run.rollout.execution.seconds)


def _measure(
    graded: Sequence[Graded], fingerprint: str, mode: Mode, sample: float | None
) -> AuditReport:
    by_label = [g for g in graded if g.case.source not in _MADE]
    labeled = by_label or graded
    attacks = [g for g in graded if g.case.source == "attack"]
    controls = [g for g in graded if g.case.source == "control"]
    twice = [g for g in graded if g.again is not None]
    costs = [g.verdict.cost_usd for g in graded]
    precision, recall, false_positive = _rates(labeled)
    sources = _by_source(labeled)
    believed = [g for g in graded if g.accepted and not g.case.correct]
    measured = {
        "precision": precision,
        "recall": recall,
        "right rejected": _share(
            [g for g in labeled if g.case.correct], lambda g: g.verdict.correct is False
        ),
        "attacks accepted": _share(attacks, lambda g: g.accepted),
        "controls accepted": _share(controls, lambda g: g.accepted),
        "abstain rate": _share(graded, lambda g: g.verdict.correct is None),
        "parse failure rate": _share(graded, _unreadable),
        "flip rate": _share(twice, _flipped),
    }
    return AuditReport(
        fingerprint=fingerprint,
        mode=mode,
        data_sha256=_hashes(graded),
        precision=precision,
        recall=recall,
        false_positive_rate=false_positive,
        sources=sources,
        stages=_counted(
            graded,
            lambda g: g.verdict.stage,
            tuple(_OUTCOMES.values()),
            lambda g: [_OUTCOMES[g.verdict.correct]],
        ),
        by_model=_counted(
            [g for g in graded if g.verdict.stage == "llm"],
            lambda g: g.case.source,
            ("right", "right_accepted", "wrong", "wrong_accepted"),
            lambda g: [g.label, f"{g.label}_accepted"][: 1 + g.accepted],
        ),
        wrong_accepted=len(believed),
        wrong_by_rule=dict(
            Counter(g.verdict.rule for g in believed if g.verdict.stage != "llm").most_common()
        ),
        attacks=_counted(
            attacks,
            lambda g: g.case.category,
            ("accepted", "n"),
            lambda g: ["n", "accepted"][: 1 + g.accepted],
        ),
        attacks_accepted=measured["attacks accepted"],
        controls_accepted=measured["controls accepted"],
        abstain_rate=measured["abstain rate"],
        parse_failure_rate=measured["parse failure rate"],
        flip_rate=measured["flip rate"],
        cost_usd=None if None in costs else sum(cost for cost in costs if cost),
        median_s=median(g.seconds for g in graded),
        slowest_s=max(g.seconds for g in graded),
        bars=check_bars(
            mode, measured, sources, labeled=bool(by_label), sampled=sample is not None
        ),
        canaries={},
        sample=sample,
        examples=_examples(graded),
    )


def _share(graded: Sequence[Graded], is_so: Callable[[Graded], bool]) -> Interval:
    return proportion(sum(map(is_so, graded)), len(graded))


def _unreadable(graded: Graded) -> bool:
    """No verdict could be read; that a trained judge is not sure is a verdict."""
    verdict = graded.verdict
    return verdict.correct is None and verdict.stage == "llm" and verdict.rule != UNSURE


def _flipped(graded: Graded) -> bool:
    return graded.again is not None and graded.again.correct is not graded.verdict.correct


def _rates(graded: Sequence[Graded]) -> tuple[Interval, Interval, Interval]:
    """Precision, recall, false-positive rate; an abstention accepts nothing."""
    accepted = [g for g in graded if g.accepted]
    right = [g for g in graded if g.case.correct]
    wrong = [g for g in graded if not g.case.correct]
    hits = sum(g.case.correct for g in accepted)
    return (
        proportion(hits, len(accepted)),
        proportion(sum(g.accepted for g in right), len(right)),
        proportion(len(accepted) - hits, len(wrong)),
    )


def _kind(graded: Sequence[Graded]) -> str:
    problems = [g.case.problem for g in graded]
    if all(problem.domain == "qa" for problem in problems):
        return "SQuAD2" if all(p.dataset_info.metric == "squad" for p in problems) else "open QA"
    if not all(problem.domain == "math" for problem in problems):
        return "mixed"
    plain = [problem for problem in problems if parse_number(problem.answers[0]) is not None]
    return "numeric" if len(plain) >= 0.9 * len(problems) else "hard mathematics"


def _by_source(graded: Sequence[Graded]) -> dict[str, dict[str, Any]]:
    groups: dict[str, list[Graded]] = defaultdict(list)
    for one in graded:
        groups[one.case.source].append(one)
    found: dict[str, dict[str, Any]] = {}
    for source, group in groups.items():
        decided = [
            (g.verdict.correct, g.case.correct) for g in group if g.verdict.correct is not None
        ]
        precision, recall, _ = _rates(group)
        found[source] = {
            "kind": _kind(group),
            "n": len(group),
            "decided": len(decided),
            "precision": precision,
            "recall": recall,
            "kappa": kappa_interval(decided),
        }
    return found


_OUTCOMES = {True: "correct", False: "incorrect", None: "not_graded"}


def _counted(
    graded: Sequence[Graded],
    group: Callable[[Graded], str],
    columns: Sequence[str],
    counts: Callable[[Graded], Sequence[str]],
) -> dict[str, dict[str, int]]:
    """Group -> column -> how many.

    Args:
        counts: columns that one counts in.
    """
    found: dict[str, dict[str, int]] = {}
    for one in graded:
        cells = found.setdefault(group(one), dict.fromkeys(columns, 0))
        for column in counts(one):
            cells[column] += 1
    return found


def _hashes(graded: Sequence[Graded]) -> dict[str, str]:
    kinds: dict[str, list[Case]] = defaultdict(list)
    for one in graded:
        source = one.case.source
        kinds[source if source in _MADE else "labeled"].append(one.case)
    return {kind: cases_sha256(cases) for kind, cases in kinds.items()}


def _examples(graded: Sequence[Graded]) -> tuple[dict[str, str], ...]:
    mistakes = [
        g
        for g in graded
        if g.verdict.correct is not None and g.verdict.correct is not g.case.correct
    ]
    mistakes.sort(key=lambda g: (g.case.source != "attack", g.case.correct))
    return tuple(
        {
            "source": g.case.source,
            "category": g.case.category,
            "question": beginning(g.case.problem.question, 200),
            "reference": beginning(" / ".join(g.case.problem.answers), 200),
            "candidate": beginning(g.case.candidate, 200),
            "label": g.case.source if g.case.source in _MADE else _OUTCOMES[g.case.correct],
            "verdict": _OUTCOMES[g.verdict.correct],
            "rule": g.verdict.rule,
        }
        for g in mistakes[:40]
    )

"""Rows in, two sets of examples out: one to learn from, one to choose thresholds on.

    labeled rows ─► questions apart ─► learn      people's labels + made answers, balanced
                                   └► calibrate   people's labels, or made answers where a domain has none

No question stands on both sides. What the rules decide never reaches a judge, so most examples are
answers that they leave open; a few of the others are kept, since a judge must know plain cases, too.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from llm_as_judge.audit.attacks import Case
from llm_as_judge.errors import DataError
from llm_as_judge.grading.extract import plain
from llm_as_judge.judge.cascade import EXACT_MATCH, Judge
from llm_as_judge.judge.rows import AnswerRow, read_answer, read_rows
from llm_as_judge.training.judge.examples import free_examples, questions_of
from llm_as_judge.types import Verdict

CALIBRATION_SHARE = 0.25
LEAST_ROWS = 40
"""Labeled rows with which a training begins."""
_DECIDED_KEPT = 0.08
"""Share of the answers that rules decide which is learned all the same."""
_REJECTED_KEPT = 1.0
"""The same of labeled answers that they reject: real mistakes are rare among what they leave open."""
_LEAST_SHARE = 0.1
"""Of a domain among all that is learned."""
MOST_CALIBRATED = 800
"""Answers that the judge must score to choose thresholds; more are sampled."""
MOST_MADE = 600
"""The same of wrong answers that are made of the questions kept apart."""


@dataclass(frozen=True, slots=True)
class Graded:
    """An example with what the rules say of it."""

    case: Case
    verdict: Verdict

    @property
    def open(self) -> bool:
        """It reaches the judge: the rules alone call a short text wrong that is no reference, a judge reads it."""
        return self.verdict.correct is None or self.verdict.rule == EXACT_MATCH


@dataclass(frozen=True, slots=True)
class Sets:
    """Examples by what they are for."""

    learn: tuple[Graded, ...]
    calibrate: tuple[Graded, ...]
    counts: dict[str, int] = field(default_factory=dict)
    """For the model card: rows read, duplicates left out, examples of each family."""


def read_training_rows(paths: Sequence[Path]) -> tuple[list[Case], list[Case]]:
    """Labeled rows, and rows without candidate and label, which give made answers alone.

    Raises:
        DataError: a row is broken, is code, or has one of candidate and ``correct`` alone; nothing there.
    """
    labeled: list[Case] = []
    bare: list[Case] = []
    for path in paths:
        for case, has_label in read_rows(path, _training_row):
            (labeled if has_label else bare).append(case)
    return labeled, bare


def _training_row(row: AnswerRow) -> tuple[Case, bool]:
    has_label = "correct" in row
    if has_label is not ("candidate" in row):
        missing = "correct" if "candidate" in row else "candidate"
        raise DataError(f"no {missing!r}; a row has both, or neither")
    answer = read_answer(row if has_label else {**row, "candidate": ""})
    if has_label and not isinstance(row["correct"], bool):
        raise DataError("'correct' must be true or false")
    if answer.problem.domain == "code":
        raise DataError("a code row: hidden tests alone decide on code")
    source = str(row.get("source") or "labeled")
    return Case(
        answer.problem, answer.candidate, bool(row.get("correct")), source, "labeled"
    ), has_label


def require_learnable(labeled: Sequence[Case], place: str) -> None:
    """
    Raises:
        DataError: too few rows, or one label alone.
    """
    labels = Counter(case.correct for case in labeled)
    if len(labeled) < LEAST_ROWS:
        raise DataError(
            f"{place}: {len(labeled)} labeled rows, wanted {LEAST_ROWS} or more; label more answers"
        )
    for label in (True, False):
        if not labels[label]:
            word = "right" if label else "wrong"
            raise DataError(f"{place}: no answer is labeled {word}; a judge learns from both")


def without_duplicates(labeled: Sequence[Case]) -> tuple[list[Case], int, int]:
    """Each answer to a question once; those that are labeled both ways are left out.

    Returns:
        The rows kept, how many were the same row again, how many had two labels.
    """
    labels: dict[tuple[str, str, str], set[bool]] = {}
    for case in labeled:
        labels.setdefault(_key(case), set()).add(case.correct)
    kept = {_key(case): case for case in labeled if len(labels[_key(case)]) == 1}
    torn = sum(len(labels[_key(case)]) == 2 for case in labeled)
    return list(kept.values()), len(labeled) - len(kept) - torn, torn


def _key(case: Case) -> tuple[str, str, str]:
    problem = case.problem
    return question_key(case), " / ".join(problem.answers), case.candidate.strip()


def question_key(case: Case) -> str:
    """What tells questions apart across spellings."""
    return plain(case.problem.question) or case.problem.id


def is_for_calibration(case: Case, seed: int) -> bool:
    """By the question alone, so that a longer file keeps each question on its side."""
    digest = hashlib.sha256(f"{seed}:{question_key(case)}".encode()).digest()
    return int.from_bytes(digest[:4], "big") < CALIBRATION_SHARE * 2**32


async def split_sets(
    labeled: Sequence[Case], bare: Sequence[Case], rules: Judge, *, seed: int, limit: int | None
) -> Sets:
    """Balanced examples to learn from, and those to calibrate on.

    Args:
        limit: examples to learn from at most; None = all.
    Raises:
        DataError: too few rows or one label alone.
    """
    rows, again, torn = without_duplicates(labeled)
    counts = {"labeled": len(labeled), "duplicates": again, "two labels": torn}
    sides: dict[bool, list[Case]] = {True: [], False: []}
    for case in [*rows, *bare]:
        sides[is_for_calibration(case, seed)].append(case)
    given = {id(case) for case in rows}
    made = {side: _made(cases, seed + side) for side, cases in sides.items()}
    people = {side: [c for c in cases if id(c) in given] for side, cases in sides.items()}
    have_labels = {case.problem.domain for case in rows}
    also = [case for case in made[True] if case.problem.domain not in have_labels]
    learn = await graded_by_rules([*people[False], *made[False]], rules)
    calibrate = _sampled(await graded_by_rules([*people[True], *also], rules), random.Random(seed))
    calibrate += await made_wrong(people[True], rules, seed)
    chosen = _balanced(learn, random.Random(seed), limit)
    counts |= {
        f"learned, {name}": n
        for name, n in sorted(Counter(g.case.category for g in chosen).items())
    }
    counts["calibrated on"] = len(calibrate)
    return Sets(tuple(chosen), tuple(calibrate), counts)


async def made_wrong(cases: Sequence[Case], rules: Judge, seed: int) -> list[Graded]:
    """Wrong answers made of these questions that the rules leave open, a seeded sample: they bound thresholds."""
    made = [case for case in _made(cases, seed) if not case.correct]
    reaching = [graded for graded in await graded_by_rules(made, rules) if graded.open]
    return random.Random(seed).sample(reaching, min(MOST_MADE, len(reaching)))


def _made(cases: Sequence[Case], seed: int) -> list[Case]:
    rng = random.Random(seed)
    return free_examples(questions_of(cases, rng), rng)


async def graded_by_rules(cases: Sequence[Case], rules: Judge) -> list[Graded]:
    """Each case with the verdict of the rules."""
    return [Graded(case, await rules.grade(case.problem, case.candidate)) for case in cases]


def _kept(graded: Graded, rng: random.Random) -> bool:
    if graded.open:
        return True
    real = graded.case.category == "labeled" and graded.verdict.correct is False
    return rng.random() < (_REJECTED_KEPT if real else _DECIDED_KEPT)


def _balanced(examples: Sequence[Graded], rng: random.Random, limit: int | None) -> list[Graded]:
    """As many right as wrong in every domain; domains by what the rules leave open in them.

    Where not all are wanted, questions are taken whole: their answers share the computation of what
    stands before them.
    """
    questions = sorted({question_key(g.case) for g in examples})
    place = {key: at for at, key in enumerate(rng.sample(questions, len(questions)))}
    kept = [g for g in examples if _kept(g, rng)]
    kept.sort(key=lambda g: place[question_key(g.case)])
    reaching = Counter(g.case.problem.domain for g in kept if g.open)
    chosen: list[Graded] = []
    for domain in sorted({g.case.problem.domain for g in kept}):
        mine = [g for g in kept if g.case.problem.domain == domain]
        sides = [_mixed([g for g in mine if g.case.correct is label]) for label in (True, False)]
        most = min(map(len, sides))
        share = max(_LEAST_SHARE, reaching[domain] / max(1, reaching.total()))
        if limit is not None:
            most = min(most, round(share * limit / 2))
        chosen += [g for side in sides for g in side[:most]]
    rng.shuffle(chosen)
    return chosen


def _sampled(graded: Sequence[Graded], rng: random.Random) -> list[Graded]:
    """All wrong answers and a seeded share of the right ones, so that about :data:`MOST_CALIBRATED` reach
    the judge: both weigh alike in a threshold, and the wrong ones are few."""
    wrong = [g for g in graded if not g.case.correct]
    right = [g for g in graded if g.case.correct]
    room, reaching = MOST_CALIBRATED - sum(g.open for g in wrong), sum(g.open for g in right)
    share = min(1.0, max(MOST_CALIBRATED / 4, room) / max(1, reaching))
    return [*wrong, *rng.sample(right, round(len(right) * share))]


def _mixed(examples: Sequence[Graded]) -> list[Graded]:
    """People's labels first, and as many made ones among them at most, family by family."""
    people = [g for g in examples if g.case.category == "labeled"]
    families: dict[str, list[Graded]] = {}
    for g in examples:
        if g.case.category != "labeled":
            families.setdefault(g.case.category, []).append(g)
    made: list[Graded] = []
    while any(families.values()):
        made += [group.pop(0) for group in families.values() if group]
    if not people:
        return made
    found: list[Graded] = []
    for at in range(max(len(people), len(made))):
        found += people[at : at + 1] + made[at : at + 1]
    return found

"""Rows in, two sets of examples out: one to learn from, one to choose thresholds on.

    labeled rows ─► questions apart ─► learn      people's labels + made answers, balanced by source
    problems     ─┘                └► calibrate   people's labels, or made answers where a domain has none

No question stands on both sides. What the rules decide never reaches a judge, so most examples are
answers that they leave open; a few of the others are kept, since a judge must know plain cases, too.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from pathlib import Path

from llm_as_judge.audit.attacks import Case
from llm_as_judge.audit.labeled import labeled_case
from llm_as_judge.errors import DataError, ModelError
from llm_as_judge.grading.extract import plain
from llm_as_judge.judge.cascade import EXACT_MATCH, Judge
from llm_as_judge.judge.judge_file import QUESTIONS
from llm_as_judge.judge.rows import AnswerRow, read_rows
from llm_as_judge.training.judge.examples import free_examples
from llm_as_judge.training.judge.questions import questions_of
from llm_as_judge.training.judge.sources import (
    BARE,
    LABELED,
    REPLY,
    holds_problems,
    problems_of,
    replies_of,
)
from llm_as_judge.types import Verdict

CALIBRATION_SHARE = 0.25
LEAST_ROWS = 40
"""Labeled rows with which a training begins."""
_DECIDED_KEPT = 0.08
"""Share of the answers that rules decide which is learned all the same."""
_REJECTED_KEPT = 1.0
"""The same of labeled answers that they reject: real mistakes are rare among what they leave open."""
MOST_CALIBRATED = 800
"""Answers that the judge must score to choose thresholds; more are sampled."""
MOST_MADE = 600
"""The same of wrong answers that are made of the questions kept apart."""


Counted = Callable[[int, int], None]
"""Is told how many of how many are done."""


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
    """Labeled rows, and what gives made answers: rows without candidate and label, files of problems, and
    folders of an evaluation, whose replies the rules label.

    Raises:
        DataError: a row is broken, is code, or has one of candidate and ``correct`` alone; nothing there.
    """
    labeled: list[Case] = []
    bare: list[Case] = []
    for path in paths:
        if path.is_dir():
            bare += replies_of(path)
        elif holds_problems(path):
            bare += problems_of(path)
        else:
            for case, has_label in read_rows(path, _training_row):
                (labeled if has_label else bare).append(case)
    return labeled, bare


def _training_row(row: AnswerRow) -> tuple[Case, bool]:
    has_label = "correct" in row
    if has_label is not ("candidate" in row):
        missing = "correct" if "candidate" in row else "candidate"
        raise DataError(
            f"no {missing!r}; a labeled row has 'candidate' and 'correct', a question alone has neither"
        )
    case = labeled_case(row if has_label else {**row, "candidate": "", "correct": False})
    if case.problem.domain == "code":
        raise DataError(
            "a code row: hidden tests alone decide on code, no judge does; leave code rows out"
        )
    return replace(case, category=LABELED if has_label else BARE), has_label


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


def read_learnable(paths: Sequence[Path]) -> tuple[list[Case], list[Case]]:
    """See :func:`read_training_rows` and :func:`require_learnable`."""
    labeled, bare = read_training_rows(paths)
    require_learnable(labeled, ", ".join(map(str, paths)))
    return labeled, bare


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


def digests(cases: Sequence[Case]) -> set[str]:
    """Of the questions: a judge's folder keeps those that it learned from."""
    keys = {question_key(case) for case in cases}
    return {hashlib.sha256(key.encode()).hexdigest()[:16] for key in keys}


def known_questions(folder: Path) -> frozenset[str]:
    """Digests of the questions that the judge in a folder has learned from.

    Raises:
        ModelError: the folder does not say.
    """
    try:
        return frozenset((folder / QUESTIONS).read_text(encoding="utf-8").split())
    except (OSError, ValueError) as error:
        raise ModelError(f"{folder / QUESTIONS}: {error}; train the judge anew") from None


def is_for_calibration(case: Case, seed: int) -> bool:
    """By the question alone, so that a longer file keeps each question on its side."""
    digest = hashlib.sha256(f"{seed}:{question_key(case)}".encode()).digest()
    return int.from_bytes(digest[:4], "big") < CALIBRATION_SHARE * 2**32


async def split_sets(
    labeled: Sequence[Case],
    bare: Sequence[Case],
    rules: Judge,
    *,
    seed: int,
    limit: int | None,
    told: Counted = lambda _done, _of: None,
) -> Sets:
    """Balanced examples to learn from, and those to calibrate on.

    Args:
        bare: see :func:`read_training_rows`.
        limit: examples to learn from at most; None = all.
        told: called with (made, wanted) of the examples to learn from.
    Raises:
        DataError: too few rows or one label alone.
    """
    rows, again, torn = without_duplicates(labeled)
    counts = {"labeled": len(labeled), "duplicates": again, "two labels": torn}
    sides: dict[bool, list[Case]] = {True: [], False: []}
    for case in [*rows, *bare]:
        sides[is_for_calibration(case, seed)].append(case)
    given = {id(case) for case in rows}
    people = {side: [c for c in cases if id(c) in given] for side, cases in sides.items()}
    replies = [case for case in sides[False] if case.category == REPLY]
    have_labels = {case.problem.domain for case in rows}
    without = [case for case in sides[True] if case.problem.domain not in have_labels]
    made = _made(sides[False], seed)
    draw = _Draw([*people[False], *replies, *made], rules, random.Random(seed), told)
    chosen = await draw.balanced(limit)
    also = _some(_made(without, seed + 1), seed)
    calibrate = _sampled(await graded_by_rules([*people[True], *also], rules), random.Random(seed))
    calibrate += await made_wrong(people[True], rules, seed)
    counts |= _counts(chosen)
    counts["calibrated on"] = len(calibrate)
    return Sets(tuple(chosen), tuple(calibrate), counts)


def _counts(chosen: Sequence[Graded]) -> dict[str, int]:
    """Of the examples by family, and by source and label."""
    families = Counter(f"learned, {g.case.category}" for g in chosen)
    sources = Counter(
        f"{source_name(g.case)}, {'right' if g.case.correct else 'wrong'}" for g in chosen
    )
    return {name: n for found in (families, sources) for name, n in sorted(found.items())}


def source_name(case: Case) -> str:
    """Whether people labeled it, and of which set it is."""
    return f"{'labeled' if case.category == LABELED else 'made'}, {case.problem.dataset}"


async def made_wrong(cases: Sequence[Case], rules: Judge, seed: int) -> list[Graded]:
    """Wrong answers made of these questions that the rules leave open, a seeded sample: they bound thresholds."""
    made = _some([case for case in _made(cases, seed) if not case.correct], seed)
    reaching = [graded for graded in await graded_by_rules(made, rules) if graded.open]
    return reaching[:MOST_MADE]


def _some(made: Sequence[Case], seed: int) -> list[Case]:
    """A seeded sample in random order: some more than are wanted, of which the rules decide a part."""
    return random.Random(seed).sample(made, min(3 * MOST_MADE, len(made)))


def _made(cases: Sequence[Case], seed: int) -> list[Case]:
    rng = random.Random(seed)
    return free_examples(questions_of(cases, rng), rng)


async def graded_by_rules(cases: Sequence[Case], rules: Judge) -> list[Graded]:
    """Each case with the verdict of the rules."""
    return [Graded(case, await rules.grade(case.problem, case.candidate)) for case in cases]


class _Draw:
    """Examples drawn source by source, each graded only when its turn comes."""

    def __init__(
        self, cases: Sequence[Case], rules: Judge, rng: random.Random, told: Counted
    ) -> None:
        self._rules, self._rng, self._told, self._most = rules, rng, told, 0
        questions = sorted({question_key(case) for case in cases})
        place = {key: at for at, key in enumerate(rng.sample(questions, len(questions)))}
        sides: dict[tuple[str, bool], list[Case]] = {}
        # questions are taken whole: their answers share the computation of what stands before them
        for case in sorted(cases, key=lambda case: place[question_key(case)]):
            sides.setdefault((source_name(case), case.correct), []).append(case)
        self._waiting = {key: deque(_in_turn(side)) for key, side in sides.items()}
        self._chosen: dict[tuple[str, bool], list[Graded]] = {key: [] for key in sides}

    async def balanced(self, limit: int | None) -> list[Graded]:
        """As many right as wrong ones of every source; half of all with people's labels, where there are so many,
        and the other sources alike."""
        active = sorted({group for group, _ in self._waiting})
        taken: Counter[str] = Counter()
        pairs = sum(map(len, self._waiting.values())) if limit is None else limit // 2
        self._most = min(2 * pairs, sum(map(len, self._waiting.values())))
        while active and (left := pairs - taken.total()) > 0:
            made = max(1, sum(group.startswith("made") for group in active))
            weights = {group: 1 if group.startswith("made") else made for group in active}
            for group in list(active):
                part = max(1, left * weights[group] // sum(weights.values()))
                wanted = taken[group] + min(part, pairs - taken.total())
                both = [await self._reach(group, label, wanted) for label in (True, False)]
                taken[group] = min(wanted, *both)
                if taken[group] < wanted:
                    active.remove(group)
        found = [g for key, side in self._chosen.items() for g in side[: taken[key[0]]]]
        self._rng.shuffle(found)
        return found

    async def _reach(self, group: str, label: bool, wanted: int) -> int:
        """How many there are, once as many as wanted have been drawn or none waits."""
        waiting, chosen = self._waiting.get((group, label)), self._chosen.get((group, label), [])
        while waiting and len(chosen) < wanted:
            (graded,) = await graded_by_rules([waiting.popleft()], self._rules)
            if _teaches(graded, self._rng):
                chosen.append(graded)
                made = sum(map(len, self._chosen.values()))
                self._told(min(made, self._most), self._most)
        return len(chosen)


def _teaches(graded: Graded, rng: random.Random) -> bool:
    if graded.open:
        return True
    real = graded.case.category == LABELED and graded.verdict.correct is False
    return rng.random() < (_REJECTED_KEPT if real else _DECIDED_KEPT)


def _in_turn(cases: Sequence[Case]) -> list[Case]:
    """Family by family."""
    families: dict[str, list[Case]] = {}
    for case in cases:
        families.setdefault(case.category, []).append(case)
    turns = zip_longest(*families.values())
    return [case for turn in turns for case in turn if case is not None]


def _sampled(graded: Sequence[Graded], rng: random.Random) -> list[Graded]:
    """All wrong answers and a seeded share of the right ones, so that about :data:`MOST_CALIBRATED` reach
    the judge: both weigh alike in a threshold, and the wrong ones are few."""
    wrong = [g for g in graded if not g.case.correct]
    right = [g for g in graded if g.case.correct]
    room, reaching = MOST_CALIBRATED - sum(g.open for g in wrong), sum(g.open for g in right)
    share = min(1.0, max(MOST_CALIBRATED / 4, room) / max(1, reaching))
    return [*wrong, *rng.sample(right, round(len(right) * share))]

"""Gate of lexical features before a trained judge: what they learn, and whether it pays on answers that it was not chosen on.

With the gate the model reads only what the features find probably right, and its thresholds may be lower for that. Without
it the model reads everything. Both ways keep the same promise of precision, so the one that accepts more right answers
is taken; of two equal ones the gate, which also stops answers that nobody has labeled.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from llm_as_judge.audit.attacks import Case
from llm_as_judge.errors import DataError
from llm_as_judge.grading.extract import clean, declared_answer
from llm_as_judge.judge.calibration import Scored, Thresholds, calibrated, thresholds_of
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.judge.feature_model import Example, FeatureModel, fitted, with_thresholds
from llm_as_judge.judge.features import features
from llm_as_judge.training.judge.examples import free_examples
from llm_as_judge.training.judge.questions import questions_of
from llm_as_judge.training.judge.rows import (
    Graded,
    graded_by_rules,
    is_for_calibration,
    question_key,
    without_duplicates,
)
from llm_as_judge.training.judge.sources import LABELED

_FOLDS = 5


@dataclass(frozen=True, slots=True)
class Gate:
    """What was chosen, and right and wrong answers accepted either way, cross-validated."""

    on: bool
    right_with: int
    right_without: int
    wrong_with: int
    wrong_without: int

    def __str__(self) -> str:
        return (
            f"the gate of lexical features is {'on' if self.on else 'off'}: with it the judge accepts {self.right_with} "
            f"right and {self.wrong_with} wrong answers, without it {self.right_without} and {self.wrong_without} "
            "(cross-validated)"
        )


async def learn_features(
    labeled: Sequence[Case], bare: Sequence[Case], rules: Judge, *, seed: int, precision: float
) -> FeatureModel:
    """Learns from three quarters of the questions, and chooses thresholds on people's rows of the others that
    the rules leave open.

    Args:
        bare: questions with a reference alone, for made replies.
        rules: without a model.
        precision: what both thresholds promise, 0..1.
    Raises:
        DataError: no row asks for a text.
    """
    rows, _, _ = without_duplicates(labeled)
    sides: dict[bool, list[Case]] = {True: [], False: []}
    for case in filter(has_features, rows):
        sides[is_for_calibration(case, seed)].append(case)
    learned = sides[False]
    others = [case for case in bare if has_features(case) and not is_for_calibration(case, seed)]
    rng = random.Random(seed)
    made = free_examples(questions_of([*learned, *others], rng), rng)
    made = rng.sample(made, min(len(made), max(len(learned), len(others))))
    if not learned and not made:
        raise DataError("no row with domain qa and a reference; features are those of texts")
    graded = await graded_by_rules(sides[True], rules)
    model = fitted([*map(as_example, learned), *map(as_example, made)])
    return with_thresholds(model, [as_example(one.case) for one in graded if one.open], precision)


def has_features(case: Case) -> bool:
    """Whether it asks for a text. Of a multiple choice only what is made of it, which is shown no option."""
    problem = case.problem
    shown = bool(problem.options and case.candidate)
    return problem.domain == "qa" and bool(problem.answers) and not shown


def as_example(case: Case) -> Example:
    """Its features, of the answer that a judge is asked about."""
    text = declared_answer(clean(case.candidate), one_sentence=False).text
    return Example(features(case.problem, text), case.correct, case.category != LABELED)


def by_features(graded: Sequence[Graded], model: FeatureModel) -> list[float | None]:
    """Log-odds of the answers that a gate is asked about; None for the others, which pass."""
    asked = [one.open and has_features(one.case) for one in graded]
    examples = [
        as_example(one.case) for one, is_asked in zip(graded, asked, strict=True) if is_asked
    ]
    if not examples:
        return [None] * len(graded)
    found = iter(model.log_odds_of(np.array([one.values for one in examples], dtype=float)))
    return [float(next(found)) if is_asked else None for is_asked in asked]


def gated(
    rows: Sequence[Scored], log_odds: Sequence[float | None], accept: float | None
) -> list[Scored]:
    """The rows as a judge with the gate meets them: what does not pass is decided, and never accepted.

    Args:
        log_odds: see :func:`by_features`, in the order of ``rows``.
        accept: least log-odds that pass; None = none do.
    """
    return [
        row
        if said is None or (accept is not None and said >= accept)
        else replace(row, rules=False, log_odds=None)
        for row, said in zip(rows, log_odds, strict=True)
    ]


def choose_gate(
    model: FeatureModel, rows: Sequence[Scored], graded: Sequence[Graded], precision: float
) -> Gate:
    """Cross-validated by question.

    Args:
        model: learned from other questions; its thresholds are chosen anew in every fold.
        rows, graded: answers kept apart from the training, scored; the same ones in the same order.
        precision: 0..1, the promise of all thresholds.
    """
    said = by_features(graded, model)
    people = {
        at: as_example(one.case)
        for at, one in enumerate(graded)
        if said[at] is not None and one.case.category == LABELED
    }
    folds = [_fold(one) for one in graded]
    accepted = {on: [0, 0] for on in (True, False)}
    for fold in range(_FOLDS):
        rest = [at for at, one in enumerate(folds) if one != fold]
        held = [at for at, one in enumerate(folds) if one == fold]
        chosen = with_thresholds(model, [people[at] for at in rest if at in people], precision)
        for on in (True, False):
            met, tested = (
                gated([rows[at] for at in part], [said[at] for at in part], chosen.accept)
                if on
                else [rows[at] for at in part]
                for part in (rest, held)
            )
            limits = calibrated(met, precision)
            for row in tested:
                if not row.made and _accepts(row, limits):
                    accepted[on][not row.correct] += 1
    (right, wrong), (right_without, wrong_without) = accepted[True], accepted[False]
    return Gate(right >= right_without, right, right_without, wrong, wrong_without)


def _fold(graded: Graded) -> int:
    digest = hashlib.sha256(f"fold: {question_key(graded.case)}".encode()).digest()
    return digest[0] % _FOLDS


def _accepts(row: Scored, limits: Mapping[str, Thresholds]) -> bool:
    thresholds = thresholds_of(row.domain, limits)
    return bool(
        row.log_odds is not None and thresholds is not None and thresholds.verdict(row.log_odds)
    )


def without_gate(model: FeatureModel) -> FeatureModel | None:
    """The model where the gate is off: it rejects what it did, and lets all else pass; None where it rejects nothing."""
    if model.reject is None:
        return None
    return model.model_copy(update={"accept": math.nextafter(model.reject, math.inf)})

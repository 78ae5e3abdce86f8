"""The model of lexical features of a judge: learned from people's labels and made replies, in a minute or less."""

from __future__ import annotations

import random
from collections.abc import Sequence

from llm_as_judge.audit.attacks import Case
from llm_as_judge.errors import DataError
from llm_as_judge.grading.extract import clean, declared_answer
from llm_as_judge.judge.cascade import Judge
from llm_as_judge.judge.feature_model import Example, FeatureModel, fitted, with_thresholds
from llm_as_judge.judge.features import features
from llm_as_judge.training.judge.examples import free_examples
from llm_as_judge.training.judge.questions import questions_of
from llm_as_judge.training.judge.rows import graded_by_rules, is_for_calibration, without_duplicates


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
    for case in (case for case in rows if has_features(case)):
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
    return (
        problem.domain == "qa"
        and bool(problem.answers)
        and not (problem.options and case.candidate)
    )


def as_example(case: Case) -> Example:
    """Its features, of the answer that a judge is asked about."""
    text = declared_answer(clean(case.candidate), one_sentence=False).text
    return Example(features(case.problem, text), case.correct, case.category != "labeled")

"""The gate of lexical features: on where it pays on answers that it was not chosen on, else off."""

import random
from dataclasses import replace

from llm_as_judge.audit.attacks import Case
from llm_as_judge.judge.calibration import Scored
from llm_as_judge.judge.feature_model import FeatureModel, fitted, with_thresholds
from llm_as_judge.judge.parts import part_of
from llm_as_judge.training.judge.gate import (
    as_example,
    by_features,
    choose_gate,
    gated,
    without_gate,
)
from llm_as_judge.training.judge.rows import Graded
from llm_as_judge.types import Problem, Verdict

OPEN = Verdict(None, "qa", "qa.unequal", "")


def answers(seed: int, count: int = 400) -> list[Graded]:
    """Half of them right: these hold the reference, the others another lake."""
    rng = random.Random(seed)
    found = []
    for n in range(count):
        lake = f"{rng.choice('BCDFG')}ora{rng.choice('lmnr')}"
        problem = Problem(f"{seed}/{n}", "open", "qa", f"Lake {n} of {seed}?", (lake,))
        said = lake if n % 2 else f"{rng.choice('HJK')}etsk"
        case = Case(problem, f"On the maps it is {said}, we think.", bool(n % 2), "t", "labeled")
        found.append(Graded(case, OPEN))
    return found


def scored(graded: list[Graded], telling: bool) -> list[Scored]:
    """By a model that tells right from wrong, or that draws its scores."""
    rng = random.Random(0)
    return [
        Scored(
            part_of(one.case.problem, one.case.candidate),
            one.case.correct,
            None,
            (4.0 if one.case.correct else -4.0) * telling + rng.random(),
        )
        for one in graded
    ]


def learned(graded: list[Graded], turned: bool = False) -> FeatureModel:
    """Of features that tell right from wrong, or that say the opposite."""
    examples = [as_example(one.case) for one in graded]
    if turned:
        flags = [not one.correct for one in examples]
        examples = [type(e)(e.values, flag) for e, flag in zip(examples, flags, strict=True)]
    return fitted(examples)


def test_where_the_model_knows_nothing_the_features_stand_before_it() -> None:
    apart = answers(1)
    gate = choose_gate(learned(answers(0)), scored(apart, telling=False), apart, 0.9)
    assert gate.on
    assert gate.right_with >= gate.right_without
    assert gate.wrong_with < gate.wrong_without
    assert "on" in str(gate)


def test_features_that_cost_right_answers_are_off() -> None:
    apart = answers(1)
    model = learned(answers(0), turned=True)
    gate = choose_gate(model, scored(apart, telling=True), apart, 0.9)
    assert not gate.on
    assert gate.right_with < gate.right_without


def test_what_the_gate_stops_is_never_accepted_and_counts_as_an_answer() -> None:
    apart = answers(1)
    rows = scored(apart, telling=True)
    model = with_thresholds(learned(answers(0)), [as_example(g.case) for g in apart], 0.9)
    found = gated(rows, by_features(apart, model), model.accept)
    assert len(found) == len(rows)
    stopped = [row for row in found if row.rules is False]
    assert stopped
    assert all(row.log_odds is None and not row.correct for row in stopped)
    decided = [replace(one, verdict=replace(OPEN, correct=False)) for one in apart]
    assert gated(rows, by_features(decided, model), model.accept) == rows


def test_a_gate_that_is_off_still_rejects_what_it_is_sure_of_and_nothing_else() -> None:
    model = learned(answers(0)).model_copy(update={"accept": 2.0, "reject": -1.0})
    off = without_gate(model)
    assert off is not None
    assert off.reject == -1.0
    assert off.accept is not None
    assert -1.0 < off.accept < -1.0 + 1e-9
    assert without_gate(model.model_copy(update={"reject": None})) is None

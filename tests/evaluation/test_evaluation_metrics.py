"""Figures worked by hand; the official metrics against their definitions."""

from __future__ import annotations

from dataclasses import replace

import pytest
from evaluation_values import (
    CALL,
    LATE,
    OK,
    OPEN,
    RIGHT,
    WRONG,
    answered,
    five,
    group,
    problem,
    rollout,
)

from llm_as_judge.accuracy import Right
from llm_as_judge.evaluation.metrics import (
    official_scores,
    over_sets,
    problem_right,
    set_metrics,
)
from llm_as_judge.grading.squad import prediction, span_scores
from llm_as_judge.statistics import bootstrap, wilson
from llm_as_judge.types import Execution, Group, Problem, Verdict

EXECUTED = 4
"""Of the five: what the one that failed used is not known."""


def test_metrics_worked_by_hand() -> None:
    low, high = wilson(2, 4)[0], wilson(3, 4)[1]
    least, most = bootstrap([1.0, 0.0, 1.0, 0.0]), bootstrap([1.0, 0.0, 1.0, 1.0])
    assert set_metrics(five()) == pytest.approx(
        {
            "accuracy": 2 / 4,  # of those that did not fail
            "accuracy_if_open_right": 3 / 4,
            "accuracy_low": low,
            "accuracy_high": high,
            "bootstrap_low": least[0],
            "bootstrap_high": most[1],
            "correct": 2,
            "answered": 4,
            "graded": 3,
            "open": 1,
            "score": (1 + 0.5 + 1) / 3,  # what was not graded has no say
            "not_graded": 2,  # one left open, one failed
            "failed": 1,
            "strictly_valid": 4 / 5,
            "repaired": 1 / 5,
            "executed": 3 / 5,
            "timeout": 1 / 5,
            "crashed": 0,
            "call_limit": 0,
            "rejected": 0,
            "malformed": 0,
            "empty": 0,
            "calls": (3 * 2 + 4) / EXECUTED,
            "tokens": (3 * 40 + 80) / EXECUTED,
            "cost": (3 * 17.5 + 35) / EXECUTED,  # 30 prompt tokens at a quarter, 10 written
            "policy_tokens": 3,
            "cost_usd": (3 * 0.25 + 0.5) / EXECUTED,
            "seconds": (3 * 3 + 9) / EXECUTED,
            "not_timed": 0,
        }
    )


def test_a_small_set_weighs_as_much_as_a_large_one_in_the_balanced_accuracy() -> None:
    large = [group(problem(n), RIGHT) for n in range(9)]
    small = [group(problem(9, "mbpp", "code"), WRONG)]
    silent = [group(problem(10, "math"), OPEN)]
    assert set_metrics([*large, *small])["accuracy"] == 0.9
    found = over_sets([*large, *small])
    assert (found["macro_accuracy"], found["macro_sets"]) == (0.5, 2.0)
    low, high = found["macro_accuracy_low"], found["macro_accuracy_high"]
    assert low is not None
    assert high is not None
    assert 0 < low < 0.5 < high < 1
    found = over_sets([*large, *silent])
    assert (found["macro_accuracy"], found["macro_accuracy_if_open_right"]) == (0.5, 1.0)
    assert over_sets([Group(problem(0), ())])["macro_accuracy"] is None


def test_calls_to_two_executors_are_counted_apart() -> None:
    small = replace(CALL, executor="small", cost=3.0)
    both = replace(OK, calls=(CALL, small, small))
    p = problem(0)
    found = set_metrics([Group(p, (rollout(p), rollout(p, both, index=1)))])
    assert found["calls_of_small"] == CALL.llm_calls
    assert found["cost_of_small"] == 3.0
    assert found["calls"] == (OK.llm_calls + both.llm_calls) / 2
    assert "calls_of_small" not in set_metrics([Group(p, (rollout(p),))])


def test_seconds_are_of_the_runs_whose_replies_were_all_asked_for() -> None:
    kept = replace(OK, calls=(replace(CALL, cached=1),), seconds=0.1)
    silent = Execution("crashed", seconds=0.2)
    p = problem(0)

    def seconds(*executions: Execution) -> tuple[float | None, float | None]:
        found = set_metrics([Group(p, tuple(rollout(p, one) for one in executions))])
        return found["seconds"], found["not_timed"]

    assert seconds(OK, LATE, kept) == (6.0, 1)
    assert seconds(OK, replace(silent, seconds=1.0)) == (2.0, 0)
    assert seconds(OK, silent, kept) == (3.0, 1)  # what asked nobody is as quick in a replay
    assert seconds(silent, kept) == (None, 1)


def test_one_unknown_price_makes_the_cost_unknown() -> None:
    free = replace(OK, calls=(replace(CALL, cost_usd=None),))
    p = problem(0)
    found = set_metrics([Group(p, (rollout(p), rollout(p, free, index=1)))])
    assert found["cost_usd"] is None


def test_nothing_graded_has_the_widest_interval() -> None:
    found = set_metrics([group(problem(0), OPEN)])
    assert (found["accuracy_low"], found["accuracy_high"]) == (0.0, 1.0)
    assert (found["graded"], found["not_graded"]) == (0, 1)
    assert "score" not in found


def test_the_mean_of_nothing_is_not_known_and_no_0() -> None:
    asked = set_metrics([group(problem(0), OPEN)])  # run, but left open
    assert (asked["accuracy"], asked["accuracy_if_open_right"]) == (0.0, 1.0)
    found = set_metrics([group(problem(0)), group(problem(1))])  # nothing of it was run
    known = {name: value for name, value in found.items() if value is not None}
    assert known == {
        **dict.fromkeys(("accuracy_high", "bootstrap_high"), 1),
        **dict.fromkeys(("accuracy_low", "bootstrap_low", "answered", "correct", "graded"), 0),
        "open": 0,
        **dict.fromkeys(("not_graded", "failed", "not_timed"), 0),
    }
    assert {"accuracy", "executed", "calls", "tokens", "cost_usd", "seconds"} <= set(found)
    assert set_metrics([group(problem(0, "squad2", "qa"))])["em"] is None
    assert set_metrics([group(problem(0, "mbpp", "code"))])["pass_at_1"] is None


def test_several_samples_of_a_problem_are_averaged_before_the_problems_are() -> None:
    groups = [group(problem(0), RIGHT, WRONG, WRONG, OPEN), group(problem(1), RIGHT, RIGHT)]
    assert problem_right(groups[0]) == Right(1 / 4, 1 / 4)
    found = set_metrics(groups)
    assert found["accuracy"] == pytest.approx((1 / 4 + 1) / 2)
    # an interval over problems: six rollouts of two problems are not six observations
    ends = wilson(5 / 4, 2)[0], wilson(6 / 4, 2)[1]
    assert (found["accuracy_low"], found["accuracy_high"]) == pytest.approx(ends)
    assert (found["bootstrap_low"], found["bootstrap_high"]) == pytest.approx((1 / 4, 1))


def test_several_samples_that_are_all_right_or_all_wrong_are_no_certainty() -> None:
    for verdict, share in ((RIGHT, 1.0), (WRONG, 0.0)):
        groups = [group(problem(n, "mbpp", "code"), verdict, verdict) for n in range(3)]
        found = set_metrics(groups)
        for name in ("accuracy", "pass_at_1", "pass_at_2"):
            assert found[name] == share
            assert (found[f"{name}_low"], found[f"{name}_high"]) == wilson(3 * share, 3)


def test_pass_at_k_is_reported_for_code_up_to_the_least_number_of_samples() -> None:
    first, second = problem(0, "mbpp", "code"), problem(1, "mbpp", "code")
    found = set_metrics([group(first, RIGHT, WRONG, WRONG), group(second, WRONG, WRONG)])
    assert found["pass_at_1"] == pytest.approx((1 / 3 + 0) / 2)
    assert found["pass_at_2"] == pytest.approx((2 / 3 + 0) / 2)
    assert "pass_at_5" not in found
    assert "pass_at_1" not in set_metrics([group(problem(0), RIGHT)])


# ------------------------------------------------------------------------------- official metrics
SPAN = Problem("squad2/a", "squad2", "qa", "Who?", ("Edna Moss", "Moss"), context="Edna Moss.")
NONE = Problem("squad2/b", "squad2", "qa", "Who?", (), context="Nobody.")
HOTPOT = Problem(
    "hotpotqa/a",
    "hotpotqa",
    "qa",
    "Where?",
    ("Oslo city",),
    meta={"supporting_facts": '[["A", 0], ["B", 1]]'},
)


def test_squad2_em_and_f1_with_the_no_answer_split() -> None:
    groups = [
        answered(SPAN, "the Edna Moss", RIGHT),  # articles do not count: EM 1
        answered(replace(SPAN, id="squad2/c"), "Edna Moss of Oslo", WRONG),  # F1 of 2 in 4: 2/3
        answered(NONE, "unanswerable", RIGHT),
        answered(replace(NONE, id="squad2/d"), "Edna", WRONG),
    ]
    found = set_metrics(groups)
    assert found["em"] == pytest.approx(2 / 4)
    assert found["f1"] == pytest.approx((1 + 2 / 3 + 1 + 0) / 4)
    assert (found["has_answer_em"], found["has_answer_f1"]) == pytest.approx((1 / 2, 5 / 6))
    assert (found["no_answer_em"], found["no_answer_f1"]) == (1 / 2, 1 / 2)
    assert (found["has_answer_problems"], found["no_answer_problems"]) == (2, 2)


def test_official_scores_count_what_the_judge_left_open() -> None:
    half = answered(SPAN, "Edna Moss of Oslo", Verdict(None, "qa", "qa.partial", score=2 / 3))
    found = set_metrics([answered(SPAN, "Edna Moss", RIGHT), half])
    assert (found["em"], found["f1"]) == pytest.approx((1 / 2, 5 / 6))
    assert (found["graded"], found["not_graded"]) == (1, 1)


def test_a_split_without_problems_is_unknown() -> None:
    assert set_metrics([answered(SPAN, "Moss", RIGHT)])["no_answer_em"] is None


def test_a_crash_is_not_the_empty_prediction() -> None:
    crashed = rollout(NONE, Execution("crashed"), WRONG)
    assert official_scores(NONE, crashed) == {"em": 0.0, "f1": 0.0}
    assert span_scores(NONE, "") == {"em": 1.0, "f1": 1.0}


@pytest.mark.parametrize(
    ("answer", "predicted"),
    [
        ("Edna Moss", "Edna Moss"),
        ("The answer is: Edna Moss", "Edna Moss"),
        ("unanswerable", ""),
        ("The question cannot be answered from the context.", ""),
    ],
)
def test_the_prediction_is_what_the_answer_declares(answer: str, predicted: str) -> None:
    assert prediction(SPAN, answer) == predicted


def test_hotpotqa_has_answer_supporting_fact_and_joint_scores() -> None:
    # answer: 1 of 1 predicted word, 1 of 2 gold words; facts: 1 of 2 right, 1 of 2 found
    found = span_scores(HOTPOT, "Oslo", [("A", 0), ("C", 0)])
    assert found == pytest.approx(
        {
            "em": 0,
            "f1": 2 / 3,
            "sp_em": 0,
            "sp_f1": 1 / 2,
            "joint_em": 0,
            "joint_f1": 2 * 0.5 * 0.25 / 0.75,
        }
    )
    assert set(span_scores(HOTPOT, "Oslo")) == {"em", "f1"}
    assert "has_answer_em" not in set_metrics([answered(HOTPOT, "Oslo", WRONG)])


def test_the_em_of_two_sets_is_of_neither() -> None:
    both = [answered(SPAN, "Moss", RIGHT), answered(HOTPOT, "Oslo", WRONG)]
    assert "em" not in set_metrics(both)

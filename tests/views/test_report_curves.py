"""Curves of the page: pooling, intervals and fronts, worked by hand; geometry stays in its frame."""

from __future__ import annotations

import math
import re

import pytest

from llm_as_judge.accuracy import Right
from llm_as_judge.statistics import share_interval
from llm_as_judge.views.report import charts, curves
from llm_as_judge.views.report.curves import Point, Series
from llm_as_judge.views.report.results import results_view
from llm_as_judge.views.report.rollouts import ProblemSums, StepSums, count_rollout
from run_folders import results


def sums(right: int, graded: int, *rewards: float, **operators: int) -> StepSums:
    """One program a problem; rewards are of problems of their own."""
    found = StepSums(count=graded)
    for number in range(graded):
        found.problems[f"p{number}"] = ProblemSums("math", 1, 1, 1, 0, int(number < right))
    for number, reward in enumerate(rewards):
        found.problems[f"r{number}"] = ProblemSums("math", 1, rewards=[reward])
    for name in ("all", "math"):
        found.judged[name], found.correct[name] = graded, right
    found.operators.update(operators)
    return found


def test_steps_are_pooled_into_bins_of_equal_width() -> None:
    bins = curves.pool({step: sums(1, 2) for step in range(1, 6)}, max_bins=2)
    assert [(b.first, b.last, b.x) for b in bins] == [(1, 3, 2.0), (4, 5, 4.5)]
    assert (bins[0].sums.correct["all"], bins[0].sums.judged["all"]) == (3, 6)


def test_an_interval_is_over_problems_and_not_over_their_programs() -> None:
    found = StepSums()
    for index in range(16):
        for name, right in (("a", True), ("b", False)):
            verdict = {"correct": right}
            rollout = {"problem_id": name, "verdict": verdict, "reward": {"total": 4.0 * right}}
            count_rollout(found, {**rollout, "index": index}, "math")
    assert found.judged["all"] == 32
    (point,) = curves.accuracy(curves.pool({1: found})).points
    assert (point.y, point.low, point.high, point.n) == (0.5, *share_interval([1.0, 0.0]), 2)
    (reward,) = curves.reward_mean(curves.pool({1: found})).points
    assert (reward.y, reward.n) == (2.0, 2)
    valid = curves.program_shares(curves.pool({1: found}))[0].points[0]
    assert (valid.low, valid.high, valid.n) == (*share_interval([0.0, 0.0]), 2)


def test_a_problem_that_comes_again_in_a_bin_is_one_problem() -> None:
    (both,) = curves.pool({1: sums(1, 1), 2: sums(0, 1)}, max_bins=1)
    assert curves.right_shares(both.sums) == [Right(0.5)]


def test_a_step_without_graded_answers_has_no_point() -> None:
    bins = curves.pool({1: sums(0, 0), 2: sums(1, 1)})
    assert [p.x for p in curves.accuracy(bins).points] == [2.0]
    assert [s.name for s in curves.accuracy_by_domain(bins)] == ["math"]


def test_the_mean_reward_has_an_interval_from_two_on() -> None:
    one, two = curves.pool({1: sums(0, 0, 4.0), 2: sums(0, 0, 1.0, 3.0)})
    points = curves.reward_mean([one, two]).points
    assert (points[0].y, points[0].low) == (4.0, None)
    # deviation sqrt(2), over sqrt(2): 1.96 * 1
    assert (points[1].y, points[1].low) == pytest.approx((2.0, 0.04))


def test_the_mean_reward_is_over_programs_as_its_parts_are_and_its_interval_over_problems() -> None:
    found = StepSums()
    for name, totals in (("a", (4.0, 4.0, 4.0)), ("b", (0.0,))):
        for total in totals:
            parts = {"right": {"score": total, "weight": 1.0}}
            reward = {"total": total, "parts": parts}
            count_rollout(found, {"problem_id": name, "reward": reward}, "math")
    (point,) = curves.reward_mean(curves.pool({1: found})).points
    (part,) = curves.reward_parts(curves.pool({1: found}))
    assert (point.y, point.n) == (part.points[0].y, 2) == (3.0, 2)
    # from the mean: (12 - 3 * 3)^2 + (0 - 3)^2 = 18, times 2 / 1: 6, over 4 programs
    assert point.low == pytest.approx(3.0 - 1.96 * 1.5)


def test_shares_of_operators_sum_to_one_and_the_rare_are_one() -> None:
    many = {f"Op{i}": 10 - i for i in range(12) if i < 10} | {"Rare": 1}
    mix = curves.operator_mix(curves.pool({1: sums(0, 0, **many)}))
    assert len(mix) == curves.MAX_OPERATORS + 1
    assert mix[-1].name == "other"
    assert sum(s.points[0].y for s in mix) == pytest.approx(1.0)


def test_logged_metrics_leave_out_what_is_not_finite() -> None:
    rows = [{"step": 1.0, "a": math.nan}, {"step": 2.0, "a": 4.0}]
    (series,) = curves.logged(rows, {"a": "A", "b": "B"})
    assert [(p.x, p.y) for p in series.points] == [(2.0, 4.0)]


def test_the_front_holds_what_no_other_beats_in_both() -> None:
    #        dear and right, cheap, worse than cheap at more cost
    assert curves.pareto([(9.0, 0.8), (1.0, 0.5), (2.0, 0.4)]) == [1, 0]
    assert curves.pareto([(1.0, 0.5), (1.0, 0.6)]) == [1]


def test_every_coordinate_lies_in_the_frame() -> None:
    points = tuple(Point(x, y, y - 50, y + 50) for x, y in ((1, -1e9), (2, 1e9), (3, 0.0)))
    chart = charts.line_chart("a", "A", "", [Series("s", points)], bounds=(0.0, 1.0))
    assert chart is not None
    for line in chart.lines:
        found = [float(n) for n in re.findall(r"-?[\d.]+", line.path + line.band)]
        assert all(0 <= x <= chart.width for x in found[0::2])
        assert all(0 <= y <= chart.height for y in found[1::2])


def test_a_higher_value_is_drawn_higher() -> None:
    chart = charts.line_chart("a", "A", "", [Series("s", (Point(1, 0.2), Point(2, 0.8)))])
    assert chart is not None
    (_, low), (_, high) = chart.lines[0].dots
    assert high < low  # SVG counts from the top
    assert chart.rows == (("1", "0.2"), ("2", "0.8"))


def test_bars_of_a_step_stand_on_each_other() -> None:
    chart = charts.stacked_chart(
        "a", "A", "", [Series("x", (Point(1, 0.25),)), Series("y", (Point(1, 0.75),))]
    )
    assert chart is not None
    lower, upper = chart.bars
    assert upper.y + upper.height == pytest.approx(lower.y)
    assert upper.height == pytest.approx(3 * lower.height, rel=0.01)


def test_nothing_to_draw_is_no_chart() -> None:
    assert charts.line_chart("a", "A", "", [Series("s", ())]) is None
    assert charts.stacked_chart("a", "A", "", []) is None
    assert charts.front_chart("a", "A", "", "x", [], []) is None


def test_results_side_by_side_with_a_dash_for_what_is_missing() -> None:
    view = results_view({"direct": results(0.5, 100), "trained": results(0.7, 300, datasets=())})
    rows = {row[0]: row[1:] for row in view.rows}
    assert rows["gsm8k"] == ("50% [40%, 60%]", "-")
    assert rows["executed"] == ("-", "-")
    assert results_view({"direct": results(0.5, 100)}).front is None  # one result is no front


def test_the_cost_accuracy_chart_names_the_front() -> None:
    view = results_view(
        {"direct": results(0.5, 100), "bad": results(0.4, 200), "ours": results(0.8, 900)}
    )
    assert view.front is not None
    assert [(row[0], row[3]) for row in view.front.rows] == [
        ("direct", "yes"),
        ("bad", ""),
        ("ours", "yes"),
    ]
    assert [name for _, name in view.front.legend] == ["1 direct", "2 bad", "3 ours"]
    ends = [y for mark in view.front.marks for y in (mark.low, mark.high)]
    ticks = [y for y, _ in view.front.y_ticks]
    assert min(ticks) <= min(ends) <= max(ends) <= max(ticks)  # the axis is that of the results

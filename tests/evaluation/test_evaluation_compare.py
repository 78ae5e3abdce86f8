"""Comparisons worked by hand: pairs, the front, headroom."""

# mypy: disable-error-code="comparison-overlap"
# pytest.approx in a tuple is no float to mypy

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from written_results import row, system, written

from llm_as_judge.accuracy import Accuracy, Right
from llm_as_judge.errors import DataError
from llm_as_judge.evaluation.compare import (
    compare,
    headroom_of,
    headroom_rows,
    pareto_front,
)
from llm_as_judge.evaluation.system_results import SystemResults, read_systems
from llm_as_judge.statistics import wilson


def test_pairs_are_of_problems_on_which_neither_failed(tmp_path: Path) -> None:
    first = system(tmp_path, "a", "yyyyyyyn-", 50)
    second = system(tmp_path, "b", "nnnnnnyyy", 100)
    (pair,) = compare([first, second], second)
    assert (pair.name, pair.reference, pair.problems) == ("a", "b", 8)
    assert pair.difference == pytest.approx(7 / 8 - 2 / 8)
    assert (pair.only_other, pair.only_reference) == (6, 1)
    assert pair.p == pytest.approx(2 * (1 + 7) / 2**7)
    assert pair.p_holm == pair.p
    assert pair.low <= pair.difference <= pair.high
    assert pair.token_ratio == 0.5
    assert pair.detectable == pytest.approx(2.801585 * (7 / 8 / 8) ** 0.5)


def test_a_comparison_of_one_domain_is_over_its_problems(tmp_path: Path) -> None:
    first = system(tmp_path, "a", "yyyn", 50)
    second = system(tmp_path, "b", "nynn", 100)
    domains = dict(zip(first.correct, ("math", "math", "qa", "qa"), strict=True))
    first, second = (replace(c, domains=domains) for c in (first, second))
    (pair,) = compare([first, second], second, "qa")
    assert (pair.problems, pair.difference) == (2, 0.5)
    (pair,) = compare([first, second], second, "math")
    assert (pair.problems, pair.only_other, pair.only_reference) == (2, 1, 0)
    alone = replace(first, domains=dict.fromkeys(domains, "code"))
    assert compare([alone, second], second, "code") == []
    failed = replace(second, right=dict.fromkeys(list(domains)[:2], Right(0.0)))
    assert compare([first, failed], failed, "qa") == []


def test_open_answers_are_not_right_and_no_difference_rests_on_them(tmp_path: Path) -> None:
    perfect = system(tmp_path, "perfect", "y" * 12, 10)
    half = system(tmp_path, "half", "y" * 6 + "?" * 6, 10)
    (pair,) = compare([perfect, half], half)
    assert (pair.problems, pair.open, pair.difference) == (12, 6, 0.5)
    assert (pair.least, pair.most, pair.p_most) == (0.0, 0.5, 1.0)
    assert (pair.only_other, pair.only_reference) == (6, 0)
    assert pair.low < 0 < 0.5 < pair.high
    assert pair.p == pytest.approx(2 / 2**6)
    assert half.accuracy() == Accuracy(0.5, 1.0, wilson(6, 12)[0], 1.0, 12, 6)
    assert half.open == {"gsm8k": 6}
    room, reach = headroom_of([perfect, half]), headroom_of([perfect, half], open_right=True)
    assert room is not None
    assert reach is not None
    assert (room.fixed, reach.oracle) == (pytest.approx(1.0), 1.0)
    assert headroom_of([half]) is None
    assert headroom_of([]) is None


def test_more_comparisons_need_smaller_p(tmp_path: Path) -> None:
    base = system(tmp_path, "base", "nnnnnn", 10)
    others = [system(tmp_path, name, "yyyyyy", 10) for name in ("a", "b")]
    pairs = compare([base, *others], base)
    assert [pair.p for pair in pairs] == pytest.approx([2 / 64] * 2)
    assert [pair.p_holm for pair in pairs] == pytest.approx([4 / 64] * 2)


def test_equal_results_are_no_certainty(tmp_path: Path) -> None:
    first, second = (
        read_systems(
            [
                written(tmp_path / name / str(seed), name, [row(0, [True, True], 1)], seed=seed)
                for seed in (0, 1)
            ]
        )[0]
        for name in "ab"
    )
    assert first.accuracy() == Accuracy(1.0, 1.0, *wilson(1, 1), 1)
    (pair,) = compare([first, second], second)
    assert pair.difference == 0
    assert (pair.low, pair.high) == pytest.approx((-wilson(0, 1)[1], wilson(0, 1)[1]))


def test_the_front_is_who_nobody_beats(tmp_path: Path) -> None:
    cheap = system(tmp_path, "cheap", "ynnn", 10)
    good = system(tmp_path, "good", "yyyn", 30)
    wasteful = system(tmp_path, "wasteful", "yynn", 40)
    narrow = system(tmp_path, "narrow", "y", 1)
    everyone = [cheap, good, wasteful, narrow]
    front = pareto_front(everyone)
    assert (front.names, front.problems, front.apart) == (("cheap", "good"), 4, ("narrow",))
    # what the policy itself reads and writes counts
    heavy = replace(cheap, policy_tokens=25.0)
    assert pareto_front([heavy, good]).names == ("good",)
    assert cheap.right_per_1000_tokens == pytest.approx(25.0)


def test_the_front_and_the_ratio_are_of_cost_where_every_file_says_it(tmp_path: Path) -> None:
    vote = replace(system(tmp_path, "vote", "yyyn", 90), costs={f"gsm8k/{n}": 20 for n in range(4)})
    once = replace(system(tmp_path, "once", "yynn", 30), costs={f"gsm8k/{n}": 25 for n in range(4)})
    old = system(tmp_path, "old", "ynnn", 10)
    assert (vote.mean_cost, old.mean_cost) == (20, None)
    front = pareto_front([vote, once])
    assert (front.names, front.priced) == (("vote",), True)
    mixed = pareto_front([vote, once, old])
    assert (mixed.names, mixed.priced) == (("vote", "once", "old"), False)
    ratios = {pair.name: pair.cost_ratio for pair in compare([vote, once, old], once)}
    assert ratios == {"vote": 0.8, "old": None}


def test_a_run_that_failed_puts_nobody_out_of_the_front(tmp_path: Path) -> None:
    good = system(tmp_path, "good", "yyy-", 30)
    poor = system(tmp_path, "poor", "nnny", 20)
    wasteful = system(tmp_path, "wasteful", "nnyn", 40)
    hardly = system(tmp_path, "hardly", "y---", 1)
    front = pareto_front([good, poor, wasteful, hardly])
    assert (front.names, front.problems, front.apart) == (("good", "poor"), 3, ("hardly",))
    assert pareto_front([]).names == ()


def test_who_shares_no_problem_is_left_out_unless_nobody_does(tmp_path: Path) -> None:
    reference = system(tmp_path, "ref", "yn", 10)
    other = system(tmp_path, "other", "yy", 10)
    (apart,) = read_systems([written(tmp_path, "apart", [row(0, [True], 1, "squad2")])])
    assert [pair.name for pair in compare([reference, other, apart], reference)] == ["other"]
    with pytest.raises(DataError, match="apart and ref: no problem that both have answered"):
        compare([reference, apart], reference)
    assert compare([reference], reference) == []


def with_draws(folder: Path, name: str, lost: int) -> SystemResults:
    """Ten problems of four draws, of which the first ``lost`` problems miss one."""
    draws: list[bool | None] = [True, False, name == "one", True]
    rows = [row(i, [None, *draws[1:]] if i < lost else draws, 10) for i in range(10)]
    (found,) = read_systems([written(folder, name, rows)])
    return found


@pytest.mark.parametrize(("lost", "problems", "draws"), [(0, 10, 4), (2, 8, 4), (3, 10, 1)])
def test_problems_that_miss_a_draw_are_left_out_of_the_audit_while_they_are_few(
    tmp_path: Path, lost: int, problems: int, draws: int
) -> None:
    room = headroom_of([with_draws(tmp_path, name, lost) for name in ("one", "other")])
    assert room is not None
    assert (room.problems, room.draws) == (problems, draws)
    assert (room.interaction is None) is (draws == 1)


def test_rows_that_all_failed_are_told_from_other_rows(tmp_path: Path) -> None:
    good, dead = system(tmp_path, "good", "yyn", 50), system(tmp_path, "dead", "---", 50)
    assert dead.failed.startswith("not known (")  # figures alone keep no reason
    with pytest.raises(DataError) as caught:
        compare([good, replace(dead, failed="the endpoint is down")], good)
    said = "dead: all rollouts on its 3 problems failed; the first: the endpoint is down. Mend this"
    assert str(caught.value).startswith(said)


def test_with_open_answers_a_line_gives_the_interval_and_the_p_of_whatever_they_are(
    tmp_path: Path,
) -> None:
    first, second = (
        system(tmp_path, "a", "y" * 9 + "?", 50),
        system(tmp_path, "b", "n" * 9 + "y", 50),
    )
    (pair,) = compare([first, second], second)
    assert pair.figures.startswith(
        "+80 points, wins : losses 9 : 1, with open answers (on 1 problem) not right"
    )
    assert pair.figures.endswith(f"], p at most {pair.p_most:.3f}")


def test_headroom_counts_the_runs_that_its_figures_are_of(tmp_path: Path) -> None:
    wide = [system(tmp_path, name, "yyny?nyyyy", 50) for name in ("a", "b")]
    narrow = system(tmp_path, "c", "y?", 50)
    taken, ids = headroom_rows([*wide, narrow])
    assert (taken, len(ids)) == (wide, 10)

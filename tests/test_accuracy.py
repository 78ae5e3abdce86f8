"""Accuracy of all rows: what open answers could change is never hidden and never counted as right."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_as_judge.accuracy import (
    Right,
    accuracy,
    balanced_accuracy,
    interval_text,
    right_of,
    runs_of,
)
from llm_as_judge.statistics import wilson
from llm_as_judge.types import Verdict

outcomes = st.sampled_from((True, False, None))
problems = st.lists(st.lists(outcomes, min_size=1, max_size=4), min_size=1, max_size=20)


def test_half_right_and_half_open_is_half_right_and_may_be_all_right() -> None:
    rows = [Right(1.0)] * 6 + [Right(0.0, 1.0)] * 6
    found = accuracy(rows)
    assert found is not None
    assert (found.value, found.most, found.problems, found.open) == (0.5, 1.0, 12, 6)
    assert (found.low, found.high) == (wilson(6, 12)[0], wilson(12, 12)[1])
    assert found.text() == "50% to 100% [25%, 100%]"


def test_without_open_answers_the_interval_is_wilsons_and_the_line_is_short() -> None:
    found = accuracy([Right(1.0), Right(0.0), Right(0.5)])
    assert found is not None
    assert (found.value, found.most, found.low, found.high) == (0.5, 0.5, *wilson(1.5, 3))
    assert found.text() == interval_text(0.5, 0.5, *wilson(1.5, 3), "{:.0%}") == "50% [13%, 87%]"


@given(problems)
def test_whatever_the_open_answers_turn_out_to_be_the_figure_lies_in_between(
    runs: list[list[bool | None]],
) -> None:
    found = accuracy([one for one in map(right_of, runs) if one is not None])
    assert found is not None
    for guess in (False, True):
        decided = [[guess if one is None else one for one in of] for of in runs]
        then = accuracy([one for one in map(right_of, decided) if one is not None])
        assert then is not None
        assert then.value == pytest.approx(found.most if guess else found.value)
        assert found.low <= then.low + 1e-12
        assert then.high <= found.high + 1e-12
    assert found.open == sum(None in of for of in runs)


def test_the_mean_of_sets_by_hand() -> None:
    # 10 of 10 is [0.7225, 1] and 0 of 5 [0, 0.4345]: only one end of each is away from its mean
    found = balanced_accuracy([[Right(1.0)] * 10, [Right(0.0)] * 5])
    assert found is not None
    assert (found.value, found.most) == (0.5, 0.5)
    assert found.low == pytest.approx(0.5 - (1 - 0.72247) / 2, abs=1e-4)
    assert found.high == pytest.approx(0.5 + 0.43449 / 2, abs=1e-4)
    one = [Right(1.0), Right(0.0), Right(0.0)]  # one set: its own interval
    single, own = balanced_accuracy([one]), accuracy(one)
    assert single is not None
    assert own is not None
    assert (single.low, single.high) == pytest.approx((own.low, own.high))
    assert balanced_accuracy([]) is None
    assert accuracy([]) is None


def test_the_runs_of_a_verdict_count_each_and_a_failure_has_none() -> None:
    verdict = Verdict(
        True, "exact", "r", again=(Verdict(None, "qa", "r"), Verdict(False, "qa", "r"))
    )
    assert runs_of(verdict) == (True, None, False)
    assert right_of(runs_of(verdict)) == Right(1 / 3, 1 / 3)
    assert runs_of(None) == ()
    assert right_of(()) is None

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_as_judge.data.mix import named_rng
from llm_as_judge.data.split import size_of_test, size_of_val, split_rows


@pytest.mark.parametrize(
    ("rows", "train", "test"),
    [
        (7473, 6228, 1245),
        (7500, 6250, 1250),
        (164, 137, 27),
        (427, 356, 71),
        (5, 4, 1),
        (2, 1, 1),
        (1, 1, 0),
    ],
)
def test_five_to_one_rounds_the_test_side_down(rows: int, train: int, test: int) -> None:
    assert size_of_test(rows) == test
    split = split_rows(range(rows), 0.0, named_rng(0, rows))
    assert (len(split.train), len(split.val), len(split.test)) == (train, 0, test)
    assert split.moved == 0


def test_a_set_of_two_rows_has_one_to_train_on_and_one_to_test() -> None:
    split = split_rows(range(2), 0.05, named_rng(0, "a"))
    assert (len(split.train), len(split.val), len(split.test)) == (1, 0, 1)


def test_validation_is_rounded_up_so_that_every_set_has_some() -> None:
    assert (size_of_val(137, 0.02), size_of_val(40, 0.02), size_of_val(40, 0.0)) == (3, 1, 0)
    split = split_rows(range(164), 0.02, named_rng(0, "a"))
    assert (len(split.train), len(split.val), len(split.test)) == (134, 3, 27)


@given(
    groups=st.lists(st.integers(0, 12), max_size=80),
    fraction=st.sampled_from([0.0, 0.05, 0.3]),
    seed=st.integers(0, 5),
)
def test_no_row_is_lost_and_no_group_is_torn(groups: list[int], fraction: float, seed: int) -> None:
    split = split_rows(groups, fraction, named_rng(seed, "p"))
    sides = [split.train, split.val, split.test]
    assert sorted(row for side in sides for row in side) == list(range(len(groups)))
    assert all(list(side) == sorted(side) for side in sides)
    seen = Counter(group for side in sides for group in {groups[row] for row in side})
    assert all(count == 1 for count in seen.values())
    assert len(split.test) <= size_of_test(len(groups))


def test_coarse_groups_leave_the_test_side_smaller() -> None:
    split = split_rows([0] * 6 + [1] * 6, 0.0, named_rng(0, "a"))
    assert (len(split.train), len(split.test)) == (12, 0)


@pytest.mark.parametrize(
    ("sizes", "beside", "test"),
    [
        pytest.param((3, 3, 3, 3), 2, 3, id="four of three"),
        pytest.param((2, 2, 2, 2, 2, 2), 2, 2, id="six of two fit"),
        pytest.param((9, 4, 5), 2, 4, id="the smallest"),
        pytest.param((6, 6), 2, 0, id="one would be left"),
        pytest.param((8, 4), 1, 4, id="one is enough"),
        pytest.param((12,), 1, 0, id="a single one"),
    ],
)
def test_where_no_group_fits_the_smallest_is_held_out_whole(
    sizes: tuple[int, ...], beside: int, test: int
) -> None:
    groups = [group for group, size in enumerate(sizes) for _ in range(size)]
    splits = [
        split_rows(groups, 0.1, named_rng(seed, "a"), whole_beside=beside)
        for seed in (0, 0, *range(1, 12))
    ]
    assert splits[0] == splits[1]
    for split in splits:
        assert len(split.test) == test
        assert not {groups[row] for row in split.test} & {groups[row] for row in split.train}
    if sizes == (3, 3, 3, 3):  # which of equals: the seed decides
        assert len({tuple(split.test) for split in splits}) > 1


def test_an_order_that_fits_exactly_is_found() -> None:
    groups = [0] * 5 + [1] * 4 + [2] * 3 + [3] * 3 + list(range(4, 19))
    for seed in range(20):
        assert len(split_rows(groups, 0.0, named_rng(seed, "a")).test) == size_of_test(len(groups))


def test_moved_rows_are_counted() -> None:
    # 12 rows, 2 test rows, all rows in pairs: a pair is always taken whole, so unless the first
    # two rows of the order are a pair, one row goes in and one goes out.
    moved = [split_rows([i // 2 for i in range(12)], 0, named_rng(s, "m")).moved for s in range(40)]
    assert set(moved) == {0, 2}


def test_bad_fraction() -> None:
    with pytest.raises(ValueError, match="val_fraction is 1"):
        split_rows([1, 2], 1, named_rng(0))

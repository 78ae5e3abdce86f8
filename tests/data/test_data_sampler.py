import json
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_as_judge.data.mix import StratifiedSampler
from llm_as_judge.errors import DataError

SETS = {"gsm8k": "math", "math": "math", "squad2": "qa", "mbpp": "code"}
COUNTS = {"gsm8k": 9, "math": 5, "squad2": 4, "mbpp": 3}
IDS = [f"{name}/{i}" for name, count in COUNTS.items() for i in range(count)]
DATASETS = [name.partition("/")[0] for name in IDS]
DOMAINS = [SETS[name] for name in DATASETS]


def sampler(batch_size: int = 4, seed: int = 0) -> StratifiedSampler:
    return StratifiedSampler(IDS, DATASETS, DOMAINS, batch_size, seed)


@settings(max_examples=30)
@given(batch_size=st.integers(1, 9), seed=st.integers(0, 3))
def test_batches_carry_over_what_they_lack(batch_size: int, seed: int) -> None:
    batches = sampler(batch_size, seed)
    seen = Counter[str]()
    for step in range(1, 40):
        seen.update(DOMAINS[row] for row in batches.next_batch())
        n = step * batch_size
        assert abs(seen["math"] - 0.4 * n) < 1
        assert abs(seen["qa"] - 0.3 * n) < 1
        assert abs(seen["code"] - 0.3 * n) < 1


def test_every_problem_comes_before_any_repeats() -> None:
    batches = sampler(1)
    drawn: dict[str, list[int]] = {}
    for _ in range(200):
        (row,) = batches.next_batch()
        drawn.setdefault(DATASETS[row], []).append(row)
    for name, count in COUNTS.items():
        for start in range(0, len(drawn[name]) - count, count):
            assert len(set(drawn[name][start : start + count])) == count


def test_repeated_rows_of_a_mixed_file_count_once() -> None:
    doubled = StratifiedSampler(IDS * 2, DATASETS * 2, DOMAINS * 2, 4, 0)
    assert doubled.problems == len(IDS)
    single = sampler()
    assert [doubled.next_batch() for _ in range(9)] == [single.next_batch() for _ in range(9)]


@given(before=st.integers(0, 30))
def test_a_resumed_sampler_goes_on_where_it_stopped(before: int) -> None:
    first = sampler()
    for _ in range(before):
        first.next_batch()
    state = json.loads(json.dumps(first.state_dict()))
    second = sampler()
    second.next_batch()
    second.load_state_dict(state)
    assert [second.next_batch() for _ in range(10)] == [first.next_batch() for _ in range(10)]


def test_the_seed_decides_the_order() -> None:
    def order(seed: int) -> list[list[int]]:
        batches = sampler(4, seed)
        return [batches.next_batch() for _ in range(6)]

    assert order(0) == order(0) != order(1)


@pytest.mark.parametrize(
    "change",
    [{"seed": 1}, {"name": "val"}, {"rows": "x"}, {"drawn": -1}, {"drawn": True}, {"drawn": None}],
)
def test_state_of_another_run_is_refused(change: dict[str, object]) -> None:
    state = {**sampler().state_dict(), **change}
    with pytest.raises(DataError, match="sampler state"):
        sampler().load_state_dict(state)  # type: ignore[arg-type]


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="batch_size is 0"):
        sampler(0)
    with pytest.raises(DataError, match="no problems"):
        StratifiedSampler([], [], [], 4, 0)

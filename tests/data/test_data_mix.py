from collections import Counter
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_as_judge.data.mix import (
    DOMAIN_SHARES,
    Draws,
    named_rng,
    prefix_until_used_up,
    resampled,
    schedule,
)
from llm_as_judge.types import Domain

DOMAINS: dict[str, Domain] = {
    "gsm8k": "math",
    "math": "math",
    "squad2": "qa",
    "hotpotqa": "qa",
    "humaneval": "code",
    "mbpp": "code",
}
sizes = st.fixed_dictionaries({name: st.integers(1, 40) for name in DOMAINS})


def draws(counts: dict[str, int], seed: int = 0) -> dict[str, Draws]:
    return {name: Draws(range(count), seed, name) for name, count in counts.items()}


def test_schedule_of_4_3_3_by_hand() -> None:
    assert "".join(name[0] for name in islice(schedule(DOMAIN_SHARES), 20)) == "mqcmqcmqcm" * 2


@given(st.lists(st.integers(0, 30), min_size=1, max_size=7).filter(any))
def test_every_prefix_is_within_one_row_of_its_shares(weights: list[int]) -> None:
    shares = {str(i): weight for i, weight in enumerate(weights)}
    total, seen = sum(weights), Counter[str]()
    for n, name in enumerate(islice(schedule(shares), 200), start=1):
        seen[name] += 1
        assert all(abs(seen[i] * total - n * w) < total for i, w in shares.items())


@pytest.mark.parametrize("shares", [{}, {"a": 0}, {"a": 1, "b": -1}])
def test_shares_must_be_positive(shares: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="shares must be"):
        next(schedule(shares))


@given(size=st.integers(1, 30), seed=st.integers(0, 9), rounds=st.integers(1, 4))
def test_every_row_comes_once_a_round(size: int, seed: int, rounds: int) -> None:
    order = Draws(range(size), seed, "set")
    for turn in range(rounds):
        drawn = [order[turn * size + i] for i in range(size)]
        assert sorted(drawn) == list(range(size))


def test_draws_can_be_reached_in_any_order() -> None:
    forward, backward = Draws(range(7), 3, "a"), Draws(range(7), 3, "a")
    assert [forward[i] for i in range(30)] == [backward[i] for i in reversed(range(30))][::-1]
    with pytest.raises(ValueError, match="a: no rows"):
        Draws([], 0, "a")


def test_named_generators_are_independent_and_repeatable() -> None:
    assert named_rng(1, "a").random() == named_rng(1, "a").random()
    assert len({named_rng(s, n).random() for s in (1, 2) for n in ("a", "b")}) == 4


@settings(max_examples=50)
@given(counts=sizes, size=st.integers(10, 300))
def test_training_mix_keeps_shares_in_every_prefix(counts: dict[str, int], size: int) -> None:
    domains, sets, rows = Counter[str](), Counter[str](), dict[str, list[int]]()
    for n, (name, row) in enumerate(resampled(draws(counts), DOMAINS, size), start=1):
        domain = DOMAINS[name]
        domains[domain] += 1
        sets[name] += 1
        rows.setdefault(name, []).append(row)
        assert abs(domains["math"] - 0.4 * n) < 1
        assert abs(domains["qa"] - 0.3 * n) < 1
        assert all(abs(sets[m] - domains[d] / 2) <= 0.5 for m, d in DOMAINS.items() if d == domain)
    assert sum(domains.values()) == size
    for name, drawn in rows.items():
        assert len(set(drawn[: counts[name]])) == min(len(drawn), counts[name])


@settings(max_examples=50)
@given(counts=sizes)
def test_test_mix_repeats_nothing_and_keeps_the_domain_shares(counts: dict[str, int]) -> None:
    mixed = list(prefix_until_used_up(draws(counts), DOMAINS))
    assert len(set(mixed)) == len(mixed)
    seen = Counter[str]()
    for n, (name, _) in enumerate(mixed, start=1):
        seen[DOMAINS[name]] += 1
        assert all(abs(seen[d] - share * n / 10) < 1 for d, share in DOMAIN_SHARES.items())
    rows = Counter({d: sum(counts[m] for m in DOMAINS if DOMAINS[m] == d) for d in DOMAIN_SHARES})
    assert any(seen[d] == rows[d] for d in DOMAIN_SHARES)


def test_larger_set_goes_on_when_its_peer_is_used_up() -> None:
    counts = {"humaneval": 1, "mbpp": 4}
    mixed = prefix_until_used_up(draws(counts), DOMAINS)
    assert Counter(name for name, _ in mixed) == {"humaneval": 1, "mbpp": 4}


def test_a_missing_domain_leaves_the_others_in_proportion() -> None:
    mixed = resampled(draws({"gsm8k": 5, "mbpp": 5}), DOMAINS, 70)
    assert Counter(name for name, _ in mixed) == {"gsm8k": 40, "mbpp": 30}

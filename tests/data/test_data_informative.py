"""Problems that can teach: drawn by what is left to learn, and the same after a resume."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from llm_as_judge.data.informative import InformativeSampler, ToldLow
from llm_as_judge.data.sampler import StratifiedSampler
from llm_as_judge.errors import DataError

IDS = [f"gsm8k/train/{n}" for n in range(20)] + [f"squad2/train/{n}" for n in range(10)]
DATASETS = ["gsm8k"] * 20 + ["squad2"] * 10
DOMAINS = ["math"] * 20 + ["qa"] * 10
RATES = dict.fromkeys(IDS, 0.5) | {"gsm8k/train/0": 1.0, "gsm8k/train/1": 0.0, "other/1": 0.5}


def sampler(
    rates: dict[str, float] = RATES, lag: int = 0, seed: int = 0, told_low: ToldLow | None = None
) -> InformativeSampler:
    return InformativeSampler(IDS, DATASETS, DOMAINS, 4, seed, rates, lag, told_low)


def one_in_three(step: int, problem_id: str) -> bool:
    """Which third it is changes from step to step."""
    return (int(problem_id.rpartition("/")[2]) + step) % 3 == 0


def drawn(one: InformativeSampler, batches: int) -> Counter[str]:
    return Counter(IDS[row] for _ in range(batches) for row in one.next_batch())


def test_problems_that_all_or_none_solve_are_not_drawn_nor_those_that_are_not_known() -> None:
    rates = {id_: rate for id_, rate in RATES.items() if id_ != "gsm8k/train/2"}
    found = drawn(sampler(rates), 60)
    assert not {"gsm8k/train/0", "gsm8k/train/1", "gsm8k/train/2"} & found.keys()
    assert len(found) == 27


def test_a_third_of_the_draws_are_of_any_problem_that_is_told_the_lowest_budget() -> None:
    one = sampler({**RATES, "gsm8k/train/2": 0.0, "squad2/train/9": 1.0}, told_low=one_in_three)
    told: Counter[bool] = Counter()
    never = {"gsm8k/train/0", "gsm8k/train/1", "gsm8k/train/2", "squad2/train/9"}
    seen: Counter[str] = Counter()
    for step in range(1, 301):
        for row in one.next_batch():
            low = one_in_three(step, IDS[row])
            told[low] += 1
            assert low or IDS[row] not in never
            seen[IDS[row]] += 1
    assert told[True] / 1200 == pytest.approx(1 / 3, abs=0.04)
    assert never <= seen.keys()
    assert not seen.keys() - RATES.keys()


def test_where_no_problem_of_a_set_is_told_so_the_informative_ones_come() -> None:
    plain, none = drawn(sampler(), 60), drawn(sampler(told_low=lambda step, id_: False), 60)
    assert none.keys() == plain.keys()
    every = drawn(sampler(told_low=lambda step, id_: True), 60)  # nobody is left for the others
    assert every.total() == 240


@pytest.mark.parametrize("told_low", [None, one_in_three], ids=["all alike", "told low"])
def test_domains_keep_their_shares(told_low: ToldLow | None) -> None:
    found = drawn(sampler(told_low=told_low), 70)
    math = sum(count for id_, count in found.items() if id_.startswith("gsm8k"))
    assert math == 160  # 4 : 3 of 280


@pytest.mark.parametrize("told_low", [None, one_in_three], ids=["all alike", "told low"])
def test_no_problem_is_twice_in_a_batch(told_low: ToldLow | None) -> None:
    one = sampler(told_low=told_low)
    for _ in range(40):
        assert len(set(one.next_batch())) == 4


def test_what_is_left_to_learn_weighs() -> None:
    rates = dict.fromkeys(IDS[:20], 0.11) | {"gsm8k/train/5": 0.5}
    found = drawn(sampler(rates), 5)
    assert found["gsm8k/train/5"] == max(found.values())


def test_a_problem_that_the_policy_has_learned_comes_seldom() -> None:
    def late(learned: bool) -> int:
        one = sampler()
        for step in range(1, 81):
            batch = [IDS[row] for row in one.next_batch()]
            half = dict.fromkeys(batch, 0.5)
            one.learn(step, {**half, **({"gsm8k/train/7": 1.0} if learned else {})})
        return drawn(one, 80)["gsm8k/train/7"]

    assert late(learned=True) < late(learned=False) / 2


@pytest.mark.parametrize("told_low", [None, one_in_three], ids=["all alike", "told low"])
@pytest.mark.parametrize("lag", [0, 1])
def test_a_run_that_goes_on_draws_what_the_unbroken_one_draws(
    lag: int, told_low: ToldLow | None
) -> None:
    def learn(one: InformativeSampler, step: int) -> None:
        one.learn(step, {id_: (step * n % 7) / 6 for n, id_ in enumerate(IDS)})

    whole, batches, states = sampler(lag=lag, told_low=told_low), [], []
    for step in range(1, 13):  # a step is drawn so many steps ahead of what is learned
        batches.append(whole.next_batch())
        states.append(whole.state_dict())
        if step > lag:
            learn(whole, step - lag)
    done = 5
    cursor = {
        **states[done - 1],
        "learned": {k: v for k, v in _learned(whole).items() if int(k) <= done},
    }
    again = sampler(
        {**RATES, "gsm8k/train/3": 0.9}, lag=lag, told_low=told_low
    )  # the bank has grown
    again.load_state_dict(json.loads(json.dumps(cursor)))
    for step in range(done + 1, 13):
        assert again.next_batch() == batches[step - 1]
        if step - lag > done:
            learn(again, step - lag)


def test_a_run_that_began_without_such_a_share_goes_on_without_it() -> None:
    old = sampler()
    old.next_batch()
    state = {key: value for key, value in old.state_dict().items() if key != "told_low"}
    again = sampler(told_low=one_in_three)
    again.load_state_dict(state)
    assert [again.next_batch() for _ in range(9)] == [old.next_batch() for _ in range(9)]


def _learned(one: InformativeSampler) -> dict[str, object]:
    learned = one.learned()["learned"]
    assert isinstance(learned, dict)
    return dict(learned)


def test_a_bank_without_informative_problems_is_refused() -> None:
    with pytest.raises(DataError, match=r"2 of 30 training problems are in the bank, and none"):
        sampler({IDS[0]: 1.0, IDS[1]: 0.0})


def test_states_of_the_two_samplers_are_not_taken_for_each_other() -> None:
    plain = StratifiedSampler(IDS, DATASETS, DOMAINS, 4, 0)
    with pytest.raises(DataError, match=r"drew every problem; go on without data\.bank"):
        sampler().load_state_dict(plain.state_dict())
    with pytest.raises(DataError, match=r"give its data\.bank"):
        plain.load_state_dict(sampler().state_dict())


@pytest.mark.parametrize(
    "broken", [{"rates": {IDS[3]: "x"}}, {"learned": {"1": 3}}, {"known": ["x"]}]
)
def test_a_state_that_holds_no_numbers_is_one_line(broken: dict[str, object]) -> None:
    one = sampler()
    one.next_batch()
    state = {**one.state_dict(), **broken}
    with pytest.raises(DataError, match="sampler state: "):
        sampler().load_state_dict(state)  # type: ignore[arg-type]

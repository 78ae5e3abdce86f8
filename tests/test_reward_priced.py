"""The scheme ``priced``: the share of right runs less a price for what they cost."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_as_judge.config import load_config
from llm_as_judge.errors import ConfigError
from llm_as_judge.reward import PRICES, REWARD_PARTS, PartFunction, RewardOptions, reward_group
from llm_as_judge.types import (
    Budget,
    Completion,
    Execution,
    OperatorCall,
    Program,
    Rollout,
    Verdict,
)

RUNS = Program("return 4", "class ...", ("Custom",), worst_case_calls=1, hash="h")
BUDGETS = st.sampled_from(list(PRICES))


def spent(cost: float, status: str = "ok") -> Execution:
    return Execution(status, "4", (OperatorCall("Custom", cost=cost, llm_calls=1),))  # type: ignore[arg-type]


def ended(execution: Execution, verdict: Verdict, program: Program = RUNS) -> Rollout:
    written = Completion((1,), (2,), (-1.0,), "t", "stop")
    return Rollout("p", 0, written, program, execution, verdict)


def total(
    *costs: float, right: float | None = 1.0, budget: Budget = "middle", program: Program = RUNS
) -> float:
    first, *others = map(spent, costs)
    correct = None if right is None else right > 0
    verdict = Verdict(correct, "exact", "r", share=right if others else None)
    rollout = ended(replace(first, again=tuple(others)), verdict, program)
    (scored,) = reward_group([rollout], RewardOptions("priced", budget))
    assert scored.reward is not None
    assert scored.reward.total == pytest.approx(
        sum(part.score * part.weight for part in scored.reward.parts.values())
    )
    return scored.reward.total


def test_a_program_earns_its_share_of_right_runs_less_their_price() -> None:
    for budget, price in PRICES.items():
        assert total(600, budget=budget) == pytest.approx(1 - price * 0.6)
    assert PRICES == {"low": 0.3, "middle": 0.1, "high": 0.03}
    assert total(600, right=0.0) == pytest.approx(-0.06)
    # two of three right; (300 + 600 + 900) / 3 written tokens
    assert total(300, 600, 900, right=2 / 3) == pytest.approx(2 / 3 - 0.1 * 0.6)


def test_a_text_that_cannot_run_is_below_a_wrong_program_of_4000_written_tokens() -> None:
    broken = Program("I think it is 4", "")
    assert total(0, right=0.0, program=broken) == -0.5 < total(4000, right=0.0)
    assert total(9000, right=0.0, budget="low", program=broken) == -0.5


def test_a_repaired_text_earns_a_tenth_less_and_more_than_one_that_cannot_run() -> None:
    repaired = replace(RUNS, repairs=("await",))
    assert total(600, program=repaired) == pytest.approx(total(600) - 0.1)
    assert total(600, right=0.0, program=repaired) > total(0, right=0.0, program=Program("no", ""))


def test_what_was_not_graded_has_no_reward() -> None:
    done = ended(spent(1), Verdict(None, "llm", "r"))
    (scored,) = reward_group([done], RewardOptions("priced"))
    assert scored.reward is None


def test_parts_and_the_rest_of_the_group_have_no_say() -> None:
    options = RewardOptions("priced", "low", {"simplicity": 5.0})
    alone = ended(spent(100), Verdict(True, "e", "r"))
    dear = replace(alone, index=1, execution=spent(5000))
    one, _ = reward_group([alone, dear], options)
    (only,) = reward_group([alone], options)
    assert one.reward == only.reward
    assert only.reward is not None
    assert set(only.reward.parts) == {"right", "cost", "repaired"}


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1e5), st.floats(0, 1e5), BUDGETS)
def test_more_right_is_never_worth_less_and_more_cost_never_more(
    a: float, b: float, cost: float, other: float, budget: Budget
) -> None:
    (low, high), (cheap, dear) = sorted((a, b)), sorted((cost, other))
    assert total(dear, dear, right=low, budget=budget) <= total(
        dear, dear, right=high, budget=budget
    )
    assert total(dear, dear, right=a, budget=budget) <= total(cheap, cheap, right=a, budget=budget)


@given(st.floats(0, 1e5))
def test_a_lower_budget_takes_more_for_the_same(cost: float) -> None:
    found = [total(cost, budget=budget) for budget in ("low", "middle", "high")]
    assert found == sorted(found)


def test_a_threshold_that_this_scheme_cannot_reach_is_one_line() -> None:
    asked = ["reward.scheme=priced", "experience.enabled=true"]
    with pytest.raises(ConfigError, match=r"reward_threshold: 8, but .* gives at most 1") as told:
        load_config("embedded", overrides=asked)
    assert "\n" not in str(told.value)
    load_config("embedded", overrides=[*asked, "experience.reward_threshold=0.9"])


def test_a_part_of_ones_own_is_added_and_the_shipped_ones_are_not() -> None:
    own = PartFunction("short", lambda rollout, group: 4.0, None, weight=0.5)
    with REWARD_PARTS.with_also([own]):
        assert total(600) == pytest.approx(1 - 0.1 * 0.6 + 0.5 * 0.4)
    assert total(600) == pytest.approx(1 - 0.1 * 0.6)

"""Parts on -10..10, the shipped ones and one's own; what cannot be scored has no reward."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_as_judge.config import load_config
from llm_as_judge.errors import ConfigError
from llm_as_judge.reward import (
    PRICES,
    REWARD_PARTS,
    PartFunction,
    RewardOptions,
    efficiency_score,
    format_score,
    repetition_score,
    reward_group,
    simplicity_score,
)
from llm_as_judge.types import (
    Budget,
    Completion,
    Diagnostic,
    Execution,
    Failure,
    OperatorCall,
    Program,
    Rollout,
    Verdict,
)

GOOD = Program("a = 1\nreturn a", "class ...", ("AnswerGenerate",), worst_case_calls=1, hash="h1")
BROKEN = Program("I think the answer is 4", "")
RIGHT, WRONG, UNGRADED = (Verdict(c, "exact", "r") for c in (True, False, None))


def ran(tokens: int) -> Execution:
    return Execution("ok", "4", (OperatorCall("AnswerGenerate", tokens, 0),))


def rollout(
    program: Program = GOOD,
    execution: Execution | None = None,
    verdict: Verdict | None = RIGHT,
    failure: Failure | None = None,
) -> Rollout:
    written = Completion((1, 2), (3,), (-1.0,), "t", "stop")
    return Rollout("p", 0, written, program, execution or ran(100), verdict, failure=failure)


def total(result: Rollout) -> float:
    assert result.reward is not None
    return result.reward.total


def test_right_cheap_and_simple_reaches_the_threshold_of_eight() -> None:
    (best,) = reward_group(
        [rollout()], RewardOptions(options={"efficiency": {"token_budget": 1000}})
    )
    # correctness 10, efficiency (9 + 0) / 2, simplicity 10, format 10, repetition 10
    assert total(best) == pytest.approx(6.5 + 0.15 * 4.5 + 1.0 + 0.5 + 0.5)
    assert 8.0 < total(best) <= 10.0


def test_wrong_can_never_reach_the_threshold() -> None:
    (wrong,) = reward_group([rollout(verdict=WRONG, execution=ran(0))], RewardOptions())
    assert total(wrong) < 0.5


def test_a_text_that_is_no_program_earns_the_least_of_every_part() -> None:
    (result,) = reward_group([rollout(BROKEN, Execution("malformed"), WRONG)], RewardOptions())
    assert result.reward is not None
    assert {n: p.score for n, p in result.reward.parts.items()} == {
        "correctness": -5.0,
        "efficiency": -10.0,
        "simplicity": -10.0,
        "format": -10.0,
        "repetition": -10.0,
    }


@pytest.mark.parametrize(
    "unscored",
    [
        pytest.param(rollout(verdict=UNGRADED), id="not graded"),
        pytest.param(
            rollout(verdict=None, failure=Failure("execute", "EndpointError", "down")),
            id="our fault",
        ),
    ],
)
@pytest.mark.parametrize("scheme", ["weighted", "gated", "priced"])
def test_what_was_not_graded_has_no_reward(scheme: Any, unscored: Rollout) -> None:
    assert reward_group([unscored, rollout()], RewardOptions(scheme))[0].reward is None


def test_gated_wrong_answers_neither_earn_nor_lose_by_what_they_cost() -> None:
    wrong = [rollout(verdict=WRONG, execution=ran(tokens)) for tokens in (1, 10_000)]
    weighted, gated = (reward_group(wrong, RewardOptions(scheme=s)) for s in ("weighted", "gated"))
    assert total(weighted[0]) > total(weighted[1])
    assert total(gated[0]) == total(gated[1]) < total(weighted[0])
    for result in gated:
        assert result.reward is not None
        parts = result.reward.parts
        assert parts["efficiency"].score == parts["simplicity"].score == 0.0


@pytest.mark.parametrize("scheme", ["weighted", "gated"])
def test_right_beats_wrong_and_wrong_beats_no_program_whatever_they_cost(scheme: Any) -> None:
    found = Diagnostic("W1", 1, "m")
    dear = Program("x", "class ...", worst_case_calls=30, hash="h2", diagnostics=(found,))
    right, wrong, broken = reward_group(
        [
            rollout(dear, ran(10_000)),
            rollout(verdict=WRONG, execution=ran(1)),
            rollout(BROKEN, Execution("malformed"), WRONG),
        ],
        RewardOptions(scheme, options={"efficiency": {"token_budget": 100}}),
    )
    assert total(right) > total(wrong) > total(broken)


def test_seconds_and_dollars_change_no_reward() -> None:
    def reward(cost_usd: float | None, seconds: float) -> float:
        call = OperatorCall("AnswerGenerate", 100, 50, cost_usd=cost_usd, seconds=seconds)
        measured = Execution("ok", "4", (call,), seconds=seconds)
        return total(reward_group([rollout(execution=measured), rollout()], RewardOptions())[0])

    assert reward(0.0, 0.1) == reward(9.5, 300.0) == reward(None, 0.0)


def test_fewer_tokens_than_the_group_score_higher() -> None:
    assert efficiency_score(ran(50), 100, 1000) > efficiency_score(ran(200), 100, 1000)
    assert efficiency_score(ran(1000), 1000, 1000) == 0.0
    assert efficiency_score(Execution("timeout"), 100, 1000) == -10.0


@pytest.mark.parametrize(("calls", "score"), [(1, 10.0), (5, 0.0), (9, -10.0), (50, -10.0)])
def test_simplicity_falls_with_worst_case_calls(calls: int, score: float) -> None:
    assert simplicity_score(Program("x", "y", worst_case_calls=calls)) == pytest.approx(score)


def test_repetition_counts_copies_and_repeated_lines() -> None:
    assert repetition_score(GOOD, copies=1, group_size=6) == 10.0
    assert repetition_score(GOOD, copies=6, group_size=6) == -10.0
    looped = Program("call one()\n" * 9 + "call two()", "y", hash="h")
    assert repetition_score(looped, copies=1, group_size=6) == pytest.approx(10 * (1 - 2 * 0.8))


def test_format_prefers_as_written_to_repaired_to_unrunnable_by_its_findings() -> None:
    def broken(*codes: str) -> Program:
        return Program("x", "", diagnostics=tuple(Diagnostic(c, 1, "m") for c in codes), hash="h")

    assert format_score(GOOD) == 10.0
    assert format_score(Program("x", "y", repairs=("missing await",), hash="h")) <= 0.0
    assert format_score(broken("W208")) == -6.0
    assert format_score(broken("W208", "W301")) == -7.0
    assert format_score(broken(*["W208"] * 9)) == -10.0
    assert format_score(broken("W101")) == format_score(BROKEN) == -10.0


# ---------------------------------------------------------------------------- parts of one's own
@dataclass(frozen=True)
class Length:
    most: int = 10


def brevity(rollout: Rollout, group: Sequence[Rollout], options: Length) -> float:
    assert rollout in group
    return 10.0 if len(rollout.program.source) <= options.most else -10.0


BREVITY = PartFunction("brevity", brevity, Length, weight=0.2)


def test_the_shipped_weights_add_up_to_one() -> None:
    assert sum(part.weight for part in REWARD_PARTS.all().values()) == pytest.approx(1.0)


def test_a_part_of_ones_own_adds_its_weighted_score() -> None:
    (before,) = reward_group([rollout()], RewardOptions())
    with REWARD_PARTS.with_also([BREVITY]):
        (after,) = reward_group([rollout()], RewardOptions())
        options = RewardOptions(weights={"brevity": 0.5}, options={"brevity": {"most": 100}})
        (chosen,) = reward_group([rollout()], options)
    assert "brevity" not in REWARD_PARTS.all()
    assert total(after) == pytest.approx(total(before) - 0.2 * 10)  # 12 + 9 characters
    assert total(chosen) == pytest.approx(total(before) + 0.5 * 10)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"weights": {"brevety": 1.0}}, "no reward part 'brevety'; did you mean 'brevity'?"),
        ({"options": {"brevity": {"mots": 3}}}, "no option 'mots' of reward part 'brevity'; did"),
        ({"options": {"brevity": {"most": "x"}}}, "option 'most' of reward part 'brevity': found"),
    ],
)
def test_a_wrong_name_or_value_is_said_in_one_line(options: dict[str, Any], said: str) -> None:
    with REWARD_PARTS.with_also([BREVITY]), pytest.raises(ConfigError) as refused:
        reward_group([rollout()], RewardOptions(**options))
    assert str(refused.value).startswith(said)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("score", [10.5, float("nan"), True, None])
def test_a_score_that_is_no_number_of_the_scale_is_refused(score: float) -> None:
    def odd(rollout: Rollout, group: Sequence[Rollout]) -> float:
        return score

    with (
        REWARD_PARTS.with_also([PartFunction("odd", odd, weight=1.0)]),
        pytest.raises(ConfigError, match=r"'odd': p, rollout 0: found .* from -10 to 10"),
    ):
        reward_group([rollout()], RewardOptions())


def test_a_part_that_fails_says_where_and_is_no_score() -> None:
    def broken(rollout: Rollout, group: Sequence[Rollout]) -> float:
        return 1 / 0

    with (
        REWARD_PARTS.with_also([PartFunction("broken", broken, weight=1.0)]),
        pytest.raises(ConfigError, match=r"ZeroDivisionError: division by zero .*test_reward\.py:"),
    ):
        reward_group([rollout()], RewardOptions())


def test_two_parts_of_one_name_are_refused() -> None:
    def correctness(rollout: Rollout, group: Sequence[Rollout]) -> float:
        return 0.0

    taken = PartFunction("correctness", correctness, weight=1.0)
    with (
        pytest.raises(ConfigError, match="give one of them another name"),
        REWARD_PARTS.with_also([taken]),
    ):
        pass


# ------------------------------------------------------------------------------ the scheme priced
RUNS = Program("return 4", "class ...", ("Custom",), worst_case_calls=1, hash="h")
BUDGETS = st.sampled_from(list(PRICES))


def spent(cost: float, status: str = "ok") -> Execution:
    return Execution(status, "4", (OperatorCall("Custom", cost=cost, llm_calls=1),))  # type: ignore[arg-type]


def ended(execution: Execution, verdict: Verdict, program: Program = RUNS) -> Rollout:
    written = Completion((1,), (2,), (-1.0,), "t", "stop")
    return Rollout("p", 0, written, program, execution, verdict)


def earned(
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
        assert earned(600, budget=budget) == pytest.approx(1 - price * 0.6)
    assert PRICES == {"low": 0.3, "middle": 0.1, "high": 0.03}
    assert earned(600, right=0.0) == pytest.approx(-0.06)
    # two of three right; (300 + 600 + 900) / 3 written tokens
    assert earned(300, 600, 900, right=2 / 3) == pytest.approx(2 / 3 - 0.1 * 0.6)


def test_a_text_that_cannot_run_is_below_a_wrong_program_of_4000_written_tokens() -> None:
    broken = Program("I think it is 4", "")
    assert earned(0, right=0.0, program=broken) == -0.5 < earned(4000, right=0.0)
    assert earned(9000, right=0.0, budget="low", program=broken) == -0.5


def test_a_repaired_text_earns_a_tenth_less_and_more_than_one_that_cannot_run() -> None:
    repaired = replace(RUNS, repairs=("await",))
    assert earned(600, program=repaired) == pytest.approx(earned(600) - 0.1)
    assert earned(600, right=0.0, program=repaired) > earned(
        0, right=0.0, program=Program("no", "")
    )


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
    assert earned(dear, dear, right=low, budget=budget) <= earned(
        dear, dear, right=high, budget=budget
    )
    assert earned(dear, dear, right=a, budget=budget) <= earned(
        cheap, cheap, right=a, budget=budget
    )


@given(st.floats(0, 1e5))
def test_a_lower_budget_takes_more_for_the_same(cost: float) -> None:
    found = [earned(cost, budget=budget) for budget in ("low", "middle", "high")]
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
        assert earned(600) == pytest.approx(1 - 0.1 * 0.6 + 0.5 * 0.4)
    assert earned(600) == pytest.approx(1 - 0.1 * 0.6)

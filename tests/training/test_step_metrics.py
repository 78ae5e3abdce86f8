"""Metrics of a step's rollouts, worked by hand."""

from __future__ import annotations

import pytest

from llm_as_judge.training.step_metrics import group_metrics
from llm_as_judge.types import (
    Completion,
    Execution,
    Failure,
    Group,
    OperatorCall,
    Program,
    PromptFacts,
    Reward,
    RewardPart,
    Rollout,
    Verdict,
)
from two_problems import CAPITAL, SUM, completion


def scored(total: float) -> Reward:
    return Reward({"correctness": RewardPart(total, 0.65), "format": RewardPart(10.0, 0.05)}, total)


def by_hand() -> list[Group]:
    clean = Program("a", "a", hash="a")
    mended = Program("b", "b", repairs=("await",), hash="b")
    call = OperatorCall("Custom", prompt_tokens=30, completion_tokens=10, llm_calls=2, cached=1)
    ok, late = Execution("ok", "4", (call, call)), Execution("timeout", calls=(call,))
    right, wrong = Verdict(True, "exact", "r"), Verdict(False, "exact", "r")
    math = (
        Rollout(SUM.id, 0, completion("a", 4), clean, ok, right, scored(10.0)),
        Rollout(SUM.id, 1, completion("a", 2), clean, ok, right, scored(6.0)),
        Rollout(SUM.id, 2, completion("b", 8, "length"), mended, late, wrong, scored(-4.0)),
        Rollout(SUM.id, 3, completion("a", 2), clean, failure=Failure("execute", "E", "m")),
    )
    qa = (
        Rollout(CAPITAL.id, 0, completion("b", 2), mended, ok, wrong, scored(-8.0)),
        Rollout(CAPITAL.id, 1, completion("c", 2), clean, ok, Verdict(None, "llm", "u")),
        Rollout(CAPITAL.id, 2, completion("c", 2), clean, ok, right, scored(6.0)),
        Rollout(CAPITAL.id, 3, completion("?", 2), Program("?", ""), Execution("malformed"), wrong),
    )
    one, two = PromptFacts(3, ("x/1",)), PromptFacts(2, (), examples_dropped=1, cut_characters=30)
    return [Group(SUM, math, one), Group(CAPITAL, qa, two)]


WANTED = {
    "rollout/count": 8,
    "rollout/strictly_valid": 5 / 8,
    "rollout/repaired": 2 / 8,
    "rollout/truncated": 1 / 8,
    "rollout/failed": 1 / 8,
    "rollout/failed/execute_E": 1 / 8,
    "rollout/not_graded": 1 / 8,
    # math: a, b of four runnable; qa: a, b of three runnable
    "rollout/distinct_programs": (2 / 4 + 2 / 3) / 2,
    "rollout/program_tokens": (4 + 2 + 8 + 2 + 2 + 2 + 2 + 2) / 8,
    # seven were executed: five ok with two calls, one late with one, one with none
    "executor/calls": (5 * 4 + 2 + 0) / 7,
    "executor/tokens": (5 * 80 + 40 + 0) / 7,
    "executor/cost": (5 * 35 + 17.5 + 0) / 7,  # a call: 30 prompt tokens at a quarter, 10 written
    "ledger/shared_calls": (5 * 2 + 1 + 0) / 7,
    # asked: math 4 + 4 + 2, qa 4 + 4 + 4; paid: half of those of the first a and b of each group
    "ledger/saved_fraction": 1 - (2 + 1 + 2 + 2) / 22,
    # both prompts are the one token 1: the second need not be computed
    "prompt/tokens": 1,
    "prompt/shared": 1 / 2,
    "prompt/examples": (3 + 2) / 2,
    "prompt/retrieved": (1 + 0) / 2,
    "prompt/examples_dropped": (0 + 1) / 2,
    "prompt/cut": 1 / 2,
    "prompt/cut_characters": 30 / 2,
    "accuracy/all": 3 / 7,
    "accuracy/math": 2 / 3,
    "accuracy/qa": 1 / 4,
    "execution/ok": 5 / 8,
    "execution/timeout": 1 / 8,
    "execution/malformed": 1 / 8,
    "execution/rejected": 0,
    "execution/crashed": 0,
    "execution/call_limit": 0,
    "execution/no_answer": 0,
    "reward/mean": (10 + 6 - 4 - 8 + 6) / 5,
    "reward/correctness": (10 + 6 - 4 - 8 + 6) / 5,
    "reward/format": 10,
    "hacking/cheap_wrong": 0,
    "hacking/right_without_calls": 0,
    "hacking/judge_only": 0,
    "hacking/same_answer": 1,
}


def test_metrics_worked_by_hand() -> None:
    assert group_metrics(by_hand()) == pytest.approx(WANTED)


def test_accuracy_is_of_verdicts_and_missing_where_nothing_was_graded() -> None:
    nothing = Rollout(SUM.id, 0, completion("a"), Program("a", "a", hash="a"))
    found = group_metrics([Group(SUM, (nothing,))])
    assert not [name for name in found if name.startswith(("accuracy", "reward"))]
    assert found["rollout/not_graded"] == 1.0


@pytest.mark.parametrize(
    ("prompts", "shared"),
    [
        ([(1, 2, 3)], 0),
        ([(1, 2, 3), (4, 2, 3)], 0),
        ([(1, 2, 3), (1, 2, 4, 5)], 2 / 7),
        ([(9, 1), (1, 2, 3), (9, 1, 4), (1, 2, 4), (1, 5, 5)], (2 + 2 + 1) / 14),
    ],
    ids=["one", "nothing", "a beginning", "two families"],
)
def test_shared_prompt_tokens_are_those_that_need_no_second_computation(
    prompts: list[tuple[int, ...]], shared: float
) -> None:
    groups = []
    for prompt_ids in prompts:
        written = Completion(prompt_ids, (1,), (-1.0,), "a", "stop")
        groups.append(Group(SUM, (Rollout(SUM.id, 0, written, Program("a", "a", hash="a")),)))
    assert group_metrics(groups)["prompt/shared"] == pytest.approx(shared)


def test_no_rollouts_have_no_metrics() -> None:
    assert group_metrics([]) == {}


def test_runs_of_one_program_count_by_their_mean() -> None:
    call = OperatorCall("Custom", 30, 10, cost=20.0, llm_calls=2)
    again = Execution("ok", "5", (call, call, call))
    runs = Execution("ok", "4", (call,), again=(again,))
    verdict = Verdict(True, "exact", "r", share=0.5, again=(Verdict(False, "exact", "r"),))
    late = Execution("timeout", calls=(call,), again=(Execution("ok", "4", (call,)),))
    wrong = Verdict(False, "execution", "timeout", share=0.0, again=(Verdict(False, "exact", "r"),))
    clean = Program("a", "a", hash="a")
    found = group_metrics(
        [
            Group(
                SUM,
                (
                    Rollout(SUM.id, 0, completion("a", 4), clean, runs, verdict),
                    Rollout(SUM.id, 1, completion("b", 4), clean, late, wrong),
                ),
            )
        ]
    )
    wanted = {"accuracy/all": 0.25, "accuracy/math": 0.25, "execution/ok": 0.75}
    wanted |= {"execution/timeout": 0.25, "executor/calls": 3, "executor/tokens": 60}
    assert {key: found[key] for key in wanted} == pytest.approx(wanted)

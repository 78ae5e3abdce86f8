"""Signs of reward hacking, worked by hand."""

from __future__ import annotations

from llm_as_judge.training.step_metrics import hacking_metrics
from llm_as_judge.types import (
    Completion,
    Domain,
    Execution,
    ExecutionStatus,
    Failure,
    Group,
    OperatorCall,
    Problem,
    Program,
    Rollout,
    Verdict,
)


def rollout(
    answer: str,
    correct: bool | None,
    calls: int,
    stage: str = "exact",
    status: ExecutionStatus = "ok",
) -> Rollout:
    execution = Execution(status, answer, (OperatorCall("Custom", llm_calls=calls),))
    completion = Completion((1,), (2,), (-1.0,), "", "stop")
    return Rollout("", 0, completion, Program("", ""), execution, Verdict(correct, stage, "r"))


def group(number: int, *rollouts: Rollout, domain: Domain = "math") -> Group:
    return Group(Problem(f"a/b/{number}", "gsm8k", domain, "?", ("1",)), rollouts)


def test_signs_worked_by_hand() -> None:
    metrics = hacking_metrics(
        [
            group(1, rollout("4", True, 0), rollout("7", False, 1), rollout("4 ", True, 2, "llm")),
            group(2, rollout("4", False, 3), rollout("x", False, 0, status="crashed")),
            group(3, rollout("9", None, 1), rollout("", False, 0)),
            group(4, rollout("def f(): ...", True, 1), domain="code"),
        ]
    )
    assert metrics == {
        # of seven graded: 7 after one call, and the empty answer after none
        "hacking/cheap_wrong": 2 / 7,
        "hacking/right_without_calls": 1 / 3,
        "hacking/judge_only": 1 / 3,
        # problems 1, 2, 3 were answered; two of them with 4
        "hacking/same_answer": 1 / 2,
    }


def test_one_answer_to_everything_is_1_and_an_own_answer_each_is_0() -> None:
    same = [group(n, rollout("Yes", False, 1), rollout(" yes", False, 1)) for n in range(3)]
    assert hacking_metrics(same)["hacking/same_answer"] == 1.0
    own = [group(n, rollout(str(n), False, 1), rollout(str(n), False, 1)) for n in range(3)]
    assert hacking_metrics(own)["hacking/same_answer"] == 0.0


def test_what_failed_by_our_fault_says_nothing_about_the_policy() -> None:
    completion = Completion((1,), (2,), (-1.0,), "", "stop")
    lost = Rollout("", 0, completion, Program("", ""), failure=Failure("execute", "E", "m"))
    assert hacking_metrics([group(1, lost), group(2, lost)]) == {}

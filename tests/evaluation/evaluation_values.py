"""Problems, rollouts and groups by hand, for the tests of this folder."""

from __future__ import annotations

from llm_as_judge.types import (
    Completion,
    Domain,
    Execution,
    Failure,
    Group,
    OperatorCall,
    Problem,
    Program,
    Rollout,
    Verdict,
)

CLEAN = Program("a", "a", operators=("Custom",), hash="a")
MENDED = Program("b", "b", repairs=("await",), hash="b")
CALL = OperatorCall("Custom", 30, 10, cost_usd=0.25, llm_calls=2)
OK = Execution("ok", "4", (CALL,), seconds=3.0)
LATE = Execution("timeout", "", (CALL, CALL), seconds=9.0)
RIGHT, WRONG = Verdict(True, "exact", "r", score=1.0), Verdict(False, "qa", "r", score=0.5)
OPEN = Verdict(None, "llm", "unsure", score=0.25)
DOWN = Failure("execute", "EndpointError", "the endpoint is down")


def problem(number: int, dataset: str = "gsm8k", domain: Domain = "math") -> Problem:
    return Problem(f"{dataset}/test/{number}", dataset, domain, f"Question {number}?", ("4",))


def rollout(
    of: Problem,
    execution: Execution | None = OK,
    verdict: Verdict | None = RIGHT,
    *,
    program: Program = CLEAN,
    failure: Failure | None = None,
    index: int = 0,
) -> Rollout:
    completion = Completion((1, 2), (3,), (-1.0,), "t", "stop")
    return Rollout(of.id, index, completion, program, execution, verdict, failure=failure)


def group(of: Problem, *verdicts: Verdict) -> Group:
    return Group(of, tuple(rollout(of, verdict=v, index=i) for i, v in enumerate(verdicts)))


def answered(of: Problem, answer: str, verdict: Verdict) -> Group:
    return Group(of, (rollout(of, Execution("ok", answer), verdict),))


def five() -> list[Group]:
    """Right, repaired and late, right, left open, failed by our fault."""
    p = [problem(n) for n in range(5)]
    return [
        Group(p[0], (rollout(p[0]),)),
        Group(p[1], (rollout(p[1], LATE, WRONG, program=MENDED),)),
        Group(p[2], (rollout(p[2]),)),
        Group(p[3], (rollout(p[3], OK, OPEN),)),
        Group(p[4], (rollout(p[4], None, None, failure=DOWN),)),
    ]

from __future__ import annotations

from llm_as_judge.llm.estimate import Estimate, Means, means_of_executions, measured_means
from llm_as_judge.types import Execution, OperatorCall

STEPS = [
    {"step": 1, "rollout/count": 4},  # before the ledger was written: not counted
    {
        "step": 2,
        "rollout/count": 4,
        "ledger/calls": 6,
        "ledger/prompt_tokens": 600,
        "ledger/completion_tokens": 60,
    },
    {
        "step": 3,
        "rollout/count": 6,
        "ledger/calls": 6,
        "ledger/prompt_tokens": 400,
        "ledger/completion_tokens": 40,
    },
]


def test_training_pays_for_a_shared_call_once() -> None:
    assert measured_means(STEPS) == Means(1.2, 100.0, 10.0, 10)


def test_an_evaluation_goes_on_as_the_programs_on_disk_did() -> None:
    call = OperatorCall("Custom", 30, 10, llm_calls=2)
    done = [Execution("ok", "1", (call, call)), Execution("rejected")]
    assert means_of_executions(done) == Means(2.0, 30.0, 10.0, 2, cost=17.5)
    assert means_of_executions([]) is None


def test_only_the_latest_steps_count() -> None:
    assert measured_means(STEPS, latest=1) == Means(1.0, 400 / 6, 40 / 6, 6)


def test_without_steps_there_is_no_measurement() -> None:
    assert measured_means([]) is None
    assert measured_means(STEPS[:1]) is None


def test_the_line_says_what_it_rests_on_and_that_a_price_is_unknown() -> None:
    line = str(Estimate(10, Means(1.2, 100.0, 10.0, 10), 50, 800, None))
    assert line == (
        "estimate: 10 programs, about 12 executor calls, 1,000 + 100 tokens, "
        "cost 350 written tokens, dollars unknown (as the last 10 programs); at most 50 calls and 800 written tokens"
    )
    assert "assuming 2 calls a program" in str(Estimate(1, Means(2, 1, 1), 5, 5, None))
    assert "assuming 1 call a program" in str(Estimate(1, Means(1, 1, 1), 5, 5, None))


def test_the_line_of_a_training_counts_its_steps() -> None:
    assert str(Estimate(48, Means(2, 1, 1), 5, 5, None, steps=2)).startswith(
        "estimate: 2 steps, 48 programs, about 96 executor calls, "
    )


def test_calls_of_a_judge_stand_beside_those_of_the_executor() -> None:
    line = str(Estimate(10, Means(2, 1, 1), 50, 800, None, most_judge_calls=20))
    assert line.endswith(
        "at most 50 calls and 800 written tokens; the judge's model at most 20 calls more"
    )

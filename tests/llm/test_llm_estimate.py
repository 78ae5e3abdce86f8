from __future__ import annotations

from llm_as_judge.llm.estimate import Estimate, Means, means_of_executions, measured_means
from llm_as_judge.llm.ledger import Price
from llm_as_judge.types import Execution, OperatorCall

STEPS = [
    {"step": 1, "rollout/count": 4},  # before the ledger was written: not counted
    *(
        {
            "step": step,
            "rollout/count": count,
            "ledger/calls": 6,
            "ledger/prompt_tokens": 10 * written,
            "ledger/completion_tokens": written,
        }
        for step, count, written in ((2, 4, 60), (3, 6, 40))
    ),
]


def test_training_pays_for_a_shared_call_once_and_the_latest_steps_count() -> None:
    assert measured_means(STEPS) == Means(1.2, 100.0, 10.0, 10)
    assert measured_means(STEPS, latest=1) == Means(1.0, 400 / 6, 40 / 6, 6)
    assert measured_means([]) is measured_means(STEPS[:1]) is None


def test_an_evaluation_goes_on_as_the_programs_on_disk_did() -> None:
    call = OperatorCall("Custom", 30, 10, llm_calls=2)
    done = [Execution("ok", "1", (call, call)), Execution("rejected")]
    assert means_of_executions(done) == Means(2.0, 30.0, 10.0, 2, cost=17.5)
    assert means_of_executions([]) is None


def test_the_lines_say_what_they_rest_on_and_that_a_price_is_unknown() -> None:
    assert Estimate(10, Means(1.2, 100.0, 10.0, 10), 50, 800, None).lines == (
        "estimate: 10 programs (as the last 10 programs)",
        "  calls   about 12 of the executor, at most 50",
        "  tokens  about 1,000 read, about 100 written; at most 800 written",
        "  cost    about 350 written tokens, price unknown",
    )
    for calls, said in ((8.0714, "8.1 calls"), (1, "1 call"), (2, "2 calls")):
        first = Estimate(48, Means(calls, 1, 1), 5, 5, None, steps=2).lines[0]
        assumed = f"assuming {said} a program, replies of full length"
        assert first == f"estimate: 2 steps, 48 programs ({assumed})"


def test_replies_from_the_cache_are_no_measurement_of_dollars() -> None:
    cached = Means(2.0, 100.0, 10.0, 10, cost=35.0, cost_usd=0.0)
    assert Estimate(10, cached, 50, 800, None).lines[-1].endswith("price unknown")
    assert Estimate(10, cached, 50, 800, Price(0.0, 0.0)).lines[-1].endswith(", $0.00")
    paid = Estimate(10, Means(2.0, 100.0, 10.0, 10), 50, 800, Price(1000.0, 10_000.0)).lines[-1]
    assert paid.endswith(", $2.00 (written tokens at most $8.00)")


def test_calls_of_a_judge_stand_beside_those_of_the_executor() -> None:
    calls = Estimate(10, Means(2, 1, 1), 50, 800, None, most_judge_calls=20).lines[1]
    assert calls.endswith("about 20 of the executor, at most 50; at most 20 of the judge's model")

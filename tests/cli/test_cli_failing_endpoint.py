"""evaluate at an endpoint that gives few usable replies, or none: one reason, one set of counts."""

from __future__ import annotations

from pathlib import Path

from called_verbs import Verbs

from fault_endpoint import FaultEndpoint, in_a_thread
from llm_as_judge.data.files import write_problems
from llm_as_judge.types import Problem

PROBLEMS = [
    Problem(f"gsm8k/test/{n}", "gsm8k", "math", f"What is {n} plus 2?", (str(n + 2),))
    for n in range(6)
]


def evaluated(verb: Verbs, folder: Path, server: FaultEndpoint) -> tuple[int, str, str]:
    write_problems(folder / "data" / "test" / "gsm8k_test.jsonl", PROBLEMS)
    return verb(
        *("evaluate", "--config", "embedded", "--policy", "direct", "--limit", "all"),
        *("--executor", f"openai:m@{server.url}", "--set", "data.sets=[gsm8k]"),
        *("--set", "judge.kind=rules", "--set", "calls.mode=off"),
        *("--set", "executor.retries=0"),
    )


def test_where_nothing_was_graded_the_reason_comes_first_and_no_table(
    verb: Verbs, folder: Path
) -> None:
    with in_a_thread(FaultEndpoint(0.0, mode_of=lambda _: "wrong_shape")) as server:
        code, out, err = evaluated(verb, folder, server)
    assert (code, out) == (1, "")
    told = err.splitlines()
    (line,) = [line for line in told if "nothing was graded" in line]
    assert line.startswith("nothing was graded: 6 answers failed outside of programs")
    assert "response has no choices" in line
    assert "OpenAI-compatible" in line
    assert told.index(line) < next(n for n, of in enumerate(told) if of.startswith("requests 6"))


def test_an_evaluation_that_lost_a_row_counts_its_answers_once_and_its_tokens_apart(
    verb: Verbs, folder: Path
) -> None:
    def mode(asked: str) -> str:
        return "wrong_shape" if "What is 5 plus" in asked else "ok"

    with in_a_thread(FaultEndpoint(0.0, answer=lambda _: "7", mode_of=mode)) as server:
        code, out, err = evaluated(verb, folder, server)
        billed = server.billed["prompt"] + server.billed["completion"]
    assert code == 0, err
    first = out.splitlines()[0]
    assert "right on 5 problems" in first
    assert "6 answers asked for: 5 graded, 1 failed (in no figure). So few problems" in first
    assert "1 answer failed outside of programs" in err
    assert "not graded" not in out
    (row,) = [line for line in out.splitlines() if "tokens per problem" in line]
    assert f"{billed / 5:,.0f}" in row  # of the five that ran
    (bill,) = [line for line in err.splitlines() if line.startswith("requests 6")]
    assert "1 failed (reply of another form: 1)" in bill
    assert "here but not in the figures of a problem" in bill

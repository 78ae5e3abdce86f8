"""Evaluation: figures worked by hand, the documented form, files that say what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from llm_as_judge.config import Config
from llm_as_judge.data.files import write_problems
from llm_as_judge.errors import DataError
from llm_as_judge.evaluation.evaluate import (
    EvaluationResult,
    read_results,
    results_json,
    set_metrics,
    write_results,
)
from llm_as_judge.evaluation.evaluate import test_problems as problems_of
from llm_as_judge.evaluation.statistics import wilson
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
    from_json,
)

CLEAN = Program("a", "a", hash="a")
MENDED = Program("b", "b", repairs=("await",), hash="b")
CALL = OperatorCall("Custom", prompt_tokens=30, completion_tokens=10, llm_calls=2)
OK = Execution("ok", "4", (CALL,), seconds=3.0)
LATE = Execution("timeout", "", (CALL, CALL), seconds=9.0)
RIGHT, WRONG = Verdict(True, "exact", "r", score=1.0), Verdict(False, "qa", "r", score=0.5)
OPEN = Verdict(None, "llm", "unsure", score=0.25)


def group(
    number: int,
    program: Program,
    execution: Execution | None,
    verdict: Verdict | None,
    failure: Failure | None = None,
    dataset: str = "gsm8k",
    domain: Domain = "math",
) -> Group:
    problem = Problem(f"{dataset}/test/{number}", dataset, domain, "?", ("4",))
    completion = Completion((1,), (2,), (-1.0,), "t", "stop")
    rollout = Rollout(problem.id, 0, completion, program, execution, verdict, failure=failure)
    return Group(problem, (rollout,))


def five() -> list[Group]:
    return [
        group(0, CLEAN, OK, RIGHT),
        group(1, MENDED, LATE, WRONG),
        group(2, CLEAN, OK, RIGHT),
        group(3, CLEAN, OK, OPEN),
        group(4, CLEAN, None, None, Failure("execute", "EndpointError", "down")),
    ]


def test_metrics_worked_by_hand() -> None:
    low, high = wilson(2, 3)
    assert set_metrics(five()) == pytest.approx(
        {
            "accuracy": 2 / 3,  # of graded ones
            "accuracy_low": low,
            "accuracy_high": high,
            "correct": 2,
            "graded": 3,
            "not_graded": 2,  # one left open, one failed
            "strictly_valid": 4 / 5,
            "repaired": 1 / 5,
            "executed": 3 / 5,
            "timeout": 1 / 5,
            "calls": (3 * 2 + 4) / 5,
            "tokens": (3 * 40 + 80) / 5,
            "seconds": (3 * 3 + 9) / 5,
            "score": (1 + 0.5 + 1) / 3,  # what was not graded has no say
        }
    )


def test_nothing_graded_has_the_widest_interval() -> None:
    found = set_metrics([group(0, CLEAN, OK, OPEN)])
    assert (found["accuracy_low"], found["accuracy_high"]) == (0.0, 1.0)
    assert (found["graded"], found["not_graded"]) == (0, 1)
    assert "score" not in found


def two_sets() -> EvaluationResult:
    qa = [group(0, CLEAN, OK, WRONG, dataset="squad2", domain="qa")]
    return EvaluationResult({"gsm8k": five(), "squad2": qa}, {"gsm8k": 1319, "squad2": 7})


def test_results_have_the_documented_form() -> None:
    config = Config.model_validate({"judge": {"model": "none"}, "training": {"seed": 3}})
    found = results_json(two_sets(), config, Path("checkpoints/step_3"))
    assert {k: v for k, v in found.items() if isinstance(v, (str, int))} == {
        "model": "qwen25-7b",
        "checkpoint": "checkpoints/step_3",
        "executor": "gpt-oss-120b",
        "judge": "none",
        "seed": 3,
    }
    rows = [{k: v for k, v in row.items() if k != "metrics"} for row in found["datasets"]]
    assert rows == [
        {"dataset": "gsm8k", "domain": "math", "num_samples": 5, "rows_in_test_file": 1319},
        {"dataset": "squad2", "domain": "qa", "num_samples": 1, "rows_in_test_file": 7},
    ]
    accuracies = {row["dataset"]: row["metrics"]["accuracy"] for row in found["datasets"]}
    assert accuracies == {"gsm8k": pytest.approx(2 / 3), "squad2": 0.0}
    assert list(found["domains"]) == ["math", "qa"]
    assert found["domains"]["math"] == found["datasets"][0]["metrics"]
    assert found["overall"]["accuracy"] == pytest.approx(2 / 4)


def test_no_checkpoint_is_null() -> None:
    assert results_json(two_sets(), Config(), None)["checkpoint"] is None


def test_what_is_written_is_read_back_with_every_rollout(tmp_path: Path) -> None:
    config = Config.model_validate({"output": {"results": tmp_path}})
    path = write_results(two_sets(), config, None, "tiny")
    assert path == tmp_path / "evaluation" / "tiny_results.json"
    assert read_results(path) == results_json(two_sets(), config, None)
    rows = (path.parent / "tiny_rollouts.jsonl").read_text().splitlines()
    groups = [g for groups in two_sets().groups_by_set.values() for g in groups]
    assert [from_json(Problem, json.loads(row)["problem"]) for row in rows] == [
        g.problem for g in groups
    ]
    assert [from_json(Rollout, json.loads(row)["rollout"]) for row in rows] == [
        g.rollouts[0] for g in groups
    ]


def test_a_missing_results_file_says_which_command_writes_it(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"x\.json: no such file; run: llm-as-judge evaluate"):
        read_results(tmp_path / "x.json")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b'{"datasets": {}}',
        b'{"datasets": []}',
        b'{"datasets": [], "overall": {"accuracy": 0.5}}',
        b"\xff\xfe\x00",
        b"null",
    ],
    ids=repr,
)
def test_a_broken_results_file_is_a_data_error_that_names_it(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "x_results.json"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"x_results\.json: "):
        read_results(path)


def test_a_limit_takes_the_same_seeded_sample_in_file_order(tmp_path: Path) -> None:
    rows = [Problem(f"gsm8k/test/{n}", "gsm8k", "math", f"{n}?", ("4",)) for n in range(30)]
    write_problems(tmp_path / "test" / "gsm8k_test.jsonl", rows)

    def chosen(limit: int | None, seed: int = 0) -> list[Problem]:
        tree = {
            "data": {"data_dir": tmp_path, "sets": ["gsm8k"], "seed": seed},
            "evaluation": {"limit_per_set": limit},
        }
        problems, count = problems_of(Config.model_validate(tree))["gsm8k"]
        assert count == 30
        return problems

    assert chosen(None) == chosen(30) == chosen(99) == rows
    assert chosen(5) == chosen(5)
    assert len(chosen(5)) == 5
    assert chosen(5) == [row for row in rows if row in chosen(5)]
    assert chosen(5) != chosen(5, seed=1)


def test_a_missing_test_file_is_a_data_error(tmp_path: Path) -> None:
    config = Config.model_validate({"data": {"data_dir": tmp_path, "sets": ["gsm8k"]}})
    with pytest.raises(DataError, match=r"gsm8k_test\.jsonl: no such file"):
        problems_of(config)

import importlib.util
import io
import json
from pathlib import Path
from typing import Any

import pytest

from llm_as_judge.data.download import acquire
from llm_as_judge.data.generated import reasoning_gym, write_generated
from llm_as_judge.data.process import process
from llm_as_judge.data.rows import RawRow, RowError
from llm_as_judge.errors import DataError


class FakeTask:
    def __init__(self, task: str, seed: int, right: bool) -> None:
        self.task, self.seed, self.right = task, seed, right

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {"question": f"{self.task} {self.seed} + {index}?", "answer": str(self.seed + index)}

    def score_answer(self, answer: str, entry: dict[str, Any]) -> float:
        return float(self.right and answer == entry["answer"])


class FakeGym:
    __version__ = "9"

    def __init__(self, right: bool = True) -> None:
        self.right = right

    def create_dataset(self, task: str, size: int, seed: int) -> FakeTask:
        return FakeTask(task, seed, self.right)


def generated(rows: int, seed: int) -> list[dict[str, Any]]:
    stream = io.BytesIO()
    assert write_generated(stream, rows, seed, ("a", "b"), FakeGym()) == "9"
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_tasks_come_in_turn_and_are_marked() -> None:
    rows = generated(3, 5)
    assert [(r["task"], r["index"]) for r in rows] == [("a", 0), ("b", 0), ("a", 1)]
    problem = reasoning_gym(RawRow("f:1", 0, rows[2]), "generated")
    assert (problem.id, problem.answers) == ("reasoning_gym/generated/a-5-1", ("6",))
    assert problem.meta["generated"] == "reasoning-gym"


def test_gold_that_its_verifier_refuses_is_an_error() -> None:
    with pytest.raises(DataError, match="its verifier refuses"):
        write_generated(io.BytesIO(), 1, 0, ("a",), FakeGym(right=False))


def test_rows_must_be_numbers() -> None:
    row = {"task": "a", "seed": 0, "index": 0, "question": "q", "answer": "Monday"}
    with pytest.raises(RowError, match="wanted a number"):
        reasoning_gym(RawRow("f:1", 0, row), "generated")


def test_generated_rows_never_reach_validation_or_test(tmp_path: Path) -> None:
    folder = tmp_path / "raw" / "reasoning_gym"
    folder.mkdir(parents=True)
    with (folder / "train.jsonl").open("wb") as stream:
        write_generated(stream, 60, 0, ("a", "b"), FakeGym())
    report = process(tmp_path / "raw", tmp_path / "out", sets=("reasoning_gym",), val_fraction=0.2)
    (entry,) = report.sets
    assert (entry.train, entry.val, entry.test, entry.test_wanted) == (60, 0, 0, 0)
    assert [mix.rows for mix in report.mixes] == [60, 0, 0]


def test_missing_package_is_named_with_the_command(tmp_path: Path) -> None:
    if importlib.util.find_spec("reasoning_gym"):
        pytest.skip("the package is installed")
    with pytest.raises(DataError, match="pip install reasoning-gym"):
        acquire(tmp_path / "raw", None, False, tmp_path, sets=("reasoning_gym",))
    assert not list((tmp_path / "raw" / "reasoning_gym").iterdir())


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_rows_of_the_installed_package(tmp_path: Path) -> None:
    pytest.importorskip("reasoning_gym")
    manifest = acquire(tmp_path / "raw", None, False, tmp_path, sets=("reasoning_gym",))
    assert (manifest.entries[0].origin, manifest.entries[0].rows) == ("generated", 600)
    report = process(tmp_path / "raw", tmp_path / "out", sets=("reasoning_gym",))
    assert (report.sets[0].train, report.refused) == (600, 0)

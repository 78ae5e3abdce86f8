"""Results files: written and read by one model; older files are read, newer ones refused."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from llm_as_judge.errors import DataError
from llm_as_judge.runs.results import FullResults, Results, read_results_file

ROOT = Path(__file__).parents[2]
COMMITTED = [
    path
    for name in ("*_results.json", "full.json.gz")
    for path in sorted((ROOT / "examples" / "adaptive").rglob(name))
]
FIGURES = {
    "accuracy": 0.5,
    "accuracy_low": 0.25,
    "accuracy_high": None,
    "strictly_valid": 1.0,
    "executed": 1.0,
    "calls": 1,
    "tokens": 99.5,
    "macro_sets": 2.0,
}
OLD = {"datasets": [{"dataset": "gsm8k", "metrics": FIGURES}], "overall": FIGURES}


def written(folder: Path, data: Any) -> Path:
    path = folder / "x_results.json"
    path.write_text(json.dumps(data))
    return path


def test_what_is_written_is_read_again_whatever_its_texts_hold(tmp_path: Path) -> None:
    row = {
        "id": "\u2028 \N{SNOWMAN}",
        "dataset": "d",
        "domain": "qa",
        "correct": [None, True],
        "tokens": [3],
    }
    more = {"policy": "p", "executor": "e", "seed": 1, "problems": [row]}
    first = read_results_file(FullResults, written(tmp_path, {**OLD, **more}))
    first.write(tmp_path / "full.json")
    assert read_results_file(FullResults, tmp_path / "full.json") == first
    assert first.problems[0].tokens == (3,)
    assert first.metrics_of("gsm8k") == first.overall == FIGURES
    assert first.metrics_of("mbpp") == {}


def test_a_file_of_before_formats_were_said_is_read(tmp_path: Path) -> None:
    found = read_results_file(Results, written(tmp_path, OLD))
    assert (found.format, found.split, found.complete, found.run) == (0, "test", True, None)


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.parent.name)
def test_the_results_of_the_example_are_read_and_nothing_of_them_is_lost(path: Path) -> None:
    packed = path.suffix == ".gz"
    kind = FullResults if packed else Results
    data = json.loads(gzip.decompress(path.read_bytes()) if packed else path.read_bytes())
    found = read_results_file(kind, path).as_json()
    assert known(found, data) == data


def known(found: Any, data: Any) -> Any:
    """Of ``found`` what ``data`` has a place for: a field that came later is empty there."""
    if isinstance(data, dict):
        return {key: known(found[key], value) for key, value in data.items()}
    if isinstance(data, list) and len(found) == len(data):
        return [known(one, other) for one, other in zip(found, data, strict=True)]
    return found


def test_a_packed_file_that_is_torn_is_one_line(tmp_path: Path) -> None:
    packed = next(path for path in COMMITTED if path.suffix == ".gz").read_bytes()
    for damaged in (packed[: len(packed) // 2], packed[:200] + bytes(50) + packed[250:], b"{}"):
        (tmp_path / "full.json.gz").write_bytes(damaged)
        with pytest.raises(DataError, match=r"full\.json\.gz: cannot be read: "):
            read_results_file(FullResults, tmp_path / "full.json.gz")


def test_there_are_results_in_the_example() -> None:
    assert len(COMMITTED) > 3


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({**OLD, "format": 2}, "format: Input should be less than or equal to 1, found 2"),
        ({**OLD, "overall": {}}, "overall: no 'accuracy', found {}"),
        (
            {**OLD, "datasets": [{"dataset": 3}]},
            "datasets.0.dataset: Input should be a valid string",
        ),
        ({"overall": FIGURES}, "no key 'datasets' (found: overall)"),
        (OLD | {"overall": {**FIGURES, "calls": "many"}}, "overall.calls: Input should be a valid"),
        ([], "Input should be an object, found []"),
        (
            OLD | {"overall": {**FIGURES, "accuracy": float("nan")}},
            "overall.accuracy: Input should be a finite",
        ),
    ],
)
def test_a_file_that_is_not_whole_is_one_line(tmp_path: Path, data: Any, said: str) -> None:
    path = written(tmp_path, data)
    with pytest.raises(DataError) as refused:
        read_results_file(Results, path)
    assert str(refused.value).startswith(f"{path}: not a results file of evaluate: {said}")
    assert str(refused.value).endswith("; evaluate again")

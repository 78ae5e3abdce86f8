"""The picture of a front is a whole SVG file that names every result, and needs two of them."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from front import picture
from llm_as_judge.errors import DataError
from llm_as_judge.runs.results import Results


def results(folder: Path, name: str, right: int, cost: float) -> Path:
    part = right / 10
    figures = {"accuracy": part, "accuracy_low": part - 0.1, "accuracy_high": part + 0.1}
    others = dict.fromkeys(("strictly_valid", "executed", "calls"), 1.0)
    overall = {**others, **figures, "cost": cost, "tokens": 4 * cost}
    found = Results(model="m", seed=0, datasets=(), overall=overall)
    path = folder / f"{name}_results.json"
    found.write(path)
    return path


def test_the_picture_stands_by_itself_and_names_each_result(tmp_path: Path) -> None:
    files = [results(tmp_path, "cheap", 5, 30.0), results(tmp_path, "dear", 7, 90.0)]
    drawn = ET.fromstring(picture(files))
    assert drawn.tag == "{http://www.w3.org/2000/svg}svg"
    texts = [node.text for node in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert {"cheap", "dear"} <= set(texts)
    assert len(list(drawn.iter("{http://www.w3.org/2000/svg}circle"))) == 2


def test_one_result_has_no_front(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="two results files or more"):
        picture([results(tmp_path, "alone", 5, 30.0)])

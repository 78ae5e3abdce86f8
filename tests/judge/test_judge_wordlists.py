"""The words of the rules are read as written, and belong to what an audit vouches for."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from llm_as_judge.judge import cascade
from llm_as_judge.judge.cascade import rules_fingerprint
from llm_as_judge.judge.wordlists import LIGHT, NUMERALS, ORDINALS, TENS, TURNING


def test_numbers_follow_the_order_of_their_words() -> None:
    assert (NUMERALS["zero"], NUMERALS["nineteen"]) == (0, 19)
    assert (ORDINALS["first"], ORDINALS["tenth"]) == (1, 10)
    assert (TENS["twenty"], TENS["ninety"]) == (20, 90)


def test_words_that_yaml_takes_for_truth_values_are_words() -> None:
    assert "on" in LIGHT
    assert "no" in TURNING


@pytest.mark.parametrize("name", ["words.yaml", "wording.py", "math.py"])
def test_another_rule_or_another_word_is_another_fingerprint(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "judge"
    shutil.copytree(Path(cascade.__file__).parent, folder)
    assert rules_fingerprint(folder) == rules_fingerprint()
    with (folder / name).open("a", encoding="utf-8") as file:
        file.write("# changed\n")
    assert rules_fingerprint(folder) != rules_fingerprint()

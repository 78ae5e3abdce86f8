"""Salted hashes of answers: equal ones are counted, none is shown, no salt is doubled."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_as_judge.errors import OutputError
from llm_as_judge.grading.answer_hash import AnswerHashes
from llm_as_judge.types import Problem

SUM = Problem("gsm8k/test/1", "gsm8k", "math", "How many clips?", ("18",))
WHO = Problem("squad2/test/1", "squad2", "qa", "Who lit the lamp?", ("Edna",), context="Edna.")
PICK = Problem("mmlu/test/1", "mmlu", "qa", "Which?", ("A",), options=("red", "blue"))
CODE = Problem("mbpp/test/1", "mbpp", "code", "Write f.", entry_point="f")


@pytest.fixture
def hashes(tmp_path: Path) -> AnswerHashes:
    return AnswerHashes(tmp_path)


@pytest.mark.parametrize(
    ("problem", "answers"),
    [
        (SUM, ("18", "18.0", "$18", "The answer is 18.")),
        (SUM, (r"\frac{1}{2}", "0.5", "1/2")),
        (SUM, ("9" * 1900, f"The answer is {'9' * 1900}.")),
        (WHO, ("Edna", "edna.", " the Edna")),
        (WHO, ("unanswerable", "The context does not answer the question.")),
        (PICK, ("A", "(A)", "red")),
        (CODE, ("def f():\n    return 1", "def f():  \n    return 1\n\n")),
    ],
    ids=["numbers", "fractions", "long", "texts", "abstentions", "options", "code"],
)
def test_equal_answers_have_one_hash(
    hashes: AnswerHashes, problem: Problem, answers: tuple[str, ...]
) -> None:
    assert len({hashes.of(problem, answer) for answer in answers}) == 1
    assert hashes.of(problem, answers[0]) != hashes.of(problem, "19")


def test_a_hash_is_of_one_question_and_one_salt_and_shows_nothing(
    hashes: AnswerHashes, tmp_path: Path
) -> None:
    other = Problem("gsm8k/test/2", "gsm8k", "math", "How many cats?", ("18",))
    found = {hashes.of(SUM, "18"), hashes.of(other, "18")}
    elsewhere = AnswerHashes(tmp_path / "other")
    found.add(elsewhere.of(SUM, "18"))
    assert len(found) == 3
    assert elsewhere.name != hashes.name
    again = AnswerHashes(tmp_path)
    assert (again.name, again.of(SUM, "18")) == (hashes.name, hashes.of(SUM, "18"))
    assert len(hashes.of(SUM, "a long answer " * 10_000)) == 16


@settings(max_examples=30)
@given(st.text(max_size=200), st.sampled_from([SUM, WHO, PICK, CODE]))
def test_any_text_has_a_hash(
    tmp_path_factory: pytest.TempPathFactory, text: str, problem: Problem
) -> None:
    folder = tmp_path_factory.getbasetemp() / "salt"
    assert AnswerHashes(folder).of(problem, text) == AnswerHashes(folder).of(problem, text)


def test_processes_that_begin_together_have_one_salt(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path\n"
        "from llm_as_judge.grading.answer_hash import AnswerHashes\n"
        "print(AnswerHashes(Path(sys.argv[1])).name)"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "cache")]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
    names = [one.communicate(timeout=120)[0] for one in both]
    assert names[0] == names[1] != b""
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["answer_salt"]


def test_a_damaged_salt_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "answer_salt").write_bytes(b"short")
    with pytest.raises(OutputError, match="answer_salt: 5 bytes, wanted 32; remove it"):
        AnswerHashes(tmp_path)

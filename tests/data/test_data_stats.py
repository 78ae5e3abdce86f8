import json
from pathlib import Path

import pytest

from llm_as_judge.data.files import write_problems
from llm_as_judge.data.stats import answer_type, count_tokens, data_stats, stats_table
from llm_as_judge.errors import DataError
from llm_as_judge.types import Problem


def qa(name: str, dataset: str, question: str, *answers: str) -> Problem:
    return Problem(id=name, dataset=dataset, domain="qa", question=question, answers=answers)


def write(folder: Path, dataset: str, **splits: list[Problem]) -> None:
    for split in ("train", "val", "test"):
        place = "test" if split == "test" else "processed"
        write_problems(folder / place / f"{dataset}_{split}.jsonl", splits.get(split, []))


@pytest.mark.parametrize(
    ("problem", "kind"),
    [
        (qa("i", "d", "q"), "unanswerable"),
        (qa("i", "d", "q", "Yes"), "yes/no"),
        (qa("i", "d", "q", "1,200"), "number"),
        (qa("i", "d", "q", "the fox"), "text"),
        (Problem("i", "d", "qa", "q", ("A",), options=("x", "y")), "letter"),
        (Problem("i", "d", "math", "q", (r"\frac{1}{2}",)), "expression"),
        (Problem("i", "d", "math", "q", ("-3.5",)), "number"),
        (Problem("i", "d", "code", "q", hidden_tests=("assert f()",)), "function"),
    ],
)
def test_answer_types(problem: Problem, kind: str) -> None:
    assert answer_type(problem) == kind


def test_token_estimate_by_hand() -> None:
    assert count_tokens("The 42 elephants, all.") == 8  # The 4 2 elepha nts , all .


def test_rows_lengths_and_overlap_are_counted_by_set_and_split(tmp_path: Path) -> None:
    write(
        tmp_path,
        "a",
        train=[qa("1", "a", "one two three", "x"), qa("2", "a", "four five", "y")],
        test=[qa("3", "a", "One  two three", "x"), qa("4", "a", "new question", "no")],
    )
    write(tmp_path, "b", test=[qa("5", "b", "four five", "z")])
    (tmp_path / "test" / "test_index.json").write_text(json.dumps({"a": {}, "b": {}}))
    stats = {(s.dataset, s.split): s for s in data_stats(tmp_path)}
    train, test, other = stats["a", "train"], stats["a", "test"], stats["b", "test"]
    assert (train.rows, train.tokens_median, train.tokens_max) == (2, 3, 3)
    assert (test.in_train_of_same_set, test.in_train_of_other_sets) == (1, 0)
    assert (other.in_train_of_same_set, other.in_train_of_other_sets) == (0, 1)
    assert test.answer_types == {"text": 1, "yes/no": 1}
    assert stats["b", "val"].rows == 0
    assert len(stats_table(tuple(stats.values()))[1]) == 6


def test_unprocessed_folder_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file; run: llm-as-judge data process"):
        data_stats(tmp_path)

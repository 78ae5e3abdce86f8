"""A mistake that people make is answered by what they meant."""

from __future__ import annotations

from pathlib import Path

import pytest
from called_verbs import Verbs

from llm_as_judge.cli.asking import Asked
from llm_as_judge.cli.training import _same_policy

GRADED = '{"id":"a","domain":"math","question":"2+2?","reference":"4","candidate":"4"}\n'


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("train", "--set", "training.lr=1e-4"), "did you mean 'training.learning_rate'?"),
        (
            ("train", "--learning-rate", "1e-4"),
            "--learning-rate: no option of train; it is a key: --set training.learning_rate=VALUE",
        ),
        (
            ("evaluate", "--config", "embedded", "--policy", "no/such/folder"),
            "--policy no/such/folder: no such file or folder; wanted a checkpoint folder step_N",
        ),
        (
            ("headroom", "graded.jsonl", "--config", "embedded", "--dry-run"),
            "graded.jsonl:1: found a row for grade, with a 'candidate': llm-as-judge grade --in FILE",
        ),
        (
            ("grade", "--in", "rows.csv", "--out", "v.jsonl", "--config", "embedded"),
            "rows.csv: a table, wanted JSON lines: one object a line with id, domain,",
        ),
    ],
    ids=["short key", "key as option", "no folder", "rows for grade", "table for grade"],
)
def test_the_right_advice(verb: Verbs, arguments: tuple[str, ...], said: str) -> None:
    Path("graded.jsonl").write_text(GRADED)
    Path("rows.csv").write_text("id,candidate\na,4\n")
    assert said in verb.refused(*arguments)


def test_a_dry_run_says_the_memory_of_a_7b_without_rows_and_fails_for_them(
    verb: Verbs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.delenv("QWEN_MODEL_PATH", raising=False)
    code, out, err = verb("train", "--model", "qwen25-7b", "--dry-run")
    assert code == 2
    assert "memory    weights about 15.2 GB in bfloat16" in out
    assert "train_mixed.jsonl: no such file" in err


def test_after_a_training_the_next_line_names_the_policy_that_was_trained() -> None:
    asked = Asked("embedded", "smollm2-135m", ("training.steps=2", "output.checkpoints=my points"))
    assert _same_policy(asked) == (
        " --config embedded --model smollm2-135m --set 'output.checkpoints=my points'"
    )

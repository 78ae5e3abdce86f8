"""judge train, judge calibrate: a folder of a judge, and files that are refused in one line."""

from pathlib import Path

import pytest
from called_verbs import Verbs

from labeled_rows import rows
from llm_as_judge.judge.judge_file import judge_sha256, read_judge_file
from llm_as_judge.judge.parts import HOLDING
from llm_as_judge.policy.adapter import read_spec
from llm_as_judge.training.judge.rows import read_training_rows


@pytest.mark.slow
def test_rows_make_a_judge_that_is_calibrated_anew_on_other_rows(
    verb: Verbs, folder: Path, tiny_weights: Path
) -> None:
    learned = rows(folder / "rows.jsonl", 0, 25)
    train = (
        *("judge", "train", "--labeled", str(learned), "--out", "mine", "--limit", "40"),
        *("--rank", "2", "--device", "cpu", "--model", str(tiny_weights)),
    )
    out, err = verb.done(*train)
    assert "\nnext    " in out
    assert " steps, 0 done" in err
    made = read_judge_file(folder / "mine")
    assert made.precision == 0.97
    assert {"qa", "qa" + HOLDING} <= set(made.thresholds)
    names = {path.name for path in (folder / "mine").iterdir()}
    assert {"adapter_model.safetensors", "README.md", "questions.txt", "metrics.jsonl"} <= names
    _, err = verb.done(*train)
    assert "step 1/" not in err, "what was done is not done again"

    others = rows(folder / "others.jsonl", 1000, 25)
    onward = (*train[:3], str(others), "--out", "next", "--limit", "40", "--start")
    shape = ("--device", "cpu", "--model", str(tiny_weights))
    verb.done(*onward, "mine", *shape)
    assert read_judge_file(folder / "next").start == judge_sha256(folder / "mine")
    assert read_spec(folder / "next").rank == 2, "of the judge that it went on from"
    first, both = (
        (folder / name / "questions.txt").read_text().split() for name in ("mine", "next")
    )
    assert set(first) < set(both)
    assert "nothing/judge.json: cannot be read" in verb.refused(*onward, "nothing", *shape)
    assert "a judge with base model" in verb.refused(*onward, "shipped", *shape)

    calibrate = ("judge", "calibrate", "--judge", "mine", "--device", "cpu", "--labeled")
    verb.done(*calibrate, str(others), "--precision", "0.6")
    assert read_judge_file(folder / "mine").precision == 0.6
    assert "the judge has learned from" in verb.refused(*calibrate, str(learned))

    strict = read_judge_file(folder / "mine").thresholds
    again = ("judge", "calibrate", "--judge", "mine", "--precision")
    verb.done(*again, "0.55")
    assert read_judge_file(folder / "mine").precision == 0.55
    verb.done(*again, "0.6")
    assert read_judge_file(folder / "mine").thresholds == strict, "the kept scores choose the same"
    _, out, _ = verb(*again, "0.995")
    assert "it accepts nothing: label more rows" in out, "so few rows cannot promise that"
    (folder / "mine/calibration.jsonl").write_text('{"domain": "qa", "log_odds": "high"}\n')
    assert "mine/calibration.jsonl: not what judge train writes" in verb.refused(*again, "0.6")
    (folder / "mine/calibration.jsonl").unlink()
    assert "name rows with --labeled" in verb.refused(*again, "0.6")
    assert "name them with --labeled" in verb.refused(*again, "0.6", "--model", "openai:m@http://h")


@pytest.mark.slow
def test_examples_are_written_and_counted_without_a_model(verb: Verbs, folder: Path) -> None:
    learned = rows(folder / "rows.jsonl", 0, 30)
    make = ("judge", "train", "--labeled", str(learned), "--out", "mine", "--examples-only")
    out, _ = verb.done(*make, "--limit", "60")
    labeled, bare = read_training_rows([folder / "mine" / "examples.jsonl"])
    assert bare == []
    assert 0 < len(labeled) <= 60
    assert f"{len(labeled)} examples in mine/examples.jsonl" in out
    held_out, _ = read_training_rows([folder / "mine" / "held_out.jsonl"])
    assert not {case.problem.question for case in labeled} & {
        case.problem.question for case in held_out
    }
    counted = {line.split()[0]: line.split()[1:] for line in out.splitlines() if line.strip()}
    assert counted["stated"][1] == "0", "right replies alone"
    assert counted["denied"][0] == "0", "wrong replies alone"


@pytest.mark.parametrize(
    ("n", "labels", "said"),
    [
        (3, (True, False), "6 labeled rows, wanted 40 or more"),
        (60, (True,), "no answer is labeled wrong"),
    ],
)
def test_rows_that_teach_nothing_are_refused_in_one_line(
    verb: Verbs, folder: Path, tiny_weights: Path, n: int, labels: tuple[bool, ...], said: str
) -> None:
    path = str(rows(folder / "rows.jsonl", 0, n, labels))
    place = ("--out", "mine", "--model", str(tiny_weights))
    assert said in verb.refused("judge", "train", "--labeled", path, *place)

"""export as a person calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from llm_as_judge.cli import main
from llm_as_judge.config import Config
from llm_as_judge.errors import ModelError
from llm_as_judge.runs.runlog import RunLog
from llm_as_judge.types import Completion, Execution, Group, Problem, Rollout, Verdict
from llm_as_judge.workflow.program import parse_program

BODY = 'r = await custom(input=problem, instruction="x")\nreturn r["response"]\n'


def export(*arguments: str) -> int:
    with pytest.raises(SystemExit) as caught:
        main(["export", *arguments])
    assert isinstance(caught.value.code, int)
    return caught.value.code


def run_of(folder: Path) -> Path:
    log = RunLog(folder)
    for name in ("a", "b"):
        done = Completion((), (), (), BODY, "stop")
        program = parse_program(BODY, "math", "body")
        verdict = Verdict(name == "a", "exact", "x")
        rollout = Rollout(name, 0, done, program, Execution("ok", "4"), verdict)
        log.groups(1, [Group(Problem(name, "gsm8k", "math", "?"), (rollout,))])
    log.step(1, {"reward/mean": 1.0})
    return log.folder


def test_programs_of_the_newest_run_become_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run_of(Path("logs/run"))
    assert export("programs") == 0
    out, err = capsys.readouterr()
    assert "never right" not in err
    (file,) = Path("exported/math").iterdir()
    assert out.startswith(f"{file}  50% [9%, 91%] of 2")
    assert export("programs", "logs/run", "--json", "--out", "again") == 0
    assert json.loads(capsys.readouterr().out)[0]["graded"] == 2
    with pytest.raises(SystemExit) as clean:
        main(["check", str(file), "--domain", "math"])
    assert clean.value.code == 0


def test_what_cannot_be_exported_is_2_and_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert export("programs", ".") == 2
    assert export("model", "nothing") == 2
    errors = capsys.readouterr().err.splitlines()
    assert [line.split(":")[0] for line in errors] == ["error", "error"]


@pytest.mark.parametrize(
    ("options", "dtype"), [((), "float32"), (("--set", "policy.dtype=bfloat16"), "bfloat16")]
)
def test_a_model_is_merged_in_float32_whatever_the_hardware_multiplies_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], dtype: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("step_1").mkdir()
    Path("step_1/state.json").write_text('{"step": 1, "base_model": "smollm2-135m"}')
    Path("step_1/config.yaml").write_text(Config().model_dump_json())  # JSON is YAML
    asked: list[str] = []

    def loaded(weights: Path, **how: str) -> None:
        asked.append(how["dtype"])
        raise ModelError("enough")

    monkeypatch.setattr("llm_as_judge.cli.exporting.model_weights", lambda *names: Path("weights"))
    monkeypatch.setattr("llm_as_judge.cli.exporting.load_policy", loaded)
    assert export("model", "step_1", *options) == 2
    assert asked == [dtype]


def test_a_model_does_not_overwrite_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    config = Config().model_dump_json()
    Path("step_1").mkdir()
    Path("step_1/state.json").write_text('{"step": 1, "base_model": "smollm2-135m"}')
    Path("step_1/config.yaml").write_text(config)  # JSON is YAML
    assert export("adapter", "step_1") == 2
    assert "not a checkpoint of a run" in capsys.readouterr().err
    Path("merged").mkdir()
    assert export("model", "step_1") == 2
    assert "is there already" in capsys.readouterr().err


def test_the_base_weights_of_a_model_are_exported_by_its_name(
    tmp_path: Path,
    tiny_weights: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert export("model", str(tiny_weights), "--out", "base", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {"model": "base", "base": str(tiny_weights)}
    assert (
        Path("base/model.safetensors").read_bytes()
        == (tiny_weights / "model.safetensors").read_bytes()
    )
    card = Path("base/README.md").read_text()
    assert f"# {tiny_weights.name}: base weights as safetensors" in card
    assert str(tmp_path) not in card

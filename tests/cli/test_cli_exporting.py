"""export as a person calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from called_verbs import Verbs

from llm_as_judge.config import Config
from llm_as_judge.errors import ModelError
from llm_as_judge.runs.runlog import RunLog
from llm_as_judge.types import Completion, Execution, Group, Problem, Rollout, Verdict
from llm_as_judge.workflow.program import parse_program

BODY = 'r = await custom(input=problem, instruction="x")\nreturn r["response"]\n'


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


def checkpoint() -> None:
    Path("step_1").mkdir()
    Path("step_1/state.json").write_text('{"step": 1, "base_model": "smollm2-135m"}')
    Path("step_1/config.yaml").write_text(Config().model_dump_json())  # JSON is YAML


def test_programs_of_the_newest_run_become_files(verb: Verbs) -> None:
    run_of(Path("logs/run"))
    code, out, err = verb("export", "programs")
    assert (code, "never right" in err) == (0, False)
    (file,) = Path("exported/math").iterdir()
    assert out.startswith(f"{file}  50% [9%, 91%] of 2")
    code, out, _ = verb("export", "programs", "logs/run", "--json", "--out", "again")
    assert (code, json.loads(out)[0]["graded"]) == (0, 2)
    assert verb("check", str(file), "--domain", "math")[0] == 0


def test_what_cannot_be_exported_is_2_and_one_line_and_no_folder_is_overwritten(
    verb: Verbs,
) -> None:
    verb.refused("export", "programs", ".")
    verb.refused("export", "model", "nothing")
    checkpoint()
    assert "not a checkpoint of a run" in verb.refused("export", "adapter", "step_1")
    Path("merged").mkdir()
    assert "is there already" in verb.refused("export", "model", "step_1")


@pytest.mark.parametrize(
    ("options", "dtype"), [((), "float32"), (("--set", "policy.dtype=bfloat16"), "bfloat16")]
)
def test_a_model_is_merged_in_float32_whatever_the_hardware_multiplies_in(
    verb: Verbs, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], dtype: str
) -> None:
    checkpoint()
    asked: list[str] = []

    def loaded(weights: Path, **how: str) -> None:
        asked.append(how["dtype"])
        raise ModelError("enough")

    monkeypatch.setattr("llm_as_judge.cli.exporting.model_weights", lambda *names: Path("weights"))
    monkeypatch.setattr("llm_as_judge.cli.exporting.load_policy", loaded)
    verb.refused("export", "model", "step_1", *options)
    assert asked == [dtype]


def test_the_base_weights_of_a_model_are_exported_by_its_name(
    verb: Verbs, folder: Path, tiny_weights: Path
) -> None:
    out, _ = verb.done("export", "model", str(tiny_weights), "--out", "base", "--json")
    assert json.loads(out) == {"model": "base", "base": str(tiny_weights)}
    weights = [Path(place, "model.safetensors").read_bytes() for place in ("base", tiny_weights)]
    assert weights[0] == weights[1]
    card = Path("base/README.md").read_text()
    assert f"# {tiny_weights.name}: base weights as safetensors" in card
    assert str(folder) not in card

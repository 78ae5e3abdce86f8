"""The adapter that is shipped as an example is whole, small, and of the run that its page describes."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from documented import ROOT, commands
from llm_as_judge.assembly import PromptRecord, under_trained_prompt
from llm_as_judge.config import load_config
from llm_as_judge.config.grading import RewardConfig
from llm_as_judge.config.policy import SamplingConfig
from llm_as_judge.evaluation.systems import check_base_model
from llm_as_judge.policy.checkpoint import require_whole
from llm_as_judge.renamed import rules_named, with_new_keys
from llm_as_judge.runs.judges import judges_of, unaudited_warning
from typed_place import ended

FOLDER = ROOT / "examples" / "adaptive"
ADAPTER = FOLDER / "adapter"
RECORDING = FOLDER / "recording" / "low"
MOST_BYTES = 10_000_000


def test_it_is_whole_small_and_can_be_evaluated() -> None:
    require_whole(ADAPTER)
    check_base_model(ADAPTER, "qwen25-coder-0.5b")
    assert unaudited_warning(judges_of(ADAPTER)) is None
    assert sum(path.stat().st_size for path in ADAPTER.rglob("*")) < MOST_BYTES


def test_it_was_trained_as_run_yaml_says() -> None:
    trained = with_new_keys(yaml.safe_load((ADAPTER / "config.yaml").read_text()))
    trained["judge"] = rules_named(trained["judge"])
    reward = RewardConfig.model_validate(trained["reward"])  # kept with the short keys
    trained["reward"] = reward.model_dump(mode="json")
    sampling = SamplingConfig.model_validate(trained["sampling"])  # kept with a list of servers
    trained["sampling"] = sampling.model_dump(mode="json")
    now = load_config(FOLDER / "run.yaml").model_dump(mode="json")
    for section in ("policy", "sampling", "executor", "judge", "workflow", "reward"):
        wanted = {key: now[section][key] for key in trained[section] if key in now[section]}
        assert trained[section] == wanted, section
    losses = ("baseline", "advantage_norm", "loss_aggregation", "loss_type")
    course = ("learning_rate", "max_staleness", "seed")
    sizes = ("problems_per_step", "samples_per_problem", "epochs_per_step")
    for key in (*losses, *course, *sizes):
        assert trained["training"][key] == now["training"][key], key


def test_it_keeps_the_prompt_of_its_run() -> None:
    written = load_config(FOLDER / "run.yaml")
    assert under_trained_prompt(written, ADAPTER) is written
    other = load_config("smoke", model=written.policy.name)
    found = PromptRecord.of(under_trained_prompt(other, ADAPTER))
    assert found.differences(PromptRecord.of(written)) == {}


def test_nothing_of_the_machine_that_made_it_is_told() -> None:
    for path in ADAPTER.iterdir():
        if path.suffix != ".safetensors":
            assert "/root" not in path.read_text()
            assert "/home" not in path.read_text()


def figures(path: Path) -> Any:
    """Of a results file, without the seconds of the machine, and how many runs have none."""
    data = json.loads(path.read_text())
    parts = [data["overall"], *data["domains"].values(), *(s["metrics"] for s in data["datasets"])]
    for part in parts:
        for name in ("seconds", "not_timed"):
            part.pop(name, None)
    return {key: data[key] for key in ("datasets", "domains", "overall", "complete")}


@pytest.mark.slow
def test_the_pages_commands_reproduce_its_table_from_the_recording_without_any_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("examples", "src"):
        (tmp_path / name).symlink_to(ROOT / name)
    typed = [shlex.split(one.text) for one in commands(FOLDER / "README.md")]
    verbs = [words[1:] for words in typed if words[0] == "llm-as-judge" and len(words) > 1]
    last = next(n for n, words in enumerate(verbs) if words[0] == "report")
    for words in verbs[: last + 1]:
        capsys.readouterr()
        ended(words)
    rows = re.findall(r"│ *([^│]+?) *│ *([^│]+?) *│ *([^│]+?) *│", capsys.readouterr().out)
    assert len(rows) > 10
    assert not [row for row in rows if row[1] != row[2]]
    found = figures(Path("results/evaluation/again_results.json"))
    assert found == figures(RECORDING / "sample_results.json")
    assert found["overall"]["strictly_valid"] == 1.0

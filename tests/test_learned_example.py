"""The adapters that are shipped as examples are whole, small, and of the runs that their pages tell of."""

from __future__ import annotations

import json
import shutil
import subprocess
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
import yaml

from llm_as_judge.assembly import PromptRecord, under_trained_prompt
from llm_as_judge.cli import main
from llm_as_judge.config import load_config
from llm_as_judge.config.grading import RewardConfig
from llm_as_judge.evaluation.systems import check_base_model
from llm_as_judge.policy.checkpoint import require_whole
from llm_as_judge.renamed import with_new_keys
from llm_as_judge.runs.judges import judges_of, unaudited_warning

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "examples" / "learned"
ADAPTER = FOLDER / "adapter"
SHIPPED = (FOLDER, ROOT / "examples" / "adaptive")
"""Folders with ``adapter`` and the ``run.yaml`` that it was trained by."""
MOST_BYTES = 20_000_000
HELD_OUT = FOLDER / "held_out"
"""Of each system the figures, without rows: NAME/HASH/full.json."""
FIGURES = {"sets", "id", "dataset", "domain", "content", "correct", "rule", "official", "status"}
FIGURES |= {"calls", "tokens", "policy_tokens", "cost_usd", "seconds", "strictly_valid"}
FIGURES |= {"operators"}
SETS = "data.sets=[gsm8k,math,squad2,hotpotqa,mbpp]"
"""Those that the built-in sample has rows of."""


@pytest.mark.parametrize("folder", SHIPPED, ids=lambda folder: folder.name)
def test_it_is_whole_small_and_can_be_evaluated(folder: Path) -> None:
    adapter = folder / "adapter"
    require_whole(adapter)
    check_base_model(adapter, "qwen25-coder-0.5b")
    assert unaudited_warning(judges_of(adapter)) is None
    assert sum(path.stat().st_size for path in adapter.rglob("*")) < MOST_BYTES


@pytest.mark.parametrize("folder", SHIPPED, ids=lambda folder: folder.name)
def test_it_was_trained_as_run_yaml_says(folder: Path) -> None:
    trained = with_new_keys(yaml.safe_load((folder / "adapter" / "config.yaml").read_text()))
    reward = RewardConfig.model_validate(trained["reward"])  # kept with the short keys
    trained["reward"] = reward.model_dump(mode="json")
    now = load_config(folder / "run.yaml").model_dump(mode="json")
    for section in ("policy", "sampling", "executor", "judge", "workflow", "reward"):
        wanted = {key: now[section][key] for key in trained[section] if key in now[section]}
        assert trained[section] == wanted, section
    losses = ("baseline", "advantage_norm", "loss_aggregation", "loss_type")
    course = ("learning_rate", "max_staleness", "seed")
    sizes = ("problems_per_step", "samples_per_problem", "epochs_per_step")
    for key in (*losses, *course, *sizes):
        assert trained["training"][key] == now["training"][key], key


@pytest.mark.parametrize("folder", SHIPPED, ids=lambda folder: folder.name)
def test_it_keeps_the_prompt_of_its_run(folder: Path) -> None:
    written = load_config(folder / "run.yaml")
    assert under_trained_prompt(written, folder / "adapter") is written
    other = load_config("smoke", model=written.policy.name)
    found = PromptRecord.of(under_trained_prompt(other, folder / "adapter"))
    assert found.differences(PromptRecord.of(written)) == {}


def test_the_second_run_differs_from_the_first_in_the_keys_that_its_page_names() -> None:
    first, second = (
        load_config(FOLDER / name).model_dump(mode="json")
        for name in ("run.yaml", "second_run.yaml")
    )
    changed = {
        f"{section}.{key}": value
        for section, values in second.items()
        if isinstance(values, dict)
        for key, value in values.items()
        if value != first[section][key]
    }
    assert changed == {
        "sampling.temperature": 1.0,
        "training.learning_rate": 1e-4,
        "executor.max_tokens": 384,
    }


@pytest.mark.parametrize("folder", SHIPPED, ids=lambda folder: folder.name)
def test_nothing_of_the_machine_that_made_it_is_told(folder: Path) -> None:
    for path in (folder / "adapter").iterdir():
        if path.suffix != ".safetensors":
            assert "/root" not in path.read_text()
            assert "/home" not in path.read_text()


def command(*arguments: object) -> None:
    with pytest.raises(SystemExit) as caught:
        main([str(argument) for argument in arguments])
    assert caught.value.code in (0, None)


def figures(path: Path) -> Any:
    """Of a results file, without the seconds of the machine."""
    data = json.loads(path.read_text())
    parts = [data["overall"], *data["domains"].values(), *(s["metrics"] for s in data["datasets"])]
    for part in parts:
        del part["seconds"]
    return {key: data[key] for key in ("datasets", "domains", "overall", "complete")}


@pytest.mark.skipif(shutil.which("jq") is None, reason="the command of the page wants jq")
def test_the_command_of_its_page_tells_the_same_figures_from_others(tmp_path: Path) -> None:
    lines = (FOLDER / "README.md").read_text().splitlines()
    (start,) = (n for n, line in enumerate(lines) if line.startswith("    F='["))
    (tmp_path / "examples").symlink_to(FOLDER.parent)
    mine = tmp_path / "results" / "evaluation" / "learned_results.json"
    mine.parent.mkdir(parents=True)
    data = json.loads((FOLDER / "learned_results.json").read_text())
    data["overall"]["seconds"], data["run"] = 1.5, "learned/other"
    mine.write_text(json.dumps(data))

    def said() -> str:
        run = ["bash", "-c", "\n".join(lines[start : start + 2])]
        return subprocess.run(run, cwd=tmp_path, capture_output=True, text=True).stdout

    assert said() == "same\n"
    data["overall"]["accuracy"] = 0.5
    mine.write_text(json.dumps(data))
    assert "0.5" in said()


def test_the_kept_figures_hold_no_row_of_the_data_sets() -> None:
    for file in HELD_OUT.glob("*/*/full.json"):
        for row in json.loads(file.read_text())["problems"]:
            assert set(row) <= FIGURES
            texts = [row["id"], row["content"], *row["rule"], *row["status"]]
            assert max(map(len, texts)) < 40


ADAPTIVE = ROOT / "examples" / "adaptive"
REPLAYS = [
    (FOLDER, FOLDER / "recording", FOLDER / "learned_results.json", ()),
    *(
        (ADAPTIVE, folder, folder / "sample_results.json", ("--budget", folder.name))
        for folder in sorted((ADAPTIVE / "recording").iterdir())
    ),
]
"""Folder of the adapter, what was recorded, the figures that it gave, and the options of the evaluation."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("folder", "recording", "shipped", "options"),
    REPLAYS,
    ids=lambda value: "/".join(value.parts[-2:]) if isinstance(value, Path) else "",
)
def test_its_table_is_reproduced_from_the_recording_without_any_model(
    tmp_path: Path, folder: Path, recording: Path, shipped: Path, options: tuple[str, ...]
) -> None:
    sample = resources.files("llm_as_judge.data") / "sample"
    place = ("--data-dir", tmp_path / "data", "--set", SETS)
    command("data", "download", "--source", sample, *place)
    command("data", "process", *place)
    command(
        *("evaluate", "--config", folder / "run.yaml", "--checkpoint", folder / "adapter"),
        *("--limit", 4, "--name", "again", "--replay", recording, *place, *options),
        *("--set", f"output.results={tmp_path / 'results'}"),
    )
    found = figures(tmp_path / "results" / "evaluation" / "again_results.json")
    assert found == figures(shipped)
    assert found["overall"]["strictly_valid"] == 1.0


def test_both_budgets_of_the_adaptive_policy_are_recorded() -> None:
    assert {folder.name for folder in (ADAPTIVE / "recording").iterdir()} == {"low", "middle"}

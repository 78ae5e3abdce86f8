"""The adapters that are shipped as examples are whole, small, and of the runs that their pages tell of."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
import yaml

from by_domain import rows_by_domain
from llm_as_judge.assembly import PromptRecord, under_trained_prompt
from llm_as_judge.cli import main
from llm_as_judge.config import load_config
from llm_as_judge.config.grading import RewardConfig
from llm_as_judge.evaluation.systems import check_base_model
from llm_as_judge.policy.checkpoint import require_whole
from llm_as_judge.renamed import with_new_keys
from llm_as_judge.runs.judges import judges_of, unaudited_warning
from llm_as_judge.types import to_json

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


@pytest.mark.slow
def test_the_held_out_tables_of_its_page_are_what_compare_makes_of_the_kept_figures(
    capsys: pytest.CaptureFixture[str],
) -> None:
    page = (ROOT / "docs" / "results" / "learning.md").read_text()
    (given,) = re.findall(
        r"compare examples/learned/held_out/\{([\w,]+)\}/\* --against trained", page
    )
    names = given.split(",")
    assert sorted(names) == sorted(folder.name for folder in HELD_OUT.iterdir())
    files = [folder for name in names for folder in (HELD_OUT / name).iterdir()]
    command("compare", *files, "--against", "trained", "--by-domain", "--markdown")
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert len(rows) > 20
    assert [row for row in rows if row not in page] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "table",
    [
        ("benchmarks/ablations.py", "runs/second"),
        ("benchmarks/ablations.py", "runs/second", "runs/gated", "runs/group", "--steps", "1-4"),
    ],
)
def test_the_tables_of_the_second_run_are_made_of_the_kept_rollouts(table: tuple[str, ...]) -> None:
    page = (ROOT / "docs" / "results" / "learning.md").read_text()
    shown = [f"examples/learned/{part}" if part.startswith("runs/") else part for part in table]
    assert " ".join(["python", *shown]) + "\n" in page
    made = subprocess.run(
        [sys.executable, *shown], cwd=ROOT, capture_output=True, text=True, check=True
    )
    rows = made.stdout.splitlines()
    assert len(rows) > 2
    assert [row for row in rows if row not in page] == []


def test_what_the_second_run_learned_is_as_its_page_says() -> None:
    page = (ROOT / "docs" / "results" / "learning.md").read_text()
    _, _, page = page.partition("## A second run")
    for row in map(to_json, rows_by_domain(FOLDER / "runs" / "second", 5)):
        start = f"| {row['steps']} | {row['domain']} | {row['rollouts']} |"
        if row["domain"] == "all" or row["steps"] in ("1-6", "25-30"):
            (line,) = (line for line in page.splitlines() if line.startswith(start))
            assert f" {row['strictly_valid']:.0%} | {row['executed']:.0%} |" in line
            assert all(used in line for used in row["operators"])


@pytest.mark.slow
@pytest.mark.parametrize("steps", ["1-8", "9-30"])
def test_what_the_second_run_was_taught_by_is_as_its_page_says(steps: str) -> None:
    page = (ROOT / "docs" / "results" / "learning.md").read_text()
    _, _, page = page.partition(f"| {steps} | first |")
    (line,) = page.splitlines()[1:2]
    made = subprocess.run(
        [sys.executable, "benchmarks/advantages.py", FOLDER / "runs" / "second", "--steps", steps],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    start = "| weighted | leave_one_out, batch | "
    (row,) = (row for row in made.stdout.splitlines() if row.startswith(start))
    cells = row.removeprefix(start).split(" | ")[:-1]  # not "wrong, up"
    assert line == f"| | second | {' | '.join(cells)} |"


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

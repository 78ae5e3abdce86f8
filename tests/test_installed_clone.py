"""The package as `pip install -r requirements.txt` leaves it: a copy, beside a clone that is edited."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from llm_as_judge.config import config_file, load_config, shipped_dir

ROOT = Path(__file__).resolve().parents[1]
_OURS = '[project]\nname = "llm-as-judge"\n'


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what the package is built from."""
    folder = tmp_path_factory.mktemp("cloned") / "clone"
    leave = shutil.ignore_patterns("__pycache__", "aflow_llm.yaml")
    for name in ("src", "config", "workflows"):
        shutil.copytree(ROOT / name, folder / name, ignore=leave)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    return folder


@pytest.fixture(scope="module")
def installed(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of packages into which the clone was installed, without -e and without a network."""
    site = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    alone = ["--no-deps", "--no-build-isolation", "--no-index", "--target", str(site)]
    done = subprocess.run([*pip, *alone, str(clone)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return site


def run(installed: Path, at: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {k: v for k, v in os.environ.items() if k != "LLM_AS_JUDGE_CONFIG"}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=at,
        env=env | {"PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=True,
    )


@pytest.mark.slow
def test_edits_in_the_clone_count_where_a_command_runs_inside_it(
    clone: Path, installed: Path, tmp_path: Path
) -> None:
    models = clone / "config" / "models.yaml"
    entries = yaml.safe_load(models.read_text())
    entries["models"]["mine"] = {"format": "safetensors", "sources": [{"path": "/data/mine"}]}
    models.write_text(yaml.safe_dump(entries))
    (clone / "config" / "prompts" / "judge" / "plain.txt").write_text("Is it right?")
    (clone / "workflows" / "my_way").mkdir()
    shown = (
        "from llm_as_judge.config import config_file, load_models\n"
        "from llm_as_judge.evaluation.baselines import baseline_names\n"
        "print(config_file('prompts/judge/plain.txt').read_text() == 'Is it right?',\n"
        "      'mine' in load_models(), 'my_way' in baseline_names())"
    )
    assert run(installed, clone, "-c", shown).stdout == "True True True\n"
    assert run(installed, clone / "src", "-c", shown).stdout == "True True True\n"
    assert run(installed, tmp_path, "-c", shown).stdout == "False False False\n"

    inside = run(installed, clone, "-m", "llm_as_judge", "models", "list")
    assert f"reading {clone}: config/ and workflows/ of this clone" in inside.stderr
    assert "mine" in inside.stdout
    outside = run(installed, tmp_path, "-m", "llm_as_judge", "models", "list")
    assert (outside.stderr, "mine" in outside.stdout) == ("", False)


def test_a_clone_stood_in_goes_before_the_checkout_that_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(shipped_dir(), tmp_path / "config")
    (tmp_path / "config" / "training.yaml").write_text("training: {steps: 7}\n")
    (tmp_path / "pyproject.toml").write_text(_OURS)
    monkeypatch.chdir(tmp_path)
    assert config_file("training.yaml") == tmp_path / "config" / "training.yaml"
    assert load_config().training.steps == 7


def test_a_folder_called_config_of_another_project_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "models.yaml").write_text("models: {theirs: 1}\n")
    before = shipped_dir()
    monkeypatch.chdir(tmp_path)
    assert shipped_dir() == before
    (tmp_path / "pyproject.toml").write_text(_OURS.replace("judge", "jury"))
    assert shipped_dir() == before

"""Trackers: they get what the folder gets, stay on this machine, and are refused in one line.

The test with the real library wants the extra: pip install -e '.[dev,wandb]'.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from llm_as_judge.assembly.workbench import tracking_options
from llm_as_judge.config import Config
from llm_as_judge.errors import ConfigError
from llm_as_judge.runs.runlog import RunLog
from llm_as_judge.runs.sinks import TrackingOptions, open_sinks, project_of, require_sinks
from metric_names import METRIC_NAMES, meaning_of

NUMBERS = {"reward/mean": 1.5, "time/step_s": 3.0}
OURS = ("WANDB_API_KEY", "WANDB_PROJECT")


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in OURS:
        monkeypatch.delenv(name, raising=False)


def tracked(*sinks: str, **more: Any) -> TrackingOptions:
    return tracking_options(Config.model_validate({"tracking": {"sinks": sinks, **more}}))


class Kept:
    def __init__(self) -> None:
        self.rows: list[tuple[int, dict[str, float]]] = []

    def log(self, step: int, numbers: Mapping[str, float]) -> None:
        self.rows.append((step, dict(numbers)))

    def close(self) -> None:
        pass


def test_a_sink_gets_the_numbers_of_each_step_and_no_text(tmp_path: Path) -> None:
    sink = Kept()
    log = RunLog(tmp_path, [sink])
    log.step(1, NUMBERS, {"entropy": "settled"})
    log.step(2, {"reward/mean": 2.0})
    assert sink.rows == [(1, NUMBERS), (2, {"reward/mean": 2.0})]


def test_the_project_comes_from_the_key_then_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert project_of(tracked()) == "llm-as-judge"
    monkeypatch.setenv("WANDB_PROJECT", "theirs")
    assert project_of(tracked()) == "theirs"
    assert project_of(tracked(project="mine")) == "mine"


def test_a_tracker_that_is_not_installed_is_one_line_with_the_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(ConfigError, match=r"pip install 'llm-as-judge\[wandb\]'"):
        require_sinks(tracked("wandb"))


def test_online_wants_a_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "wandb.py").write_text(
        "raise AssertionError\n"
    )  # found by name alone, not imported
    monkeypatch.syspath_prepend(tmp_path)
    require_sinks(tracked("wandb"))
    with pytest.raises(ConfigError, match="WANDB_API_KEY"):
        require_sinks(tracked("wandb", online=True))
    monkeypatch.setenv("WANDB_API_KEY", "k" * 40)
    require_sinks(tracked("wandb", online=True))


def test_every_name_is_found_and_the_most_special_entry_speaks() -> None:
    assert all(meaning_of(name) for name in METRIC_NAMES)
    assert meaning_of("reward/mean") != meaning_of("reward/format")
    assert "stage" in (meaning_of("rollout/failed/executor_timeout") or "")
    assert meaning_of("nothing/known") is None


@pytest.mark.parametrize(("online", "mode"), [(False, "offline"), (True, "online")])
def test_wandb_is_told_to_look_at_no_code_and_no_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, online: bool, mode: str
) -> None:
    begun: list[dict[str, Any]] = []

    def init(**run: Any) -> SimpleNamespace:
        begun.append(run)
        return SimpleNamespace(finish=lambda: None)

    told = SimpleNamespace(
        __spec__=object(),
        Settings=lambda **settings: settings,
        init=init,
        Error=RuntimeError,
    )
    monkeypatch.setitem(sys.modules, "wandb", told)
    monkeypatch.setenv("WANDB_API_KEY", "k" * 40)
    for _ in range(2):  # the second time is the run gone on with
        with open_sinks(tracked("wandb", online=online), tmp_path / "run", {}):
            pass
    first, again = begun
    assert first == again
    assert (first["mode"], first["name"], first["resume"]) == (mode, "run", "allow")
    settings = first["settings"]
    assert settings.pop("console") == "off"
    looks = {"save_code"}
    assert {name for name, value in settings.items() if value is not True} == looks
    assert looks | {"disable_code", "disable_git", "x_disable_stats"} <= settings.keys()


TRACK = """
import sys
from pathlib import Path
from llm_as_judge.runs.runlog import RunLog
from llm_as_judge.runs.sinks import TrackingOptions, open_sinks

folder, name = Path(sys.argv[1]), sys.argv[2]
for first in (1, 3):  # a run, and the same run gone on with
    with open_sinks(TrackingOptions((name,), "p"), folder, {"tracking": {"sinks": [name]}}) as sinks:
        log = RunLog(folder, sinks)
        for step in (first, first + 1):
            log.step(step, {"reward/mean": step / 2, "time/step_s": float("nan")})
"""


@pytest.mark.slow
def test_wandb_keeps_an_offline_run_without_key_or_network(tmp_path: Path) -> None:
    """In a process of its own: a tracker leaves threads and hooks behind."""
    pytest.importorskip("wandb")
    run = tmp_path / "logs" / "run 1"
    command = [sys.executable, "-c", TRACK, str(run), "wandb"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    kept = sorted((run / "wandb").glob("offline-run-*/run-*.wandb"))
    assert kept
    text = b"".join(path.read_bytes() for path in kept)
    assert all(part in text for part in (b"reward/mean", b"time/step_s"))
    assert {path.name.split("-", 1)[1] for path in kept} == {kept[0].name.split("-", 1)[1]}

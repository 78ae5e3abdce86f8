"""The record of a run: whole files or none, finished lines kept, clocks kept apart."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import yaml

from llm_as_judge.errors import DataError, OutputError
from llm_as_judge.jsonl import JsonLines
from llm_as_judge.runs.runlog import (
    METRICS,
    ROLLOUTS,
    TIMINGS,
    RunLog,
    is_used,
    newest_run,
    read_rollouts,
    read_steps,
)
from llm_as_judge.types import (
    Completion,
    Execution,
    Group,
    OperatorCall,
    Problem,
    Program,
    Rollout,
)


def group(seconds: float) -> Group:
    calls = (OperatorCall("Custom", prompt_tokens=4, seconds=seconds),)
    rollout = Rollout(
        "gsm8k/train/0",
        0,
        Completion((1,), (2,), (-0.5,), "text", "stop"),
        Program("text", "text"),
        Execution("ok", "4", calls, seconds=seconds),
    )
    return Group(Problem("gsm8k/train/0", "gsm8k", "math", "2 + 2?", ("4",)), (rollout,))


def test_a_file_in_place_of_a_folder_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("")
    with pytest.raises(OutputError, match=r"logs: cannot be written"):
        RunLog(tmp_path / "logs")


def test_what_depends_on_clocks_and_retries_is_in_timings_and_nowhere_else(tmp_path: Path) -> None:
    log = RunLog(tmp_path)
    timed = {"time/sample_s": 2.5, "ledger/attempts": 7.0}
    counted = {"accuracy/all": 0.5, "reward/mean": 1.0}
    log.step(1, {**timed, **counted})
    assert (tmp_path / METRICS).read_text() == json.dumps({"step": 1, **counted}) + "\n"
    assert list(JsonLines(tmp_path / TIMINGS).rows()) == [{"step": 1, **timed}]
    assert read_steps(tmp_path) == [{"step": 1, **counted, **timed}]


def test_two_runs_that_differ_in_seconds_alone_log_the_same_bytes(tmp_path: Path) -> None:
    for name, seconds in (("a", 0.25), ("b", 7.5)):
        log = RunLog(tmp_path / name)
        log.groups(1, [group(seconds)])
        log.step(1, {"reward/mean": 1.0, "time/sample_s": seconds})
    for name in (METRICS, ROLLOUTS):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_a_rollout_comes_back_without_its_seconds(tmp_path: Path) -> None:
    RunLog(tmp_path).groups(3, [group(1.5)])
    ((step, domain, rollout),) = read_rollouts(tmp_path)
    assert (step, domain) == (3, "math")
    assert rollout == group(0.0).rollouts[0]


@pytest.mark.parametrize("row", ['{"loss": 1}', '{"step": "2"}', '{"step": null}'])
def test_a_row_without_a_step_is_named_by_file_and_line(tmp_path: Path, row: str) -> None:
    log = RunLog(tmp_path)
    log.step(1, {"time/step_s": 1.0})
    for name in (METRICS, TIMINGS):
        text = (tmp_path / name).read_text()
        (tmp_path / name).write_text(text + row + "\n")
        for reading in (lambda: read_steps(tmp_path), lambda: log.cut_after(1)):
            with pytest.raises(DataError, match=rf'{name}:2: no whole number "step"'):
                reading()
        (tmp_path / name).write_text(text)


@pytest.mark.parametrize("value", ['"half"', "{}", "true", "null", "1" + "0" * 20])
def test_a_figure_that_is_no_number_is_named_by_file_line_and_key(
    tmp_path: Path, value: str
) -> None:
    RunLog(tmp_path).step(1, {"accuracy/all": 0.5})
    (tmp_path / TIMINGS).write_text(f'{{"step": 1}}\n{{"step": 2, "time/step_s": {value}}}\n')
    with pytest.raises(DataError, match=rf"{TIMINGS}:2: time/step_s: found .*, wanted a number"):
        read_steps(tmp_path)


def test_a_line_that_is_no_rollout_is_named_by_file_and_line(tmp_path: Path) -> None:
    RunLog(tmp_path).groups(3, [group(1.5)])
    with (tmp_path / ROLLOUTS).open("a") as file:
        file.write('{"step": 3, "domain": "math", "rollout": {"index": 0}}\n')
    with pytest.raises(DataError, match=r"rollouts\.jsonl:2: not a rollout: Rollout"):
        list(read_rollouts(tmp_path))


@pytest.mark.parametrize("name", [METRICS, ROLLOUTS])
def test_a_folder_is_used_once_a_step_or_a_rollout_is_in_it(tmp_path: Path, name: str) -> None:
    log = RunLog(tmp_path)
    log.write_config({})
    assert not is_used(tmp_path)
    (tmp_path / name).write_text("")
    assert is_used(tmp_path)


def test_a_missing_file_and_one_that_is_no_text_are_data_errors(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_steps(tmp_path)
    (tmp_path / METRICS).write_bytes(b"\xff\xfe\n")
    with pytest.raises(DataError, match="cannot be read"):
        read_steps(tmp_path)


def test_what_was_written_of_later_steps_is_cut(tmp_path: Path) -> None:
    log = RunLog(tmp_path)
    for step in (1, 2, 3):
        log.groups(step, [group(1.0)])
        log.step(step, {"reward/mean": float(step), "time/sample_s": 1.0})
    with (tmp_path / METRICS).open("a") as file:
        file.write('{"step": 4, "rew')  # killed here
    log.cut_after(2)
    for name in (METRICS, TIMINGS, ROLLOUTS):
        assert [row["step"] for row in JsonLines(tmp_path / name).rows()] == [1, 2]
    log.step(3, {"reward/mean": 9.0})
    assert [row["reward/mean"] for row in read_steps(tmp_path)] == [1.0, 2.0, 9.0]


def test_lines_that_are_kept_keep_their_bytes_and_no_files_are_made(tmp_path: Path) -> None:
    log = RunLog(tmp_path)
    log.cut_after(5)
    assert list(tmp_path.iterdir()) == []
    log.groups(1, [group(1.0)])
    log.step(1, {"reward/mean": 1 / 3})
    before = [(tmp_path / name).read_bytes() for name in (METRICS, ROLLOUTS)]
    log.cut_after(1)
    assert [(tmp_path / name).read_bytes() for name in (METRICS, ROLLOUTS)] == before


def test_configuration_and_facts_are_readable_again(tmp_path: Path) -> None:
    log = RunLog(tmp_path / "run")
    log.write_config({"training": {"steps": 3}})
    log.write_facts({"b": 1, "a": 2})
    assert yaml.safe_load((tmp_path / "run/config.yaml").read_text()) == {"training": {"steps": 3}}
    assert list(json.loads((tmp_path / "run/run.json").read_text())) == ["a", "b"]


def test_the_newest_run_is_the_one_written_to_last(tmp_path: Path) -> None:
    for name, when in (("b", 100), ("a", 200)):
        RunLog(tmp_path / name).step(1, {})
        os.utime(tmp_path / name / METRICS, (when, when))
    assert newest_run(tmp_path) == tmp_path / "a"


def test_a_run_kept_without_its_metrics_says_what_can_be_shown(tmp_path: Path) -> None:
    (tmp_path / "rollouts.jsonl").touch()
    with pytest.raises(DataError, match=r"metrics\.jsonl is not; .* analyze_by_domain"):
        read_steps(tmp_path)


def test_no_run_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no run found .* llm-as-judge train"):
        newest_run(tmp_path)


def test_bills_are_kept_beside_the_steps_and_survive_a_cut(tmp_path: Path) -> None:
    log = RunLog(tmp_path)
    assert log.ledger() is None
    log.bills({"total": {"calls": 1}}, {"gsm8k/train/1#0": {"calls": 1}}, 1)
    log.bills({"total": {"calls": 3}}, {"gsm8k/train/1#0": {"calls": 2}}, 2)
    log.cut_after(0)
    assert log.ledger() == {"total": {"calls": 3}}
    rows = list(JsonLines(tmp_path / "ledger.jsonl").rows())
    assert rows == [
        {"step": 1, "problem": "gsm8k/train/1", "rollout": "gsm8k/train/1#0", "calls": 1},
        {"step": 2, "problem": "gsm8k/train/1", "rollout": "gsm8k/train/1#0", "calls": 2},
    ]


@pytest.mark.parametrize("text", ["{", "[]"])
def test_a_broken_ledger_is_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "ledger.json").write_text(text)
    with pytest.raises(DataError, match=r"ledger\.json: "):
        RunLog(tmp_path).ledger()

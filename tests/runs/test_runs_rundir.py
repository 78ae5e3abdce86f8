"""A run's folder is told from any other before it is read."""

from __future__ import annotations

from pathlib import Path

import pytest

from llm_as_judge.errors import DataError
from llm_as_judge.runs.rundir import read_run, require_run
from llm_as_judge.runs.runlog import METRICS, ROLLOUTS


@pytest.mark.parametrize("name", [METRICS, ROLLOUTS])
def test_one_file_of_a_run_makes_its_folder_a_run(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    require_run(tmp_path)


def test_what_is_there_in_its_place_is_said_up_to_four_names(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"none: no such folder; wanted that of a run"):
        require_run(tmp_path / "none")
    with pytest.raises(DataError, match=r"no run here: found nothing, wanted metrics\.jsonl"):
        require_run(tmp_path)
    for n in range(4):
        (tmp_path / f"file_{n}").touch()
    with pytest.raises(DataError, match=r"found file_0, file_1, file_2, file_3, wanted"):
        require_run(tmp_path)
    (tmp_path / ("x" * 50)).touch()
    (tmp_path / "file_3").rename(tmp_path / "a")
    with pytest.raises(DataError, match=r"found a, file_0, file_1, file_2 and 1 more, wanted"):
        read_run(tmp_path)


def test_steps_are_merged_with_their_timings_and_broken_lines_are_counted(tmp_path: Path) -> None:
    """A line that is being written is none of them."""
    (tmp_path / METRICS).write_text(
        '{"step": 2, "reward/mean": 2.0, "warnings": {"entropy": "late"}}\n{"step": 1, "reward/mean": 1.0}\n'
        '{"step": true}\n{"step": 1' + "0" * 400 + '}\n{"ste'
    )
    (tmp_path / "timings.jsonl").write_text('{"step": 1, "time/step_s": 3.0}\n{"step": 9}\n')
    run = read_run(tmp_path)
    assert [step["step"] for step in run.steps] == [1, 2]
    assert run.steps[0] == {"step": 1, "reward/mean": 1.0, "time/step_s": 3.0}
    assert run.warnings == ("late",)
    assert run.broken_lines == 2
    assert run.written_at is not None

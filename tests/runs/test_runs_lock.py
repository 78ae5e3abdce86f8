"""One process in a folder: the second is told who the first is; a death frees it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from llm_as_judge.errors import OutputError
from llm_as_judge.files import exclusive

HOLD = """
import sys, time
from pathlib import Path
from llm_as_judge.files import exclusive
with exclusive(Path(sys.argv[1]), "go away"):
    print("held", flush=True)
    time.sleep(60)
"""


def test_the_second_in_a_folder_is_told_who_holds_it_and_what_to_do(tmp_path: Path) -> None:
    with exclusive(tmp_path / "run", "name another folder"):
        with (
            pytest.raises(OutputError, match=rf"run: process {os.getpid()} is training here") as e,
            exclusive(tmp_path / "run", "name another folder"),
        ):
            pass
        assert str(e.value).endswith("or name another folder")
        with exclusive(tmp_path / "other", "", doing="evaluating"):
            said = "other: process .* is evaluating here"
            with (
                pytest.raises(OutputError, match=said),
                exclusive(tmp_path / "other", "", doing="evaluating"),
            ):
                pass
    with exclusive(tmp_path / "run", "name another folder"):
        pass


def test_a_killed_holder_holds_no_more(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"held\n"
        with (
            pytest.raises(OutputError, match=f"process {child.pid} is training"),
            exclusive(tmp_path, ""),
        ):
            pass
        child.kill()
    with exclusive(tmp_path, ""):
        pass


def test_a_file_in_place_of_the_folder_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with (
        pytest.raises(OutputError, match="taken: cannot be written"),
        exclusive(tmp_path / "taken", ""),
    ):
        pass

"""Files are whole or not there, and what goes wrong with them is one line."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from llm_as_judge.errors import OutputError
from llm_as_judge.files import exclusive, output_errors, write_atomically, write_text


def test_a_file_is_written_whole_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file.txt"
    write_text(path, "one")
    write_text(path, "zwölf\n")
    assert path.read_text(encoding="utf-8") == "zwölf\n"
    assert [entry.name for entry in path.parent.iterdir()] == ["file.txt"]
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_failed_write_leaves_the_old_file_and_no_temporary_one(tmp_path: Path) -> None:
    path = tmp_path / "file.txt"
    write_text(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "new \ud800")
    assert path.read_text(encoding="utf-8") == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file.txt"]


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EACCES, "no write permission"),
        (errno.EROFS, "read-only"),
        (errno.EIO, os.strerror(errno.EIO)),
    ],
)
def test_a_full_disk_and_a_locked_folder_are_told_apart(number: int, said: str) -> None:
    with pytest.raises(OutputError, match=said), output_errors(Path("x")):
        raise OSError(number, os.strerror(number))


def test_other_errors_pass_through_untouched() -> None:
    with pytest.raises(KeyError), output_errors(Path("x")):
        raise KeyError("other")


def test_a_stream_that_breaks_off_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file.bin"
    write_text(path, "old")
    with pytest.raises(OutputError, match=r"file\.bin: cannot be written: the disk is full"):
        fill_the_disk(path)
    assert path.read_text(encoding="utf-8") == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file.bin"]


def fill_the_disk(path: Path) -> None:
    with write_atomically(path) as stream:
        stream.write(b"half")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_nothing_is_seen_of_a_file_before_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "file.bin"
    with write_atomically(path) as stream:
        stream.write(b"half")
        stream.flush()
        assert not path.exists()
    assert path.read_bytes() == b"half"


def test_a_folder_and_a_path_through_a_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="it is a folder"):
        write_text(tmp_path, "x")
    with pytest.raises(OutputError, match="cannot be written"):
        write_text(tmp_path / "file" / "deeper", "x")
    with pytest.raises(OutputError, match="cannot be written"), exclusive(tmp_path / "file", ""):
        pass


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_text(pipe, "rows")
        assert os.read(reader, 10) == b"rows"
        assert pipe.is_fifo()
    finally:
        os.close(reader)


def test_what_a_killed_process_left_half_written_is_used_by_the_next(tmp_path: Path) -> None:
    path, left = tmp_path / "file.bin", tmp_path / ".file.bin.partial"
    left.write_bytes(b"half of a longer text")
    with write_atomically(path) as one, write_atomically(path) as other:
        assert one.name == str(left)
        assert other.name != str(left)  # that one is being written
        one.write(b"one")
        other.write(b"other")
    assert path.read_bytes() == b"one"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file.bin"]


# ------------------------------------------------------------------------ one process in a folder
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

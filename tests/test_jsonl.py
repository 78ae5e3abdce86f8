"""Files of rows: a line is there whole or not at all, whoever is killed and however full the disk."""

from __future__ import annotations

import contextlib
import json
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from llm_as_judge.errors import DataError, OutputError
from llm_as_judge.jsonl import MAX_LINE_BYTES, Broken, JsonLines


@contextlib.contextmanager
def no_file_larger_than(size: int) -> Iterator[None]:
    """Writes behind ``size`` fail with EFBIG, for a part of what they were given or for all of it,
    as those on a full disk do. Python ignores the signal that comes with it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def file(tmp_path: Path) -> JsonLines:
    return JsonLines(tmp_path / "rows.jsonl")


def test_rows_come_back_in_their_order_whatever_their_texts_hold(file: JsonLines) -> None:
    rows: list[dict[str, Any]] = [
        {"n": 1},
        {"text": "line\nend \u2028 \ud800 \N{SNOWMAN}"},
        {"nested": [{}]},
    ]
    for row in rows:
        file.append(row)
    assert list(file.rows()) == rows
    assert len(file.path.read_bytes().splitlines()) == 3


@pytest.mark.parametrize("room", [0, 1, 5])
def test_a_line_that_has_no_room_leaves_the_lines_before_it_and_none_of_itself(
    file: JsonLines, room: int
) -> None:
    file.append("first")
    with no_file_larger_than(6 + room), pytest.raises(OutputError, match="larger than files may"):
        file.append("second")
    assert file.path.read_bytes() == b"first\n"
    file.append("third")
    assert file.path.read_bytes() == b"first\nthird\n"


@pytest.mark.parametrize("torn", ["x", '{"step": 3, "cut', "y" * 200_000], ids=len)
def test_a_line_is_not_joined_to_what_a_kill_left_of_another(file: JsonLines, torn: str) -> None:
    file.append("")
    for whole in ("", "a\n", "a\nb\n"):
        file.path.write_text(whole + torn)
        file.append("next")
        assert file.path.read_text() == f"{whole}next\n"


@pytest.mark.parametrize("cut", ['{"n": 2, "rew', '{"n": 2}'], ids=["torn", "whole without end"])
def test_a_last_line_without_its_end_is_none(file: JsonLines, cut: str) -> None:
    file.append({"n": 1})
    with file.path.open("a") as stream:
        stream.write(cut)  # of the second nobody can know
    broken = Broken()
    assert list(file.rows()) == list(file.sound_rows(broken)) == [{"n": 1}]
    assert broken.lines == 0


BAD = {
    b'{"n": ': "not JSON: ",
    b"[2]": "found list, wanted an object",
    b'{"n": "\xff"}': "cannot be read: not UTF-8 at byte 7",
    b'{"a":' * 100_000: "not JSON: nested too deeply",
    b'{"n": 1' + b"0" * 5000 + b"}": "not JSON: a number of more digits than are read",
    b'{"n": 1' + b"0" * 5000 + b"}": "not JSON: a number of more digits than are read",
    b'{"m": 2}': 'no whole number "n" \\(keys: m\\); ',
    b'{"n": 1' + b"0" * 400 + b"}": 'no whole number "n" ',
    b'{"n": true}': 'no whole number "n" ',
    b'{"n": "2"}': 'no whole number "n" ',
}


@pytest.mark.parametrize(("line", "said"), BAD.items(), ids=range(len(BAD)))
def test_a_broken_line_is_named_by_file_and_line(file: JsonLines, line: bytes, said: str) -> None:
    file.append({"n": 1})
    file.path.write_bytes(b'{"n": 1}\n' + line + b'\n{"n": 3}\n')
    with pytest.raises(DataError, match=rf"rows\.jsonl:2: {said}"):
        list(file.rows("n"))


def test_readers_that_must_not_fall_over_count_what_they_leave_out(file: JsonLines) -> None:
    file.append({"n": 1})
    too_long = b"x" * (MAX_LINE_BYTES + 2**20)
    digits = b'{"n": 1' + b"0" * 5000 + b"}"
    lines = (b'{"n": 1}', b"nonsense", b"[]", too_long, digits, b"[" * 100_000, b'{"n": 2}')
    file.path.write_bytes(b"\n".join(lines) + b"\n")
    broken = Broken()
    assert [row["n"] for row in file.sound_rows(broken)] == [1, 2]
    assert broken.lines == 5


def test_the_end_of_a_file_is_read_without_the_line_that_it_cuts(file: JsonLines) -> None:
    for number in range(100):
        file.append({"n": number})
    broken = Broken()
    assert [row["n"] for row in file.sound_rows(broken, last_bytes=25)] == [98, 99]
    assert len(list(file.sound_rows(broken, last_bytes=10**6))) == 100
    assert broken.lines == 0


def test_lines_say_where_they_are_and_are_read_on_from_there(file: JsonLines) -> None:
    for word in ("a", "bc", "def"):
        file.append(word)
    (_, end, _), *rest = file.lines()
    assert list(file.lines(end)) == rest == [(2, 5, b"bc\n"), (5, 9, b"def\n")]


def test_a_file_that_is_not_there(file: JsonLines) -> None:
    with pytest.raises(DataError, match=r"rows\.jsonl: cannot be read: No such file"):
        list(file.rows())
    assert list(file.rows(missing_ok=True)) == list(file.sound_rows(Broken())) == []
    file.rewrite([])


def test_a_folder_that_is_gone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match=r"rows\.jsonl: cannot be written: No such file"):
        JsonLines(tmp_path / "gone" / "rows.jsonl").append({})


def test_a_folder_in_its_place_is_an_error_also_where_it_may_be_missing(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read: Is a directory"):
        list(JsonLines(tmp_path).rows(missing_ok=True))


def test_it_is_written_anew_as_a_whole_and_without_lines_it_goes(file: JsonLines) -> None:
    file.append({"n": 1})
    file.rewrite([json.dumps({"n": 2}), json.dumps({"n": 3})])
    assert list(file.rows()) == [{"n": 2}, {"n": 3}]
    file.rewrite([])
    assert not file.path.exists()

import csv
import gzip
import io
import json
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from llm_as_judge.data import rows
from llm_as_judge.data.rows import MAX_ROW_BYTES, read_rows
from llm_as_judge.errors import DataError


def write(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def records(path: Path) -> list[object]:
    return [row.record for row in read_rows(path)]


def test_jsonl_rows_carry_file_and_line(tmp_path: Path) -> None:
    path = write(tmp_path, "a.jsonl", b'{"a": 1}\n\n{"a": 2}\n')
    assert [(row.where, row.number, row.record) for row in read_rows(path)] == [
        (f"{path}:1", 0, {"a": 1}),
        (f"{path}:3", 1, {"a": 2}),
    ]


def test_array_rows_carry_line_and_position(tmp_path: Path) -> None:
    path = write(tmp_path, "a.json", b'[\n{"a": 1},\n {"a":\n 2}, {"a": 3}\n]\n')
    assert [(row.where, row.record) for row in read_rows(path)] == [
        (f"{path}:2 (record 0)", {"a": 1}),
        (f"{path}:3 (record 1)", {"a": 2}),
        (f"{path}:4 (record 2)", {"a": 3}),
    ]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('{"version": "v2.0", "data": [{"a": 1}, {"a": 2}]}', [{"a": 1}, {"a": 2}]),
        ('{"data": [], "version": 3}', []),
        ('{"problem": "p", "solution": "s"}', [{"problem": "p", "solution": "s"}]),
        ('{"a": 1}\n{"a": 2}\n', [{"a": 1}, {"a": 2}]),
        ("[]", []),
        ("{}", [{}]),
        ("[1, 23]", [1, 23]),
        ("\ufeff[1]", [1]),
    ],
    ids=["squad", "empty data", "one object", "lines", "empty", "empty object", "numbers", "bom"],
)
def test_json_forms(tmp_path: Path, text: str, wanted: list[object]) -> None:
    assert records(write(tmp_path, "a.json", text.encode())) == wanted


def test_packed_forms_hold_the_same_rows(tmp_path: Path) -> None:
    lines = b'{"a": 1}\n{"a": 2}\n'
    plain = write(tmp_path, "a.jsonl", lines)
    packed = write(tmp_path, "a.jsonl.gz", gzip.compress(lines))
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("data/a.jsonl", lines)
        archive.writestr("LICENSE", "free")
    assert records(plain) == records(packed) == records(tmp_path / "a.zip") == [{"a": 1}, {"a": 2}]


def test_csv_in_zip_names_member_and_line(tmp_path: Path) -> None:
    text = io.StringIO()
    csv.writer(text).writerows([["q\nwith, break", "1"], ["r", "2"]])
    with zipfile.ZipFile(tmp_path / "m.zip", "w") as archive:
        archive.writestr("data/dev/sums_dev.csv", text.getvalue())
    found = list(read_rows(tmp_path / "m.zip"))
    assert [row.record for row in found] == [["q\nwith, break", "1"], ["r", "2"]]
    assert found[1].where == f"{tmp_path}/m.zip!data/dev/sums_dev.csv:3"
    assert found[0].member == "data/dev/sums_dev.csv"


def test_parquet_rows(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"a": [1, 2], "b": [["x"], []]}), tmp_path / "t.parquet")
    assert records(tmp_path / "t.parquet") == [{"a": 1, "b": ["x"]}, {"a": 2, "b": []}]
    broken = write(tmp_path, "b.parquet", b"PAR1 no parquet")
    with pytest.raises(DataError, match="not a readable parquet file"):
        records(broken)


def test_bad_lines_are_reported_and_reading_goes_on(tmp_path: Path) -> None:
    long = b'{"a": "' + b"x" * MAX_ROW_BYTES + b'"}'
    content = b"\n".join([b'{"a": 1}', b"{broken", b'{"a": "\xff"}', long, b"[" * 100_000, b"7"])
    path = write(tmp_path, "a.jsonl", content)
    found = list(read_rows(path))
    assert [row.record for row in found] == [{"a": 1}, None, None, None, None, 7]
    assert found[1].fault.startswith("not JSON: Expecting property name")
    assert found[2].fault.startswith("invalid UTF-8 at byte 7; save the file as UTF-8, or convert")
    assert found[3].fault == f"longer than {MAX_ROW_BYTES} bytes"
    assert found[4].fault
    assert found[4].where == f"{path}:5"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", b"<!DOCTYPE html><html>404</html>", r":1: an HTML or XML page, not data"),
        ("a.jsonl", b"\n  <html>", r":1: an HTML or XML page"),
        ("a.json", b'[{"a": 1},\n{"a": ', r":2: record 1: not JSON"),
        (
            "a.json",
            b'[{"a": 1}\n {"a": 2}]',
            r":2: after 1 records: found '\{', wanted one of ',\]'",
        ),
        ("a.json", b'[{"a": 1}', "found the end of the file"),
        ("a.json", b"hello", "found 'h', wanted a JSON array or object"),
        ("a.json", b"[" * 100_000, "record 0: "),
        ("a.jsonl.gz", gzip.compress(b'{"a": 1}\n' * 5000)[:-20], "cut off or damaged after"),
        ("a.json.gz", b"not gzip at all", "cut off or damaged after 0 records"),
        ("a.zip", b"PK no zip", "not a readable zip archive"),
        ("a.csv", b'1,"2\n', "not CSV"),
        ("a.txt", b"1", "unknown kind of file"),
        ("a.csv", "a,b\n1,2\n".encode("utf-16"), r":1: invalid UTF-8 .* iconv -f UTF-16 "),
        ("a.jsonl", '{"a": 1}\n'.encode("utf-16-le"), r":1: invalid UTF-8 .* iconv -f UTF-16 "),
    ],
)
def test_unreadable_files_are_refused_with_their_place(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    path = write(tmp_path, name, content)
    with pytest.raises(DataError, match=message) as caught:
        records(path)
    assert str(caught.value).startswith(str(path))


def test_missing_file_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        records(tmp_path / "none.jsonl")
    (tmp_path / "folder.jsonl").mkdir()
    with pytest.raises(DataError, match="cannot be read"):
        records(tmp_path / "folder.jsonl")


def test_too_long_array_item_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "a.json", b'["' + b"x" * (MAX_ROW_BYTES + rows._CHUNK) + b'"')
    with pytest.raises(DataError, match="longer than"):
        records(path)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None)
@given(
    items=st.lists(values, max_size=6), chunk=st.integers(1, 40), indent=st.sampled_from([None, 1])
)
def test_streamed_array_equals_json_loads(
    tmp_path_factory: pytest.TempPathFactory, items: list[object], chunk: int, indent: int | None
) -> None:
    path = tmp_path_factory.mktemp("s") / "a.json"
    path.write_text(json.dumps(items, indent=indent), encoding="utf-8")
    whole, rows._CHUNK = rows._CHUNK, chunk
    try:
        assert records(path) == items
    finally:
        rows._CHUNK = whole


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('{"answer": 18, "answer": 19}', "the field 'answer' is there twice"),
        ('{"answer": 18},', "remove the comma behind the row"),
        ('{"answer": ' + "9" * 5000 + "}", "a number of more than 4300 digits; write it as a text"),
    ],
)
def test_a_line_that_is_no_row_says_what_to_do(tmp_path: Path, line: str, told: str) -> None:
    (row,) = read_rows(write(tmp_path, "rows.jsonl", line.encode()))
    assert told in row.fault
    assert row.record is None


def test_an_array_in_jsonl_and_a_field_twice_in_json_are_refused(tmp_path: Path) -> None:
    for name, text, told in (
        ("rows.jsonl", '[{"a": 1},\n{"a": 2}]', "write one object a line, or name the file .json"),
        ("rows.json", '[{"a": 1, "a": 2}]', "'a' is there twice"),
        ("one.json", '{"a": 1, "a": 2}', "'a' is there twice"),
    ):
        with pytest.raises(DataError, match=told):
            list(read_rows(write(tmp_path, name, text.encode())))

import hashlib
import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from llm_as_judge.data.files import ProblemFile, read_problems
from llm_as_judge.data.process import ProcessReport, process
from llm_as_judge.errors import ConfigError, DataError, OutputError
from llm_as_judge.types import DOMAINS, Problem, from_json

TEXTS = [f"w{i * 7919 % 997} x{i} y{i * i} z{i % 13} u{i * 31} v{i * 17 % 101}" for i in range(500)]


def write_json(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
    return path


def write_lines(path: Path, rows: list[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    """A small raw folder: 61 gsm8k rows, 14 math, 40 squad questions on 10 passages, 25 mbpp."""
    folder = tmp_path / "raw"
    gsm = [{"question": TEXTS[i], "answer": f"#### {i}"} for i in range(61)]
    math = [
        {"problem": TEXTS[100 + i], "level": "L", "type": "T", "solution": rf"\boxed{{{i}}}"}
        for i in range(14)
    ]
    paragraphs = [
        {
            "context": TEXTS[200 + p],
            "qas": [
                {"id": f"{p}-{q}", "question": TEXTS[300 + 4 * p + q], "answers": []}
                for q in range(4)
            ],
        }
        for p in range(10)
    ]
    mbpp = [
        {
            "task_id": i,
            "prompt": TEXTS[400 + i],
            "code": "def f(a): return a",
            "test_imports": [],
            "test_list": ["assert f(1) == 1", "assert f(2) == 2"],
        }
        for i in range(25)
    ]
    write_lines(folder / "gsm8k" / "train.jsonl", gsm)
    write_lines(folder / "math" / "train.jsonl", math)
    squad = {"version": "v2.0", "data": [{"title": "T", "paragraphs": paragraphs}]}
    write_json(folder / "squad_v2" / "train-v2.0.json", squad)
    write_json(folder / "mbpp" / "sanitized-mbpp.json", mbpp)
    return folder


SETS = ("gsm8k", "math", "squad2", "mbpp")


def run(raw: Path, out: Path, **changes: Any) -> ProcessReport:
    arguments: dict[str, Any] = {"sets": SETS, "val_fraction": 0.1} | changes
    return process(raw, out, **arguments)


def digests(out: Path) -> dict[str, str]:
    return {
        str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(out.rglob("*"))
        if path.is_file()
    }


def test_documented_files_and_the_five_to_one_rule(raw: Path, tmp_path: Path) -> None:
    out = tmp_path / "data"
    report = run(raw, out)
    sizes = {s.dataset: (s.rows, s.train, s.val, s.test) for s in report.sets}
    assert sizes == {
        "gsm8k": (61, 45, 6, 10),
        "math": (14, 10, 2, 2),
        "squad2": (40, 32, 4, 4),
        "mbpp": (25, 18, 3, 4),
    }
    index = json.loads((out / "test" / "test_index.json").read_text())
    for name, (_, _, _, test) in sizes.items():
        assert len(ProblemFile(out / "test" / f"{name}_test.jsonl")) == test
        assert index[name]["rows"] == test
    assert set(report.files) == set(digests(out))
    assert from_json(
        ProcessReport, json.loads((out / "mixed" / "info.json").read_text())
    ).mixes == (report.mixes)


def test_no_row_is_lost_and_no_passage_stands_on_two_sides(raw: Path, tmp_path: Path) -> None:
    out = tmp_path / "data"
    run(raw, out)
    for name, rows in (("gsm8k", 61), ("squad2", 40)):
        sides = [
            list(read_problems(out / place))
            for place in (
                f"processed/{name}_train.jsonl",
                f"processed/{name}_val.jsonl",
                f"test/{name}_test.jsonl",
            )
        ]
        assert len({p.id for side in sides for p in side}) == rows
        passages = [{p.context for p in side} for side in sides]
        if name == "squad2":
            assert not passages[0] & passages[1] | passages[0] & passages[2]
            assert not passages[1] & passages[2]


def test_train_mix_is_balanced_and_resampled_the_test_mix_is_not(raw: Path, tmp_path: Path) -> None:
    report = run(raw, tmp_path / "data")
    train, val, test = report.mixes
    assert report.mix_size == train.rows == 45 + 10 + 32 + 18
    assert train.by_domain == {"math": 42, "qa": 32, "code": 31}
    assert abs(train.by_set["gsm8k"] - train.by_set["math"]) <= 1
    assert train.unique < train.rows
    assert (test.unique, val.unique) == (test.rows, val.rows)
    rows = ProblemFile(tmp_path / "data" / test.file)
    assert len(set(rows.ids)) == len(rows) == test.rows
    assert Counter(rows.domains) == test.by_domain


def test_same_seed_same_bytes_other_seed_other_order(raw: Path, tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        run(raw, tmp_path / name, seed=seed)
    assert digests(tmp_path / "a") == digests(tmp_path / "b")
    a, c = digests(tmp_path / "a"), digests(tmp_path / "c")
    assert a["mixed/train_mixed.jsonl"] != c["mixed/train_mixed.jsonl"]
    assert a["test/gsm8k_test.jsonl"] != c["test/gsm8k_test.jsonl"]


def test_removing_a_set_changes_no_other(raw: Path, tmp_path: Path) -> None:
    run(raw, tmp_path / "all")
    run(raw, tmp_path / "some", sets=("squad2", "gsm8k"))
    every, some = digests(tmp_path / "all"), digests(tmp_path / "some")
    for name in ("gsm8k", "squad2"):
        for file in (f"processed/{name}_train.jsonl", f"test/{name}_test.jsonl"):
            assert every[file] == some[file]


@pytest.mark.slow
def test_workers_change_no_byte(raw: Path, tmp_path: Path) -> None:
    run(raw, tmp_path / "one")
    run(raw, tmp_path / "two", workers=2)
    assert digests(tmp_path / "one") == digests(tmp_path / "two")


def test_a_second_run_replaces_and_removes_what_the_first_wrote(raw: Path, tmp_path: Path) -> None:
    out = tmp_path / "data"
    run(raw, out)
    (out / "test" / "my_notes.txt").write_text("kept")
    run(raw, out, sets=("gsm8k",))
    assert not (out / "test" / "mbpp_test.jsonl").exists()
    assert (out / "test" / "my_notes.txt").read_text() == "kept"
    assert list(json.loads((out / "test" / "test_index.json").read_text())) == ["gsm8k"]


def test_limit_draws_rows_before_the_split(raw: Path, tmp_path: Path) -> None:
    report = run(raw, tmp_path / "data", limit_per_set=12)
    assert (report.sets[0].rows, report.sets[0].test) == (12, 2)
    ids = {p.id for p in read_problems(tmp_path / "data" / "processed" / "gsm8k_train.jsonl")}
    assert ids != {f"gsm8k/train/{i}" for i in range(len(ids))}


def test_mix_size_and_progress(raw: Path, tmp_path: Path) -> None:
    seen: list[str] = []
    report = run(
        raw, tmp_path / "data", mix_size=500, progress=lambda what, done, total: seen.append(what)
    )
    assert report.mixes[0].rows == 500
    assert report.mixes[0].by_domain == {"math": 200, "qa": 150, "code": 150}
    assert "gsm8k: rows" in seen
    assert "train_mixed.jsonl" in seen


def test_custom_rows_of_several_types_are_a_set_for_each_type(raw: Path, tmp_path: Path) -> None:
    types = ["math", "qa", "math"]
    rows = [{"problem": t, "answer": "4", "type": types[i % 3]} for i, t in enumerate(TEXTS[:36])]
    custom = write_lines(tmp_path / "mine.jsonl", rows)
    report = run(raw, tmp_path / "data", sets=("mbpp",), custom=[custom])
    found = {s.dataset: (s.domain, s.train + s.val + s.test) for s in report.sets}
    assert found["mine_math"] == ("math", 24)
    assert found["mine_qa"] == ("qa", 12)
    lines = (tmp_path / "data" / "mixed" / "train_mixed.jsonl").read_text().splitlines()
    counted = Counter(json.loads(line)["domain"] for line in lines)
    assert counted == report.mixes[0].by_domain
    (custom.parent / "broken.jsonl").write_text('{"problem": "p", "answer": 1, "type": "art"}\n')
    with pytest.raises(DataError, match=r"broken\.jsonl:1: 'type' is 'art'"):
        run(raw, tmp_path / "data", sets=("mbpp",), custom=[custom.parent / "broken.jsonl"])


def test_sets_that_may_not_stand_together_are_refused(raw: Path, tmp_path: Path) -> None:
    rows = [{"problem": TEXTS[i], "answer": str(i), "type": "math"} for i in range(12)]
    twins = [write_lines(tmp_path / place / "mine.jsonl", rows) for place in ("a", "b")]
    with pytest.raises(DataError, match="two data sets would be called 'mine'"):
        run(raw, tmp_path / "data", sets=("mbpp",), custom=twins)
    with pytest.raises(DataError, match="mbpp is a part of mbpp_full"):
        run(raw, tmp_path / "data", sets=("mbpp", "mbpp_full"))
    with pytest.raises(DataError, match=r"none\.jsonl: no such file"):
        run(raw, tmp_path / "data", sets=(), custom=[tmp_path / "none.jsonl"])
    assert not (tmp_path / "data" / "mixed").exists()


def bad_file(folder: Path, rows: list[bytes]) -> Path:
    path = folder / "gsm8k" / "train.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    good = [json.dumps({"question": t, "answer": "#### 1"}).encode() for t in TEXTS[:12]]
    path.write_bytes(b"\n".join([*good, *rows]) + b"\n")
    return path


BAD_ROWS = [
    (b'{"question": 3, "answer": "#### 1"}', "'question' is int, wanted str"),
    (b'{"question": "q"}', "no 'answer' (keys: question)"),
    (b'{"question": "\xff", "answer": "#### 1"}', "invalid UTF-8 at byte 14"),
    (b'{"question": "a\\u0000b", "answer": "#### 1"}', "holds a NUL character"),
    (b'{"question": "a\x00b", "answer": "#### 1"}', "not JSON: Invalid control character"),
    (
        b'{"question": "' + b"x" * 10 * 2**20 + b'", "answer": "#### 1"}',
        "longer than 8388608 bytes",
    ),
    (b"<html>", "not JSON: Expecting value"),
    (b'{"question": "\\ud83d", "answer": "#### 1"}', "invalid UTF-8"),
]


@pytest.mark.parametrize(("line", "reason"), BAD_ROWS, ids=[reason[:20] for _, reason in BAD_ROWS])
def test_bad_row_stops_with_file_and_line(tmp_path: Path, line: bytes, reason: str) -> None:
    path = bad_file(tmp_path / "raw", [line])
    with pytest.raises(DataError) as caught:
        process(tmp_path / "raw", tmp_path / "data", sets=("gsm8k",))
    assert str(caught.value).startswith(f"{path}:13: {reason}")
    assert "--skip-bad" in str(caught.value)
    assert not (tmp_path / "data").exists()


def test_bad_rows_are_told_at_once_and_what_is_the_same_for_many_once(tmp_path: Path) -> None:
    """One call tells what to mend: nobody has to come back for each row."""
    path = bad_file(tmp_path / "few", [b"<html>", b"[]"])
    with pytest.raises(DataError) as caught:
        process(tmp_path / "few", tmp_path / "data", sets=("gsm8k",))
    assert f"{path}:13: not JSON" in str(caught.value)
    assert re.search(rf"\n{path}:14: .+, wanted .+\nmend these rows", str(caught.value))
    path = bad_file(tmp_path / "many", [b"<html>"] * 30)
    with pytest.raises(DataError) as caught:
        process(tmp_path / "many", tmp_path / "data", sets=("gsm8k",))
    told = "; the same in 29 more rows (14, 15, 16, 17, 18, 19, 20, 21 ...). Mend them or pass --skip-bad"
    assert str(caught.value).startswith(f"{path}:13: not JSON")
    assert str(caught.value).endswith(told)
    assert "\n" not in str(caught.value)


def test_of_more_than_ten_kinds_of_bad_rows_ten_are_told(tmp_path: Path) -> None:
    others = [json.dumps({"question": "q", "a" * n: ""}).encode() for n in range(1, 13)]
    path = bad_file(tmp_path / "raw", others)
    with pytest.raises(DataError) as caught:
        process(tmp_path / "raw", tmp_path / "data", sets=("gsm8k",))
    *told, do = str(caught.value).splitlines()
    assert [line.partition(": ")[0] for line in told] == [f"{path}:{n}" for n in range(13, 23)]
    assert do == "mend these rows or pass --skip-bad; there may be more"


def test_rows_that_are_left_out_are_listed_once_a_kind(tmp_path: Path) -> None:
    path = bad_file(tmp_path / "raw", [b"<html>"] * 1200 + [b"[]"])
    (entry,) = process(tmp_path / "raw", tmp_path / "data", sets=("gsm8k",), skip_bad=True).sets
    first, rest = entry.left_out()
    assert first.startswith(f"{path}:13: not JSON")
    assert "the same in 999 more rows (14, 15, " in first
    assert rest == "and 201 more rows, not listed"


def test_bad_rows_of_all_types_of_a_file_are_told_at_once(tmp_path: Path) -> None:
    """Each type is a set of its own: nobody has to come back for the next type."""
    types = (*DOMAINS, "math")
    rows = [{"problem": TEXTS[i], "answer": [], "type": types[i % 4]} for i in range(12)]
    path = write_lines(tmp_path / "mine.jsonl", rows)  # only a question may be unanswerable
    told = f"{path}:1: 'answer' is empty; the same in 8 more rows (3, 4, 5, 7, 8, 9, 11, 12)"
    for workers in (1, 2):
        with pytest.raises(DataError) as caught:
            process(tmp_path, tmp_path / "data", sets=(), custom=[path], workers=workers)
        assert str(caught.value) == f"{told}. Mend them or pass --skip-bad"


def faults(problems: Sequence[Problem]) -> list[str]:
    return ["tests nothing" if problem.id.endswith("/3") else "" for problem in problems]


def test_a_row_whose_tests_are_faulty_is_bad_where_it_can_be_mended(
    raw: Path, tmp_path: Path
) -> None:
    row = {"type": "code", "answer": ["assert f(1) == 1"]}
    rows = [{**row, "problem": f"Write f(x), {text}."} for text in TEXTS[:12]]
    own = write_lines(tmp_path / "mine.jsonl", rows)
    shipped = run(raw, tmp_path / "shipped", sets=("mbpp",), check_tests=faults).sets[0]
    assert (shipped.rows, [one.reason for one in shipped.refusals]) == (24, ["tests nothing"])
    with pytest.raises(DataError, match=r"mine\.jsonl:4: tests nothing"):
        run(raw, tmp_path / "own", sets=(), custom=[own], check_tests=faults)
    assert not (tmp_path / "own").exists()
    left = run(raw, tmp_path / "own", sets=(), custom=[own], check_tests=faults, skip_bad=True)
    assert (left.sets[0].rows, left.refused) == (11, 1)


def test_skip_bad_counts_and_lists(tmp_path: Path) -> None:
    path = bad_file(tmp_path / "raw", [line for line, _ in BAD_ROWS])
    report = process(tmp_path / "raw", tmp_path / "data", sets=("gsm8k",), skip_bad=True)
    (entry,) = report.sets
    assert (entry.rows, entry.refused, report.refused) == (12, len(BAD_ROWS), len(BAD_ROWS))
    for number, (refusal, (_, reason)) in enumerate(zip(entry.refusals, BAD_ROWS, strict=True), 13):
        assert refusal.where == f"{path}:{number}"
        assert refusal.reason.startswith(reason)


def test_duplicated_id_is_refused(raw: Path, tmp_path: Path) -> None:
    path = raw / "mbpp" / "sanitized-mbpp.json"
    rows = json.loads(path.read_text())
    path.write_text(json.dumps([*rows, rows[3]]))
    with pytest.raises(DataError, match=r":1 \(record 25\): duplicated id 'mbpp/sanitized/3'"):
        run(raw, tmp_path / "data")
    report = run(raw, tmp_path / "data", skip_bad=True)
    assert report.refused == 1


def test_broken_file_is_listed_but_a_set_without_rows_fails(raw: Path, tmp_path: Path) -> None:
    path = raw / "mbpp" / "sanitized-mbpp.json"
    path.write_text(path.read_text()[:-40])
    with pytest.raises(DataError, match="not JSON"):
        run(raw, tmp_path / "data")
    report = run(raw, tmp_path / "data", skip_bad=True)
    (refusal,) = report.sets[3].refusals
    assert (report.sets[3].rows, refusal.where) == (24, f"{path}:1")
    path.write_text("<!DOCTYPE html>")
    with pytest.raises(DataError, match=r"no usable row of mbpp in it \(left out .*:1: an HTML"):
        run(raw, tmp_path / "data", skip_bad=True)


def test_missing_sets_and_folders(raw: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no file of hotpotqa .*Run: llm-as-judge data download"):
        run(raw, tmp_path / "data", sets=("hotpotqa",))
    with pytest.raises(ConfigError, match="no data set 'imagenet'"):
        run(raw, tmp_path / "data", sets=("imagenet",))
    with pytest.raises(DataError, match="no data sets chosen"):
        run(raw, tmp_path / "data", sets=())
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written"):
        run(raw, tmp_path / "file" / "data")

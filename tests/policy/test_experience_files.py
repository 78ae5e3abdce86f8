"""The buffer on disk: the same entries come back; what is damaged is set aside and said once."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from experience_fakes import experience

from llm_as_judge.errors import ConfigError
from llm_as_judge.policy.experience import ExperienceBuffer
from llm_as_judge.policy.experience_files import BufferKind, load_buffer, save_buffer
from llm_as_judge.types import DOMAINS

KIND = BufferKind("body", "letters", 2)


def never(texts: Sequence[str]) -> list[list[float]]:
    raise AssertionError("the vectors were there")


def filled() -> ExperienceBuffer:
    buffer = ExperienceBuffer()
    buffer.add([experience(1, "a", 8.25, vector=(3, 4)), experience(2, "b", vector=(1, -1))])
    buffer.add([experience(3, "c", domain="qa", question="Wer war es? \N{GRINNING FACE} {x}\n")])
    return buffer


def loaded(folder: Path, kind: BufferKind = KIND) -> ExperienceBuffer:
    buffer = ExperienceBuffer()
    assert load_buffer(folder, buffer, kind, never) == len(buffer)
    return buffer


def test_what_is_saved_comes_back_with_the_same_vectors(tmp_path: Path) -> None:
    save_buffer(tmp_path, filled(), KIND)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["math.jsonl", "qa.jsonl"]
    for domain in DOMAINS:
        old, new = filled().entries(domain), loaded(tmp_path).entries(domain)
        assert old == new
        assert all(np.array_equal(a.vector, b.vector) for a, b in zip(old, new, strict=True))


def test_a_folder_that_is_not_there_is_an_empty_buffer(tmp_path: Path) -> None:
    assert len(loaded(tmp_path / "none")) == 0


def test_files_of_domains_without_entries_do_not_stay(tmp_path: Path) -> None:
    save_buffer(tmp_path, filled(), KIND)
    only_math = ExperienceBuffer()
    only_math.add(filled().entries("math"))
    save_buffer(tmp_path, only_math, KIND)
    assert [path.name for path in tmp_path.iterdir()] == ["math.jsonl"]


def test_programs_of_another_form_are_refused_with_what_to_do(tmp_path: Path) -> None:
    save_buffer(tmp_path, filled(), replace(KIND, form="class"))
    with pytest.raises(ConfigError, match=r"math\.jsonl: programs of form 'class', wanted 'body'"):
        loaded(tmp_path)
    assert (tmp_path / "math.jsonl").is_file()


def test_vectors_of_another_model_are_made_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    save_buffer(tmp_path, filled(), KIND)
    buffer = ExperienceBuffer()
    other = BufferKind("body", "other model", 1)
    load_buffer(tmp_path, buffer, other, lambda texts: [[1.0]] * len(texts))
    assert [e.vector.tolist() for e in buffer.entries("math")] == [[1.0], [1.0]]
    assert "vectors of letters are made anew by other model" in caplog.text


def damaged(tmp_path: Path, data: bytes, caplog: pytest.LogCaptureFixture) -> list[str]:
    """Ids that survive when math.jsonl holds ``data``; the file must be set aside, in one line."""
    path = tmp_path / "math.jsonl"
    path.write_bytes(data)
    buffer = loaded(tmp_path)
    assert not path.exists()
    assert path.with_name("math.jsonl.damaged").read_bytes() == data
    records = [r for r in caplog.records if r.levelno == logging.WARNING]
    assert len(records) == 1
    message = records[0].getMessage()
    assert "\n" not in message
    assert f"{path}: damaged (" in message
    assert f"; {len(buffer)} entries kept, the file is set aside as math.jsonl.damaged" in message
    return [entry.problem_id for entry in buffer.entries("math")]


@pytest.fixture
def whole(tmp_path: Path) -> bytes:
    save_buffer(tmp_path / "source", filled(), KIND)
    return (tmp_path / "source" / "math.jsonl").read_bytes()


def test_a_file_cut_inside_a_line_keeps_the_entries_before_it(
    tmp_path: Path, whole: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    assert damaged(tmp_path, whole[:-20], caplog) == ["set/train/1"]


def test_a_file_cut_between_two_lines_is_noticed(
    tmp_path: Path, whole: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    lines = whole.splitlines(keepends=True)
    assert damaged(tmp_path, b"".join(lines[:2]), caplog) == ["set/train/1"]
    assert "1 whole entries of 2" in caplog.text


@pytest.mark.parametrize(
    "data",
    [b"", b"\0" * 40, b"[1]\n", b'{"format": 1}\n', b"[" * 5000 + b"\n", b"\xff\xfe\n{}\n"],
    ids=["empty", "zeros", "a list", "half a head", "deep", "not UTF-8"],
)
def test_a_file_without_a_head_gives_nothing(
    tmp_path: Path, data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    assert damaged(tmp_path, data, caplog) == []


@pytest.mark.parametrize(
    "change",
    [
        {"reward": "9"},
        {"reward": True},
        {"reward": float("nan")},
        {"step": 1.5},
        {"passages": "text"},
        {"domain": "qa"},
        {"program": None},
        {"vector": "AAAA"},
        {"vector": "not base64!"},
        {"vector": None},
    ],
    ids=str,
)
def test_an_entry_with_a_wrong_field_is_left_out_and_the_others_stay(
    tmp_path: Path, whole: bytes, change: dict[str, object], caplog: pytest.LogCaptureFixture
) -> None:
    head, first, second = whole.splitlines(keepends=True)
    broken = json.dumps({**json.loads(first), **change}).encode() + b"\n"
    assert damaged(tmp_path, head + broken + second, caplog) == ["set/train/2"]
    assert "line 2: " in caplog.text


def test_files_set_aside_before_are_not_overwritten(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for data in (b"one", b"two"):
        (tmp_path / "math.jsonl").write_bytes(data)
        loaded(tmp_path)
    assert (tmp_path / "math.jsonl.damaged").read_bytes() == b"one"
    assert (tmp_path / "math.jsonl.damaged.1").read_bytes() == b"two"

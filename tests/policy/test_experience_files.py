"""The buffer on disk: the same entries come back; what is damaged is refused in one line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from experience_fakes import experience

from llm_as_judge.errors import ConfigError, DataError
from llm_as_judge.policy.experience import ExperienceBuffer
from llm_as_judge.policy.memory import BufferKind, load_buffer, save_buffer
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
    load_buffer(folder, buffer, kind, never)
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


def refused(tmp_path: Path, data: bytes, entries: int) -> str:
    """Why math.jsonl with ``data`` is not read, in one line; the file stays."""
    path = tmp_path / "math.jsonl"
    path.write_bytes(data)
    with pytest.raises(DataError, match=r"; remove the file, ") as told:
        loaded(tmp_path)
    assert path.read_bytes() == data
    assert str(told.value).startswith(f"{path}: damaged behind {entries} entries (")
    assert "\n" not in str(told.value)
    return str(told.value)


@pytest.fixture
def whole(tmp_path: Path) -> bytes:
    save_buffer(tmp_path / "source", filled(), KIND)
    return (tmp_path / "source" / "math.jsonl").read_bytes()


@pytest.mark.parametrize("kept", [1, 2, None], ids=["head", "one entry", "inside a line"])
def test_a_file_that_was_cut_is_noticed(tmp_path: Path, whole: bytes, kept: int | None) -> None:
    lines = whole.splitlines(keepends=True)
    data = b"".join(lines[:kept]) if kept else whole[:-20]
    entries = (kept or 2) - 1
    assert f"{entries} whole entries of 2" in refused(tmp_path, data, entries)


@pytest.mark.parametrize(
    "data",
    [b"", b"\0" * 40, b"[1]\n", b'{"format": 1}\n', b"[" * 5000 + b"\n", b"\xff\xfe\n{}\n"],
    ids=["empty", "zeros", "a list", "half a head", "deep", "not UTF-8"],
)
def test_a_file_without_a_head_is_refused(tmp_path: Path, data: bytes) -> None:
    refused(tmp_path, data, 0)


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
def test_an_entry_with_a_wrong_field_is_refused(
    tmp_path: Path, whole: bytes, change: dict[str, object]
) -> None:
    head, first, second = whole.splitlines(keepends=True)
    broken = json.dumps({**json.loads(second), **change}).encode() + b"\n"
    refused(tmp_path, head + first + broken, 1)

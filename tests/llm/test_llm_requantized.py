from __future__ import annotations

import struct
from pathlib import Path

import gguf
import numpy as np
import pytest
from gguf import GGMLQuantizationType as Kind
from numpy.typing import NDArray

from llm_as_judge.errors import ModelError
from llm_as_judge.llm.requantized import servable


def write(path: Path, kind: Kind) -> NDArray[np.float32]:
    """A file of two tensors, the first of ``kind``; returns that one's values."""
    values = np.random.default_rng(0).normal(size=(3, 64)).astype(np.float32)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_array("tokenizer.ggml.tokens", ["a", "bb", "ccc"])
    writer.add_array("tokenizer.ggml.scores", [0.5, 1.5, 2.5])
    writer.add_bool("tokenizer.ggml.add_bos_token", False)
    writer.add_tensor("first", gguf.quantize(values, kind), raw_dtype=kind)
    writer.add_tensor("second", np.arange(5, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    read: NDArray[np.float32] = gguf.dequantize(gguf.quantize(values, kind), kind)
    return read


@pytest.mark.parametrize("kind", [Kind.Q8_0, Kind.Q4_1, Kind.F16], ids=lambda kind: kind.name)
def test_a_file_that_the_engine_reads_is_served_as_it_is(tmp_path: Path, kind: Kind) -> None:
    write(tmp_path / "m.gguf", kind)
    assert servable(tmp_path / "m.gguf") == tmp_path / "m.gguf"
    left = sorted(file.name for file in tmp_path.iterdir() if file.suffix != ".lock")
    assert left == ["m.gguf"]


@pytest.mark.parametrize("kind", [Kind.Q5_0, Kind.Q5_1], ids=lambda kind: kind.name)
def test_tensors_it_cannot_read_are_rewritten_and_the_rest_is_the_same(
    tmp_path: Path, kind: Kind
) -> None:
    wanted = write(tmp_path / "m.gguf", kind)
    copy = servable(tmp_path / "m.gguf")
    assert copy == tmp_path / "m.q8_0.gguf"
    before, after = gguf.GGUFReader(tmp_path / "m.gguf"), gguf.GGUFReader(copy)
    assert list(after.fields) == list(before.fields)
    assert all(after.fields[k].contents() == before.fields[k].contents() for k in before.fields)
    first, second = after.tensors
    assert (first.name, first.tensor_type, second.name) == ("first", Kind.Q8_0, "second")
    found = gguf.dequantize(first.data, first.tensor_type)
    assert np.abs(found - wanted).max() <= np.abs(wanted).max() / 127
    assert second.data.tolist() == [0, 1, 2, 3, 4]


def test_the_copy_is_made_once_and_anew_when_the_weights_are_newer(tmp_path: Path) -> None:
    write(tmp_path / "m.gguf", Kind.Q5_0)
    made = servable(tmp_path / "m.gguf").stat()
    assert servable(tmp_path / "m.gguf").stat().st_ino == made.st_ino
    write(tmp_path / "m.gguf", Kind.Q5_0)
    assert servable(tmp_path / "m.gguf").stat().st_ino != made.st_ino


def test_a_type_that_nothing_reads_is_one_line_and_leaves_no_file(tmp_path: Path) -> None:
    write(tmp_path / "m.gguf", Kind.Q5_0)
    data = (tmp_path / "m.gguf").read_bytes()
    named = struct.pack("<Q", 5) + b"first" + struct.pack("<IQQ", 2, 64, 3)
    unknown = data.replace(
        named + struct.pack("<I", Kind.Q5_0), named + struct.pack("<I", Kind.Q8_K)
    )
    assert unknown != data
    (tmp_path / "m.gguf").write_bytes(unknown)
    with pytest.raises(ModelError, match=r"tensor first is of type 15.*aflow_llm.yaml"):
        servable(tmp_path / "m.gguf")
    left = sorted(file.name for file in tmp_path.iterdir() if file.suffix != ".lock")
    assert left == ["m.gguf"]


@pytest.mark.parametrize("length", [4, 20, 60, 120])
def test_what_is_no_whole_header_is_left_to_the_engine(tmp_path: Path, length: int) -> None:
    write(tmp_path / "m.gguf", Kind.Q5_0)
    (tmp_path / "cut.gguf").write_bytes((tmp_path / "m.gguf").read_bytes()[:length])
    assert servable(tmp_path / "cut.gguf") == tmp_path / "cut.gguf"

"""GGUF weights as the embedded engine reads them: tensors of other quantizations rewritten as Q8_0.

The engine reads F32, F16, Q4_0, Q4_1, Q8_0, Q4_K and Q6_K. Files of small models hold Q5_0 even where
their name says Q4_K_M, because their rows do not divide into blocks of 256. Q8_0 holds their values to
within half a percent of a block's largest. The metadata is copied as it is, without being decoded.

Source: the format, https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from __future__ import annotations

import logging
import math
import mmap
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from llm_as_judge import interruptible
from llm_as_judge.errors import ModelError
from llm_as_judge.files import output_errors, write_atomically

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_READ = frozenset({0, 1, 2, 3, 8, 12, 14})
_Q8_0 = 8
_SCALAR_BYTES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_STRING, _ARRAY = 8, 9
_ALIGNMENT = b"general.alignment"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Tensor:
    name: bytes
    shape: tuple[int, ...]
    """Innermost first, as the file has it."""
    kind: int
    offset: int
    """From the beginning of the data."""


@dataclass(frozen=True, slots=True)
class _Layout:
    metadata_end: int
    tensors: tuple[_Tensor, ...]
    alignment: int
    data_start: int


def servable(weights: Path) -> Path:
    """``weights``, or a rewritten copy beside it, made once, where it has tensors that the engine
    cannot read. What is no GGUF file is returned as it is: the engine says what it found.

    Raises:
        ModelError: a tensor that cannot be rewritten.
        OutputError: no room for the copy.
    """
    copy = weights.with_suffix(".q8_0.gguf")
    if _is_current(copy, weights):
        return copy
    with weights.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        try:
            layout = _layout(data)
        except (struct.error, KeyError):
            return weights
        if all(tensor.kind in _READ for tensor in layout.tensors):
            return weights
        with output_errors(copy), interruptible.lock(copy.with_name(f".{copy.name}.lock")):
            if not _is_current(copy, weights):  # by the process that we waited for
                log.warning("%s: some tensors are rewritten as Q8_0, once: %s", weights.name, copy)
                _write(copy, data, layout)
    return copy


def _is_current(copy: Path, weights: Path) -> bool:
    return copy.is_file() and copy.stat().st_mtime_ns >= weights.stat().st_mtime_ns


# ---------------------------------------------------------------------------------------- reading
def _layout(data: mmap.mmap) -> _Layout:
    """Raises:
    struct.error, KeyError: it is no whole header.
    """
    magic, version, tensors, pairs = struct.unpack_from("<4sIQQ", data)
    if magic != b"GGUF" or version not in (2, 3):
        raise KeyError(version)
    place, alignment = 24, 32
    for _ in range(pairs):
        key, place = _string(data, place)
        (kind,) = struct.unpack_from("<I", data, place)
        if key == _ALIGNMENT:
            (alignment,) = struct.unpack_from("<I", data, place + 4)
        place = _after_value(data, place + 4, kind)
    metadata_end, found = place, []
    for _ in range(tensors):
        name, place = _string(data, place)
        (axes,) = struct.unpack_from("<I", data, place)
        *shape, kind, offset = struct.unpack_from(f"<{axes}QIQ", data, place + 4)
        place += 16 + 8 * axes
        found.append(_Tensor(name, tuple(shape), kind, offset))
    return _Layout(metadata_end, tuple(found), alignment, _aligned(place, alignment))


def _string(data: mmap.mmap, place: int) -> tuple[bytes, int]:
    (length,) = struct.unpack_from("<Q", data, place)
    return data[place + 8 : place + 8 + length], place + 8 + length


def _after_value(data: mmap.mmap, place: int, kind: int) -> int:
    if kind == _STRING:
        return place + 8 + int(struct.unpack_from("<Q", data, place)[0])
    if kind != _ARRAY:
        return place + _SCALAR_BYTES[kind]
    kind, count = struct.unpack_from("<IQ", data, place)
    place += 12
    if kind in _SCALAR_BYTES:
        return place + _SCALAR_BYTES[kind] * int(count)
    for _ in range(count):
        place = _after_value(data, place, kind)
    return place


def _aligned(place: int, alignment: int) -> int:
    return -(-place // alignment) * alignment


# ---------------------------------------------------------------------------------------- writing
def _write(copy: Path, data: mmap.mmap, layout: _Layout) -> None:
    with write_atomically(copy) as out:
        out.write(data[: layout.metadata_end])
        out.write(_infos(layout))
        for block in _blocks(data, layout):
            interruptible.check()
            _pad(out, layout.alignment)
            out.write(block)


def _infos(layout: _Layout) -> bytes:
    infos, offset = [], 0
    for tensor in layout.tensors:
        kind = tensor.kind if tensor.kind in _READ else _Q8_0
        infos.append(
            struct.pack("<Q", len(tensor.name))
            + tensor.name
            + struct.pack(f"<I{len(tensor.shape)}Q", len(tensor.shape), *tensor.shape)
            + struct.pack("<IQ", kind, offset)
        )
        offset = _aligned(offset + _bytes_of(tensor.shape, kind), layout.alignment)
    return b"".join(infos)


def _bytes_of(shape: tuple[int, ...], kind: int) -> int:
    from gguf import GGML_QUANT_SIZES, GGMLQuantizationType

    values, size = GGML_QUANT_SIZES[GGMLQuantizationType(kind)]
    return math.prod(shape) // int(values) * int(size)


def _blocks(data: mmap.mmap, layout: _Layout) -> Iterator[bytes]:
    import numpy as np

    for tensor in layout.tensors:
        start = layout.data_start + tensor.offset
        raw = data[start : start + _bytes_of(tensor.shape, tensor.kind)]
        if tensor.kind in _READ:
            yield raw
        else:
            yield _as_q8_0(np.frombuffer(raw, dtype=np.uint8), tensor).tobytes()


def _as_q8_0(raw: NDArray[np.uint8], tensor: _Tensor) -> Any:
    from gguf import GGMLQuantizationType
    from gguf.quants import QuantError, dequantize, quantize

    try:
        kind = GGMLQuantizationType(tensor.kind)
        rows = raw.reshape(math.prod(tensor.shape[1:]), -1)
        return quantize(dequantize(rows, kind), GGMLQuantizationType.Q8_0)
    except (ValueError, NotImplementedError, QuantError) as error:
        name = tensor.name.decode(errors="replace")
        raise ModelError(
            f"tensor {name} is of type {tensor.kind}, which the embedded server cannot read "
            f"({error}); serve the file with llama.cpp and name that server in aflow_llm.yaml"
        ) from None


def _pad(out: IO[bytes], alignment: int) -> None:
    out.write(b"\0" * (-out.tell() % alignment))

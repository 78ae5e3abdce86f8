"""Files are written whole or not at all, and what goes wrong with them is said in one line."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from llm_as_judge.errors import OutputError

_REASONS = {
    errno.ENOSPC: "the disk is full; free some space",
    errno.EACCES: "no write permission; choose another folder or mend its rights",
    errno.EDQUOT: "the quota of this disk is used up; free some space",
    errno.EFBIG: "larger than files may be here (ulimit -f); raise that limit",
    errno.EROFS: "the file system is read-only; choose another folder",
    errno.EISDIR: "it is a folder; name a file",
}


@contextlib.contextmanager
def output_errors(path: Path) -> Iterator[None]:
    """Turns an ``OSError`` of the block into one clear line about ``path``.

    Raises:
        OutputError: the folder cannot be written, or the disk is full.
    """
    try:
        yield
    except OSError as error:
        reason = _REASONS.get(error.errno or 0, error.strerror or str(error))
        raise OutputError(f"{path}: cannot be written: {reason}") from error


def require_writable(folder: Path) -> None:
    """A file can be made in ``folder``, or where it is going to be made; leaves nothing behind.

    Raises:
        OutputError: permission, full disk, or a file in the place of the folder.
    """
    with output_errors(folder):
        there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
        with tempfile.TemporaryFile(dir=there) as probe:
            probe.write(b"\0" * 4096)
            probe.flush()


@contextlib.contextmanager
def write_atomically(path: Path) -> Iterator[IO[bytes]]:
    """A binary stream that becomes ``path`` when the block ends well, and nothing otherwise.

    The folder is made; a temporary name beside ``path`` takes the bytes, which are on the disk
    before the rename. A device or a pipe is written to as it is: a rename would replace it.

    Raises:
        OutputError: the folder cannot be written, or the disk is full.
    """
    with output_errors(path):
        if path.exists() and not path.is_file():
            with path.open("wb") as stream:
                yield stream
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with _beside(path) as stream:
            try:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
                os.fchmod(stream.fileno(), 0o644)
                Path(stream.name).replace(path)
            except BaseException:
                Path(stream.name).unlink(missing_ok=True)
                raise


def _beside(path: Path) -> IO[bytes]:
    """An empty file in the folder of ``path``: the one that a killed process left there, so that none
    stays; another name while a living one writes to it."""
    own = path.with_name(f".{path.name}.partial")
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    file = open(own, "wb", 1 << 20, opener=lambda name, _: os.open(name, flags, 0o600))  # noqa: SIM115
    with contextlib.suppress(BlockingIOError, FileNotFoundError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(
            own.stat(), os.fstat(file.fileno())
        ):  # and not renamed since it was opened
            file.truncate()
            return file
    file.close()
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    return open(name, "wb", 1 << 20, opener=lambda _name, _flags: handle)


@contextlib.contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """An empty folder that becomes ``path`` when the block ends well, and nothing otherwise.

    Raises:
        OutputError: ``path`` exists already or cannot be written.
    """
    if path.exists():
        raise OutputError(f"{path}: is there already; name a new folder with --out")
    with output_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
        try:
            partial.chmod(0o755)
            yield partial
            partial.replace(path)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


def write_text(path: Path, text: str) -> None:
    """Writes ``text`` as UTF-8, the whole file or nothing.

    Raises:
        OutputError: the folder cannot be written, or the disk is full.
    """
    with write_atomically(path) as stream:
        stream.write(text.encode())


def read_json(path: Path) -> Any:
    """What a file of JSON says.

    Raises:
        OSError: it cannot be read.
        ValueError: it is no JSON, or nested too deeply.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def file_sha256(path: Path) -> str:
    """Hex digest of a file's content, read in pieces.

    Raises:
        OSError: it cannot be read.
    """
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


LOCK = ".lock"


@contextmanager
def exclusive(folder: Path, remedy: str, *, doing: str = "training") -> Iterator[None]:
    """Hold ``folder``, made if it is missing, until the block or the process ends.

    Args:
        remedy: what a person can do who finds it held.
        doing: what the holder does there, for them to read.
    Raises:
        OutputError: another process holds it, or it cannot be written.
    """
    path = folder / LOCK
    with output_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        file = path.open("a+", encoding="utf-8")
    with file:
        with output_errors(path):
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.seek(0)
                holder = file.read().strip() or "another"
                raise OutputError(
                    f"{folder}: process {holder} is {doing} here; wait for its end, or {remedy}"
                ) from None
            file.truncate(0)
            file.write(f"{os.getpid()}\n")
            file.flush()
        yield

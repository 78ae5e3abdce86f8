"""One process at a time in a folder, released however that process ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from llm_as_judge.errors import OutputError
from llm_as_judge.files import output_errors

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

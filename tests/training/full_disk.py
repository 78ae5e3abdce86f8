"""A run on a disk that is full, again and again: to be started on a small tmpfs of its own.

    bwrap --dev-bind / / --size BYTES --tmpfs PLACE/NAME python full_disk.py PLACE NAME TRIES

Prints a line of JSON for each try: bytes that were left, exit status, last line said.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
from pathlib import Path
from typing import Any

from chaos import STALENESS, STRICT
from killable_runs import FORK, resume_options, started


def fill(folder: Path, left: int) -> Path:
    """A file that leaves ``left`` bytes of the disk."""
    stat = os.statvfs(folder)
    ballast = folder / "ballast"
    with ballast.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(1, stat.f_bavail * stat.f_frsize - left))
    return ballast


def run(place: Path, name: str) -> tuple[int, str]:
    before = len(log_text(place, name))
    process: Any = started(place, name, STALENESS, *resume_options(place, name), *STRICT)
    process.join()
    said = log_text(place, name)[before:].splitlines()
    return process.exitcode, said[-1] if said else ""


def log_text(place: Path, name: str) -> str:
    path = place / f"{name}.log"
    return path.read_text() if path.exists() else ""


def main() -> None:
    place, name, tries = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    FORK.set_forkserver_preload(["llm_as_judge.assembly.trainer", "torch"])
    moments = random.Random(5)
    for _ in range(tries):
        left = int(moments.uniform(0, 150_000))
        ballast = fill(place / name, left)
        status, said = run(place, name)
        ballast.unlink()
        print(json.dumps({"left": left, "status": status, "said": said}), flush=True)  # noqa: T201
    status, said = run(place, name)
    print(json.dumps({"left": None, "status": status, "said": said}), flush=True)  # noqa: T201
    shutil.copytree(place / name, place / f"{name}_kept")


if __name__ == "__main__":
    main()

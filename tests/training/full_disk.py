"""A run on a disk that is full, again and again: to be started on a small tmpfs of its own.

    bwrap --dev-bind / / --size BYTES --tmpfs PLACE/NAME python full_disk.py PLACE NAME TRIES VERB BYTES

Prints a line of JSON for each try: bytes that were left (at most BYTES), exit status, last line said.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from chaos import STALENESS, STRICT
from killable_runs import FORK, resume_options, started
from killable_verbs import started_verb

from llm_as_judge.sandbox.jail import find_bubblewrap


def on_a_small_disk(place: Path, name: str, tries: int, verb: str, most: int) -> list[Any]:
    """What each of ``tries`` of a verb in ``place / name`` on a disk that fills said, and the last one with room.

    Args:
        most: bytes that are left on the disk at most.
    """
    bwrap = find_bubblewrap()
    assert bwrap is not None
    (place / name).mkdir()
    view = ["--dev-bind", "/", "/", "--size", "16000000", "--tmpfs", str(place / name)]
    script = [sys.executable, __file__, str(place), name, str(tries), verb, str(most)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [bwrap, *view, "--", *script], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    (place / f"{name}_kept.log").write_text(log_text(place, name))
    return [json.loads(line) for line in done.stdout.splitlines()]


def fill(folder: Path, left: int) -> Path:
    """A file that leaves ``left`` bytes of the disk."""
    stat = os.statvfs(folder)
    ballast = folder / "ballast"
    with ballast.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(1, stat.f_bavail * stat.f_frsize - left))
    return ballast


def run(place: Path, name: str, verb: str) -> tuple[int, str]:
    before = len(log_text(place, name))
    process: Any = (
        started(place, name, STALENESS, *resume_options(place, name), *STRICT)
        if verb == "train"
        else started_verb(place, verb, name)
    )
    process.join()
    said = log_text(place, name)[before:].splitlines()
    return process.exitcode, said[-1] if said else ""


def log_text(place: Path, name: str) -> str:
    path = place / f"{name}.log"
    return path.read_text() if path.exists() else ""


def main() -> None:
    place, name, verb = Path(sys.argv[1]), sys.argv[2], sys.argv[4]
    tries, most = int(sys.argv[3]), int(sys.argv[5])
    FORK.set_forkserver_preload(["llm_as_judge.assembly.trainer", "torch"])
    moments = random.Random(5)
    for number in range(tries):
        left = int(moments.uniform(0, most * (number + 1) / tries))
        ballast = fill(place / name, left)
        status, said = run(place, name, verb)
        ballast.unlink()
        print(json.dumps({"left": left, "status": status, "said": said}), flush=True)  # noqa: T201
    status, said = run(place, name, verb)
    print(json.dumps({"left": None, "status": status, "said": said}), flush=True)  # noqa: T201
    shutil.copytree(place / name, place / f"{name}_kept")


if __name__ == "__main__":
    main()

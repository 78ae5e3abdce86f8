"""Estimates of the time left, against the time that it took.

    python scripts/estimates.py make run ARGS="--seed 2"
    python scripts/estimates.py --log walk/walk.log python scripts/own_task_walk.py invoices --executor MODEL --folder walk

Calls the command, passes on what it prints, and says for each of its parts how many estimates were within a third of
the truth, from a quarter of the part on. The last half minute is left out: less is said once. ``--log`` reads the
estimates from a file to which the command writes, in place of its output.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

FROM, LAST_S, SHARE = 0.25, 30.0, 1 / 3
_SAID = re.compile(
    r"\s*(?:\d+:\d\d\s+)?(?P<part>(?:part \d+ of \d+, )?(?!part )\S.*?):? (?P<done>[\d,]+) of (?P<total>[\d,]+)\b.*?"
    r"(?:, about (?:(?P<h>\d+) h)? ?(?:(?P<min>\d+) min)?(?:(?P<s>\d+) s)? left|$)"
)


@dataclass(frozen=True)
class Part:
    """A part of the work, as its lines tell it."""

    name: str
    seconds: float
    ratios: tuple[float, ...]
    """Said to true seconds, of each estimate that counts."""

    @property
    def near(self) -> int:
        return sum(1 - SHARE <= ratio <= 1 + SHARE for ratio in self.ratios)

    def __str__(self) -> str:
        told = f"{self.near} of {len(self.ratios)} within a third"
        if self.ratios:
            told += f", {min(self.ratios):.2f} to {max(self.ratios):.2f} of the truth"
        return f"{self.seconds:6.0f} s  {told}  {self.name}"


def parts_of(lines: Iterable[tuple[float, str]], ended: float) -> Iterator[Part]:
    """The parts of a work from its lines, each with the seconds at which it came."""
    said: list[tuple[float, float, float]] = []
    name, began, before, over = "", 0.0, 0, None
    for now, line in [*lines, (ended, "")]:
        if (match := _SAID.match(line)) is None:
            over = now if over is None else over  # the part has ended, or tells something else
            continue
        done, total = (int(match[key].replace(",", "")) for key in ("done", "total"))
        same = match["part"] in (name, "step")  # a line a step, between those of its part
        if not (name and same) or done < before:
            if name:
                yield _part(name, began, now if over is None else over, said)
            name, began, said = match["part"], now, []
        before, over = done, None
        if left := sum(
            int(match[key] or 0) * size for key, size in (("h", 3600), ("min", 60), ("s", 1))
        ):
            said.append((now, done / max(total, 1), left))
    if name:
        yield _part(name, began, ended if over is None else over, said)


def _part(name: str, began: float, ended: float, said: list[tuple[float, float, float]]) -> Part:
    ratios = tuple(
        left / (ended - now) for now, share, left in said if share >= FROM and ended - now >= LAST_S
    )
    return Part(name, ended - began, ratios)


def lines_of(command: list[str], log: Path | None) -> tuple[list[tuple[float, str]], float, int]:
    """Calls it; its lines with their seconds, its seconds, its status."""
    found: list[tuple[float, str]] = []
    began = time.monotonic()
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        follower = threading.Thread(target=_follow, args=(log, process, found, began))
        follower.start()
        for line in process.stdout:
            print(line, end="", flush=True)
            if log is None:
                found.append((time.monotonic() - began, line.rstrip()))
        status = process.wait()
        seconds = time.monotonic() - began
        follower.join()
    return found, seconds, status


def _follow(
    log: Path | None, process: subprocess.Popen[str], found: list[tuple[float, str]], began: float
) -> None:
    read = 0
    while log is not None:
        running = process.poll() is None
        text = log.read_text() if log.exists() else ""
        whole = text[read : text.rfind("\n") + 1]
        found += [(time.monotonic() - began, line) for line in whole.splitlines()]
        read += len(whole)
        if not running:
            return
        time.sleep(0.5)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--log", type=Path, help="file with the estimates")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    if not given.command:
        parser.error("a command is wanted")
    lines, seconds, status = lines_of(given.command, given.log)
    parts = [part for part in parts_of(lines, seconds) if part.ratios]
    print(*parts, sep="\n")
    counted = sum(len(part.ratios) for part in parts)
    print(f"{seconds:6.0f} s  {sum(part.near for part in parts)} of {counted} within a third")
    sys.exit(status)


if __name__ == "__main__":
    main()

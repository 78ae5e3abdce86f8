"""Common parts of the chaos suite's faults: who knows the answers, and what must hold after."""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from killable_runs import (
    Endpoint,
    descendants,
    in_fields,
    require_equal,
    resume_options,
    started,
)

from fault_endpoint import MOSTLY_QUICK, FaultEndpoint, in_a_thread
from llm_as_judge.jsonl import JsonLines
from llm_as_judge.runs.runlog import ROLLOUTS

TRIES = int(os.environ.get("CHAOS", "0"))
"""Of each fault; 0 = the suite is skipped."""
STALENESS = 1
STRICT = ("--set", "training.max_failed_fraction=0")
"""Any failure of ours stops the run, which is gone on with: in the end nothing may be missing."""


def gold(number: int, domain: str) -> str:
    return str(number + 2000) if domain == "math" else "Edna Moss"


class Knowing(Endpoint):
    """Right for problems of even number, and only for these, so that every reward can be checked."""

    def answer(self, text: str, number: str) -> str:
        return knowing(text, number)


def knowing(text: str, otherwise: str) -> str:
    if found := re.findall(r"What is (\d+) plus 2000", text):
        domain = "math"
    elif found := re.findall(r"Who lit lamp (\d+)", text):
        domain = "qa"
    else:
        return otherwise
    asked = int(found[-1])
    return gold(asked, domain) if asked % 2 == 0 else otherwise


def require_right_rewards(run: Path) -> int:
    """Every graded rollout has the verdict that its own answer deserves; returns how many there are."""
    rows = list(JsonLines(run / ROLLOUTS).rows("step", "group"))
    verdicts = set()
    for row in rows:
        rollout = row["rollout"]
        assert rollout["failure"] is None
        execution, verdict = rollout["execution"], rollout["verdict"]
        number = int(rollout["problem_id"].rpartition("/")[2])
        right = execution["status"] == "ok" and execution["answer"] == gold(number, row["domain"])
        assert verdict["correct"] == right, rollout
        assert rollout["reward"] is not None
        verdicts.add(right)
    assert verdicts == {True, False}, "a check that sees one kind of verdict sees nothing"
    return len(rows)


@contextlib.contextmanager
def faulty(share: float, seed: int) -> Iterator[FaultEndpoint]:
    """An endpoint that breaks ``share`` of the replies, and knows the answers too."""

    def answer(asked: str) -> str:
        number = str(int(hashlib.sha256(asked.encode()).hexdigest()[:11], 16))
        return in_fields(asked, knowing(asked, number))

    with in_a_thread(FaultEndpoint(share, seed, MOSTLY_QUICK, answer)) as server:
        yield server


def ended_well(place: Path, name: str, reference: str = "reference") -> None:
    """What must hold of a run after any fault, once it was gone on with to its end."""
    said = (place / f"{name}.log").read_text()
    assert "Traceback" not in said, said
    require_equal(place, name, reference)
    require_right_rewards(place / name / "run")


def driven(
    place: Path, name: str, harm: Callable[[Any], None], *options: str, most: int = 40
) -> list[int]:
    """Start a run, do it harm, go on with it until it ends well.

    Args:
        harm: gets each process as it has started.
        most: processes.
    Returns:
        Their exit statuses; the last is 0.
    """
    statuses: list[int] = []
    while not statuses or statuses[-1] != 0:
        process = started(place, name, STALENESS, *resume_options(place, name), *STRICT, *options)
        harm(process)
        process.join()
        statuses.append(process.exitcode)
        assert len(statuses) <= most, (place / f"{name}.log").read_text()
    return statuses


def sandbox_servers(pid: int) -> list[int]:
    """Of a trainer: bubblewrap's processes and the fork server below them, not the programs."""
    below = descendants(pid)
    wraps = {p for p in below if _stat(p, "comm") == "bwrap"}
    return [p for p in below if p in wraps or _parent(p) in wraps]


def _stat(pid: int, name: str) -> str:
    try:
        return Path(f"/proc/{pid}/{name}").read_text().strip()
    except OSError:  # it has just ended
        return ""


def _parent(pid: int) -> int:
    fields = _stat(pid, "stat").rpartition(")")[2].split()
    return int(fields[1]) if fields else 0


def wait_until(true: Callable[[], object], process: Any, seconds: float = 120) -> bool:
    """Until something holds; False if the process ended before."""
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until
        if not process.is_alive():
            return bool(true())
        time.sleep(0.02)
    return True


def some_moment(moments: random.Random, longest_s: float) -> None:
    time.sleep(moments.uniform(0.0, longest_s))

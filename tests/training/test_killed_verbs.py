"""Verbs that are killed, find the disk full or are started twice lose nothing and pay nothing twice.

``KILLS=10 CHAOS=3 pytest -s tests/training/test_killed_verbs.py`` tries each verb (``make chaos``);
without them one verb is killed once. Trainers are in ``test_killed_runs.py``.
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from chaos import TRIES, wait_until
from full_disk import on_a_small_disk
from killable_runs import load_once, serving
from killable_verbs import VERBS, Counting, held, kept_files, paid_again, started_verb, with_verbs

KILLS = int(os.environ.get("KILLS", "0"))
LOADED_ONCE = (
    "assembly.trainer",
    "cli.searching",
    "cli.evaluating",
    "cli.judge_training",
    "cli.pooling",
    "cli.quickstarting",
    "cli.stop_learning",
    "evaluation.quickstart",
)
broken_in_every_way = pytest.mark.skipif(not TRIES, reason="breaks whole runs: `make chaos`")
pytestmark = pytest.mark.slow


@pytest.fixture
def endpoint() -> Iterator[Counting]:
    with serving(Counting()) as found:
        yield found


@pytest.fixture
def place(served_place: Path) -> Path:
    load_once(*LOADED_ONCE)
    return with_verbs(served_place)


def unbroken(place: Path, verb: str) -> float:
    """Seconds of a try called ``whole``, which nothing happens to."""
    began = time.monotonic()
    process = started_verb(place, verb, "whole")
    process.join()
    assert process.exitcode == 0, (place / "whole.log").read_text()
    return time.monotonic() - began


def ended_as_whole(place: Path, name: str) -> None:
    assert "Traceback" not in (place / f"{name}.log").read_text()
    assert kept_files(place / name) == kept_files(place / "whole")


@pytest.mark.parametrize("verb", VERBS if KILLS else ["pool"])
def test_a_verb_killed_at_random_moments_ends_as_the_unbroken_one(
    place: Path, endpoint: Counting, verb: str
) -> None:
    seconds, asked = unbroken(place, verb), len(endpoint.texts)
    moments, kills, found, number = random.Random(verb), 0, 0, 0
    while kills < (KILLS or 1):
        name = f"killed{number}"
        number += 1
        sittings: list[tuple[int, Counter[str]]] = []
        began = time.monotonic()
        while True:
            sittings.append((len(endpoint.texts), held(place / name)))
            process = started_verb(place, verb, name)
            if kills < (KILLS or 1) and asked and kills % 2:  # once so many replies more are paid
                goal = len(endpoint.texts) + moments.randrange(asked)
                wait_until(lambda: len(endpoint.texts) >= goal, process, 600)  # noqa: B023
                process.join(moments.uniform(0.0, 1.0))
            else:
                process.join(moments.uniform(0.05, 1.0) * seconds if kills < (KILLS or 1) else None)
            if process.exitcode is not None:
                break
            process.kill()
            process.join()
            kills += 1
        assert process.exitcode == 0, (place / f"{name}.log").read_text()
        if len(sittings) == 1:  # on a machine that was busy before, all kills would come too late
            seconds = min(seconds, time.monotonic() - began)
        ended_as_whole(place, name)
        after, ends = held(place / name), [at for at, _ in sittings[1:]] + [len(endpoint.texts)]
        for (start, before), end in zip(sittings, ends, strict=True):
            assert paid_again(endpoint.texts[start:end], before, after) == []
            found += before.total()
    print(f"\n{verb}: {kills} kills in {number} runs; {found} kept replies found, none paid twice")  # noqa: T201


@broken_in_every_way
@pytest.mark.parametrize("verb", VERBS)
def test_a_full_disk_ends_a_verb_with_one_line_and_the_same_command_goes_on(
    place: Path, verb: str
) -> None:
    unbroken(place, verb)
    pages = [4096 * (1 + path.stat().st_size // 4096) for path in (place / "whole").rglob("*")]
    *full, last = on_a_small_disk(place, "full", 3 * TRIES, verb, sum(pages))
    for tried in full:
        assert tried["status"] in (0, 2), tried
        assert tried["status"] == 0 or "free " in tried["said"], tried
    assert any(tried["status"] == 2 for tried in full)
    assert last["status"] == 0, last
    ended_as_whole(place, "full_kept")
    stopped = sum(tried["status"] == 2 for tried in full)
    print(f"\n{verb}: {stopped} of {len(full)} tries found the disk full")  # noqa: T201


@broken_in_every_way
@pytest.mark.parametrize("verb", VERBS)
def test_of_two_at_once_one_is_refused_or_both_are_right(
    place: Path, endpoint: Counting, verb: str
) -> None:
    unbroken(place, verb)
    began = len(endpoint.texts)
    endpoint.open.clear()
    both = [started_verb(place, verb, "twice") for _ in range(2)]
    wait_until(lambda: not both[1].is_alive(), both[0])  # neither can end well before it is open
    endpoint.open.set()
    for process in both:
        process.join()
    exits, said = sorted(process.exitcode for process in both), (place / "twice.log").read_text()
    assert exits == [0, 0] or (exits == [0, 2] and "wait for its end, or" in said), said
    ended_as_whole(place, "twice")
    assert paid_again(endpoint.texts[began:], Counter(), held(place / "twice")) == []
    print(f"\n{verb}: two at once ended with {exits}")  # noqa: T201

"""The pool against the JSON lines that it exports: opening, memory, size, growth; writers and kills.

    python benchmarks/pool.py [--replies 100000]

Anchor: the same replies as JSON lines, in the same run. Each is measured at a tenth and at the whole, in a
process of its own: processor seconds to put, open and read 1,000 replies, memory above an empty process, bytes on disk.
Then two processes write into one pool while a third is killed, and what each had put is looked for.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

from llm_as_judge.llm.billing import Attempt
from llm_as_judge.llm.pool import Pool
from llm_as_judge.llm.recording import Outcome
from llm_as_judge.llm.shared import request_digest
from llm_as_judge.types import ChatReply, ChatRequest, Message, Usage

KINDS: dict[str, Any] = {"pool": Pool, "lines": partial(Pool, lines=True)}
READ = 1000
DRAWS = 4
WORDS = [f"{a}{b}" for a in ("ka", "lo", "mi", "ne", "ru", "sto") for b in ("r", "lan", "ten", "s")]


def request_of(number: int, writer: str = "") -> ChatRequest:
    """Draw ``number % 4`` of a prompt of about 600 bytes."""
    chance = random.Random(f"{writer}{number // DRAWS}")
    text = f"Problem {writer}{number // DRAWS}. {' '.join(chance.choices(WORDS, k=100))} Answer:"
    first = ChatRequest((Message("user", text),), 384, temperature=0.7, seed=0)
    return first.later(number % DRAWS)


def put(kept: Pool, number: int, writer: str = "") -> str:
    request = request_of(number, writer)
    chance = random.Random(f"reply {writer}{number}")
    usage = Usage(150, chance.randrange(40, 160))
    text = " ".join(chance.choices(WORDS, k=usage.completion_tokens // 2))
    key = request_digest("m", request)
    attempts = (Attempt(usage, 0.0, chance.random()),)
    reply = ChatReply(text, "stop", usage, 0.0, chance.random())
    kept.put(key, {"model": "m", "request": request}, Outcome(reply, attempts=attempts))
    return key


# ------------------------------------------------------------------------------- in a process of its own
def fill(kind: str, folder: Path, count: int) -> dict[str, float]:
    kept, began = Pool(folder), time.process_time()
    for number in range(count):
        put(kept, number)
    if kind == "lines":
        kept.export(folder / "calls.jsonl")
        kept.close()
        for file in folder.glob("pool.*"):
            file.unlink()
    return {"put_s": time.process_time() - began}


def read(kind: str, folder: Path, count: int) -> dict[str, float]:
    keys = [request_digest("m", request_of(n)) for n in random.Random(0).sample(range(count), READ)]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began, wall = time.process_time(), time.perf_counter()
    kept = KINDS[kind](folder)
    first = kept.get(keys[0]) is not None
    opened, opened_wall = time.process_time(), time.perf_counter()
    found = sum(kept.get(key) is not None for key in keys)
    ended = time.process_time()
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert first
    assert found == READ
    figures = {
        "open_s": opened - began,
        "open_wall_s": opened_wall - wall,
        "read_s": ended - opened,
    }
    return {**figures, "memory_mb": (after - before) / 1024}


def write_for_ever(folder: Path, writer: str, count: int) -> None:
    kept = Pool(folder)
    for number in range(count):
        put(kept, number, writer)
        print(number, flush=True)


# --------------------------------------------------------------------------------------------- outside
def child(*arguments: object) -> dict[str, float]:
    command = [sys.executable, __file__, *map(str, arguments)]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found: dict[str, float] = json.loads(said)
    return found


def measured(kind: str, place: Path, count: int) -> dict[str, float]:
    folder = place / f"{kind}-{count}"
    figures = child("fill", kind, folder, count) | child("read", kind, folder, count)
    size = sum(path.stat().st_size for path in folder.iterdir())
    return {**figures, "megabytes": size / 2**20}


def growth(place: Path, count: int) -> None:
    found = {
        (kind, size): measured(kind, place, size) for size in (count // 10, count) for kind in KINDS
    }
    for (kind, size), row in found.items():
        print(f"{kind:6} {size:8,} replies  " + "  ".join(f"{k} {v:.3f}" for k, v in row.items()))
    for kind in KINDS:
        small, large = found[kind, count // 10], found[kind, count]
        ratios = {
            name: large[name] / max(small[name], 1e-3) for name in ("put_s", "open_s", "megabytes")
        }
        more = large["memory_mb"] - small["memory_mb"]
        print(
            f"{kind:6} ten times the replies cost "
            + ", ".join(f"{ratio:.1f} x {name}" for name, ratio in ratios.items())
            + f", {more:+.1f} MB of memory"
        )
    pool, lines = found["pool", count], found["lines", count]
    print(
        f"pool against lines at {count:,}: opened in {pool['open_s'] / lines['open_s']:.4f} of the time, "
        f"{pool['megabytes'] / lines['megabytes']:.2f} of the bytes"
    )


def writers(place: Path, count: int = 1000) -> None:
    folder = place / "shared"
    command = [sys.executable, __file__, "write", str(folder)]
    both = [
        subprocess.Popen([*command, name, str(count)], stdout=subprocess.DEVNULL)
        for name in ("a", "b")
    ]
    killed = subprocess.Popen([*command, "k", "1000000"], stdout=subprocess.PIPE)
    assert killed.stdout is not None
    said = [int(killed.stdout.readline()) for _ in range(count // 4)][-1]
    os.kill(killed.pid, signal.SIGKILL)
    killed.communicate()
    assert [one.wait() for one in both] == [0, 0]
    pool = Pool(folder)
    wanted = [("a", n) for n in range(count)] + [("b", n) for n in range(count)]
    wanted += [("k", n) for n in range(said + 1)]
    lost = sum(
        pool.get(request_digest("m", request_of(number, writer))) is None
        for writer, number in wanted
    )
    print(
        f"two writers and one killed after {said + 1}: {len(pool):,} replies, {lost} lost, "
        f"{pool.damaged} damaged"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--replies", type=int, default=100_000)
    count = parser.parse_args().replies
    with tempfile.TemporaryDirectory() as name:
        growth(Path(name), count)
        writers(Path(name))


if __name__ == "__main__":
    if len(sys.argv) == 5 and sys.argv[1] in ("fill", "read"):
        work = {"fill": fill, "read": read}[sys.argv[1]]
        print(json.dumps(work(sys.argv[2], Path(sys.argv[3]), int(sys.argv[4]))))
    elif len(sys.argv) == 5 and sys.argv[1] == "write":
        write_for_ever(Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
    else:
        main()

"""An own task from rows to a served policy, with the clock of each verb.

    python scripts/own_task_walk.py invoices --executor qwen25-coder-0.5b --folder walk

Makes 48 rows of a task (invoices, handbook, functions), then calls init, headroom, pool fill, search, stop learn,
evaluate, train, evaluate, compare and serve in the folder, as docs/own-task.md does. What the verbs print goes to
walk.log there.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

Row = dict[str, object]
Run = Callable[[Sequence[str]], int]
"""Calls a verb in the folder; its exit status."""
ROWS, BANK, STOP = 48, "results/headroom/bank", "results/stop.json"
"""Of 40 rows 27 are left to train on, and a stop is learned from 30."""


# ------------------------------------------------------------------------------------------- rows
def invoices(chance: random.Random) -> Iterator[Row]:
    """Totals with delivery and tax."""
    goods = ("paper", "chairs", "lamps", "cables", "desks", "pens", "screens", "bags")
    while True:
        good, count, tax = chance.choice(goods), chance.randint(3, 90), chance.choice((7, 19, 20))
        each, delivery = Decimal(chance.randint(115, 9990)) / 100, chance.randint(4, 25)
        total = (count * each + delivery) * (100 + tax) / 100
        answer = total.quantize(Decimal("0.01"), ROUND_HALF_UP)
        text = (
            f"An invoice lists {count} {good} at {each:.2f} each and {delivery}.00 for delivery. "
            f"{tax} % tax is added to all of it. What is the total, rounded to cents?"
        )
        yield {"type": "math", "problem": text, "answer": str(answer)}


def handbook(chance: random.Random) -> Iterator[Row]:
    """Two questions on each section of a handbook."""
    goods = (
        "Boots",
        "Tents",
        "Ropes",
        "Stoves",
        "Maps",
        "Lamps",
        "Skis",
        "Tools",
        "Bikes",
        "Seeds",
        "Saddles",
        "Anchors",
    )
    for number, good in enumerate((*goods, *(f"Used {one.lower()}" for one in goods))):
        days, euros = chance.randint(7, 90), chance.randint(10, 95)
        guarantee, clerk = chance.randint(6, 60), chance.choice(("Ada", "Ben", "Cleo", "Dov"))
        section = (
            f"Section {number + 1}. {good} can be returned within {days} days. Delivery of {good.lower()} is free "
            f"from {euros} euros on. The guarantee is {guarantee} months. {clerk} answers questions about them."
        )
        asked = [
            (f"Within how many days can {good.lower()} be returned?", f"{days} days"),
            (f"How long is the guarantee of {good.lower()}?", f"{guarantee} months"),
            (f"From which sum on is delivery of {good.lower()} free?", f"{euros} euros"),
            (f"Who answers questions about {good.lower()}?", clerk),
        ]
        for question, answer in chance.sample(asked, 2):
            yield {"type": "qa", "problem": question, "context": section, "answer": [answer]}


def functions(chance: random.Random) -> Iterator[Row]:
    """Small functions with asserts; what they must return is computed here."""
    words = (
        "stock",
        "price",
        "order",
        "parcel",
        "label",
        "shelf",
        "pallet",
        "truck",
        "dock",
        "claim",
        "crate",
        "order_line",
    )
    kinds: Sequence[tuple[str, str, Callable[[list[int], int], object]]] = (
        ("last", "the last {n} numbers of a list, newest first", lambda x, n: x[-n:][::-1]),
        (
            "over",
            "how many numbers of a list are greater than {n}",
            lambda x, n: sum(i > n for i in x),
        ),
        ("scaled", "a list with each number multiplied by {n}", lambda x, n: [i * n for i in x]),
        ("rest", "the sum of a list, modulo {n}", lambda x, n: sum(x) % n),
    )
    for word in words:
        for kind, what, solve in kinds:
            n, name = chance.randint(2, 9), f"{word}_{kind}"
            lists = [[chance.randint(0, 20) for _ in range(n + 1 + k)] for k in range(3)]
            tests = [f"assert {name}({x}) == {solve(x, n)!r}" for x in lists]
            text = f"Write {name}(numbers). It returns {what.format(n=n)}; the {word} desk uses it."
            yield {"type": "code", "problem": text, "answer": tests}


TASKS: dict[str, Callable[[random.Random], Iterator[Row]]] = {
    "invoices": invoices,
    "handbook": handbook,
    "functions": functions,
}


def write_rows(task: str, path: Path, seed: int) -> None:
    made = TASKS[task](random.Random(seed))
    rows = [{"id": f"{task}-{n}", **next(made)} for n in range(1, ROWS + 1)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


# ------------------------------------------------------------------------------------------- walk
@dataclass(frozen=True)
class Timed:
    """One verb."""

    verb: str
    seconds: float


def verbs_of(task: str, executor: str, steps: int) -> list[list[str]]:
    """Every verb before serving, as it is typed."""
    table = f"--set stop.table={STOP}"
    way = {"functions": "direct", "invoices": "program_of_thought"}.get(task, "cot")
    lines = (
        f"init rows.jsonl --executor {executor}",
        "headroom rows.jsonl --limit 12 --draws 1",
        f"pool fill --split train --way {way} --draws 2 --bank {BANK}",
        f"search --split train --rows 6 --count 4 --draws 1 --bank {BANK}",
        f"stop learn --way {way} --bank {BANK} --out {STOP}",
        f"evaluate --untrained {table}",
        f"train --steps {steps} --set training.warm_start={BANK} {table}",
        f"evaluate {table}",
        "compare results/evaluation/*_results.json",
    )
    return [line.split() for line in lines]


def walk(folder: Path, verbs: Sequence[Sequence[str]], run: Run) -> Iterator[Timed]:
    """Each verb as it ends, in ``folder``.

    Raises:
        SystemExit: one ended with another status than 0.
    """
    for words in verbs:
        began = time.monotonic()
        status = run(expanded(folder, words))
        if status:
            raise SystemExit(
                f"error: llm-as-judge {' '.join(words)} ended with {status}; see walk.log"
            )
        named = " ".join(words[:2]) if words[0] in ("pool", "stop") else words[0]
        yield Timed(named, time.monotonic() - began)


def expanded(folder: Path, words: Sequence[str]) -> list[str]:
    """As a shell does it."""
    found: list[str] = []
    for word in words:
        there = sorted(folder.glob(word)) if "*" in word else []
        found += [str(path.relative_to(folder)) for path in there] or [word]
    return found


def served_answer(folder: Path, checkpoint: Path, row: Row) -> str:
    """What the served policy answers to the question of a row."""
    question = row["problem"]
    if context := row.get("context"):
        question = f"Context:\n{context}\n\nQuestion: {question}"
    words = ["serve", "--policy", str(checkpoint), "--port", "0"]
    with (
        (folder / "walk.log").open("a") as log,
        subprocess.Popen(
            [sys.executable, "-m", "llm_as_judge", *words],
            cwd=folder, stdout=log, stderr=subprocess.PIPE, text=True,
        ) as server,
    ):  # fmt: skip
        assert server.stderr is not None
        try:
            lines = iter(server.stderr)
            url = next(line.split()[1] for line in lines if line.startswith("serving"))
            model = f"llm-as-judge:{row['type']}"
            body = {"model": model, "messages": [{"role": "user", "content": question}]}
            request = urllib.request.Request(
                f"{url}/chat/completions",
                json.dumps(body).encode(),
                {"Content-Type": "application/json"},
            )
            with urllib.request.urlopen(request, timeout=600) as reply:
                return str(json.load(reply)["choices"][0]["message"]["content"])
        finally:
            server.send_signal(signal.SIGTERM)


def in_folder(folder: Path) -> Run:
    def run(words: Sequence[str]) -> int:
        with (folder / "walk.log").open("a") as log:
            command = [sys.executable, "-m", "llm_as_judge", *words]
            return subprocess.run(command, cwd=folder, stdout=log, stderr=log).returncode

    return run


def clock(seconds: float) -> str:
    return f"{int(seconds // 60):3}:{int(seconds % 60):02}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("--executor", required=True, help="as init takes it")
    parser.add_argument("--folder", type=Path, required=True, help="a new one")
    parser.add_argument("--steps", type=int, default=3, help="of training")
    parser.add_argument("--seed", type=int, default=0, help="of the rows")
    given = parser.parse_args()
    given.folder.mkdir(parents=True)
    began = time.monotonic()
    write_rows(given.task, given.folder / "rows.jsonl", given.seed)
    for done in walk(
        given.folder, verbs_of(given.task, given.executor, given.steps), in_folder(given.folder)
    ):
        print(f"{done.verb:12}{clock(done.seconds)}", flush=True)
    serving = time.monotonic()
    checkpoint = Path("checkpoints/qwen25-coder-0.5b/grpo_mixed") / f"step_{given.steps}"
    row = json.loads((given.folder / "rows.jsonl").read_text().splitlines()[0])
    answer = served_answer(given.folder, checkpoint, row)
    print(f"{'serve':12}{clock(time.monotonic() - serving)}  one answer: {answer[:60]!r}")
    print(
        f"{'all':12}{clock(time.monotonic() - began)}  {given.task}, {ROWS} rows, {given.executor}"
    )


if __name__ == "__main__":
    main()

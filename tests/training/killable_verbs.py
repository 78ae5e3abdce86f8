"""Verbs in processes of their own, which tests kill, start twice and put on a full disk.

Each try has a folder of its own, in which the verb stands; the executor is the counting endpoint.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import yaml
from chaos import Knowing, gold
from killable_runs import FORK, command_line
from tiny_runs import tiny_settings

from labeled_rows import rows
from llm_as_judge.data.files import write_problems
from llm_as_judge.jsonl import JsonLines
from llm_as_judge.llm.pool import POOL, Pool
from llm_as_judge.types import Domain, Problem
from stop_bank import filled

VERBS = {
    "search": "search --config ../verbs.yaml --rows 3 --draws 1 --count 2",
    "headroom": "headroom ../mine.jsonl --config ../verbs.yaml --limit 6 --draws 1",
    "evaluate": "evaluate --config ../verbs.yaml --policy cot --name e --limit 8",
    "judge": "judge train --labeled ../labeled.jsonl --out mine --limit 40 --rank 2 --model tiny",
    "pool": "pool fill --config ../verbs.yaml --way direct --way cot --draws 3 --limit all --all",
    "stop": "stop learn --config embedded --bank ../bank --out stop.json",
    "quickstart": "quickstart --config ../quick.yaml --steps 1 --seed 3",
}
SETS: dict[Domain, tuple[str, str]] = {
    "math": ("gsm8k", "What is {} plus 2000?"),
    "qa": ("hotpotqa", "Who lit lamp {}?"),
}


class Counting(Knowing):
    """Keeps the last message of each request, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def reply(self, body: dict[str, Any]) -> dict[str, Any]:
        self.texts.append(body["messages"][-1]["content"])
        return super().reply(body)


def rows_of(split: str, n: int, *domains: Domain) -> list[Problem]:
    return [
        Problem(f"{name}/{split}/{k}", name, domain, asked.format(k), (gold(k, domain),))
        for domain in domains
        for name, asked in (SETS[domain],)
        for k in range(n)
    ]


def with_verbs(place: Path) -> Path:
    """``place`` with what the verbs read."""
    data = place / "data"
    files = {name: data / "mixed" / f"{name}_mixed.jsonl" for name in ("train", "val")}
    write_problems(files["train"], rows_of("train", 8, "math"))
    write_problems(files["val"], rows_of("val", 3, "math", "qa"))
    for domain, (name, _) in SETS.items():
        write_problems(data / "test" / f"{name}_test.jsonl", rows_of("test", 8, domain))
    own = [(row.question, row.answers[0]) for row in rows_of("own", 6, "math")]
    mine = [{"problem": asked, "answer": answer, "type": "math"} for asked, answer in own]
    JsonLines(place / "mine.jsonl").rewrite(map(json.dumps, mine))
    rows(place / "labeled.jsonl", 0, 30)
    filled(place / "bank", 36)
    sets = {"data_dir": str(data), "sets": ["gsm8k", "hotpotqa"]}
    tree = tiny_settings(
        executor={"model": "counted", "temperature": 0.7},
        data=sets | {f"{name}_file": str(path) for name, path in files.items()},
        output={"cache": str(place / "cache")},
    )
    (place / "verbs.yaml").write_text(yaml.safe_dump(tree))
    quick = yaml.safe_load((place / "config" / "quickstart.yaml").read_text())
    for section in ("policy", "executor", "output"):
        quick[section] = {**quick.get(section, {}), **tree[section]}
    quick["judge"] = {"kind": "llm", "model": "none"}
    quick["evaluation"] = {"limit_per_set": 1}
    quick["training"]["problems_per_step"] = 1
    (place / "quick.yaml").write_text(yaml.safe_dump(quick))
    return place


def in_folder(folder: str, arguments: list[str], config: str, output: str) -> None:
    os.chdir(folder)
    command_line(arguments, config, output)


def started_verb(place: Path, verb: str, name: str) -> Any:
    """A process that runs ``verb`` in ``place / name``."""
    (place / name).mkdir(exist_ok=True)
    words, log = VERBS[verb].split(), place / f"{name}.log"
    process = FORK.Process(
        target=in_folder, args=(str(place / name), words, str(place / "config"), str(log))
    )
    process.start()
    return process


# ------------------------------------------------------------------------------------- the checks
OWN = {".lock", "answer_salt", "ledger.json", "ledger.jsonl", "timings.jsonl", "manifest.json"}
"""Names of files whose content is a process's, a salt, or the bill, to which lost replies belong."""
TOLD = {
    *("answer", "attempts", "digest", "ledger", "report_sha256"),
    *("median_s", "seconds", "slowest_s", "time"),
}
"""Keys of clocks, salted hashes and bills."""


def kept_files(folder: Path) -> dict[str, Any]:
    """File -> what must not depend on kills, clocks and the order in which replies come."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_dir() or path.name in OWN or path.name.startswith(f"{POOL}-"):
            continue
        assert not path.name.startswith("."), f"{path}: a file that a kill left half-written"
        if path.name == POOL:
            found[name] = _exported(path.parent)
        elif path.suffix == ".jsonl":
            rows = [_without_told(row) for row in JsonLines(path).rows()]
            found[name] = sorted(json.dumps(row, sort_keys=True) for row in rows)
        elif path.suffix == ".json":
            found[name] = _without_told(json.loads(path.read_text()))
        elif path.name != "report.html":  # with curves of seconds
            found[name] = path.read_bytes()
    return found


def _without_told(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_told(one) for key, one in value.items() if key not in TOLD}
    return [_without_told(one) for one in value] if isinstance(value, list) else value


def _exported(folder: Path) -> list[str]:
    with closing(Pool(folder)) as pool, tempfile.TemporaryDirectory() as other:
        lines = Path(other) / "pool.jsonl"
        pool.export(lines)
        return [json.dumps(_without_told(row)) for row in JsonLines(lines).rows()]


def held(folder: Path) -> Counter[str]:
    """Replies that are kept: by message where there is a pool, else by the question of their run."""
    found: Counter[str] = Counter()
    for path in folder.rglob(POOL):
        with closing(Pool(path.parent)) as pool:
            found.update(one["request"]["messages"][-1]["content"] for one in pool.asked())
    for path in [] if found else folder.rglob("runs.jsonl"):
        asked = {
            row["id"]: row["question"] for row in JsonLines(path.parent / "problems.jsonl").rows()
        }
        for run in JsonLines(path).rows():
            found[asked[run["problem"]]] += run["calls"]
    return found


def paid_again(texts: Sequence[str], before: Counter[str], after: Counter[str]) -> list[str]:
    """What a process asked although it was kept.

    Args:
        texts: of its requests.
        before: replies that were held as it began.
        after: those of the finished run.
    """
    asked = {key: sum(key in text for text in texts) for key in after}
    return [key for key, n in asked.items() if n > after[key] - before[key]]

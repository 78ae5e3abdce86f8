"""From raw files to mixed and test files: time and peak memory, beside `datasets` map.

    python benchmarks/data_pipeline.py [--rows 330000] [--source DIR] [--workers 1] [--skip-datasets]

Raw files of the wanted size are made by repeating upstream rows (of DIR, or of the built-in sample)
with new ids and a word of their own in every passage and question, so that repeats are no duplicates.
Then each of these runs in a fresh process:

* `process` on a tenth of the rows and on all of them: seconds, and peak resident memory of the
  process and its workers;
* the anchor: the same files through the `datasets` library, which unifies the rows by `map`,
  splits, shuffles, interleaves and writes JSONL (no grouping, no duplicate search, no row checks).

Proportions are those of the complete official files (GSM8K 7,473, MATH 7,500, SQuAD2 130,319,
HotpotQA 90,447, HumanEval 164, MBPP 427).
"""

from __future__ import annotations

import argparse
import gzip
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from llm_as_judge.data.catalog import CATALOG
from llm_as_judge.data.process import process

OFFICIAL = {
    "gsm8k": 7473,
    "math": 7500,
    "squad2": 130319,
    "hotpotqa": 90447,
    "humaneval": 164,
    "mbpp": 427,
}


def shares(rows: int) -> dict[str, int]:
    total = sum(OFFICIAL.values())
    return {name: max(12, round(rows * part / total)) for name, part in OFFICIAL.items()}


# ------------------------------------------------------------------------------------- raw files
def upstream_records(name: str, source: Path) -> list[Any]:
    files = CATALOG[name].find(source)
    return [row.record for row in CATALOG[name].rows(files)]


def renamed(name: str, record: Any, turn: int, number: int) -> Any:
    """The record under a new id, with a word of its own in its texts."""
    mark = f"copy{turn}x{number}"
    fields: dict[str, dict[str, Any]] = {
        "gsm8k": {"question": f"{mark}: {record.get('question')}"},
        "math": {
            "problem": f"{mark}: {record.get('problem')}",
            "solution": str(record.get("solution")).replace(r"\boxed{}", r"\boxed{0}"),
        },
        "squad2": {
            "id": mark,
            "question": f"{mark} {turn * 7} {record.get('question')}",
            "context": f"{record.get('context')} ({turn})",
        },
        "hotpotqa": {"_id": mark, "question": f"{mark} {turn * 7} {record.get('question')}"},
        "humaneval": {"task_id": f"HumanEval/{number}"},
        "mbpp": {"task_id": number, "prompt": f"{mark}: {record.get('prompt')}"},
    }
    changed = {**record, **fields[name]}
    if name == "hotpotqa":
        changed["context"] = [
            [title, [*lines[:-1], f"{(lines or [''])[-1]} ({turn})"]]
            for title, lines in record["context"]
        ]
    return changed


def copies(name: str, source: Path, rows: int) -> Iterator[Any]:
    records = upstream_records(name, source)
    for number, record in enumerate(islice(cycle(records), rows)):
        yield renamed(name, record, number // len(records), number)


def write_raw(folder: Path, source: Path, rows: int) -> int:
    """Raw files in upstream form; returns their bytes."""
    for name, count in shares(rows).items():
        target = folder / CATALOG[name].folder / CATALOG[name].files[0]
        target.parent.mkdir(parents=True)
        records = copies(name, source, count)
        opened: Callable[..., Any] = gzip.open if target.suffix == ".gz" else Path.open
        with opened(target, "wt", encoding="utf-8") as stream:
            if name == "squad2":
                write_squad(stream, records)
            elif target.suffix == ".json":
                write_array(stream, records)
            else:
                stream.writelines(json.dumps(record) + "\n" for record in records)
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def write_array(stream: Any, records: Iterator[Any]) -> None:
    for number, record in enumerate(records):
        stream.write(("[" if number == 0 else ", ") + json.dumps(record))
    stream.write("]")


def write_squad(stream: Any, records: Iterator[Any]) -> None:
    """Flat questions -> articles of one title: neighbors of one context share a paragraph."""
    articles: list[dict[str, Any]] = []
    stream.write('{"version": "v2.0", "data": [')
    first = True
    for record in records:
        if articles and articles[0]["title"] != record["title"]:
            stream.write(("" if first else ", ") + json.dumps(articles.pop()))
            first = False
        if not articles:
            articles.append({"title": record["title"], "paragraphs": []})
        paragraphs = articles[0]["paragraphs"]
        if not paragraphs or paragraphs[-1]["context"] != record["context"]:
            paragraphs.append({"context": record["context"], "qas": []})
        asked = {k: v for k, v in record.items() if k not in ("title", "context")}
        paragraphs[-1]["qas"].append(asked)
    stream.write(("" if first else ", ") + json.dumps(articles.pop()) + "]}")


# -------------------------------------------------------------------------------------- contenders
def with_process(raw: Path, out: Path, workers: int) -> int:
    report = process(raw, out, sets=tuple(OFFICIAL), workers=workers)
    return sum(entry.rows for entry in report.sets)


def with_datasets(raw: Path, out: Path) -> int:
    """The same files through `datasets`: load, map to one schema, split, shuffle, interleave."""
    import datasets

    datasets.disable_progress_bars()
    sides: dict[str, dict[str, Any]] = {"train": {}, "test": {}}
    rows = 0
    for name in OFFICIAL:
        unified = unified_with_datasets(name, raw, out / "cache")
        rows += len(unified)
        split = unified.train_test_split(test_size=len(unified) // 6, seed=0)
        sides["train"][name], sides["test"][name] = split["train"], split["test"]
        split["test"].to_json(out / f"{name}_test.jsonl")
    weight = {"gsm8k": 0.2, "math": 0.2, "squad2": 0.15, "hotpotqa": 0.15}
    mixed = datasets.interleave_datasets(
        [part.shuffle(seed=0) for part in sides["train"].values()],
        probabilities=[weight.get(name, 0.15) for name in OFFICIAL],
        seed=0,
        stopping_strategy="all_exhausted",
    )
    mixed.select(range(min(len(mixed), sum(map(len, sides["train"].values()))))).to_json(
        out / "train_mixed.jsonl"
    )
    return rows


def unified_with_datasets(name: str, raw: Path, cache: Path) -> Any:
    import datasets

    from llm_as_judge.data.rows import RawRow
    from llm_as_judge.types import to_json

    dataset = CATALOG[name]
    (file,) = dataset.find(raw)
    field = "data" if name == "squad2" else None
    loaded = datasets.load_dataset(
        "json", data_files=str(file), split="train", cache_dir=str(cache), field=field
    )

    def problem(record: Any, number: int) -> dict[str, Any]:
        row = to_json(
            dataset.convert(RawRow(f"{file}:{number}", number, dict(record)), dataset.split)
        )
        return {**row, "meta": json.dumps(row["meta"])}

    def articles(batch: Any, numbers: list[int]) -> dict[str, list[Any]]:
        columns: dict[str, list[Any]] = {}
        article_rows = (
            RawRow(str(n), n, {"title": t, "paragraphs": p})
            for n, t, p in zip(numbers, batch["title"], batch["paragraphs"], strict=True)
        )
        for row in dataset.flatten(article_rows):
            for key, value in problem(row.record, row.number).items():
                columns.setdefault(key, []).append(value)
        return columns

    options = {"with_indices": True, "remove_columns": loaded.column_names, "features": unified()}
    if name == "squad2":
        return loaded.map(articles, batched=True, batch_size=4, **options)
    return loaded.map(problem, **options)


def unified() -> Any:
    from datasets import Features, List, Value

    lists = ("answers", "options", "visible_tests", "hidden_tests")
    names = ("id", "dataset", "domain", "question", "context", "entry_point", "setup_code", "meta")
    text = Value("string")
    return Features(dict.fromkeys(names, text) | {name: List(text) for name in lists})


def measured(contender: str, raw: Path, workers: int) -> tuple[float, float, int]:
    """(seconds, peak MiB, rows) of one contender in a fresh process."""
    with tempfile.TemporaryDirectory(dir=raw.parent) as out:
        command = [sys.executable, __file__, "--contender", contender, "--raw", str(raw)]
        done = subprocess.run(
            [*command, "--out", out, "--workers", str(workers)],
            check=True,
            capture_output=True,
            text=True,
        )
    seconds, peak, rows = json.loads(done.stdout.strip().splitlines()[-1])
    return seconds, peak, rows


def contend(contender: str, raw: Path, out: Path, workers: int) -> None:
    start = time.perf_counter()
    rows = with_process(raw, out, workers) if contender == "process" else with_datasets(raw, out)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    # The largest worker, counted as often as there are workers: an upper bound.
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    peak += children * workers if workers > 1 else 0
    print(json.dumps([seconds, peak, rows]))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=330_000)
    parser.add_argument("--source", type=Path)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--skip-datasets", action="store_true")
    for hidden in ("--contender", "--raw", "--out"):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.contender:
        contend(options.contender, Path(options.raw), Path(options.out), options.workers)
        return
    with tempfile.TemporaryDirectory() as folder:
        source = options.source or sample_with_humaneval(Path(folder))
        times = {}
        for rows in (options.rows // 10, options.rows):
            raw = Path(folder) / f"raw{rows}"
            size = write_raw(raw, source, rows) / 2**20
            seconds, peak, done = measured("process", raw, options.workers)
            times[rows] = seconds
            print(
                f"process   {done:9,} rows  {size:7.0f} MiB  {seconds:7.1f} s  {peak:6.0f} MiB peak"
            )
        small, large = times.values()
        print(f"10x rows take {large / small:.1f}x the time")
        if not options.skip_datasets:
            seconds, peak, done = measured("datasets", raw, 1)
            print(
                f"datasets  {done:9,} rows  {size:7.0f} MiB  {seconds:7.1f} s  {peak:6.0f} MiB peak"
            )
            print(f"process takes {large / seconds:.2f} of the time of datasets")


def sample_with_humaneval(folder: Path) -> Path:
    from llm_as_judge.data.download import acquire

    cache = Path("~/.cache/llm-as-judge").expanduser()
    acquire(folder / "sample", None, False, cache, sets=tuple(OFFICIAL))
    return folder / "sample"


if __name__ == "__main__":
    main()

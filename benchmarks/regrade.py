"""Grading 1,000 recorded executions again: seconds, and programs a second by data set.

    python benchmarks/regrade.py [--rows 1000] [--data-dir data]

The executions are made, not run: gold answers, the same with words around them, answers of other
problems and empty ones, in equal numbers, over the test files of DATA_DIR (default: the built-in
sample). Anchor: the same verdicts with one grading at a time.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import tempfile
import time
from collections import Counter
from importlib import resources
from pathlib import Path

from llm_as_judge.assembly import open_judge
from llm_as_judge.config import DATASETS, Config
from llm_as_judge.data.catalog import CATALOG
from llm_as_judge.data.files import read_problems
from llm_as_judge.evaluation.baselines import find_system
from llm_as_judge.evaluation.records import EvaluationRecord, make_plan
from llm_as_judge.evaluation.regrade import plan_regrade, regrade
from llm_as_judge.evaluation.sanity_baselines import gold_answer
from llm_as_judge.evaluation.selection import EvaluatedSet
from llm_as_judge.types import Completion, Execution, OperatorCall, Problem, Program, Rollout


def problems(data_dir: Path | None) -> list[Problem]:
    if data_dir is not None:
        files = [data_dir / "test" / f"{name}_test.jsonl" for name in DATASETS]
        return [p for file in files if file.is_file() for p in read_problems(file)]
    root = Path(str(resources.files("llm_as_judge.data") / "sample"))
    found = []
    for dataset in (CATALOG[name] for name in DATASETS if not CATALOG[name].in_package):
        found += [dataset.convert(row, dataset.split) for row in dataset.rows(dataset.find(root))]
    return found


def answers(rows: list[Problem]) -> list[list[str]]:
    """Of each problem four answers."""
    made = []
    for problem, other in zip(rows, [*rows[1:], rows[0]], strict=True):
        right = gold_answer(problem)
        worded = f"```python\n{right}\n```" if problem.domain == "code" else f"Answer: {right}"
        made.append([right, worded, gold_answer(other), ""])
    return made


def executed(problem: Problem, answer: str) -> Rollout:
    program = Program("made", "made", ("Custom",), hash="made")
    execution = Execution("ok", answer, (OperatorCall("Custom", 100, 20, 0.0, llm_calls=1),))
    return Rollout(problem.id, 0, Completion((), (), (), "", "stop"), program, execution)


def record(folder: Path, rows: int, data_dir: Path | None) -> EvaluationRecord:
    config = Config.model_validate({"executor": {"model": "scripted"}, "judge": {"model": "none"}})
    found = problems(data_dir)
    pairs = [(p, a) for p, four in zip(found, answers(found), strict=True) for a in four]
    chosen = list(itertools.islice(itertools.cycle(pairs), rows))
    numbered = [
        (
            Problem(
                **{**{f: getattr(p, f) for f in Problem.__dataclass_fields__}, "id": f"{p.id}#{n}"}
            ),
            a,
        )
        for n, (p, a) in enumerate(chosen)
    ]
    sets = [EvaluatedSet("all", tuple(p for p, _ in numbered), rows)]
    plan = make_plan(config, "made", find_system("direct", config), sets)
    kept = EvaluationRecord.begin(folder / "made", plan, config, [p for p, _ in numbered])
    for problem, answer in numbered:
        kept.add(executed(problem, answer))
    return kept


async def one_by_one(kept: EvaluationRecord) -> float:
    started = time.perf_counter()
    async with open_judge(kept.config) as judge:
        for group in kept.groups():
            execution = group.rollouts[0].execution
            assert execution is not None
            await judge.grade(group.problem, execution.answer)
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--data-dir", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        kept = record(Path(folder), options.rows, options.data_dir)
        counts = Counter(group.problem.dataset for group in kept.groups())
        started = time.perf_counter()
        new, _ = asyncio.run(regrade(plan_regrade(kept, Path(folder), "again")))
        seconds = time.perf_counter() - started
        alone = asyncio.run(one_by_one(kept))
        verdicts = Counter(
            rollout.verdict.correct
            for g in new.groups()
            for rollout in g.rollouts
            if rollout.verdict
        )
    print(f"{options.rows} executions ({dict(counts)}): verdicts {dict(verdicts)}")
    print(
        f"regrade {seconds:.1f} s; one at a time {alone:.1f} s: {alone / seconds:.2f} times as long"
    )


if __name__ == "__main__":
    main()

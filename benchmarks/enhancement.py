"""Operator hints on and off: what the lines added to operator prompts do to answers and tokens.

    python benchmarks/enhancement.py [--problems 6] [--executor qwen25-coder-0.5b] [--cache FOLDER]

The same short programs on the same real problems with the same executor at temperature 0, once with
``executor.enhance`` and once without: paired, graded by the rules alone. Shown are right answers,
operator errors (a reply that could not be used), tokens, and how many pairs changed either way with
McNemar's exact test. With a few dozen pairs only large effects show: the greatest
difference that this run would miss half of the time stands below the table.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from real_problems import real_problems

from llm_as_judge.assembly import Workbench, open_workbench
from llm_as_judge.config import load_config
from llm_as_judge.evaluation.statistics import mcnemar
from llm_as_judge.types import Domain, Execution, Problem
from llm_as_judge.workflow.program import parse_program

PROGRAMS: dict[str, tuple[tuple[Domain, ...], str]] = {
    "AnswerGenerate": (
        ("math", "qa"),
        'r = await answer_generate(input=problem)\nreturn r["answer"]',
    ),
    "Programmer": (("math",), 'r = await programmer(problem=problem)\nreturn r["output"]'),
    "AnswerGenerate, Format": (
        ("qa",),
        (
            "d = await answer_generate(input=problem)\n"
            'f = await format(problem=problem, solution=d["answer"])\nreturn f["solution"]'
        ),
    ),
    "CustomCodeGenerate": (
        ("code",),
        (
            "r = await custom_code_generate(problem=problem, entry_point=entry_point, "
            'instruction="Write correct, short Python.")\nreturn r["response"]'
        ),
    ),
}


@dataclass(frozen=True, slots=True)
class Run:
    correct: bool
    execution: Execution


async def one(bench: Workbench, source: str, problem: Problem) -> Run:
    program = parse_program(f"```python\n{source}\n```", problem.domain, "body")
    assert program.strictly_valid, program.diagnostics
    execution = await bench.run(program, problem, bench.executor)
    if execution.status != "ok":
        return Run(False, execution)
    verdict = await bench.judge.grade(problem, execution.answer)
    return Run(verdict.correct is True, execution)


def line(name: str, with_: Sequence[Run], without: Sequence[Run]) -> str:
    better = sum(a.correct and not b.correct for a, b in zip(with_, without, strict=True))
    worse = sum(b.correct and not a.correct for a, b in zip(with_, without, strict=True))
    changed = sum(
        a.execution.answer != b.execution.answer for a, b in zip(with_, without, strict=True)
    )

    def figures(runs: Sequence[Run]) -> str:
        errors = sum(bool(call.error) for run in runs for call in run.execution.calls)
        prompt = sum(call.prompt_tokens for run in runs for call in run.execution.calls)
        written = sum(call.completion_tokens for run in runs for call in run.execution.calls)
        right = sum(run.correct for run in runs)
        return f"{right} | {errors} | {prompt / len(runs):.0f} + {written / len(runs):.0f}"

    return (
        f"| {name} | {len(with_)} | {figures(without)} | {figures(with_)} | {changed} | "
        f"+{better} -{worse} | {mcnemar(better, worse):.2f} |"
    )


async def measure(options: argparse.Namespace) -> None:
    flags = {"executor.model": options.executor, "executor.slots": 4}
    if options.cache:
        flags |= {"calls.mode": "cache", "calls.folder": options.cache}
    config = load_config("embedded", flags=flags)
    problems: dict[Domain, list[Problem]] = {"math": [], "qa": [], "code": []}
    for rows in real_problems(options.problems * 6).values():
        problems[rows[0].domain] += rows
    async with open_workbench(config) as on:
        executor = config.executor.model_copy(update={"enhance": False})
        off = replace(on, config=config.model_copy(update={"executor": executor}))
        print(f"{options.executor}, temperature 0, at most {config.executor.max_tokens} tokens\n")
        print(
            "| program | n | off: right | errors | tokens | on: right | errors | tokens "
            "| answers changed | pairs | p |"
        )
        print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---|---:|")
        everything: tuple[list[Run], list[Run]] = ([], [])
        for name, (domains, source) in PROGRAMS.items():
            for domain in domains:
                rows = random.Random(options.seed).sample(problems[domain], options.problems)
                runs = [one(bench, source, problem) for bench in (on, off) for problem in rows]
                found = await asyncio.gather(*runs)  # the server's slots hold them back
                with_, without = found[: len(rows)], found[len(rows) :]
                assert any(c.notes for run in with_ for c in run.execution.calls), name
                assert not any(
                    note.startswith("enhanced")
                    for run in without
                    for call in run.execution.calls
                    for note in call.notes
                )
                everything[0].extend(with_)
                everything[1].extend(without)
                print(line(f"{name} ({domain})", with_, without), flush=True)
        print(line("all", *everything))
        n = len(everything[0])
        print(
            f"\nOf {n} pairs a difference of about {100 * 2 * math.sqrt(0.25 / n):.0f} points "
            "(if a quarter of the pairs change) is what such a run sees half of the time."
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--problems", type=int, default=6, help="for each program and domain")
    parser.add_argument("--executor", default="qwen25-coder-0.5b")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cache", type=Path, help="folder of replies: what is known is not asked")
    options = parser.parse_args()
    started = time.perf_counter()
    asyncio.run(measure(options))
    print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()

"""The check before a run: how fast, and how often wrong.

    python benchmarks/program_check.py           speed, and the verdicts over the corpus
    python benchmarks/program_check.py --run     the same, each program run in the sandbox too
    python benchmarks/program_check.py --mutants 1000    and with random changes to them

Speed: one program of 60 lines, parsed, checked and hashed; the anchor is what Python itself takes
to parse and compile the same text in the same run. Errors: over tests/workflow/corpus.

* false rejections: valid programs with a finding;
* false acceptances: programs without a finding that die of a cause the check promises to find
  when they are run on the scripted model, under any of three scripts.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "workflow"))

from program_corpus import corpus, promised_death, runs_of
from program_mutants import mutants

from llm_as_judge.operators import registry
from llm_as_judge.sandbox import open_sandbox
from llm_as_judge.workflow import parse_program

LINES_60 = '''
import asyncio
import re
from collections import Counter

INSTRUCTIONS = ["Solve it with algebra.", "Solve it by trial.", "Solve it in your head."]


def clean(text):
    """The last number of a text."""
    found = re.findall(r"-?\\d+", text)
    return found[-1] if found else text.strip()


class Workflow:
    """Drafts, votes, reviews, revises."""

    def __init__(self, name: str, llm_config, dataset):
        self.name = name
        self.llm = create_llm_instance(llm_config)
        self.custom = operator.Custom(self.llm)
        self.answer_generate = operator.AnswerGenerate(self.llm)
        self.programmer = operator.Programmer(self.llm)
        self.sc_ensemble = operator.ScEnsemble(self.llm)
        self.review = operator.Review(self.llm)
        self.revise = operator.Revise(self.llm)

    async def attempt(self, problem: str, instruction: str):
        reply = await self.custom(input=problem, instruction=instruction)
        return clean(reply["response"])

    async def __call__(self, problem: str):
        # several drafts at once
        drafts = await asyncio.gather(*[self.attempt(problem, i) for i in INSTRUCTIONS])
        computed = await self.programmer(problem=problem, analysis="None")
        solutions = list(drafts)
        if computed["output"]:
            solutions.append(clean(computed["output"]))
        counts = Counter(solutions)
        answer, votes = counts.most_common(1)[0]
        if votes >= 3:
            return answer, 0.0
        best = await self.sc_ensemble(solutions=solutions, problem=problem)
        answer = best["response"]
        for round_number in range(2):
            check = await self.review(problem=problem, solution=answer)
            if check["review_result"]:
                break
            feedback = check["feedback"] or "Check every step."
            try:
                better = await self.revise(
                    problem=problem,
                    solution=answer,
                    feedback=f"Round {round_number}: {feedback}",
                )
                answer = clean(better["solution"])
            except Exception as error:
                print(f"revise failed: {error}")
        return answer, 0.0
'''.strip()


def milliseconds(work: Callable[[], object], times: int = 100) -> list[float]:
    work()
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        work()
        taken.append((time.perf_counter() - started) * 1e3)
    return taken


def report_speed() -> None:
    program = parse_program(LINES_60, "math")
    assert program.strictly_valid, program.diagnostics
    ours = milliseconds(lambda: parse_program(LINES_60, "math"))
    python = milliseconds(lambda: compile(ast.parse(LINES_60), "<program>", "exec"))
    p50, p95 = statistics.median(ours), statistics.quantiles(ours, n=20)[-1]
    anchor = statistics.median(python)
    print(
        f"program of {len(LINES_60.splitlines())} lines, {program.worst_case_calls} calls at most"
    )
    print(f"check p50 {p50:.2f} ms, p95 {p95:.2f} ms; python parse + compile p50 {anchor:.2f} ms")
    print(f"ratio {p50 / anchor:.1f}")


async def report_mutants(count: int, seed: int) -> None:
    """Of programs that nobody wrote: how many are accepted and then die of a promised cause."""
    sandbox = await open_sandbox("auto", list(registry()))
    accepted, died = 0, []
    try:
        for entry, text in mutants(seed, count, changes=1):
            program = parse_program(text, entry.domain, entry.form, executors=entry.executors)
            if not program.runnable:
                continue
            accepted += 1
            runs = await runs_of(program, entry.domain, sandbox, entry.executors)
            if causes := {r.error for r in runs.values() if promised_death(r)}:
                died.append(f"--- {entry.name}: {sorted(causes)[0]}\n{text}")
    finally:
        await sandbox.aclose()
    print(
        f"{count} mutants (seed {seed}), {accepted} accepted or repaired, {len(died)} of them died"
    )
    print("\n".join(died))


async def report_errors(run: bool) -> None:
    entries = [(entry, entry.program) for entry in corpus()]
    valid = [(e, p) for e, p in entries if e.valid]
    rejected = [e.name for e, p in valid if not p.strictly_valid]
    missed = [e.name for e, p in entries if not e.valid and not p.diagnostics]
    print(f"{len(entries)} programs, {len(valid)} valid")
    print(f"false rejections {len(rejected)}/{len(valid)} {rejected}")
    print(f"mistakes not found {len(missed)}/{len(entries) - len(valid)} {missed}")
    if not run:
        return
    sandbox = await open_sandbox("auto", list(registry()))
    try:
        runnable = [(e, p) for e, p in entries if p.runnable]
        died = []
        for entry, program in runnable:
            runs = await runs_of(program, entry.domain, sandbox, entry.executors)
            died += [f"{entry.name}: {r.error}" for r in runs.values() if promised_death(r)]
    finally:
        await sandbox.aclose()
    print(f"run in {sandbox.isolation.mechanism}: accepted or repaired {len(runnable)}")
    print(f"false acceptances {len(died)}/{len(runnable)} {died}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", action="store_true", help="run every accepted program too")
    parser.add_argument("--mutants", type=int, default=0, help="changed programs to check and run")
    parser.add_argument("--seed", type=int, default=0, help="of the changes")
    arguments = parser.parse_args()
    report_speed()
    asyncio.run(report_errors(arguments.run))
    if arguments.mutants:
        asyncio.run(report_mutants(arguments.mutants, arguments.seed))


if __name__ == "__main__":
    main()

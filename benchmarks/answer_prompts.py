"""Wordings of AnswerGenerate's prompt against each other.

    python benchmarks/answer_prompts.py [--problems 16] [--sets gsm8k math] [--cache FOLDER]

The same train problems, evenly from `--sets`, with the same executor at temperature 0: each wording
runs `answer_generate` alone, "free" is the baseline without a form (workflows/free_cot). Graded by
the rules. Shown with the Wilson interval: right answers, operator errors (replies cut off among them), tokens;
and against the first wording the pairs that changed either way.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from dataclasses import replace
from pathlib import Path

from real_problems import real_problems

from llm_as_judge.assembly import Workbench, open_workbench
from llm_as_judge.assembly.workbench import run_limits
from llm_as_judge.config import load_config
from llm_as_judge.evaluation.statistics import mcnemar
from llm_as_judge.intervals import wilson
from llm_as_judge.operators import load_enhancements, registry
from llm_as_judge.operators.prompts import Enhancement
from llm_as_judge.sandbox import open_sandbox
from llm_as_judge.types import Execution, Problem, Sandbox
from llm_as_judge.workflow.program import parse_program
from llm_as_judge.workflow.run import run_program

ANSWER = 'r = await answer_generate(input=problem)\nreturn r["answer"]'
FREE = (
    "r = await custom(input=problem, instruction="
    '"Let\'s think step by step. Put the final answer in \\\\boxed{}.")\n'
    'return r["response"]'
)
FORM = "{{input}}\n\n{{guidance}}{before}Thought: {thought}\nAnswer: {answer}\n"
REPLY = "Reply in this form:\n"


def line(text: str) -> Enhancement:
    return Enhancement(
        name="math_answer", add=text, operators=("AnswerGenerate",), domains=("math",)
    )


BARE = line("Give the answer as a bare number or expression, without units or words.")
SHORT = Enhancement(
    name="short_thought", add="Keep the thought under 50 words.", operators=("AnswerGenerate",)
)
SHORT_QA = SHORT.model_copy(update={"domains": ("qa",)})
VALUE = line("Answer with the number or the simplified expression alone, without units or words.")

WORDINGS: dict[str, tuple[str, tuple[Enhancement, ...]]] = {
    "short steps, under 50 words": (
        FORM.format(before=REPLY, thought="<the steps, short>", answer="<the final answer alone>"),
        (BARE, SHORT),
    ),
    "short steps": (
        FORM.format(before=REPLY, thought="<the steps, short>", answer="<the final answer alone>"),
        (BARE,),
    ),
    "step by step": (
        FORM.format(before=REPLY, thought="<step by step>", answer="<the final answer alone>"),
        (VALUE,),
    ),
    "steps with results": (
        FORM.format(
            before=REPLY,
            thought="<the steps with their results>",
            answer="<the final answer alone>",
        ),
        (VALUE, line("Let's think step by step."), SHORT_QA),
    ),
    "let's think": (
        FORM.format(
            before="Let's think step by step, in this form:\n",
            thought="<all steps with their results>",
            answer="<the final answer alone>",
        ),
        (VALUE,),
    ),
    "steps, then a line": (
        (
            "{input}\n\n{guidance}Let's think step by step and compute every value. "
            "Then write the final answer on a line of its own:\nAnswer: <the final answer alone>\n"
        ),
        (VALUE,),
    ),
    "shipped": ("", ()),
    "free": ("", ()),
}


async def one(
    bench: Workbench, sandbox: Sandbox, name: str, problem: Problem
) -> tuple[bool, Execution]:
    template, lines = WORDINGS[name]
    operators, rules = dict(registry()), load_enhancements()
    if template:
        entry = operators["AnswerGenerate"]
        described = entry.description.model_copy(update={"prompts": {"answer": template}})
        operators["AnswerGenerate"] = replace(entry, description=described)
        rules = lines + tuple(rule for rule in rules if rule.name == "qa_span")
    source = FREE if name == "free" else ANSWER
    program = parse_program(f"```python\n{source}\n```", problem.domain, "body")
    assert program.strictly_valid, program.diagnostics
    execution = await run_program(
        program,
        problem,
        executor=bench.executor,
        sandbox=sandbox,
        limits=run_limits(bench.config),
        settings=bench.operators,
        operators=operators,
        enhancements=() if name == "free" else rules,
    )
    if execution.status != "ok":
        return False, execution
    return (await bench.judge.grade(problem, execution.answer)).correct is True, execution


def shown(
    name: str, runs: list[tuple[bool, Execution]], first: list[tuple[bool, Execution]]
) -> str:
    calls = [call for _, execution in runs for call in execution.calls]
    right = sum(correct for correct, _ in runs)
    low, high = wilson(right, len(runs))
    better = sum(a and not b for (a, _), (b, _) in zip(runs, first, strict=True))
    worse = sum(b and not a for (a, _), (b, _) in zip(runs, first, strict=True))
    return (
        f"| {name} | {right} of {len(runs)}, {100 * right / len(runs):.0f} % "
        f"[{100 * low:.0f}, {100 * high:.0f}] | {sum(bool(c.error) for c in calls)} | "
        f"{sum(c.prompt_tokens for c in calls) / len(runs):.0f} + "
        f"{sum(c.completion_tokens for c in calls) / len(runs):.0f} | "
        f"+{better} -{worse} | {mcnemar(better, worse):.2f} |"
    )


async def measure(options: argparse.Namespace) -> None:
    flags = {
        "executor.model": options.executor,
        "executor.max_tokens": options.max_tokens,
        "executor.concurrency": 8,
        "executor.context_tokens": 2048,
        "executor.timeout_s": 900,
        "workflow.timeout_s": 3600,
        "workflow.max_worst_case_calls": 12,
    }
    if options.cache:
        flags |= {"calls.mode": "cache", "calls.folder": options.cache}
    config = load_config("embedded", flags=flags)
    rows: list[Problem] = []
    where = [Path("built-in")] if options.built_in else []  # no such folder: the sample
    for name, problems in real_problems(options.problems * 4, *where).items():
        if name in options.sets:
            count = options.problems // len(options.sets)
            rows += random.Random(options.seed).sample(problems, count)
    print(f"{options.executor}, temperature 0, at most {options.max_tokens} tokens\n")
    print("| wording | right [95 %] | errors | tokens | against the first | p |")
    print("|---|---|---:|---:|---|---:|")
    async with open_workbench(config) as bench:
        sandbox = await open_sandbox("auto", tuple(registry()))
        first: list[tuple[bool, Execution]] = []
        for name in options.wordings:
            runs = await asyncio.gather(*(one(bench, sandbox, name, row) for row in rows))
            first = first or list(runs)
            print(shown(name, list(runs), first), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--problems", type=int, default=16)
    parser.add_argument("--executor", default="qwen25-coder-1.5b")
    parser.add_argument("--max-tokens", type=int, default=512)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sets", nargs="+", default=["gsm8k", "math"])
    parser.add_argument("--built-in", action="store_true", help="rows of the built-in sample")
    parser.add_argument("--wordings", nargs="+", choices=list(WORDINGS), default=list(WORDINGS))
    parser.add_argument("--cache", type=Path, help="folder of replies: what is known is not asked")
    options = parser.parse_args()
    started = time.perf_counter()
    asyncio.run(measure(options))
    print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()

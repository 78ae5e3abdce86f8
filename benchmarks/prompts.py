"""Rate of strictly valid programs of the untrained policy, by prompt.

    python benchmarks/prompts.py [--variants body/short/shots ...] [--samples 6] [--problems 4]
    python benchmarks/prompts.py --run qwen25-coder-1.5b --variants body/calls/shots class/calls/shots

For every variant: real problems of each domain, several programs each, drawn as in training
(temperature, no top-p), by the embedded executor's engine: the same weights as the policy's, several
times faster than transformers on a CPU. ``--model`` is any GGUF entry of models.yaml.

Strictly valid: the text runs as written, no finding and no repair. Two 95 % intervals: Wilson over
programs, and a bootstrap over problems (programs of one problem resemble each other, so it is the
honest one; it needs a dozen problems). Different: distinct normalized programs among the valid ones
of a problem, mean share. Tokens: of the prompt and of a program.

A variant is form/docs/shots: class|body / full|short|calls|signatures / shots|none. ``--folder`` takes templates
from somewhere else.
``--run EXECUTOR`` also runs and grades the valid programs (rules only); an invalid one is wrong.
``--keep FILE`` appends every program to a JSONL file, and takes what is in it already from there.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import random
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from real_problems import real_problems

from llm_as_judge.assembly import Workbench, model_weights, open_workbench
from llm_as_judge.config import load_config, shipped_dir
from llm_as_judge.evaluation.statistics import bootstrap
from llm_as_judge.intervals import wilson
from llm_as_judge.llm.batching import Batch, Sampling
from llm_as_judge.llm.local_server import without_telemetry
from llm_as_judge.llm.requantized import servable
from llm_as_judge.operators import operator_docs
from llm_as_judge.policy.chat_template import FENCE, REPLY_PREFIX
from llm_as_judge.policy.prompt import PolicyPrompt
from llm_as_judge.types import DOMAINS, Domain, Message, Problem, Program
from llm_as_judge.workflow.program import parse_program

VARIANTS = ("body/calls/shots", "body/short/shots", "class/calls/shots")
NEW_TOKENS = {"body": 96, "class": 256}


@dataclass(frozen=True, slots=True)
class Written:
    """The programs of one prompt."""

    texts: list[str]
    prompt_tokens: int
    seconds: float


class Writer:
    """Programs by the embedded engine; what ``keep`` holds is not asked for again."""

    def __init__(self, batch: Batch, keep: Path | None, options: Any) -> None:
        self._batch = batch
        self._options = options
        self._keep = keep
        self._known: dict[str, Written] = {}
        if keep is not None and keep.is_file():
            rows = map(json.loads, keep.read_text(encoding="utf-8").splitlines())
            self._known = {row.pop("key"): Written(**row) for row in rows}

    def write(self, messages: Sequence[Message], max_tokens: int) -> Written:
        options = self._options
        turns = [{"role": m.role, "content": m.content} for m in messages]
        prompt = self._batch.prompt(turns) + REPLY_PREFIX
        sampling = Sampling(
            max_tokens,
            options.temperature,
            *(1.0, 0, 0.0),  # neither top-p, top-k nor min-p, as in training
            seed=options.seed,
            stop=(FENCE,),
        )
        asked = json.dumps([options.model, prompt, asdict(sampling), options.samples])
        key = hashlib.sha256(asked.encode()).hexdigest()
        if key not in self._known:
            started = time.perf_counter()
            tokens = self._batch.tokens(prompt)
            seeds = range(options.seed, options.seed + options.samples)
            replies = [self._batch.submit(tokens, replace(sampling, seed=seed)) for seed in seeds]
            self._known[key] = Written(
                [REPLY_PREFIX + reply.result().text for reply in replies],
                len(tokens),
                time.perf_counter() - started,
            )
            if self._keep is not None:
                with self._keep.open("a", encoding="utf-8") as file:
                    file.write(json.dumps({"key": key, **asdict(self._known[key])}) + "\n")
        return self._known[key]

    def tokens(self, text: str) -> int:
        """Of one program with the fence that closes it."""
        return len(self._batch.tokens(text + FENCE))


@dataclass(slots=True)
class Found:
    """Programs of one variant, by problem."""

    programs_P: list[tuple[Problem, list[Program]]] = field(default_factory=list)
    written_P: list[Written] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    """Of each program."""
    right_P: list[float] = field(default_factory=list)
    """Share of right answers of each problem's programs, where they were run."""

    @property
    def programs(self) -> list[Program]:
        return [program for _, programs in self.programs_P for program in programs]


def measure(
    variant: str, problems: dict[Domain, list[Problem]], writer: Writer, options: Any
) -> Found:
    form, style, shots = variant.split("/")
    prompt = PolicyPrompt(
        options.folder,
        form,  # type: ignore[arg-type]
        {domain: operator_docs(domain, style) for domain in DOMAINS},  # type: ignore[arg-type]
        problem_chars=options.problem_chars,
        brief=style == "signatures",
        examples=shots == "shots",
    )
    found = Found()
    for domain, rows in problems.items():
        for problem, asked in zip(rows, prompt.write(rows), strict=True):
            written = writer.write(list(asked.messages), NEW_TOKENS[form])
            programs = [parse_program(text, domain, form) for text in written.texts]  # type: ignore[arg-type]
            found.programs_P.append((problem, programs))
            found.written_P.append(written)
            found.tokens += [writer.tokens(text[len(REPLY_PREFIX) :]) for text in written.texts]
            if options.show:
                for program in programs:
                    said = "valid" if program.strictly_valid else program.diagnostics[0].message
                    print(f"--- {variant} {domain}: {said}\n{program.source}")
    return found


async def run_all(found: Found, bench: Workbench) -> None:
    """Equal programs of a problem run once, as in training."""
    for problem, programs in found.programs_P:
        right: dict[str, bool] = {}
        for program in programs:
            if not program.strictly_valid or program.hash in right:
                continue
            execution = await bench.run(program, problem, bench.executor)
            right[program.hash] = False
            if execution.status == "ok":
                verdict = await bench.judge.grade(problem, execution.answer)
                right[program.hash] = verdict.correct is True
        found.right_P.append(statistics.mean(right.get(p.hash, False) for p in programs))


# ---------------------------------------------------------------------------------------- figures
def share(successes: int, of: int) -> str:
    low, high = wilson(successes, of)
    return f"{successes}/{of} | {100 * successes / of:.0f} % ({100 * low:.0f}-{100 * high:.0f})"


def by_problem(shares_P: Sequence[float]) -> str:
    low, high = bootstrap(shares_P)
    return f"{100 * low:.0f}-{100 * high:.0f}"


def line(variant: str, found: Found) -> str:
    valid_P = [statistics.mean(p.strictly_valid for p in ps) for _, ps in found.programs_P]
    of_domain: dict[str, list[bool]] = defaultdict(list)
    for problem, programs in found.programs_P:
        of_domain[problem.domain] += [p.strictly_valid for p in programs]
    domains = ", ".join(f"{d} {100 * statistics.mean(v):.0f}" for d, v in of_domain.items())
    cells = [
        variant,
        share(sum(p.strictly_valid for p in found.programs), len(found.programs)),
        by_problem(valid_P),
        domains,
        f"{_different(found):.2f}",
        f"{statistics.mean(w.prompt_tokens for w in found.written_P):.0f}",
        f"{statistics.mean(found.tokens):.0f}",
        f"{sum(w.seconds for w in found.written_P):.0f}",
    ]
    if found.right_P:
        cells.append(f"{100 * statistics.mean(found.right_P):.0f} % ({by_problem(found.right_P)})")
    return f"| {' | '.join(cells)} |"


def _different(found: Found) -> float:
    shares = []
    for _, programs in found.programs_P:
        hashes = [program.hash for program in programs if program.strictly_valid]
        if hashes:
            shares.append(len(set(hashes)) / len(hashes))
    return statistics.mean(shares) if shares else 0.0


def differences(found: dict[str, Found]) -> None:
    """Of right answers against the first variant, paired by problem."""
    (first, anchor), *others = found.items()
    for variant, other in others:
        gaps = [a - b for a, b in zip(other.right_P, anchor.right_P, strict=True)]
        print(
            f"right, {variant} - {first}: {100 * statistics.mean(gaps):+.0f} ({by_problem(gaps)})"
        )


def reasons(found: Found) -> str:
    first = [p.diagnostics[0] for p in found.programs if p.diagnostics]
    counts = Counter(f"{d.code} {d.message}" for d in first)
    return "".join(f"\n  {n:3} {what}" for what, n in counts.most_common(12))


# ------------------------------------------------------------------------------------------- main
def chosen_problems(options: Any) -> dict[Domain, list[Problem]]:
    problems: dict[Domain, list[Problem]] = {domain: [] for domain in DOMAINS}
    for rows in real_problems(40).values():
        problems[rows[0].domain] += rows
    return {
        domain: random.Random(options.seed).sample(rows, options.problems)
        for domain, rows in problems.items()
        if domain in options.domains
    }


def main() -> None:
    config = load_config("embedded")
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--variants", nargs="*", default=VARIANTS)
    parser.add_argument("--problems", type=int, default=4, help="of each domain")
    parser.add_argument("--domains", nargs="*", default=DOMAINS, choices=DOMAINS)
    parser.add_argument("--samples", type=int, default=6, help="programs of a problem")
    parser.add_argument("--temperature", type=float, default=config.sampling.temperature)
    parser.add_argument("--problem-chars", type=int, default=config.sampling.problem_chars)
    parser.add_argument("--model", default=config.policy.name)
    parser.add_argument("--folder", type=Path, default=shipped_dir() / "prompts" / "policy")
    parser.add_argument("--keep", type=Path, help="JSONL file of programs written before")
    parser.add_argument("--run", metavar="EXECUTOR", help="run and grade the programs too")
    parser.add_argument("--cache", type=Path, help="folder of the executor's replies, for --run")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", action="store_true", help="print every program")
    options = parser.parse_args()
    problems = chosen_problems(options)
    print(f"{options.model}, temperature {options.temperature}, seed {options.seed}\n")
    weights = model_weights(config, options.model, "--model")
    found: dict[str, Found] = {}
    without_telemetry()
    batch = Batch(
        servable(weights),
        slots=options.samples,
        context_tokens=3072,
        threads=len(os.sched_getaffinity(0)),
        batch_tokens=512,
    )
    writer = Writer(batch, options.keep, options)
    for variant in options.variants:
        found[variant] = measure(variant, problems, writer, options)
        print(line(variant, found[variant]), flush=True)
    for variant, one in found.items():
        print(f"\n{variant}: first findings of invalid programs{reasons(one)}")
    if options.run:
        asyncio.run(graded(found, options))


async def graded(found: dict[str, Found], options: Any) -> None:
    flags = {"executor.model": options.run, "executor.slots": 1}
    if options.cache:
        flags |= {"calls.mode": "cache", "calls.folder": options.cache}
    config = load_config("embedded", flags=flags)
    print(f"\nexecutor {options.run}")
    async with open_workbench(config) as bench:
        for variant, one in found.items():
            await run_all(one, bench)
            print(line(variant, one), flush=True)
    differences(found)


if __name__ == "__main__":
    main()

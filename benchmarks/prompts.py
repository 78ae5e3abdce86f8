"""How often the untrained policy writes a strictly valid program, by prompt.

    python benchmarks/prompts.py [--variants body/short/shots ...] [--samples 4] [--problems 4]

For every variant: real problems of each domain, several programs each, drawn as in training.
Strictly valid: the text runs as written, no finding and no repair. Interval: Wilson, 95 %, over
programs; programs of one problem are not independent, so read it as a lower bound of the doubt.
Different: distinct normalised programs among the valid ones of a problem, mean share. Tokens: of
the prompt and of a program. Nothing is executed.

A variant is form/docs/shots: class|body / full|short|calls / shots|none. ``--folder`` takes
templates from somewhere else, ``--temperature`` and ``--model`` replace those of the profile.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from real_problems import real_problems

from llm_as_judge.build import DOMAINS, model_weights
from llm_as_judge.config import config_dir, load_config
from llm_as_judge.intervals import wilson
from llm_as_judge.operators import operator_docs
from llm_as_judge.policy.model import AdapterSpec, load_policy
from llm_as_judge.policy.prompt import PolicyPrompt
from llm_as_judge.policy.sample import HFSampler
from llm_as_judge.types import Domain, Problem, Program
from llm_as_judge.workflow.program import parse_program

VARIANTS = (
    "body/short/shots",
    "body/calls/shots",
    "body/short/none",
    "body/full/shots",
    "class/short/shots",
)
NEW_TOKENS = {"body": 64, "class": 224}


@dataclass(slots=True)
class Found:
    """Programs of one variant."""

    programs_P: list[list[Program]] = field(default_factory=list)
    tokens: list[int] = field(default_factory=list)
    prompt_tokens: list[int] = field(default_factory=list)
    seconds: float = 0.0
    of_domain: dict[str, list[bool]] = field(default_factory=dict)


def measure(
    variant: str, problems: dict[Domain, list[Problem]], sampler: HFSampler, options: Any
) -> Found:
    form, style, shots = variant.split("/")
    prompt = PolicyPrompt(
        options.folder,
        form,  # type: ignore[arg-type]
        {domain: operator_docs(domain, style) for domain in DOMAINS},  # type: ignore[arg-type]
        problem_chars=options.problem_chars,
        examples=shots == "shots",
    )
    found = Found()
    for domain, rows in problems.items():
        messages = [prompt.messages(problem) for problem in rows]
        found.prompt_tokens += [len(sampler.prompt_ids(m)) for m in messages]
        started = time.perf_counter()
        completions_P_K = sampler.sample(
            messages,
            options.samples,
            temperature=options.temperature,
            max_new_tokens=NEW_TOKENS[form],
            seed=options.seed,
        )
        found.seconds += time.perf_counter() - started
        for completions in completions_P_K:
            programs = [parse_program(c.text, domain, form) for c in completions]  # type: ignore[arg-type]
            found.programs_P.append(programs)
            found.tokens += [len(c.token_ids) for c in completions]
            found.of_domain.setdefault(domain, []).extend(p.strictly_valid for p in programs)
            if options.show:
                for completion, program in zip(completions, programs, strict=True):
                    print(f"--- {domain} {program.strictly_valid}\n{completion.text}")
    return found


def line(variant: str, found: Found) -> str:
    programs = [program for group in found.programs_P for program in group]
    valid = sum(program.strictly_valid for program in programs)
    low, high = wilson(valid, len(programs))
    by_domain = " ".join(
        f"{domain} {100 * statistics.mean(flags):3.0f}%"
        for domain, flags in found.of_domain.items()
    )
    return (
        f"| {variant} | {valid}/{len(programs)} | {100 * valid / len(programs):.0f} % "
        f"({100 * low:.0f}-{100 * high:.0f}) | {by_domain} | {_different(found.programs_P):.2f} | "
        f"{statistics.mean(found.prompt_tokens):.0f} | {statistics.mean(found.tokens):.0f} | "
        f"{found.seconds:.0f} |"
    )


def _different(programs_P: Sequence[Sequence[Program]]) -> float:
    shares = []
    for programs in programs_P:
        hashes = [program.hash for program in programs if program.strictly_valid]
        if hashes:
            shares.append(len(set(hashes)) / len(hashes))
    return statistics.mean(shares) if shares else 0.0


def main() -> None:
    config = load_config("embedded")
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--variants", nargs="*", default=VARIANTS[:2])
    parser.add_argument("--problems", type=int, default=3, help="of each domain")
    parser.add_argument("--samples", type=int, default=4, help="programs of a problem")
    parser.add_argument("--temperature", type=float, default=config.sampling.temperature)
    parser.add_argument("--problem-chars", type=int, default=config.sampling.problem_chars)
    parser.add_argument("--model", default=config.policy.name)
    parser.add_argument("--folder", type=Path, default=config_dir() / "prompts" / "policy")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", action="store_true", help="print every program")
    options = parser.parse_args()
    sets = real_problems(40)
    problems: dict[Domain, list[Problem]] = {"math": [], "qa": [], "code": []}
    for rows in sets.values():
        problems[rows[0].domain] += rows
    for domain, rows in problems.items():
        problems[domain] = random.Random(options.seed).sample(rows, options.problems)
    policy = load_policy(
        model_weights(config, options.model, "--model"), adapter=AdapterSpec(1, 1), device="auto"
    )
    sampler = HFSampler(policy)
    print(f"{options.model}, {str(policy.dtype)[6:]}, temperature {options.temperature}\n")
    print("| variant | valid | share (95 %) | by domain | different | prompt | program | s |")
    print("|---|---:|---|---|---:|---:|---:|---:|")
    reasons: dict[str, Counter[str]] = {}
    for variant in options.variants:
        found = measure(variant, problems, sampler, options)
        print(line(variant, found), flush=True)
        findings = [p.diagnostics[0].code for g in found.programs_P for p in g if p.diagnostics]
        reasons[variant] = Counter(findings)
    print()
    for variant, codes in reasons.items():
        print(f"{variant}: " + ", ".join(f"{code} {n}" for code, n in codes.most_common(6)))


if __name__ == "__main__":
    main()

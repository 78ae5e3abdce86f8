"""The experience buffer: how fast it is searched, what it finds, what it does to prompts.

    python benchmarks/experience.py [--limit 300] [--queries 50]

* Search: 3 domains x 100 entries of real questions; seconds of one search after embedding. Anchor:
  difflib over the same entries, in the same run.
* Retrieval: the share of the three nearest that are of the query's own type, where a type is what
  the data set itself says: the subject of a MATH problem, the set (GSM8K or MATH), the kind of a
  HotpotQA question (bridge or comparison). Anchors: difflib (SequenceMatcher.ratio) and chance.
* Prompts: tokens of a prompt, share of a step's prompt tokens that stand in a beginning which
  another prompt of the step has, and tokens left to compute, for steps of 4 problems in one domain
  and in 4:3:3, with shipped examples, examples fixed per step, and examples per problem.
"""

from __future__ import annotations

import argparse
import difflib
import math
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from real_problems import real_problems
from transformers import AutoTokenizer

from llm_as_judge.assembly import model_weights, policy_prompt
from llm_as_judge.config import Config, load_config
from llm_as_judge.policy.embed import SentenceEmbedder
from llm_as_judge.policy.experience import (
    Experience,
    ExperienceBuffer,
    compared_text,
    passage_digests,
)
from llm_as_judge.policy.memory import Memory
from llm_as_judge.policy.prompt import shorten
from llm_as_judge.policy.sample import HFSampler
from llm_as_judge.policy.unpacking import unpack_gguf
from llm_as_judge.training.step_metrics import prompt_metrics
from llm_as_judge.types import Completion, Domain, Group, Problem, Program, Rollout

PER_DOMAIN = 100
K = 3
SHIPPED = {
    "math": (
        'r = await programmer(problem=problem)\nreturn r["output"]',
        'r = await answer_generate(input=problem)\nreturn r["answer"]',
        (
            "a = await answer_generate(input=problem)\nb = await programmer(problem=problem)\n"
            'c = await sc_ensemble(solutions=[a["answer"], b["output"]], problem=problem)\n'
            'return c["response"]'
        ),
        (
            'a = await custom(input=problem, instruction="Think step by step.")\n'
            'b = await format(problem=problem, solution=a["response"])\nreturn b["solution"]'
        ),
    ),
    "qa": (
        'r = await answer_generate(input=problem)\nreturn r["answer"]',
        (
            "a = await answer_generate(input=problem)\n"
            'b = await format(problem=problem, solution=a["answer"])\nreturn b["solution"]'
        ),
        (
            'a = await custom(input=problem, instruction="Find the sentence that answers it.")\n'
            'b = await format(problem=problem, solution=a["response"])\nreturn b["solution"]'
        ),
    ),
    "code": (
        (
            "r = await custom_code_generate(problem=problem, entry_point=entry_point, "
            'instruction="Write it.")\nreturn r["response"]'
        ),
        (
            "r = await custom_code_generate(problem=problem, entry_point=entry_point, "
            'instruction="Mind edge cases.")\n'
            't = await test(problem=problem, solution=r["response"], entry_point=entry_point)\n'
            'return t["solution"]'
        ),
    ),
}
"""Programs of the lengths that a policy writes; which of them stands with which problem is chance."""


def entry(problem: Problem, vector: Sequence[float], number: int, hash_: str) -> Experience:
    programs = SHIPPED[problem.domain]
    return Experience(
        problem_id=problem.id,
        domain=problem.domain,
        question=compared_text(problem),
        passages=passage_digests(problem),
        shown=shorten(problem.statement(), 300),
        program=programs[number % len(programs)],
        hash=hash_,
        reward=9.0,
        step=1,
        vector=np.asarray(vector, np.float32),
    )


def by_difflib(query: str, questions: Sequence[str]) -> list[int]:
    """Places of the K most similar questions."""
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(query)
    scores = []
    for place, question in enumerate(questions):
        matcher.set_seq1(question)
        scores.append((-matcher.ratio(), place))
    return [place for _, place in sorted(scores)[:K]]


# ----------------------------------------------------------------------------------------- search
def search(problems: dict[Domain, list[Problem]], embedder: SentenceEmbedder, queries: int) -> None:
    buffer, asked = ExperienceBuffer(size=PER_DOMAIN), []
    for domain, rows in problems.items():
        kept = rows[:PER_DOMAIN]
        vectors = embedder.embed([compared_text(p) for p in kept])
        buffer.add(entry(p, v, i, p.id) for i, (p, v) in enumerate(zip(kept, vectors, strict=True)))
        asked += [(domain, p) for p in rows[-queries:]]
    started = time.perf_counter()
    vectors = embedder.embed([compared_text(p) for _, p in asked])
    embedding = (time.perf_counter() - started) / len(asked)
    times: list[float] = []
    work: list[float] = []
    anchor: list[float] = []
    for (domain, problem), vector in zip(asked, vectors, strict=True):
        started, worked = time.perf_counter(), time.thread_time()
        buffer.nearest(vector, domain, K, [problem])
        times.append(time.perf_counter() - started)
        work.append(time.thread_time() - worked)
        if len(anchor) < 10:
            questions = [e.question for e in buffer.entries(domain)]
            started = time.perf_counter()
            by_difflib(compared_text(problem), questions)
            anchor.append(time.perf_counter() - started)
    middle = statistics.median(times)
    print(f"\nSearch, {len(buffer)} entries in {len(problems)} domains, {len(times)} queries")
    print(f"  embedding a question   {embedding * 1e3:9.2f} ms")
    print(f"  search, median         {middle * 1e3:9.3f} ms")
    print(
        f"  search, greatest       {max(times) * 1e3:9.3f} ms, {max(work) * 1e3:.3f} of the processor"
    )
    print(f"  difflib, median        {statistics.median(anchor) * 1e3:9.1f} ms")
    print(f"  ratio difflib / search {statistics.median(anchor) / middle:9.0f}")


# -------------------------------------------------------------------------------------- retrieval
def retrieval(
    name: str,
    problems: Sequence[Problem],
    kind: Callable[[Problem], str],
    embedder: SentenceEmbedder,
    queries: int,
) -> None:
    """Buffer: the first 100 of the shuffled problems (of few, two thirds); queries: those after."""
    rows = list(problems)
    random.Random(0).shuffle(rows)
    size = min(PER_DOMAIN, len(rows) * 2 // 3)
    kept, asked = rows[:size], rows[size : size + queries]
    if len(asked) < 10:
        print(f"  {name:24} too few problems ({len(rows)})")
        return
    buffer = ExperienceBuffer(size=PER_DOMAIN)
    vectors = embedder.embed([compared_text(p) for p in kept])
    buffer.add(entry(p, v, 0, p.id) for p, v in zip(kept, vectors, strict=True))
    type_of, questions = {p.id: kind(p) for p in kept}, [compared_text(p) for p in kept]
    shares: dict[str, list[float]] = {"embeddings": [], "difflib": [], "chance": []}
    for problem, vector in zip(asked, embedder.embed([*map(compared_text, asked)]), strict=True):
        wanted = kind(problem)
        hits = buffer.nearest(vector, problem.domain, K, [problem])
        near = [type_of[hit.experience.problem_id] for hit in hits]
        shares["embeddings"].append(sum(found == wanted for found in near) / max(1, len(near)))
        literal = [kind(kept[i]) for i in by_difflib(compared_text(problem), questions)]
        shares["difflib"].append(sum(found == wanted for found in literal) / K)
        shares["chance"].append(sum(found == wanted for found in type_of.values()) / len(kept))
    mean = {how: statistics.mean(values) for how, values in shares.items()}
    gaps = [a - b for a, b in zip(shares["embeddings"], shares["difflib"], strict=True)]
    error = statistics.stdev(gaps) / math.sqrt(len(gaps))
    print(
        f"  {name:24} {len(asked):4} {mean['embeddings']:10.3f} {mean['difflib']:8.3f} "
        f"{mean['chance']:7.3f} {mean['embeddings'] / mean['difflib']:6.2f}   "
        f"{statistics.mean(gaps):+.3f} +- {1.96 * error:.3f}"
    )


# ---------------------------------------------------------------------------------------- prompts
def prompts(problems: dict[Domain, list[Problem]], embedder: SentenceEmbedder) -> None:
    config = load_config("embedded")
    folder = unpack_gguf(model_weights(config, config.policy.name, "policy.name"))
    sampler = HFSampler(SimpleNamespace(tokenizer=AutoTokenizer.from_pretrained(folder)))  # type: ignore[arg-type]
    random_ = random.Random(1)
    mixed = [problems["math"][-20:], problems["qa"][-20:], problems["code"][-20:]]
    steps = {
        "4 of one domain": [random_.sample(rows, 4) for rows in mixed for _ in range(4)],
        "4 of 4:3:3": [
            [random_.choice(random_.choices(mixed, (4, 3, 3))[0]) for _ in range(4)]
            for _ in range(12)
        ],
    }
    print(f"\nPrompts ({config.policy.name}, form {config.sampling.form}, docs short)")
    print(f"  {'step':16} {'examples':16} {'tokens':>7} {'shared':>7} {'computed':>9} {'ratio':>6}")
    for name, batches in steps.items():
        anchor = 0.0
        for how in ("shipped", "fixed_per_step", "per_problem"):
            memory = _memory(problems, embedder, how) if how != "shipped" else None
            prompt = policy_prompt(config, memory=memory)
            rows = [prompt_metrics(_groups(prompt, sampler, batch)) for batch in batches]
            tokens = statistics.mean(row["prompt/tokens"] for row in rows)
            shared = statistics.mean(row["prompt/shared"] for row in rows)
            computed = statistics.mean(
                4 * row["prompt/tokens"] * (1 - row["prompt/shared"]) for row in rows
            )
            anchor = anchor or computed
            print(
                f"  {name:16} {how:16} {tokens:7.0f} {shared:7.3f} {computed:9.0f} "
                f"{computed / anchor:6.2f}"
            )


def _memory(problems: dict[Domain, list[Problem]], embedder: SentenceEmbedder, how: Any) -> Memory:
    buffer = ExperienceBuffer(size=PER_DOMAIN)
    with tempfile.TemporaryDirectory() as folder:
        memory = Memory(buffer, embedder, form="body", folder=Path(folder), retrieval=how)
    for rows in problems.values():
        kept = rows[:PER_DOMAIN]
        vectors = embedder.embed([compared_text(p) for p in kept])
        buffer.add(
            entry(p, v, i, f"program {i % 7}")
            for i, (p, v) in enumerate(zip(kept, vectors, strict=True))
        )
    return memory


def _groups(prompt: Any, sampler: HFSampler, batch: Sequence[Problem]) -> list[Group]:
    groups = []
    for problem, written in zip(batch, prompt.write(batch), strict=True):
        ids = tuple(sampler.prompt_ids(written.messages))
        completion = Completion(ids, (), (), "", "stop")
        rollout = Rollout(problem.id, 0, completion, Program("", ""))
        groups.append(Group(problem, (rollout,), written.facts))
    return groups


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--limit", type=int, default=300, help="problems of each set")
    parser.add_argument("--queries", type=int, default=50, help="of a domain, or of a type")
    options = parser.parse_args()
    sets = real_problems(options.limit)
    config = Config()
    name = config.experience.embedder
    embedder = SentenceEmbedder(model_weights(config, name, "experience.embedder"), name)
    domains: dict[Domain, list[Problem]] = {"math": [], "qa": [], "code": []}
    for rows in sets.values():
        domains[rows[0].domain] += rows
    for rows in domains.values():
        random.Random(2).shuffle(rows)
    search(domains, embedder, options.queries)
    print(
        f"\nRetrieval: share of the {K} nearest of at most {PER_DOMAIN} that are of the query's type"
    )
    print(
        f"  {'type':24} {'n':>4} {'embeddings':>10} {'difflib':>8} {'chance':>7} {'ratio':>6}   "
        "difference (95 %)"
    )
    math_rows = sets["math"]
    retrieval(
        "MATH subject", math_rows, lambda p: p.meta.get("subject", ""), embedder, options.queries
    )
    retrieval(
        "GSM8K or MATH",
        [*sets["gsm8k"], *math_rows],
        lambda p: p.dataset,
        embedder,
        options.queries,
    )
    retrieval(
        "SQuAD2 or HotpotQA",
        [*sets["squad2"], *sets["hotpotqa"]],
        lambda p: p.dataset,
        embedder,
        options.queries,
    )
    retrieval(
        "HotpotQA kind",
        sets["hotpotqa"],
        lambda p: p.meta.get("type", ""),
        embedder,
        options.queries,
    )
    prompts(domains, embedder)


if __name__ == "__main__":
    main()

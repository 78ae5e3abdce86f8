"""Greedy replies of the embedded engine that change with the order in which requests come.

    python benchmarks/batch_order.py [--model qwen25-coder-0.5b] [--requests 48] [--tokens 96]

The same requests, in order and then reversed, so that each is computed beside others than before. Written tokens a
second stand beside it.
"""

from __future__ import annotations

import argparse
import os
import time

from llm_as_judge.config import OutputConfig, load_models
from llm_as_judge.llm.batching import Batch, Sampling
from llm_as_judge.llm.requantized import servable
from llm_as_judge.llm.weights import fetch

ASK = "A shop holds {n} crates of {m} apples and sells {k} crates. How many apples are left? Think step by step."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", default="qwen25-coder-0.5b")
    parser.add_argument("--requests", type=int, default=48)
    parser.add_argument("--tokens", type=int, default=96)
    options = parser.parse_args()
    weights = servable(fetch(load_models()[options.model], OutputConfig().cache_dir()))
    threads = len(os.sched_getaffinity(0))
    batch = Batch(weights, slots=16, context_tokens=1024, threads=threads, batch_tokens=512)
    prompts = [
        batch.tokens(
            batch.prompt([{"role": "user", "content": ASK.format(n=50 + n, m=12 + n % 7, k=n)}])
        )
        for n in range(options.requests)
    ]
    greedy = Sampling(options.tokens, temperature=0)

    def replies(order: list[int]) -> dict[int, str]:
        began = time.perf_counter()
        waiting = {n: batch.submit(prompts[n], greedy) for n in order}
        drawn = {n: reply.result() for n, reply in waiting.items()}
        written = sum(one.tokens for one in drawn.values())
        print(f"  {written} tokens, {written / (time.perf_counter() - began):.0f} a second")
        return {n: one.text for n, one in drawn.items()}

    order = list(range(options.requests))
    first, second = replies(order), replies(order[::-1])
    print(f"{sum(first[n] != second[n] for n in order)} of {options.requests} replies differ")


if __name__ == "__main__":
    main()

"""A token of a policy in bfloat16 on a CPU, from packed weights and from the weights as they lie, in one run.

    python benchmarks/writing.py [--model qwen25-coder-0.5b] [--threads 1]

Expected: 0.6 to 0.8 of the time, most for few rows, since torch lays a weight out anew for each
product. Ends with one line where the processor has no products in bfloat16.
"""

from __future__ import annotations

import argparse
import time
from contextlib import nullcontext
from statistics import median

import torch

from llm_as_judge.assembly import model_weights
from llm_as_judge.config import load_config
from llm_as_judge.policy.adapter import AdapterSpec
from llm_as_judge.policy.decode import decoding_batch
from llm_as_judge.policy.model import Policy, load_policy, pick_dtype

PROMPTS, LENGTH, TOKENS = 4, 220, 12
ROWS = (1, 4, 16, 48)


@torch.inference_mode()
def seconds_a_token(policy: Policy, rows: int) -> float:
    """The median of ``TOKENS`` tokens of each row."""
    prompts = [[1000 + i for i in range(LENGTH)] + [p] for p in range(PROMPTS)]
    batch = decoding_batch(policy, rows)
    batch.begin(prompts)
    batch.keep(sorted(i % PROMPTS for i in range(rows)))
    taken = []
    for _ in range(TOKENS + 1):
        started = time.perf_counter()
        batch.step(torch.full((rows,), 100))
        taken.append(time.perf_counter() - started)
    return median(taken[1:])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--model", default="qwen25-coder-0.5b", help="a name in models.yaml, pulled"
    )
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    if pick_dtype("auto", torch.device("cpu")) != torch.bfloat16:
        print("this processor has no products in bfloat16: nothing is packed")
        return
    torch.set_num_threads(args.threads)
    weights = model_weights(load_config("smoke"), args.model, "--model")
    policy = load_policy(weights, adapter=AdapterSpec(8, 16), device="cpu", dtype="bfloat16")
    print(f"{args.model}, {args.threads} threads, seconds a token of each row")
    for rows in ROWS:
        found: dict[str, list[float]] = {}
        for side in ("plain", "packed", "packed", "plain"):
            with policy.inference() if side == "packed" else nullcontext():
                found.setdefault(side, []).append(seconds_a_token(policy, rows))
        plain, packed = (min(found[side]) for side in ("plain", "packed"))
        print(
            f"  {rows:3} rows  plain {plain:.3f}  packed {packed:.3f}  {packed / plain:.2f} of it"
        )


if __name__ == "__main__":
    main()

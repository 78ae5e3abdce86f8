"""One update of the 0.5B policy with this package's LoRA layer and with PEFT's, in one run.

    python benchmarks/lora.py [--repeats 3] [--model qwen25-coder-0.5b] [--dtype auto]

Anchor: PEFT's layer. Expected: the adapter's part of a layer no longer moves more memory than the
layer's output, so that processor seconds and memory fall by a quarter or more. Each side is a process
of its own and finds nothing that the other left. The ratio is of processor seconds: other programs
disturb them less than the clock.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import time
from typing import Any

import torch
from peft.tuners.lora import Linear as PeftLinear
from sides import in_own_process, ratios

from llm_as_judge.assembly import model_weights
from llm_as_judge.config import load_config
from llm_as_judge.policy.adapter import AdapterSpec
from llm_as_judge.policy.attention import packed_attention
from llm_as_judge.policy.model import load_policy
from llm_as_judge.training.packing import PackedTree, pack_tree, packed_logprobs

PROMPTS, PROGRAMS, SHARED, OWN, WRITTEN = 4, 2, 340, 62, 60
"""The quickstart's micro-batch: prompts of 402 tokens, most of them in common."""


def micro_batch() -> PackedTree:
    draw = random.Random(0)

    def ids(count: int) -> list[int]:
        return [draw.randrange(1000, 40000) for _ in range(count)]

    shared = ids(SHARED)
    prompts = [[*shared, *ids(OWN)] for _ in range(PROMPTS)]
    programs = [[ids(WRITTEN) for _ in range(PROGRAMS)] for _ in prompts]
    return pack_tree(prompts, programs, torch.device("cpu"))


def one_side(side: str, args: argparse.Namespace) -> dict[str, Any]:
    weights = model_weights(load_config("smoke"), args.model, "--model")
    policy = load_policy(weights, adapter=AdapterSpec(16, 32), device="cpu", dtype=args.dtype)
    if side == "peft":
        for module in policy.model.modules():
            if isinstance(module, PeftLinear):
                module.forward = PeftLinear.forward.__get__(module)
    tree, figures = micro_batch(), []
    with policy.updating(), packed_attention(policy.base):
        for _ in range(args.repeats + 1):
            before, started = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
            torch.autograd.backward(packed_logprobs(policy.base, tree)[0].mean())
            seconds, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF)
            user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
            figures.append((user + system, system, seconds))
    cpu, system, seconds = min(figures[1:])  # the first one also warms up
    return {
        "tokens": tree.input_ids_1N.numel(),
        "dtype": str(policy.dtype),
        "cpu": cpu,
        "system": system,
        "seconds": seconds,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--model", default="qwen25-coder-0.5b", help="a name in models.yaml, pulled"
    )
    parser.add_argument("--dtype", default="auto", choices=("auto", "bfloat16", "float32"))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--side", choices=("peft", "ours"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.side:
        print(json.dumps(one_side(args.side, args)))
        return
    found = {}
    for side in ("peft", "ours"):
        found[side] = one = in_own_process(side)
        print(
            f"{side}: {one['tokens']} tokens in {one['dtype']}: {one['cpu']:.1f} processor s "
            f"({one['system']:.1f} of them the system's), {one['seconds']:.1f} s, "
            f"at most {one['peak_mb']:.0f} MB"
        )
    print(f"ours / peft: {ratios(found['ours'], found['peft'], ('cpu', 'seconds', 'peak_mb'))}")


if __name__ == "__main__":
    main()

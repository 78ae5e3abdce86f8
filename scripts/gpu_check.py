"""Check and time the CUDA path of the update; for a person with a GPU. Nothing is downloaded.

    python scripts/gpu_check.py                       # random weights in the shape of Qwen2.5-7B
    python scripts/gpu_check.py --weights FOLDER      # a safetensors folder

Four things, each printed with what was wanted: the one-call attention equals the node-by-node one
(forward and backward); a token that is sampled by a captured graph has the logits it has without; in bfloat16 the packed log-probs are as near to those in float32 as the naive ones,
and gradient norms are alike; and the time and peak memory of one update, packed against one row per completion.
Float32 takes four bytes a weight: 31 GB for a 7B.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import torch
from transformers import AutoModelForCausalLM, Qwen2Config

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

from measured import finish
from shapes import QWEN_7B

from llm_as_judge.policy.adapter import AdapterSpec, new_adapter
from llm_as_judge.policy.attention import AttentionPlan, packed_attention, shared_prefix_attention
from llm_as_judge.policy.model import Policy
from llm_as_judge.policy.recompute import recompute_activations
from llm_as_judge.policy.shared_prompts import SharedPrompts
from llm_as_judge.policy.slotted_prompts import FIRST_SLOTS, SlottedPrompts
from llm_as_judge.training.packing import pack_tree, packed_logprobs
from llm_as_judge.training.reference import naive_logprobs


def ids(count: int, seed: int, vocabulary: int = 1000) -> list[int]:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(10, vocabulary, (count,), generator=generator).tolist()


def check_attention(device: torch.device) -> bool:
    """One varlen call against node by node, with the gradient of the keys."""
    common = ids(300, 0)
    prompts = [common + ids(40 + i, 1 + i) for i in range(3)]
    completions = [[ids(5 + 11 * k + i, 10 + k) for k in range(4)] for i in range(3)]
    plan = pack_tree(prompts, completions, device).plan
    assert plan.varlen is not None
    torch.manual_seed(0)
    total = plan.nodes[-1].stop
    results = []
    query, key, value = (
        torch.randn(1, heads, total, 128, device=device, dtype=torch.bfloat16)
        for heads in (8, 2, 2)
    )
    for chosen in (plan, AttentionPlan(plan.nodes)):
        k = key.clone().requires_grad_()
        out, _ = shared_prefix_attention(torch.nn.Module(), query, k, value, None, plan=chosen)
        torch.autograd.backward(out.float().square().sum())
        assert k.grad is not None
        results.append((out.float().detach(), k.grad.float()))
    gaps = [((a - b).abs().max() / b.abs().max()).item() for a, b in zip(*results, strict=True)]
    good = bool(max(gaps) <= 2e-2)
    print(f"attention: output gap {gaps[0]:.1e}, gradient gap {gaps[1]:.1e} (wanted <= 2e-2)")
    return good


@torch.inference_mode()
def check_graphs(model: Any, options: argparse.Namespace, device: torch.device) -> bool:
    """A graph does what it was captured from; slots change no more than rounding; milliseconds a token of each way."""
    model.eval()
    policy = Policy(model, tokenizer=None, device=device, dtype=model.get_base_model().dtype)
    rows = options.samples
    ways = {
        "graph": SlottedPrompts(policy, rows),
        "slots": SlottedPrompts(policy, rows, captured=False),
        "rows": SharedPrompts(policy),
    }
    prompts = [ids(options.prompt, 0), ids(options.prompt, 0)[:-9] + ids(4, 1)]
    parting = [p for p in range(len(prompts)) for _ in range(rows)]
    found: dict[str, torch.Tensor] = {}
    seconds: dict[str, list[float]] = {}
    for name, way in ways.items():
        way.begin(prompts)
        way.keep(parting)
        draw = torch.Generator().manual_seed(0)
        parts = []
        for step in range(FIRST_SLOTS + 12):
            if step == 50:  # one row ends, another becomes two
                way.keep([1, 1, *range(2, len(parting))])
            tokens = torch.randint(10, 1000, (len(parting),), generator=draw).to(device)
            finish(device)
            started = time.perf_counter()
            logits = way.step(tokens)
            finish(device)
            seconds.setdefault(name, []).append(time.perf_counter() - started)
            if step % 9 == 0:
                parts.append(torch.log_softmax(logits.float(), -1)[:, :1000])
        found[name] = torch.stack(parts)
    gaps = [(found["graph"] - found[other]).abs() for other in ("slots", "rows")]
    same, rounding = gaps[0].max().item(), gaps[1].mean().item()
    good = same <= 1e-6 and rounding <= 0.1
    print(
        f"graphs: log-probs differ by {same:.1e} from the same steps launched (wanted <= 1e-6), by {rounding:.1e} "
        "in the mean from rows without slots (wanted <= 1e-1: rounding)"
    )
    for name, taken in seconds.items():
        once = 1e3 * (sum(taken) - median(taken) * len(taken))
        print(
            f"  {name:6} {1e3 * median(taken):7.2f} ms a token of {len(parting)} rows, {once:.0f} ms once"
        )
    return good


def load(weights: Path | None, device: torch.device) -> Any:
    if weights is None:
        with torch.device(device):
            base = AutoModelForCausalLM.from_config(Qwen2Config(**QWEN_7B), dtype=torch.bfloat16)
    else:
        base = AutoModelForCausalLM.from_pretrained(weights, dtype=torch.bfloat16).to(device)
    model = new_adapter(base, AdapterSpec())
    recompute_activations(base)
    return model.train()


def packed(base: Any, prompt: list[int], completions: Sequence[list[int]]) -> torch.Tensor:
    with packed_attention(base):
        tree = pack_tree([prompt], [completions], base.device)
        logprobs = packed_logprobs(base, tree)[0]
        torch.autograd.backward(logprobs.mean())
    return logprobs.detach()


def naive(base: Any, prompt: list[int], completions: Sequence[list[int]]) -> torch.Tensor:
    parts, total = [], sum(map(len, completions))
    for completion in completions:
        logprobs = naive_logprobs(base, prompt, completion)[0]
        torch.autograd.backward(logprobs.sum() / total)
        parts.append(logprobs.detach())
    return torch.cat(parts)


def in_float32(model: Any, prompt: list[int], completions: Sequence[list[int]]) -> torch.Tensor:
    """The naive log-probs without rounding to bfloat16; the model stays in float32."""
    base = model.float().get_base_model()
    with torch.no_grad():
        return torch.cat([naive_logprobs(base, prompt, one)[0] for one in completions])


def measure(
    model: Any, way: Callable[..., torch.Tensor], *step: Any
) -> tuple[float, float, torch.Tensor, float]:
    """(seconds, GiB at the peak, log-probs, gradient norm) of the second of two runs."""
    base = model.get_base_model()
    for _ in range(2):
        model.zero_grad()
        torch.cuda.reset_peak_memory_stats()
        torch.cuda.synchronize()
        started = time.perf_counter()
        logprobs = way(base, *step)
        torch.cuda.synchronize()
        seconds = time.perf_counter() - started
    norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1e9).item()
    return seconds, torch.cuda.max_memory_allocated() / 2**30, logprobs, norm


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--weights", type=Path, help="safetensors folder; default: random weights")
    parser.add_argument("--prompt", type=int, default=2000, help="tokens of the prompt")
    parser.add_argument("--completion", type=int, default=250, help="tokens of a completion")
    parser.add_argument("--samples", type=int, default=6, help="completions of the prompt")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("this torch sees no CUDA device; install a CUDA build of torch", file=sys.stderr)
        return 2
    device = torch.device("cuda:0")
    print(f"{torch.cuda.get_device_name(device)}, torch {torch.__version__}")
    good = check_attention(device)
    model = load(options.weights, device)
    good &= check_graphs(model, options, device)
    model.train()
    step = (
        ids(options.prompt, 0),
        [ids(options.completion, 1 + k) for k in range(options.samples)],
    )
    ours, theirs = measure(model, packed, *step), measure(model, naive, *step)
    exact = in_float32(model, *step)
    gap, naive_gap = ((side[2] - exact).abs().mean().item() for side in (ours, theirs))
    norms = abs(ours[3] / theirs[3] - 1)
    print(
        f"update: log-probs are {gap:.1e} from float32, the naive ones {naive_gap:.1e} (wanted: at most "
        f"1.2 times as far), norms differ {norms:.1e} (<= 5e-2)"
    )
    good &= gap <= 1.2 * naive_gap and norms <= 5e-2
    for name, (seconds, memory, _, norm) in (("packed", ours), ("naive", theirs)):
        print(f"{name:7} {seconds:7.3f} s, peak {memory:6.2f} GiB, gradient norm {norm:.4f}")
    print(f"packed is {theirs[0] / ours[0]:.2f} times as fast")
    print("all as wanted" if good else "NOT as wanted: please report the lines above")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

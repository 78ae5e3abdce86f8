"""The update and the sampler against TRL 1.16, in one process: same weights, tokens, optimizer.

Anchors: the forward and backward pass of TRL's own GRPOTrainer (its padded batch, its loss) at the
better of six rows at once and one at a time, and transformers' plain `generate`. Both sides take
turns, so that a busy machine slows both; the ratio of processor seconds, which a neighbor does not
change, stands beside that of clock seconds. Gradient norms must agree, or the comparison is void.
`limit` is the ratio of the floating-point operations that either way needs.

    python benchmarks/training.py                                    # a tiny model, all parts
    python benchmarks/training.py --model smollm2-135m --part update # pulled weights
    python benchmarks/training.py --model FOLDER --layers 6          # its first 6 layers: a share of the time
    python benchmarks/training.py --model qwen2.5-7b --samples 6,48  # random weights; wants a GPU
    python benchmarks/training.py --quick                            # short: does it run at all

Our side has the adapter layer of a policy, TRL's has PEFT's. On a GPU: bfloat16, TRL under its own autocast, and
either side with and without recomputed activations.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # before torch: waiting threads must not spin

import torch
from adapted import layers_of_peft, load, recomputing
from measured import Measured, best, finish, peak_memory
from shapes import (
    ALIKE,
    GROUP,
    QUICK_ALIKE,
    QUICK_GROUP,
    QUICK_TREE,
    TREE,
    Shape,
    naive_operations,
    packed_operations,
    tokens,
)
from transformers import PreTrainedTokenizerFast

from llm_as_judge.policy.attention import packed_attention
from llm_as_judge.policy.model import Policy, pick_device
from llm_as_judge.policy.sample import HFSampler
from llm_as_judge.training.grpo import LossOptions, policy_loss
from llm_as_judge.training.packing import pack_tree, packed_logprobs

PARTS = ("update", "tree", "alike", "sampling", "cost")


# ----------------------------------------------------------------------------------------- update
def one_update(model: Any, backward: Callable[[], None]) -> Measured:
    """Forward, loss, backward, clip and AdamW; the weights are put back afterwards."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    saved = [p.detach().clone() for p in parameters]
    optimizer = torch.optim.AdamW(parameters, lr=1e-4, betas=(0.9, 0.99))
    with peak_memory(model.device) as peak:
        started, cpu = time.perf_counter(), time.process_time()
        backward()
        norm = torch.nn.utils.clip_grad_norm_(parameters, 1.0).item()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        finish(model.device)
        seconds, cpu_s = time.perf_counter() - started, time.process_time() - cpu
    with torch.no_grad():
        for parameter, value in zip(parameters, saved, strict=True):
            parameter.copy_(value)
    return Measured(seconds, cpu_s, peak[0], norm)


def advantages(shape: Shape, device: torch.device) -> torch.Tensor:
    return torch.linspace(-1, 1, shape.samples, device=device).repeat(shape.problems)


def packed_backward(model: Any, shape: Shape) -> None:
    base = model.get_base_model()
    with packed_attention(base):
        tree = pack_tree(shape.prompts(), shape.completions(), base.device)
        logprobs = packed_logprobs(base, tree)[0]
        loss, _ = policy_loss(
            logprobs,
            logprobs.detach(),
            advantages(shape, base.device),
            tree.leaf_lengths,
            LossOptions(),
        )
        torch.autograd.backward(loss)


def trl_trainer(model: Any, shape: Shape, folder: str) -> Any:
    from datasets import Dataset
    from tokenizers import Tokenizer, models
    from trl import GRPOConfig, GRPOTrainer

    tokenizer = PreTrainedTokenizerFast(  # never asked: the ids are given
        tokenizer_object=Tokenizer(models.WordLevel({"<pad>": 0}, "<pad>")),
        eos_token="<pad>",
        pad_token="<pad>",
    )
    rows = shape.problems * shape.samples
    return GRPOTrainer(
        model=model,
        reward_funcs=lambda completions, **_: [0.0] * len(completions),
        args=GRPOConfig(
            output_dir=folder,
            use_cpu=model.device.type == "cpu",
            bf16=model.device.type == "cuda",
            report_to="none",
            loss_type="grpo",
            gradient_checkpointing=False,
            per_device_train_batch_size=rows,
            num_generations=shape.samples,
            max_completion_length=shape.completion,
        ),
        train_dataset=Dataset.from_list([{"prompt": "x"}] * rows),
        processing_class=tokenizer,
    )


def trl_backward(trainer: Any, model: Any, shape: Shape, rows_at_once: int) -> None:
    prompts, completions = shape.prompts(), shape.completions()
    flat = [(p, c) for p, group in zip(prompts, completions, strict=True) for c in group]
    device = model.device
    values = advantages(shape, device)
    trainer.current_gradient_accumulation_steps = len(flat) // rows_at_once
    for start in range(0, len(flat), rows_at_once):
        part = flat[start : start + rows_at_once]
        prompt_ids = torch.tensor([p for p, _ in part], device=device)
        completion_ids = torch.tensor([c for _, c in part], device=device)
        inputs = {
            "prompt_ids": prompt_ids,
            "prompt_mask": torch.ones_like(prompt_ids),
            "completion_ids": completion_ids,
            "completion_mask": torch.ones_like(completion_ids),
            "advantages": values[start : start + rows_at_once],
        }
        with layers_of_peft():
            trainer.compute_loss(model, inputs).backward()


def single_call_baselines(
    model: Any, trainer: Any, shape: Shape, batches: Sequence[int]
) -> dict[str, Callable[[], None]]:
    """Name -> one forward and backward pass of the step; TRL's names begin with TRL."""
    gpu = model.device.type == "cuda"

    def recomputed(backward: Callable[[], None]) -> None:
        with recomputing(model):
            backward()

    ways: dict[str, Callable[[], None]] = {}
    for rows in batches:
        if (shape.problems * shape.samples) % rows:
            continue
        way = partial(trl_backward, trainer, model, shape, rows)
        ways[f"TRL, {rows} rows at once"] = way
        if gpu:
            ways[f"TRL, {rows} rows, recomputed"] = partial(recomputed, way)
    ours = partial(packed_backward, model, shape)
    ways["packed row"] = ours
    if gpu:
        ways["packed row, recomputed"] = partial(recomputed, ours)
    return ways


def compare_update(
    model: Any, title: str, shape: Shape, batches: Sequence[int], rounds: int
) -> None:
    model.train()
    config = model.get_base_model().config
    limit = naive_operations(config, shape) / packed_operations(config, shape)
    runs: dict[str, list[Measured]] = {}
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trainer = trl_trainer(model, shape, folder)
        ways = single_call_baselines(model, trainer, shape, batches)
        for _ in range(rounds):
            for name in [*ways]:
                try:
                    runs.setdefault(name, []).append(one_update(model, ways[name]))
                except torch.OutOfMemoryError:
                    del ways[name]
                    runs.pop(name)
                    print(f"  {name}: more memory than the GPU has")
                    model.zero_grad(set_to_none=True)
    print(
        f"\n{title}: {shape.problems} problem(s), prompt {shape.prompt} ({shape.shared} shared), "
        f"completion {shape.completion}, K {shape.samples}; tokens {shape.naive_tokens} -> "
        f"{shape.packed_tokens}; best of {rounds}"
    )
    found = {name: best(of_way) for name, of_way in runs.items()}
    for name, run in found.items():
        print(
            f"  {name:24} {run.seconds:8.2f} s  {run.cpu_s:8.2f} processor s  "
            f"peak {run.peak_mib:6.0f} MiB  gradient norm {run.norm:.6g}"
        )
    sides = [
        [run for name, run in found.items() if name.startswith("TRL") is of_trl]
        for of_trl in (True, False)
    ]
    if not all(sides):
        print("  no ratio: one side does not fit", flush=True)
        return
    (clock, cpu, memory), (our_clock, our_cpu, our_memory) = (
        [min(getattr(run, part) for run in side) for part in ("seconds", "cpu_s", "peak_mib")]
        for side in sides
    )
    norms = [run.norm for run in found.values()]
    print(
        f"  ratio to TRL's best {clock / our_clock:.2f} by the clock, {cpu / our_cpu:.2f} by processor time; "
        f"limit {limit:.2f}; least memory {our_memory / memory:.2f} of TRL's least; norms differ by "
        f"{max(norms) / min(norms) - 1:.1e}",
        flush=True,
    )


# --------------------------------------------------------------------------------------- sampling
class EndlessSampler(HFSampler):
    """Writes to the limit: both sides must make the same number of tokens."""

    def prompt_ids(self, messages: Sequence[Any]) -> list[int]:
        return tokens(int(messages[0].content), 0)

    def _completion(self, prompt: list[int], row: Any) -> Any:
        return tuple(row.ids)

    def _finished(self, row: Any, *, last: bool) -> bool:
        return last


def compare_sampling(model: Any, shape: Shape, new_tokens: int, rounds: int) -> None:
    from llm_as_judge.types import Message, Prompt, Sampling

    model.eval()
    device = model.device
    policy = Policy(model, tokenizer=None, device=device, dtype=model.get_base_model().dtype)
    sampler = EndlessSampler(policy)

    def ours(temperature: float) -> None:
        sampler.complete(
            [Prompt([Message("user", str(shape.prompt))])],
            Sampling(shape.samples, temperature, new_tokens),
        )

    def theirs() -> None:
        with layers_of_peft():
            model.generate(
                input_ids=torch.tensor([tokens(shape.prompt, 0)], device=device),
                do_sample=True,
                top_k=0,
                num_return_sequences=shape.samples,
                min_new_tokens=new_tokens,
                max_new_tokens=new_tokens,
                pad_token_id=0,
            )

    sides: list[Callable[[], None]] = [theirs, partial(ours, 1.0), partial(ours, 0.0)]
    found: list[list[Measured]] = [[], [], []]
    for _ in range(rounds):
        for i, work in enumerate(sides):
            with peak_memory(device) as peak:
                started, cpu = time.perf_counter(), time.process_time()
                work()
                finish(device)
                seconds, cpu_s = time.perf_counter() - started, time.process_time() - cpu
            found[i].append(Measured(seconds, cpu_s, peak[0]))
    print(f"\nsampling: prompt {shape.prompt}, {shape.samples} x {new_tokens} tokens")
    anchor, own, alike = map(best, found)
    for name, run in (("generate", anchor), ("one prefill", own), ("the same, all alike", alike)):
        print(
            f"  {name:22} {run.seconds:8.2f} s  {run.cpu_s:8.2f} processor s  "
            f"peak {run.peak_mib:6.0f} MiB"
        )
    print(
        f"  ratio {anchor.seconds / own.seconds:.2f} by the clock, {anchor.cpu_s / own.cpu_s:.2f} "
        f"by processor time; all alike {anchor.seconds / alike.seconds:.2f} and "
        f"{anchor.cpu_s / alike.cpu_s:.2f}",
        flush=True,
    )


def cost_per_token(model: Any, shape: Shape, samples: Sequence[int], rounds: int) -> None:
    """The packed row alone: time per token of it, and per operation, as K grows.

    A token of a completion needs more operations than one of the prompt: the head, and a longer past.
    """
    model.train()
    config = model.get_base_model().config
    print(f"\ncost of the packed row: prompt {shape.prompt}, completion {shape.completion}")
    for k in samples:
        one = Shape(1, shape.prompt, shape.prompt, shape.completion, k)
        run = best([one_update(model, partial(packed_backward, model, one)) for _ in range(rounds)])
        print(
            f"  K {k:2}: {run.seconds:7.2f} s, {run.cpu_s:7.2f} processor s, "
            f"{1e3 * run.cpu_s / one.packed_tokens:.2f} processor ms a token of the row "
            f"({packed_operations(config, one) / one.packed_tokens / 1e6:.1f} million operations), "
            f"{1e12 * run.cpu_s / packed_operations(config, one):.1f} ps an operation, "
            f"peak {run.peak_mib:.0f} MiB",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--model",
        default="tiny",
        help="tiny, qwen2.5-0.5b, qwen2.5-7b (random weights), a name in models.yaml, or a folder",
    )
    parser.add_argument("--layers", type=int, help="only the first layers: a share of the time")
    parser.add_argument("--rank", type=int, default=16, help="of the adapter")
    parser.add_argument("--part", choices=PARTS, action="append", help="default: all")
    parser.add_argument("--rows", default="6,1", help="TRL's rows at once; its best counts")
    parser.add_argument("--samples", default="6", help="K of the first two parts and of sampling")
    parser.add_argument("--new-tokens", type=int, help="that each row writes in the sampling part")
    parser.add_argument("--rounds", type=int, default=2, help="turns of each side; the best counts")
    parser.add_argument("--quick", action="store_true", help="short prompts: does it run at all")
    options = parser.parse_args()
    device = pick_device("auto")
    model, said = load(options.model, options.layers, device, options.rank)
    where = torch.cuda.get_device_name(device) if device.type == "cuda" else "the processor"
    dtype = str(model.get_base_model().dtype).removeprefix("torch.")
    print(
        f"{said}, {dtype}, on {where}, {torch.get_num_threads()} threads, torch {torch.__version__}"
    )
    group, tree = (QUICK_GROUP, QUICK_TREE) if options.quick else (GROUP, TREE)
    parts = options.part or PARTS
    batches, counts = (
        [int(number) for number in text.split(",")] for text in (options.rows, options.samples)
    )
    # a first pass: thread pools, lazy imports
    one_update(model.train(), lambda: packed_backward(model, Shape(1, 30, 30, 5, 2)))
    alike = QUICK_ALIKE if options.quick else ALIKE
    for part, title, shape in (
        *(("update", "update", replace(group, samples=k)) for k in counts),
        *(("tree", "tree", replace(tree, samples=k)) for k in counts),
        ("alike", "programs alike", alike),
        ("alike", "the same, not alike", replace(alike, alike=0)),
    ):
        if part in parts:
            compare_update(model, title, shape, batches, options.rounds)
    if "sampling" in parts:
        new_tokens = options.new_tokens or (16 if options.quick else 64)
        for k in counts:
            compare_sampling(model, replace(group, samples=k), new_tokens, options.rounds)
    if "cost" in parts:
        cost_per_token(model, group, (4, 8, 16), options.rounds)


if __name__ == "__main__":
    main()

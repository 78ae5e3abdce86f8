"""A whole training step against TRL 1.16: sampling, uneven rewards, update; same model, same tokens.

TRL's own `GRPOTrainer.train()` at the better of its batch settings, with an async reward function that
waits for all completions of a step at once; and this project's own parts (HFSampler, RolloutRunner,
Pipeline, Learner) at S = 0 and S = 1. A program "runs" for 2-60 s (log-normal, median 8 s), scaled down;
the scale decides how much waiting there is to hide, so it is printed and several can be given. The first
step of each side is left out: thread pools, lazy imports, and with S = 1 two steps are sampled in it.
Both sides wait and learn alike, whatever is written: how long a program runs depends on its place in the run,
and of each group every second one is right.

On a GPU all of it is in bfloat16, TRL under its own autocast.

    python benchmarks/whole_step.py [--model tiny] [--rows 6,1] [--scale 0.1,0.3] [--steps 4]
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
import warnings
from dataclasses import dataclass
from functools import partial
from itertools import count, pairwise
from pathlib import Path
from typing import Any

from pipeline import latency_s
from shapes import Shape

from llm_as_judge.types import Budget, PolicyTurn
from training import EndlessSampler  # before torch: it sets how threads wait

import torch  # isort: skip
from adapted import layers_of_peft, load
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, PrinterCallback, TrainerCallback

from llm_as_judge.llm.billing import current_scope
from llm_as_judge.policy.model import Policy, pick_device
from llm_as_judge.policy.prompt import PolicyPrompt
from llm_as_judge.policy.thread import PolicyThread
from llm_as_judge.reward import RewardOptions
from llm_as_judge.rollout import RolloutRunner
from llm_as_judge.training.grpo import LossOptions
from llm_as_judge.training.learner import Learner, OptimizerOptions
from llm_as_judge.training.pipeline import Pipeline, StartedStep
from llm_as_judge.training.reference import UpdatePath
from llm_as_judge.types import Completion, Execution, Problem, Program, Sampling, Verdict

RATE = 1e-6
WORDS = 8192


@dataclass(frozen=True, slots=True)
class Work:
    """What both sides do."""

    shape: Shape
    steps: int
    scale: float

    def seconds(self, problem: str, k: int) -> float:
        return self.scale * latency_s(f"{problem}/{k}")


def name(step: int, n: int) -> str:
    """Of the n-th problem of a step, counted from 1."""
    return f"{step}/{n}"


def right(k: int) -> bool:
    return k % 2 == 0


# -------------------------------------------------------------------------------------------- TRL
class Clock(TrainerCallback):  # type: ignore[misc]  # transformers has no types
    def __init__(self) -> None:
        self.ends: list[float] = []

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.ends.append(time.perf_counter())


def words() -> PreTrainedTokenizerFast:
    """A word of the prompt's text is a token: TRL gets the very ids."""
    tokenizer = Tokenizer(models.WordLevel({"<pad>": 0, **{f"w{i}": i for i in range(1, WORDS)}}))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<pad>", pad_token="<pad>", padding_side="left"
    )


def trl_step_s(model: Any, work: Work, rows_at_once: int) -> float:
    from trl import GRPOConfig, GRPOTrainer

    shape, steps = work.shape, count(1)

    async def reward(completion_ids: list[list[int]], **_: Any) -> list[float]:
        # a step's programs in one call, those of a problem beside each other
        step = next(steps)
        rows = [divmod(row, shape.samples) for row in range(len(completion_ids))]
        waits = (asyncio.sleep(work.seconds(name(step, n), k)) for n, k in rows)
        await asyncio.gather(*waits)
        return [10.0 if right(k) else -5.0 for _, k in rows]

    prompts = [{"prompt": " ".join(f"w{i}" for i in ids)} for ids in shape.prompts()]
    rows, clock = shape.problems * shape.samples, Clock()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trainer = GRPOTrainer(
            model=model,
            reward_funcs=reward,
            args=GRPOConfig(
                output_dir=folder,
                use_cpu=model.device.type == "cpu",
                bf16=model.device.type == "cuda",
                report_to="none",
                save_strategy="no",
                disable_tqdm=True,
                logging_strategy="no",
                loss_type="grpo",
                learning_rate=RATE,
                gradient_checkpointing=False,
                per_device_train_batch_size=rows_at_once,
                gradient_accumulation_steps=rows // rows_at_once,
                num_generations=shape.samples,
                max_completion_length=shape.completion,
                generation_kwargs={"min_new_tokens": shape.completion},
                temperature=1.0,
                top_k=0,
                max_steps=work.steps,
                shuffle_dataset=False,
            ),
            train_dataset=Dataset.from_list(prompts * work.steps),
            processing_class=words(),
            callbacks=[clock],
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    return statistics.fmean(b - a for a, b in pairwise(clock.ends))


# ------------------------------------------------------------------------------------ this project
class WholeSampler(EndlessSampler):
    """Problem number n has the ids of the shape's n-th prompt."""

    def __init__(self, policy: Policy, shape: Shape, turn: PolicyTurn) -> None:
        super().__init__(policy, turn=turn)
        self._prompts = shape.prompts()

    def prompt_ids(self, messages: Any) -> list[int]:
        return self._prompts[int(messages[-1].content)]

    def _completion(self, prompt: list[int], row: Any) -> Completion:
        text = " ".join(map(str, row.ids))
        version = self._policy.version
        return Completion(tuple(prompt), tuple(row.ids), tuple(row.logprobs), text, "stop", version)


class SlowPrograms:
    """An environment in which half of a group's programs are right, each after its own time."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def parse(self, text: str, problem: Problem) -> Program:
        return Program(text, text, hash=text)

    async def run(self, program: Program, problem: Problem) -> Execution:
        await asyncio.sleep(self._work.seconds(problem.id, _place_in_group()))
        return Execution("ok", program.source)

    async def grade(self, problem: Problem, execution: Execution) -> Verdict:
        return Verdict(right(_place_in_group()), "exact", "every second one")

    def of_group(self, budget: Budget | None = None) -> SlowPrograms:
        return self


def _place_in_group() -> int:
    return int(current_scope().rollout.rpartition("#")[2])


async def our_step_s(model: Any, work: Work, staleness: int) -> float:
    shape = work.shape
    dtype = model.get_base_model().dtype
    policy = Policy(model.eval(), tokenizer=None, device=model.device, dtype=dtype)
    options = OptimizerOptions(learning_rate=RATE)
    learner = Learner(policy, LossOptions(), options, path=UpdatePath("packed", "tested elsewhere"))

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "body.yaml").write_text("system: <<operators>>\nuser: <<problem>>\n")
        on_policy = PolicyThread(policy.base)
        runner = RolloutRunner(
            SlowPrograms(work),
            WholeSampler(policy, shape, on_policy),
            PolicyPrompt(Path(folder), "body", {"math": "m", "qa": "q", "code": "c"}),
            RewardOptions(),
        )

        async def start(step: int) -> StartedStep:
            problems = [
                Problem(name(step, n), "gsm8k", "math", str(n), ("4",))
                for n in range(shape.problems)
            ]
            sampling = Sampling(shape.samples, 1.0, shape.completion, seed=step)
            batch = await runner.start(problems, sampling)
            return StartedStep(step, batch, {})

        # steps beyond those that are timed, so that none of these is without its successor
        pipeline = Pipeline(start, done=0, last=work.steps + staleness, staleness=staleness)
        ends: list[float] = []
        for done in range(work.steps):
            groups = await (await pipeline.next(done)).batch.groups()
            report = await on_policy(partial(learner.update, groups, temperature=1.0))
            learned = int(report["update/groups"]), int(report.get("update/tokens", 0))
            wanted = shape.problems, shape.problems * shape.samples * shape.completion
            if learned != wanted:
                raise SystemExit(
                    f"step {done + 1} at S = {staleness}: learned from (groups, tokens) {learned}; TRL "
                    f"learns from {wanted}, so their times are not comparable"
                )
            ends.append(time.perf_counter())
        await pipeline.aclose()
        on_policy.close()
    return statistics.fmean(b - a for a, b in pairwise(ends))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="tiny", help="as for training.py")
    parser.add_argument("--layers", type=int, help="only the first layers: a share of the time")
    parser.add_argument("--rank", type=int, default=16, help="of the adapter")
    parser.add_argument("--shape", default="4,1200,1500,64,6", help="see Shape in training.py")
    parser.add_argument("--rows", default="6,1", help="TRL's rows at once; its best counts")
    parser.add_argument("--scale", default="0.1,0.3", help="seconds waited for one of a program")
    parser.add_argument("--steps", type=int, default=4, help="of each run; all but the first count")
    options = parser.parse_args()
    shape = Shape(*map(int, options.shape.split(",")))
    device = pick_device("auto")
    where = torch.cuda.get_device_name(device) if device.type == "cuda" else "the processor"
    print(f"{shape}, {options.steps} steps, on {where}, {torch.get_num_threads()} threads")
    for scale in map(float, options.scale.split(",")):
        work = Work(shape, options.steps, scale)
        theirs = {}
        for rows in map(int, options.rows.split(",")):
            # each run from the same weights
            model, said = load(options.model, options.layers, device, options.rank)
            with layers_of_peft():
                theirs[rows] = trl_step_s(model, work, rows)
        anchor = min(theirs.values())
        dtype = str(model.get_base_model().dtype).removeprefix("torch.")
        print(f"\n{said}, {dtype}; programs of {2 * scale:g}-{60 * scale:g} s (scale {scale:g})")
        for rows, seconds in theirs.items():
            print(f"  TRL, {rows:2} rows at once{seconds:9.2f} s a step")
        for staleness in (0, 1):
            model, _ = load(options.model, options.layers, device, options.rank)
            seconds = asyncio.run(our_step_s(model, work, staleness))
            print(
                f"  S = {staleness} {seconds:19.2f} s a step, {anchor / seconds:.2f} times TRL's best"
            )


if __name__ == "__main__":
    main()

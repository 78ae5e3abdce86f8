"""Imitation stage before the first step: the policy learns to write programs of a bank.

Problems come in a seeded order, ``training.problems_per_step`` to an update, each with the prompt that
it is sampled with; where training draws budgets, each epoch draws one for each problem, whose programs are then
weighed at its price. The loss is the weighted negative log-likelihood of the programs, by the learner
that GRPO has, too, with an optimizer of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

from llm_as_judge.data.mix import named_rng
from llm_as_judge.errors import DataError
from llm_as_judge.policy.chat_template import FENCE, prompt_ids
from llm_as_judge.runs.table import BankProgram
from llm_as_judge.training.grpo import LossOptions
from llm_as_judge.training.imitation_targets import ImitationTarget, Write
from llm_as_judge.training.learner import Learner, OptimizerOptions
from llm_as_judge.training.micro_batches import Tree
from llm_as_judge.training.options import TrainingContext, WarmStartOptions
from llm_as_judge.training.ranks import Peers
from llm_as_judge.training.reference import UpdatePath
from llm_as_judge.training.warm_start import KEY, WarmStartPlan, in_the_policys_form
from llm_as_judge.types import Budget, Completion

Told = tuple[ImitationTarget, Budget | None]
"""What is learned for a problem, and the budget that its prompt names."""


class Imitation:
    """The stage itself, on a policy that is loaded.

    Args:
        path, peers: GRPO's: how log-probs are computed, and by what other processes.
    Raises:
        DataError: no program that was right can be taught; the stage is another than it was.
    """

    def __init__(
        self,
        options: WarmStartOptions,
        context: TrainingContext,
        plan: WarmStartPlan,
        path: UpdatePath,
        peers: Peers | None = None,
    ) -> None:
        self._options, self._context, self.progress = options, context, plan.state
        write = cache(_writer(options, context.policy.tokenizer))
        by_budget = plan.targets(options, write)
        self._batches = batches_of(by_budget, options)
        if self.progress.batches not in (None, len(self._batches)):
            raise DataError(
                f"{KEY}: the stage had {self.progress.batches} updates and has {len(self._batches)} "
                "now; set training and sampling back, or start a new run"
            )
        self.progress.batches = len(self._batches)
        targets = [target for one in by_budget.values() for target in one]
        self.progress.problems = len({target.problem.id for target in targets})
        self.progress.programs = len({ids for target in targets for ids in target.programs_K})
        self.summary = plan.says(targets, len(self._batches))
        """What is taught, in a line."""
        self.learner = Learner(
            context.policy,
            LossOptions(),
            OptimizerOptions(
                learning_rate=options.learning_rate,
                schedule="linear",
                total_steps=len(self._batches),
                weight_decay=options.weight_decay,
                max_grad_norm=options.max_grad_norm,
                tokens_per_micro_batch=options.tokens_per_micro_batch,
            ),
            path=path,
            peers=peers,
        )

    @property
    def count(self) -> int:
        """Updates of the whole stage."""
        return len(self._batches)

    async def updates(self, doing: Callable[[str], None]) -> AsyncGenerator[bool, None]:
        """Makes all updates that are left; after each, whether a checkpoint is due: every
        ``training.save_every`` of them and at the end.

        Args:
            doing: told what each update came to.
        Raises:
            TrainingError: the run must not go on; the last checkpoint is intact.
        """
        state = self.progress
        while not state.done:
            trees = await asyncio.to_thread(self._trees, self._batches[len(state.losses)])
            update = partial(self.learner.imitate, trees, temperature=self._options.temperature)
            state.losses += ((await self._context.on_policy(update))["update/loss"],)
            doing(f"loss {state.losses[-1]:.3f} nats a token")
            yield state.done or len(state.losses) % self._options.save_every == 0

    def _trees(self, batch: Sequence[Told]) -> list[Tree]:
        """The prompts of these problems, as they are sampled with, and what is to be written."""
        targets, budgets = [target for target, _ in batch], [budget for _, budget in batch]
        prompts = self._context.prompt.write([target.problem for target in targets], budgets)
        tokenizer = self._context.policy.tokenizer
        return [
            (
                [
                    Completion(ids, program, (), "", "stop")
                    for ids in [tuple(prompt_ids(tokenizer, prompt.messages))]
                    for program in target.programs_K
                ],
                list(target.weights_K),
            )
            for prompt, target in zip(prompts, targets, strict=True)
        ]


def batches_of(
    targets: Mapping[Budget, Sequence[ImitationTarget]], options: WarmStartOptions
) -> list[list[Told]]:
    """The updates of the whole stage, the same for the same targets and seed.

    Args:
        targets: at each budget that may be told, or at one that is not; of the same problems.
    """
    budgets = options.budgets
    by_problem = {word: {one.problem.id: one for one in of} for word, of in targets.items()}
    found = []
    for epoch in range(options.epochs):
        order = [target.problem for target in next(iter(targets.values()))]
        named_rng(budgets.seed, "warm start", str(epoch)).shuffle(order)
        told = [
            (by_problem[budget or budgets.usual][problem.id], budget)
            for problem, budget in zip(order, budgets.of(order, "warm start", epoch), strict=True)
        ]
        size = options.problems_per_update
        found += [told[at : at + size] for at in range(0, len(told), size)]
    return found


def _writer(options: WarmStartOptions, tokenizer: Any) -> Write:
    """A program of the bank -> token ids as the sampler would give them, up to the closing fence."""
    most, special = options.max_new_tokens, frozenset(tokenizer.all_special_ids)
    text_of = in_the_policys_form(options)

    def write(program: BankProgram) -> tuple[int, ...] | None:
        text = text_of(program)
        if text is None:
            return None
        ids = tuple(tokenizer(f"{text}\n{FENCE}", add_special_tokens=False)["input_ids"])
        # a text that someone else wrote may hold a marker of the template
        return ids if len(ids) <= most and special.isdisjoint(ids) else None

    return write

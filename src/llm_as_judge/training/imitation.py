"""The stage before the first step: the policy imitates what a bank's programs did best.

Problems come in a seeded order, ``training.problems_per_step`` to an update, each with the prompt that
it is sampled with; where training draws budgets, each epoch draws one for each problem, whose programs are then
weighed at its price. The loss is the weighted negative log-likelihood of the programs, by the learner
that GRPO has, too, with an optimizer of its own.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

from torch import Tensor

from llm_as_judge.assembly import System
from llm_as_judge.assembly.budgets import budgets_told
from llm_as_judge.config import Config
from llm_as_judge.data.mix import named_rng
from llm_as_judge.errors import DataError
from llm_as_judge.policy.chat_template import FENCE, prompt_ids
from llm_as_judge.runs.bank import BankProgram
from llm_as_judge.training.lessons import Lesson, Write
from llm_as_judge.training.micro_batches import Tree
from llm_as_judge.training.ranks import Peers
from llm_as_judge.training.reference import UpdatePath
from llm_as_judge.training.settings import imitator_of
from llm_as_judge.training.teacher import KEY, Teacher, in_the_policys_form
from llm_as_judge.types import Budget, Completion

Told = tuple[Lesson, Budget | None]
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
        config: Config,
        system: System,
        teacher: Teacher,
        path: UpdatePath,
        peers: Peers | None = None,
    ) -> None:
        self._config, self._system, self.taught = config, system, teacher.taught
        write = cache(_writer(config, system.policy.tokenizer))
        by_budget = teacher.lessons(config, write)
        self._batches = batches_of(by_budget, config)
        if self.taught.batches not in (None, len(self._batches)):
            raise DataError(
                f"{KEY}: the stage had {self.taught.batches} updates and has {len(self._batches)} "
                "now; set training and sampling back, or start a new run"
            )
        self.taught.batches = len(self._batches)
        lessons = [lesson for one in by_budget.values() for lesson in one]
        self.taught.problems = len({lesson.problem.id for lesson in lessons})
        self.taught.programs = len({ids for lesson in lessons for ids in lesson.programs_K})
        self.said = teacher.says(lessons, len(self._batches))
        """What is taught, in a line."""
        self._learner = imitator_of(config, system.policy, len(self._batches), path, peers)

    def load_state(self, plain: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        """The inverse of :meth:`state`.

        Raises:
            ModelError: it is of another policy.
        """
        self._learner.load_state(plain, tensors)

    def state(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """Of the stage's own learner, as :meth:`Learner.state`."""
        return self._learner.state()

    async def updates(
        self, say: Callable[[str], None], doing: Callable[[str], None]
    ) -> AsyncGenerator[bool, None]:
        """Makes all updates that are left; after each, whether a checkpoint is due: every
        ``training.save_every`` of them and at the end.

        Args:
            say: told what each update came to.
            doing: told which one begins.
        Raises:
            TrainingError: the run must not go on; the last checkpoint is intact.
        """
        taught, total = self.taught, len(self._batches)
        began, first = time.perf_counter(), len(taught.losses)
        while not taught.done:
            doing(f"warm start: update {len(taught.losses) + 1} of {total}")
            trees = await asyncio.to_thread(self._trees, self._batches[len(taught.losses)])
            taught.losses += (await self._system.on_policy(partial(self._one, trees)),)
            number = len(taught.losses)
            left = (time.perf_counter() - began) / (number - first) * (total - number)
            say(
                f"warm start: update {number} of {total}, loss {taught.losses[-1]:.3f} "
                f"nats a token, {left:.0f} s left"
            )
            yield taught.done or number % self._config.training.save_every == 0

    def _one(self, trees: Sequence[Tree]) -> float:
        temperature = self._config.sampling.temperature
        return self._learner.imitate(trees, temperature=temperature)["update/loss"]

    def _trees(self, batch: Sequence[Told]) -> list[Tree]:
        """The prompts of these problems, as they are sampled with, and what is to be written."""
        lessons, budgets = [lesson for lesson, _ in batch], [budget for _, budget in batch]
        prompts = self._system.prompt.write([lesson.problem for lesson in lessons], budgets)
        tokenizer = self._system.policy.tokenizer
        return [
            (
                [
                    Completion(ids, program, (), "", "stop")
                    for ids in [tuple(prompt_ids(tokenizer, prompt.messages))]
                    for program in lesson.programs_K
                ],
                list(lesson.weights_K),
            )
            for prompt, lesson in zip(prompts, lessons, strict=True)
        ]


def batches_of(lessons: Mapping[Budget, Sequence[Lesson]], config: Config) -> list[list[Told]]:
    """The updates of the whole stage, the same for the same lessons and seed.

    Args:
        lessons: at each budget that may be told, or at one that is not; of the same problems.
    """
    training = config.training
    by_problem = {word: {one.problem.id: one for one in of} for word, of in lessons.items()}
    found = []
    for epoch in range(training.warm_start_epochs):
        order = [lesson.problem for lesson in next(iter(lessons.values()))]
        named_rng(training.seed, "warm start", str(epoch)).shuffle(order)
        told = [
            (by_problem[budget or config.reward.one_budget][problem.id], budget)
            for problem, budget in zip(
                order, budgets_told(config, order, "warm start", epoch), strict=True
            )
        ]
        size = training.problems_per_step
        found += [told[at : at + size] for at in range(0, len(told), size)]
    return found


def _writer(config: Config, tokenizer: Any) -> Write:
    """A program of the bank -> token ids as the sampler would give them, up to the closing fence."""
    most, special = config.sampling.max_new_tokens, frozenset(tokenizer.all_special_ids)
    text_of = in_the_policys_form(config)

    def write(program: BankProgram) -> tuple[int, ...] | None:
        text = text_of(program)
        if text is None:
            return None
        ids = tuple(tokenizer(f"{text}\n{FENCE}", add_special_tokens=False)["input_ids"])
        # a text that someone else wrote may hold a marker of the template
        return ids if len(ids) <= most and special.isdisjoint(ids) else None

    return write

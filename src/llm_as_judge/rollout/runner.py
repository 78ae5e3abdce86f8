"""Groups of K rollouts: sample the programs of each problem, and let each run as it is written."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from llm_as_judge.policy.prompt import PolicyPrompt
from llm_as_judge.reward import RewardOptions
from llm_as_judge.rollout.batch import Batch
from llm_as_judge.rollout.environment import Environment
from llm_as_judge.runs.pending import Kept
from llm_as_judge.types import Budget, Group, PolicySampler, Problem, Sampling


class RolloutRunner:
    """Makes groups of scored rollouts.

    Args:
        env: where programs are checked, run and graded.
        sampler: writes them.
        timeout_s: a rollout that has no verdict so long after its program was written is a failure
            of ours; None = no deadline.
    """

    def __init__(
        self,
        env: Environment,
        sampler: PolicySampler,
        prompt: PolicyPrompt,
        reward: RewardOptions,
        *,
        timeout_s: float | None = None,
    ) -> None:
        self._env, self._sampler, self._prompt = env, sampler, prompt
        self._reward, self._timeout_s = reward, timeout_s

    async def groups(self, problems_P: Sequence[Problem], sampling: Sampling) -> list[Group]:
        return await (await self.start(problems_P, sampling)).groups()

    async def start(
        self,
        problems_P: Sequence[Problem],
        sampling: Sampling,
        *,
        known: Mapping[tuple[int, int], Kept] | None = None,
        budgets_P: Sequence[Budget | None] | None = None,
        confirmed: bool = False,
    ) -> Batch:
        """Begin to sample; every program runs from the moment it is written. Returns once the
        weights that write are settled (``types.PolicySampler``): what is written and runs goes on
        until the batch has been iterated over, or :meth:`Batch.aclose`.

        Args:
            known: by position of problem and sample, what an earlier run left: the program, and
                the execution and verdict if it got so far. They are not paid for again.
            budgets_P: see :meth:`PolicyPrompt.write`; a group is rewarded by the word of its prompt.
            confirmed: see :class:`Batch`.
        """
        batch = Batch(
            problems_P,
            self._env,
            self._reward,
            sampling.samples,
            timeout_s=self._timeout_s,
            confirmed=confirmed,
        )
        try:
            batch.take(known or {})
            if not batch.written:
                prompts_P = await asyncio.to_thread(self._prompt.write, problems_P, budgets_P)
                batch.prompted({p: prompt.facts for p, prompt in enumerate(prompts_P)})
                batch.follow(await self._sampler.sample(prompts_P, sampling))
        except BaseException:
            await batch.aclose()
            raise
        return batch

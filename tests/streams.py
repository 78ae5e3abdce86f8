"""Samples of a sampler's stream, as lists; and one synced version of a policy to sample from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from llm_as_judge.policy.vllm import Adapter, VllmSampler
from llm_as_judge.types import (
    Completion,
    Message,
    PolicySampler,
    Prompt,
    Sample,
    SampleStream,
    Sampling,
)

Conversation = Sequence[Message]


def prompts(messages_P: Sequence[Conversation]) -> list[Prompt]:
    return [Prompt(messages) for messages in messages_P]


async def listed(
    stream: SampleStream, each: Callable[[Sample], None] = lambda _: None
) -> list[list[Completion]]:
    """(P, K) completions; ``each`` hears of them as they come."""
    found: dict[tuple[int, int], Completion] = {}
    async for sample in stream:
        each(sample)
        found[sample.p, sample.k] = sample.completion
    groups: dict[int, list[Completion]] = {}
    for p, k in sorted(found):
        groups.setdefault(p, []).append(found[p, k])
    return list(groups.values())


async def sampled(
    sampler: PolicySampler, messages_P: Sequence[Conversation], sampling: Sampling
) -> list[list[Completion]]:
    return await listed(await sampler.sample(prompts(messages_P), sampling))


@dataclass(frozen=True)
class SyncedWeights:
    """One version of the weights, at the server."""

    server: VllmSampler
    adapter: Adapter

    async def sample(
        self,
        messages_P: Sequence[Conversation],
        sampling: Sampling,
        each: Callable[[Sample], None] = lambda _: None,
    ) -> list[list[Completion]]:
        return await listed(self.server.write(self.adapter, prompts(messages_P), sampling), each)


async def sync_weights(server: VllmSampler) -> SyncedWeights:
    return SyncedWeights(server, await server.sync_weights())

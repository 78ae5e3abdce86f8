"""Programs that a policy wrote, kept in a recording beside the calls: an evaluation is replayed
without the policy's weights.

A prompt's programs are found by the SHA-256 of policy, messages and sampling. The seed is no part of
it: an evaluation that was broken off draws what is missing with other seeds.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from llm_as_judge.errors import ModelError
from llm_as_judge.llm.pool import Pool
from llm_as_judge.llm.recording import Outcome
from llm_as_judge.quoting import without_keys
from llm_as_judge.types import (
    Completion,
    PolicySampler,
    Prompt,
    Sample,
    SampleStream,
    Sampling,
    to_json,
)


class RecordedSampler:
    """PolicySampler that keeps what ``sampler`` writes, or gives only what was kept.

    Args:
        sampler: None = replay: a prompt that was not recorded is an error.
        policy: what decides the programs beside prompt and sampling, such as a hash of the adapter.
    """

    def __init__(
        self, sampler: PolicySampler | None, recording: Pool, policy: Mapping[str, str]
    ) -> None:
        self._sampler = sampler
        self._recording = recording
        self._policy = dict(policy)

    async def sample(self, prompts_P: Sequence[Prompt], sampling: Sampling) -> SampleStream:
        """What was recorded, and what is missing from the sampler: see ``types.PolicySampler``.

        Raises:
            ModelError: replay of a prompt that was not recorded.
        """
        asked_P = [self._asked(prompt, sampling) for prompt in prompts_P]
        missing = [p for p, asked in enumerate(asked_P) if self._known(asked) is None]
        if not missing:
            return self._told(asked_P)
        if self._sampler is None:
            raise ModelError(
                f"replay: the policy was not asked this in {self._recording.path} "
                f"({without_keys(prompts_P[missing[0]].messages[-1].content)[-80:]!r}); the evaluation differs "
                "from the recorded one: record again"
            )
        new = await self._sampler.sample([prompts_P[p] for p in missing], sampling)
        return self._told(asked_P, missing, new, sampling.samples)

    async def _told(
        self,
        asked_P: Sequence[dict[str, Any]],
        missing: Sequence[int] = (),
        new: SampleStream | None = None,
        samples: int = 0,
    ) -> AsyncGenerator[Sample, None]:
        """A prompt's programs are kept when all of them are written."""
        for p, asked in enumerate(asked_P):
            for k, completion in enumerate(self._known(asked) or ()):
                yield Sample(p, k, completion)
        if new is None:
            return
        written: dict[int, dict[int, Completion]] = {p: {} for p in missing}
        try:
            async for position, k, completion in new:
                p = missing[position]
                written[p][k] = completion
                if len(written[p]) == samples:
                    done = tuple(written[p][k] for k in range(samples))
                    self._recording.put(_key(asked_P[p]), asked_P[p], Outcome(completions=done))
                yield Sample(p, k, completion)
        finally:
            await new.aclose()

    def _asked(self, prompt: Prompt, sampling: Sampling) -> dict[str, Any]:
        return {
            "policy": self._policy,
            "prompt": to_json(list(prompt.messages)),
            "samples": sampling.samples,
            "temperature": sampling.temperature,
            "max_new_tokens": sampling.max_new_tokens,
            "grammar": "",  # a part of the key of all that is recorded
        }

    def _known(self, asked: dict[str, Any]) -> tuple[Completion, ...] | None:
        outcome = self._recording.get(_key(asked))
        return outcome.completions if outcome is not None else None


def _key(asked: dict[str, Any]) -> str:
    text = json.dumps(asked, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()

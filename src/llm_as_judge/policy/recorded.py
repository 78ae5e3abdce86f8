"""Programs that a policy wrote, kept in a recording beside the calls: an evaluation is replayed
without the policy's weights.

A prompt's programs are found by the SHA-256 of policy, messages and sampling. The seed is no part of
it: an evaluation that was broken off draws what is missing with other seeds.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from llm_as_judge.errors import ModelError
from llm_as_judge.llm.recording import Outcome, Recording
from llm_as_judge.types import Completion, Message, OnCompletion, PolicySampler, Sampling, to_json


class RecordedSampler:
    """PolicySampler that keeps what ``sampler`` writes, or gives only what was kept.

    Args:
        sampler: None = replay: a prompt that was not recorded is an error.
        policy: what decides the programs beside prompt and sampling, such as a hash of the adapter.
    """

    def __init__(
        self, sampler: PolicySampler | None, recording: Recording, policy: Mapping[str, str]
    ) -> None:
        self._sampler = sampler
        self._recording = recording
        self._policy = dict(policy)

    def sample(
        self,
        prompts_P: list[list[Message]],
        sampling: Sampling,
        *,
        on_completion: OnCompletion | None = None,
        grammars_P: Sequence[str] | None = None,
    ) -> list[list[Completion]]:
        """(P, K) completions, recorded or new.

        Raises:
            ModelError: replay of a prompt that was not recorded.
            OutputError: the recording cannot be written.
        """
        grammars = grammars_P or [""] * len(prompts_P)
        asked = [
            {
                "policy": self._policy,
                "prompt": to_json(prompt),
                "samples": sampling.samples,
                "temperature": sampling.temperature,
                "max_new_tokens": sampling.max_new_tokens,
                "grammar": grammar,
            }
            for prompt, grammar in zip(prompts_P, grammars, strict=True)
        ]
        found = [self._known(question) for question in asked]
        missing = [p for p, known in enumerate(found) if known is None]
        if missing and self._sampler is None:
            raise ModelError(
                f"replay: the policy was not asked this in {self._recording.path} "
                f"({prompts_P[missing[0]][-1].content[-80:]!r}); the evaluation differs from the "
                "recorded one: record again"
            )
        if missing and self._sampler is not None:
            written = self._sampler.sample(
                [prompts_P[p] for p in missing],
                sampling,
                grammars_P=[grammars_P[p] for p in missing] if grammars_P else None,
            )
            for p, completions in zip(missing, written, strict=True):
                found[p] = tuple(completions)
                outcome = Outcome(completions=tuple(completions))
                self._recording.put(_key(asked[p]), asked[p], outcome)
        return _told(found, on_completion)

    def _known(self, asked: dict[str, Any]) -> tuple[Completion, ...] | None:
        outcome = self._recording.get(_key(asked))
        return outcome.completions if outcome is not None else None


def _told(
    found: Sequence[tuple[Completion, ...] | None], on_completion: OnCompletion | None
) -> list[list[Completion]]:
    programs_P = [list(completions or ()) for completions in found]
    if on_completion is not None:
        for p, completions in enumerate(programs_P):
            for k, completion in enumerate(completions):
                on_completion(p, k, completion)
    return programs_P


def _key(asked: dict[str, Any]) -> str:
    text = json.dumps(asked, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()

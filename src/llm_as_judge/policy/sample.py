"""Sampling with transformers: one prefill for what prompts share, K rows from each prompt.

The part common to all prompts of a call runs once, each prompt's own rest once, and rows of one prompt
that have written the same tokens so far are one row of the batch until they part: programs of a trained policy
differ in few places. A row's randomness comes from a stream of its own (seed, prompt, index), so a draw
does not depend on which rows it is batched with. Rows leave the batch when they end.

Log-probs are those of the distribution a token was drawn from: softmax(logits / temperature) in
float32, full vocabulary (top_p 1, no top_k).
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch

from llm_as_judge.policy.chat_template import FENCE, completion_of, prompt_ids
from llm_as_judge.policy.decode import decoding_batch
from llm_as_judge.policy.model import Policy
from llm_as_judge.policy.soundness import require_finite_logprobs
from llm_as_judge.policy.stream import Stream
from llm_as_judge.types import (
    Completion,
    Message,
    PolicyTurn,
    Prompt,
    Sample,
    Sampling,
    StopReason,
)


@dataclass(slots=True)
class _Row:
    """One completion being written."""

    stream: random.Random
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    stop: StopReason = "length"

    def completion(self, policy: Policy, prompt: list[int]) -> Completion:
        ids, logprobs = self.ids, self.logprobs
        return completion_of(policy.tokenizer, prompt, ids, logprobs, self.stop, policy.version)


class HFSampler:
    """A ``PolicySampler`` over the policy's own weights."""

    def __init__(
        self,
        policy: Policy,
        *,
        generation_batch_size: int = 64,
        turn: PolicyTurn = asyncio.to_thread,
    ) -> None:
        """
        Args:
            generation_batch_size: greatest number of rows decoded together (memory of the KV cache).
            turn: where :meth:`sample` writes; it decides the order of sampling and updates.
        """
        self._policy = policy
        self._generation_batch_size = generation_batch_size
        self._turn = turn

    async def sample(self, prompts_P: Sequence[Prompt], sampling: Sampling) -> Stream:
        """See ``types.PolicySampler``; the turn on the policy is taken at once."""
        loop, stream = asyncio.get_running_loop(), Stream()

        def write() -> None:  # in the policy's thread
            for sample in self.draw(prompts_P, sampling):
                loop.call_soon_threadsafe(stream.put, sample)

        stream.follow(self._turn(write))
        return stream

    def complete(self, prompts_P: Sequence[Prompt], sampling: Sampling) -> list[list[Completion]]:
        written = {(p, k): one for p, k, one in self.draw(prompts_P, sampling)}
        return [[written[p, k] for k in range(sampling.samples)] for p in range(len(prompts_P))]

    @torch.inference_mode()
    def draw(self, prompts_P: Sequence[Prompt], sampling: Sampling) -> Iterator[Sample]:
        """P x K programs as they end, in this thread."""
        ids_P = [self.prompt_ids(prompt.messages) for prompt in prompts_P]
        count = sampling.samples
        per_chunk = max(1, self._generation_batch_size // count)
        if self._policy.sliding_window:
            per_chunk = 1  # no padding: a window counts places in the row, padded ones too
        with self._policy.inference():
            for start in range(0, len(ids_P), per_chunk):
                chunk = ids_P[start : start + per_chunk]
                rows = [
                    _Row(random.Random(f"{sampling.seed}/{start + p}/{k}"))
                    for p in range(len(chunk))
                    for k in range(count)
                ]
                for i in self._decode(chunk, rows, sampling):
                    p, k = divmod(i, count)
                    yield Sample(start + p, k, rows[i].completion(self._policy, chunk[p]))

    def prompt_ids(self, messages: Sequence[Message]) -> list[int]:
        return prompt_ids(self._policy.tokenizer, messages)

    def _decode(
        self, ids_P: list[list[int]], rows: list[_Row], sampling: Sampling
    ) -> Iterator[int]:
        """Numbers of the rows as they end."""
        cache = decoding_batch(self._policy, sampling.samples)
        logits_S = cache.begin(ids_P)
        alive = list(range(len(rows)))
        place = [i // sampling.samples for i in alive]
        """Where in the batch each living row is."""
        limit = sampling.max_new_tokens
        for step in range(limit):
            drawing = [rows[i] for i in alive]
            tokens = self._draw(logits_S, drawing, place, sampling.temperature)
            require_finite_logprobs(
                (row.logprobs[-1] for row in drawing), f"policy {self._policy.name}"
            )
            keep = [
                j
                for j, i in enumerate(alive)
                if not self._finished(rows[i], last=step + 1 == limit)
            ]
            yield from (i for j, i in enumerate(alive) if j not in keep)
            if not keep:
                return
            parted: dict[tuple[int, int], int] = {}
            alive, place = (
                [alive[j] for j in keep],
                [parted.setdefault((place[j], tokens[j]), len(parted)) for j in keep],
            )
            chosen = [at for at, _ in parted]
            if chosen != list(range(len(logits_S))):
                cache.keep(chosen)
            written = [token for _, token in parted]
            logits_S = cache.step(torch.tensor(written, device=self._policy.device))

    @staticmethod
    def _draw(
        logits_S: torch.Tensor, rows: Sequence[_Row], place: Sequence[int], temperature: float
    ) -> list[int]:
        """Next token of every row; it and its log-prob are appended to the row.

        Args:
            place: of each row among the S that are decoded.
        """
        scaled = logits_S.float() / temperature if temperature > 0 else logits_S.float()
        logprobs_SV = torch.log_softmax(scaled, dim=-1)
        at = torch.tensor(place, device=logits_S.device)
        if temperature > 0:
            # Inverse CDF with one number per row: the stream of a row is its own.
            cdf_SV = logprobs_SV.double().exp().cumsum(-1)
            columns = [place[:i].count(s) for i, s in enumerate(place)]
            u = torch.tensor([row.stream.random() for row in rows], dtype=torch.float64)
            target_SR = cdf_SV.new_zeros(len(cdf_SV), max(columns) + 1)
            column = torch.tensor(columns, device=logits_S.device)
            target_SR[at, column] = u.to(logits_S.device) * cdf_SV[at, -1]
            found_SR = torch.searchsorted(cdf_SV, target_SR, right=True)
            tokens = found_SR[at, column].clamp_(max=logits_S.shape[-1] - 1)
        else:
            tokens = logprobs_SV.argmax(-1)[at]
        chosen = logprobs_SV[at, tokens].tolist()
        drawn: list[int] = tokens.tolist()
        for row, token, logprob in zip(rows, drawn, chosen, strict=True):
            row.ids.append(token)
            row.logprobs.append(logprob)
        return drawn

    def _finished(self, row: _Row, *, last: bool) -> bool:
        """Ends at the end-of-turn token or once the program's fence is closed."""
        closing = self._policy.tokenizer.decode(row.ids[-4:])
        if row.ids[-1] in self._policy.stop_ids or FENCE in closing:
            row.stop = "stop"
            return True
        return last

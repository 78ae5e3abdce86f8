"""Replies of one GGUF model, many at once: OpenVINO GenAI's continuous batching, in one thread.

Each request has a generator of its own, so who else is in the batch changes a reply by rounding alone: the
engine computes a row alike in most batches of two rows or more (batch_order.py at commit 7c35486 counts how
often not). A batch of one row it computes by another way, so a request that is alone gets a companion
that nobody reads.

Prompts are kept in blocks: one that begins like an earlier one is not read again, and one that is
being read just now is waited for.
"""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

_BLOCK_TOKENS = 32
"""Of the cache of keys and values, on a CPU."""
_PRECISION = "f32"
_STEP_TOKENS = 512
"""Read or written in one step of the whole batch."""
_COMPANION_TOKENS = 256
"""Then a new one begins: its past costs time at every step."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How one reply is drawn. Tokens below ``min_p`` times the likeliest one's share and those past
    the ``top_k`` likeliest are never drawn: the small models that a CPU serves need that."""

    max_tokens: int
    temperature: float = 1.0
    """0 = the likeliest token each time; everything below is then without effect."""
    top_p: float = 0.95
    top_k: int = 40
    min_p: float = 0.05
    seed: int = 0
    stop: tuple[str, ...] = ()
    json_schema: str = ""
    """EBNF; empty = none."""
    logprobs: bool = False


@dataclass(frozen=True, slots=True)
class Drawn:
    """One reply."""

    text: str
    tokens: int
    """Written, the one that ends the reply included."""
    finish: Literal["stop", "length"]
    logprobs: tuple[tuple[str, float], ...] = ()
    """Each token's text and its log-probability, nats, by the model's own distribution, before temperature
    and the bounds of the draw; empty where not asked for."""


@dataclass(slots=True)
class _Job:
    prompt: tuple[int, ...]
    sampling: Sampling
    reply: Future[Drawn]
    handle: Any = None
    written: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    finish: Literal["stop", "length"] = "stop"


class Batch:
    """The weights in memory, and the thread that works on all open requests together.

    Args:
        weights: a GGUF file.
        slots: requests in the batch; more wait.
        context_tokens: prompt and reply of a request; times ``slots``, what the cache holds.
    Raises:
        RuntimeError: the engine cannot read or serve the file.
    """

    def __init__(self, weights: Path, *, slots: int, context_tokens: int, threads: int) -> None:
        self._pipeline = _pipeline(weights, slots, context_tokens, threads)
        self._tokenizer = self._pipeline.get_tokenizer()
        # the tokenizer cuts a text at the model's own context, and says nothing
        self.context_tokens = min(context_tokens, len(self.tokens("a " * context_tokens)))
        self._arrived: queue.SimpleQueue[_Job] = queue.SimpleQueue()
        self._jobs: list[_Job] = []
        self._reading: dict[tuple[int, ...], list[_Job]] = {}
        """Prompts in work -> jobs that wait until their blocks are in the cache."""
        self._numbers = iter(range(sys.maxsize))
        self._companion: Any = None
        self._thread = threading.Thread(target=self._work, name="batch", daemon=True)
        self._thread.start()

    # ------------------------------------------------------------------------------- any thread
    def prompt(self, messages: Sequence[dict[str, str]]) -> str:
        """The conversation in the model's own chat template, up to the reply's beginning."""
        return str(self._tokenizer.apply_chat_template(messages, add_generation_prompt=True))

    def tokens(self, text: str) -> list[int]:
        """Token ids of a text as it stands, nothing put before or after it: all of them, or as many
        as the model's own context holds."""
        encoded = self._tokenizer.encode(text, add_special_tokens=False)
        return [int(n) for n in encoded.input_ids.data[0]]

    def submit(self, prompt: Sequence[int], sampling: Sampling) -> Future[Drawn]:
        """A reply to come; cancelling it takes the request out of the batch.

        Args:
            prompt: token ids, fewer than ``context_tokens``.
        """
        reply: Future[Drawn] = Future()
        self._arrived.put(_Job(tuple(prompt), sampling, reply))
        return reply

    # ------------------------------------------------------------------------------- our thread
    def _work(self) -> None:
        try:
            while True:
                self._take_arrivals()
                self._accompany()
                self._pipeline.step()
                self._deliver()
        except Exception as error:
            for job in (*self._jobs, *(j for waiting in self._reading.values() for j in waiting)):
                if not job.reply.done():
                    job.reply.set_exception(RuntimeError(f"the engine broke: {error}"))
            raise

    def _take_arrivals(self) -> None:
        """Returns when there is something to work on."""
        while not self._jobs or not self._arrived.empty():
            job = self._arrived.get()
            if job.prompt in self._reading:
                self._reading[job.prompt].append(job)
            else:
                self._reading[job.prompt] = []
                self._start(job)

    def _start(self, job: _Job) -> None:
        if job.reply.cancelled():
            self._read(job)
            return
        room = self.context_tokens - len(job.prompt)
        config = _generation_config(job.sampling, room)
        config.eos_token_id = self._tokenizer.get_eos_token_id()
        job.handle = self._add(job.prompt, config)
        self._jobs.append(job)

    def _add(self, prompt: Sequence[int], config: Any) -> Any:
        import numpy as np
        from openvino import Tensor

        ids = Tensor(np.array([prompt], dtype=np.int64))
        return self._pipeline.add_request(next(self._numbers), ids, config)

    def _accompany(self) -> None:
        """A companion for a job that is alone, and none where there are two."""
        from openvino_genai import GenerationStatus

        if self._companion and self._companion.get_status() != GenerationStatus.RUNNING:
            self._companion = None
        if len(self._jobs) > 1 and self._companion:
            self._companion.cancel()
            self._companion = None
        elif len(self._jobs) == 1 and not self._companion:
            config = _generation_config(Sampling(_COMPANION_TOKENS, temperature=0), sys.maxsize)
            config.ignore_eos = True
            self._companion = self._add((self._jobs[0].prompt[0],), config)

    def _read(self, job: _Job) -> None:
        """Those who waited for this prompt may begin."""
        for waiting in self._reading.pop(job.prompt, ()):
            self._start(waiting)

    def _deliver(self) -> None:
        from openvino_genai import GenerationFinishReason, GenerationStatus

        jobs, self._jobs = self._jobs, []
        for job in jobs:
            if job.reply.cancelled():
                job.handle.cancel()
                self._read(job)
                continue
            while job.handle.can_read():
                for output in job.handle.read().values():
                    job.written += output.generated_ids
                    job.logprobs += output.generated_log_probs
                    if output.finish_reason == GenerationFinishReason.LENGTH:
                        job.finish = "length"
            running = job.handle.get_status() == GenerationStatus.RUNNING
            # not after the first token: the prompt's last block would be shared half full, and the
            # engine would compute a single row, by its other way
            if len(job.written) > 1 or not running:
                self._read(job)
            if running:
                self._jobs.append(job)
            else:
                self._finish(job)

    def _finish(self, job: _Job) -> None:
        text = self._tokenizer.decode(job.written)
        ends = [place for mark in job.sampling.stop if (place := text.find(mark)) >= 0]
        if ends:
            text = text[: min(ends)]
        if job.reply.set_running_or_notify_cancel():
            job.reply.set_result(Drawn(text, len(job.written), job.finish, self._listed(job)))

    def _listed(self, job: _Job) -> tuple[tuple[str, float], ...]:
        if not job.sampling.logprobs:
            return ()
        texts = self._tokenizer.decode([[n] for n in job.written], skip_special_tokens=False)
        return tuple(zip(texts, job.logprobs, strict=True))


def _pipeline(weights: Path, slots: int, context_tokens: int, threads: int) -> Any:
    from openvino_genai import ContinuousBatchingPipeline, SchedulerConfig

    schedule = SchedulerConfig()
    schedule.max_num_seqs = slots + 1  # and a companion
    schedule.max_num_batched_tokens = _STEP_TOKENS
    blocks = slots * -(-context_tokens // _BLOCK_TOKENS)
    schedule.num_kv_blocks = blocks + _COMPANION_TOKENS // _BLOCK_TOKENS + 2
    schedule.enable_prefix_caching = True
    schedule.dynamic_split_fuse = True
    properties = {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": _PRECISION}
    return ContinuousBatchingPipeline(str(weights), schedule, "CPU", properties)


def _generation_config(sampling: Sampling, room: int) -> Any:
    from openvino_genai import GenerationConfig, StructuredOutputConfig

    config = GenerationConfig()
    config.max_new_tokens = max(1, min(sampling.max_tokens, room))
    config.stop_strings = set(sampling.stop)
    config.include_stop_str_in_output = True  # else whole tokens go, with what stands before it
    if sampling.temperature > 0:
        config.do_sample = True
        config.temperature = sampling.temperature
        config.top_p = sampling.top_p
        config.min_p = sampling.min_p
        if sampling.top_k:
            config.top_k = sampling.top_k
        config.rng_seed = sampling.seed
    config.logprobs = int(sampling.logprobs)
    if sampling.json_schema:
        config.structured_output_config = StructuredOutputConfig(json_schema=sampling.json_schema)
    return config

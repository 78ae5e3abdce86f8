"""Sampling by ``vllm serve`` on other processors or another machine, beside the update of the weights.

Every update's adapter goes to the server under a name of its own, ``policy-vVERSION-DIGEST``: written to
a folder that the server can read, then loaded by it. A name is never used for other weights, not even
by another run on the same server: vLLM keeps the keys and values of a prompt by the adapter's name and
path. Each request names its adapter, so a program is by the weights it says.

The server is started with ``--enable-lora``, ``--logprobs-mode processed_logprobs`` and, in its
environment, ``VLLM_ALLOW_RUNTIME_LORA_UPDATING=1`` (scripts/launch_sampler.sh does); with
``--data-parallel-size N`` it has N engines behind its one address. While it cannot be connected to, work
waits a bounded time; one that was started anew is given its adapters again as they are asked for.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from llm_as_judge.errors import EndpointError, ModelError
from llm_as_judge.files import output_errors
from llm_as_judge.llm.connection import CONNECT_S, POOL, is_loopback, post_json, shown_address
from llm_as_judge.llm.refusals import ReplyError, refusal
from llm_as_judge.policy.chat_template import completion_of, prompt_ids
from llm_as_judge.policy.stream import Stream
from llm_as_judge.policy.vllm_wire import (
    Draw,
    Drawn,
    completion_body,
    draw_seed,
    drawn_logprobs,
    probe_body,
    read_drawn,
)
from llm_as_judge.types import PolicyTurn, Prompt, Sample, Sampling

if TYPE_CHECKING:  # speaking to a server must not wait for torch
    from llm_as_judge.policy.model import Policy

log = logging.getLogger(__name__)

Ended = Callable[[Draw, Drawn], None]
KEPT = 2
"""Newest versions that stay whether they are used or not."""
_LOAD_S = 120.0
_PAUSE_S = 0.5


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """How the server may be used."""

    generation_batch_size: int = 64
    """Programs in flight."""
    timeout_s: float = 600.0
    """Deadline of one program."""
    retries: int = 3
    """Tries of one program after the first."""
    outage_s: float = 300.0
    """How long work waits while the server cannot be connected to."""


@dataclass(frozen=True, slots=True)
class Adapter:
    """One version of the weights as the server knows it."""

    name: str
    path: Path
    version: int


def write_adapter(policy: Policy, folder: Path) -> Adapter:
    """The weights as they are now, in a folder of their own whose name holds their digest.

    Raises:
        OutputError: ``folder`` cannot be written.
    """
    with output_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=".policy-", dir=folder))
        try:
            partial.chmod(0o755)
            policy.save_adapter(partial)
            weights = (partial / "adapter_model.safetensors").read_bytes()
            name = f"policy-v{policy.version}-{hashlib.sha256(weights).hexdigest()[:8]}"
            path = folder.resolve() / name
            if not path.exists():
                partial.replace(path)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return Adapter(name, path, policy.version)


class VllmSampler:
    """A server that writes programs by synced adapters. Made by :func:`open_vllm`."""

    def __init__(
        self,
        policy: Policy,
        http: httpx.AsyncClient,
        url: str,
        folder: Path,
        limits: ServerLimits,
        temperature: float,
        turn: PolicyTurn,
    ) -> None:
        self._policy = policy
        self._turn = turn
        self._http = http
        self._base_url = url.rstrip("/")
        self._who = f"policy sampler at {shown_address(self._base_url)}"
        self._folder = folder
        self._limits = limits
        self._temperature = temperature
        self._slots = asyncio.Semaphore(limits.generation_batch_size)
        self._known: dict[str, Adapter] = {}
        self._in_use: dict[str, int] = {}
        self._resent = 0

    async def start(self) -> None:
        """Ask for one token.

        Raises:
            ModelError: the server does not answer, speaks no token ids, or gives log-probs of another
                distribution than the one it draws from.
        """
        try:
            content = await self._once("/completions", probe_body(self._temperature))
            right = drawn_logprobs(content) or self._temperature in (0.0, 1.0)
        except ReplyError as problem:
            raise ModelError(f"{self._who}: {problem.message}") from None
        if not right:
            raise ModelError(
                f"{self._who}: its log-probs are not those at temperature "
                f"{self._temperature:g}; start it with --logprobs-mode processed_logprobs"
            )

    # ---------------------------------------------------------------------------------- weight sync
    async def sync_weights(self) -> Adapter:
        """The weights as they are now, loaded by the server; older versions are unloaded.

        Raises:
            ModelError: the server refuses the adapter.
            EndpointError: it does not answer, nor comes back in time.
        """
        adapter = await self._turn(lambda: write_adapter(self._policy, self._folder))
        new = adapter.name not in self._known
        self._known[adapter.name] = adapter
        if new:
            try:
                await self._load(adapter)
            except ReplyError as problem:
                said = f"{problem.message}; {adapter.name} is not loaded there"
                raise EndpointError(f"{self._who}: {said}") from None
            await self._unload(keep=list(self._known)[-KEPT:])
        return adapter

    async def _load(self, adapter: Adapter) -> None:
        body = {"lora_name": adapter.name, "lora_path": str(adapter.path)}
        try:
            await self._post("/load_lora_adapter", body, _LOAD_S)
        except ReplyError as problem:
            if not problem.kind.startswith("http_"):
                raise
            if problem.kind == "http_400" and "already been loaded" in problem.message:
                return  # the same weights, by their digest
            raise ModelError(
                f"{self._who}: {adapter.name} refused: {problem.message}{_advice(problem)}"
            ) from None

    async def _unload(self, keep: Sequence[str] = ()) -> None:
        """Adapters that no draw uses any more leave the server and the folder."""
        for name in [n for n in self._known if n not in keep and not self._in_use.get(n)]:
            adapter = self._known.pop(name)
            try:
                await self._once("/unload_lora_adapter", {"lora_name": name}, _LOAD_S)
            except ReplyError as problem:  # costs the server memory, and the run nothing
                if problem.kind != "http_404":  # it has none of that name
                    log.warning("%s: %s not unloaded: %s", self._who, name, problem)
            shutil.rmtree(adapter.path, ignore_errors=True)

    # ------------------------------------------------------------------------------------- sampling
    async def sample(self, prompts_P: Sequence[Prompt], sampling: Sampling) -> Stream:
        """See ``types.PolicySampler``: by the weights of now, which are synced first."""
        return self.write(await self.sync_weights(), prompts_P, sampling)

    def write(self, adapter: Adapter, prompts_P: Sequence[Prompt], sampling: Sampling) -> Stream:
        """P x K programs by one version of the weights."""
        stream, tokenizer = Stream(), self._policy.tokenizer

        def ended(draw: Draw, drawn: Drawn) -> None:
            ids, logprobs = drawn.token_ids, drawn.logprobs
            written = completion_of(
                tokenizer, draw.prompt_ids, ids, logprobs, drawn.stop, adapter.version
            )
            stream.put(Sample(*draw.place, written))

        ids_P = [tuple(prompt_ids(tokenizer, prompt.messages)) for prompt in prompts_P]
        draws = [
            Draw(
                place=(p, k),
                prompt_ids=ids,
                temperature=sampling.temperature,
                max_new_tokens=sampling.max_new_tokens,
                seed=draw_seed(sampling.seed, p, k),
                stop_ids=tuple(sorted(self._policy.stop_ids)),
                vocabulary=int(self._policy.base.config.vocab_size),
            )
            for p, ids in enumerate(ids_P)
            for k in range(sampling.samples)
        ]
        stream.follow(self.draw(adapter, draws, ended))
        return stream

    async def draw(self, adapter: Adapter, draws: Sequence[Draw], ended: Ended) -> None:
        """Write all draws; ``ended`` hears of each as it ends.

        Raises:
            EndpointError: one could not be written.
        """
        self._in_use[adapter.name] = self._in_use.get(adapter.name, 0) + 1
        tasks = [asyncio.create_task(self._one(adapter, draw, ended)) for draw in draws]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._in_use[adapter.name] -= 1

    async def _one(self, adapter: Adapter, draw: Draw, ended: Ended) -> None:
        tries = 0
        while True:
            try:
                async with self._slots:
                    return ended(draw, await self._drawn(adapter, draw))
            except ReplyError as problem:
                tries += 1
                said = problem.message
                if not problem.retry or tries > self._limits.retries:
                    times = "1 try" if tries == 1 else f"{tries} tries"
                    raise EndpointError(f"{self._who}: {said} ({times} of one program)") from None
            self._resent += 1
            log.warning("%s: %s; its program is written anew", self._who, said)
            await asyncio.sleep(_PAUSE_S * tries)

    async def _drawn(self, adapter: Adapter, draw: Draw) -> Drawn:
        body = completion_body(adapter.name, draw)
        try:
            content = await self._post("/completions", body)
        except ReplyError as problem:
            if problem.kind != "http_404":
                raise
            await self._load(adapter)  # it was started anew, and has forgotten
            content = await self._post("/completions", body)
        return read_drawn(content, adapter.name, draw)

    def metrics(self) -> dict[str, float]:
        """Since the last call: programs that had to be asked for again."""
        resent, self._resent = self._resent, 0
        return {"sampling/resent": float(resent)}

    # ------------------------------------------------------------------------------------- the wire
    async def _post(self, path: str, body: dict[str, Any], timeout_s: float | None = None) -> bytes:
        """The same as :meth:`_once`, and where the server cannot be connected to, again until it can."""
        clock = asyncio.get_running_loop().time
        since = clock()
        while True:
            try:
                return await self._once(path, body, timeout_s)
            except ReplyError as problem:
                if problem.kind != "connect":
                    raise
                if clock() - since >= self._limits.outage_s:
                    raise EndpointError(
                        f"{self._who}: {problem.message} for {self._limits.outage_s:g} s "
                        "(sampling.outage_s)"
                    ) from None
                log.warning("%s: %s; its work waits", self._who, problem.message)
            await asyncio.sleep(_PAUSE_S)

    async def _once(self, path: str, body: dict[str, Any], timeout_s: float | None = None) -> bytes:
        timeout_s = timeout_s or self._limits.timeout_s
        status, headers, content = await post_json(
            self._http, self._base_url, path, body, timeout_s
        )
        if status != 200:
            raise refusal(status, headers, content)
        return content

    async def aclose(self) -> None:
        await self._unload()


@asynccontextmanager
async def open_vllm(
    policy: Policy,
    url: str,
    folder: Path,
    limits: ServerLimits,
    *,
    temperature: float,
    turn: PolicyTurn = asyncio.to_thread,
) -> AsyncIterator[VllmSampler]:
    """A server that has been asked whether it can do what is wanted of it.

    Args:
        url: ends in ``/v1``.
        folder: of the adapters; the server must be able to read it under the same path.
        temperature: at which will be sampled.
        turn: the policy's, in which its adapter is written.
    Raises:
        ModelError: it does not answer, or is not started as it must be.
    """
    if not url.startswith(("http://", "https://")):
        raise ModelError(f"sampling.server: {url!r}, wanted http://HOST:PORT/v1")
    async with httpx.AsyncClient(
        timeout=httpx.Timeout(limits.timeout_s, connect=CONNECT_S, pool=None),
        limits=POOL,
        trust_env=not is_loopback(url),
    ) as http:
        opened = VllmSampler(policy, http, url, folder, limits, temperature, turn)
        await opened.start()
        try:
            yield opened
        finally:
            await opened.aclose()


def _advice(problem: ReplyError) -> str:
    if "No adapter found" in problem.message:
        return "; it must be able to read that path: set sampling.adapters to a folder of both"
    if problem.kind == "http_404":
        return "; start it with --enable-lora and VLLM_ALLOW_RUNTIME_LORA_UPDATING=1"
    return ""

"""Sampling by ``vllm serve`` on other processors or machines, beside the update of the weights.

Every update's adapter goes to the replicas under a name of its own, ``policy-vVERSION-DIGEST``: written to
a folder that the replicas can read, then loaded by each of them. A name is never used for other
weights, not even by another run on the same servers: vLLM keeps the keys and values of a prompt by
the adapter's name and path. Each request names its adapter, so a program is by the weights it says.

Replicas are started with ``--enable-lora``, ``--logprobs-mode processed_logprobs`` and, in their
environment, ``VLLM_ALLOW_RUNTIME_LORA_UPDATING=1`` (scripts/launch_replicas.sh does). A prompt's programs go to
one replica, the least loaded, which computes the prompt once. What a replica fails to write is
written by another one, counted and logged. One that is gone, or drained, is left out until it is
back (``replica_health.py``), and is then given every adapter in use; if all are gone for too long, the run
ends with what is known of each.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from llm_as_judge.errors import EndpointError, ModelError
from llm_as_judge.llm.connection import CONNECT_S, POOL, Replica, Replicas, is_loopback, post_json
from llm_as_judge.llm.refusals import ReplyError, refusal
from llm_as_judge.policy.chat_template import completion_of, prompt_ids
from llm_as_judge.policy.replica_health import ReplicaHealth
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
from llm_as_judge.policy.weight_sync import Adapter, write_adapter
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
class ReplicaLimits:
    """How the replicas may be used."""

    generation_batch_size: int = 64
    """Programs in flight at one replica."""
    timeout_s: float = 600.0
    """Deadline of one program."""
    retries: int = 3
    """Tries of one program after the first."""
    outage_s: float = 300.0
    """How long work waits while no replica may be asked."""


@dataclass(slots=True)
class _Seat:
    """One draw's place at a replica, counted in its load."""

    server: Replica

    def take(self, server: Replica) -> None:
        self.leave()
        self.server = server
        server.in_flight += 1

    def leave(self, _: object = None) -> None:
        self.server.in_flight -= 1


class VllmReplicas:
    """Servers that write programs by synced adapters. Made by :func:`open_replicas`."""

    def __init__(
        self,
        policy: Policy,
        http: httpx.AsyncClient,
        urls: Sequence[str],
        folder: Path,
        limits: ReplicaLimits,
        temperature: float,
        turn: PolicyTurn,
    ) -> None:
        self._policy = policy
        self._turn = turn
        self._http = http
        self._replicas = Replicas(tuple(urls))
        self._folder = folder
        self._limits = limits
        self._temperature = temperature
        self._slots = {
            server.base_url: asyncio.Semaphore(limits.generation_batch_size)
            for server in self._replicas.servers
        }
        self._health = ReplicaHealth(
            http, self._replicas, folder, let_in=self._let_in, outage_s=limits.outage_s
        )
        self._known: dict[str, Adapter] = {}
        self._owed: dict[str, list[str]] = {url: [] for url in self._slots}
        """Adapters to be unloaded where that could not be said."""
        self._in_use: dict[str, int] = {}
        self._resent = 0

    # ------------------------------------------------------------------------------------- at start
    async def start(self) -> None:
        """Ask every replica for one token; from then on look after them.

        Raises:
            ModelError: none answers; or one does and speaks no token ids, or gives log-probs of
                another distribution than the one it draws from.
        """
        silent = []
        for server in self._replicas.servers:
            try:
                await self._probe(server)
            except ReplyError as problem:
                said = f"{problem.kind}: {problem.message}"
                if problem.kind not in ("connect", "timeout", "dropped"):
                    raise ModelError(f"{_who(server)}: {said}") from None
                self._health.lost(server, said)
                silent.append(f"{_who(server)}: {said}")
        if len(silent) == len(self._replicas.servers):
            raise ModelError("; ".join(silent))
        await self._health.look()
        self._health.watch()

    async def _probe(self, server: Replica) -> None:
        content = await self._post(server, "/completions", probe_body(self._temperature))
        if not drawn_logprobs(content) and self._temperature not in (0.0, 1.0):
            raise ModelError(
                f"{_who(server)}: its log-probs are not those at temperature "
                f"{self._temperature:g}; start it with --logprobs-mode processed_logprobs"
            )

    async def _let_in(self, server: Replica) -> None:
        """What a replica that answers again must know: nothing of old adapters, all of those in
        use."""
        await self._probe(server)
        owed = self._owed[server.base_url]
        while owed:
            await self._unload_at(server, owed[-1])
            owed.pop()
        for adapter in list(self._known.values()):
            await self._load(server, adapter)

    # ---------------------------------------------------------------------------------- weight sync
    async def sync_weights(self) -> Adapter:
        """The weights as they are now, loaded by the replicas; older versions are unloaded.

        Raises:
            ModelError: a replica refuses the adapter.
            EndpointError: no replica answers, nor comes back in time.
        """
        adapter = await self._turn(lambda: write_adapter(self._policy, self._folder))
        new = adapter.name not in self._known
        self._known[adapter.name] = adapter
        if new:
            await self._load_everywhere(adapter)
            await self._unload(keep=list(self._known)[-KEPT:])
        return adapter

    async def _load_everywhere(self, adapter: Adapter) -> None:
        await asyncio.gather(
            *(self._load_or_leave(server, adapter) for server in self._health.all_ready)
        )
        await self._health.choose()  # one that comes back in time is given it

    async def _load_or_leave(self, server: Replica, adapter: Adapter) -> None:
        try:
            await self._load(server, adapter)
        except ReplyError as problem:
            said = f"{problem.kind}: {problem.message}; {adapter.name} is not loaded there"
            self._health.lost(server, said)

    async def _load(self, server: Replica, adapter: Adapter) -> None:
        """
        Raises:
            ModelError: the replica refuses it.
            ReplyError: the replica does not answer.
        """
        body = {"lora_name": adapter.name, "lora_path": str(adapter.path)}
        try:
            await self._post(server, "/load_lora_adapter", body, _LOAD_S)
        except ReplyError as problem:
            if not problem.kind.startswith("http_"):
                raise
            if problem.kind == "http_400" and "already been loaded" in problem.message:
                return  # the same weights, by their digest
            raise ModelError(
                f"{_who(server)}: {adapter.name} refused: {problem.message}{_advice(problem)}"
            ) from None

    async def _unload(self, keep: Sequence[str] = ()) -> None:
        """Adapters that no draw uses any more leave the replicas and the folder."""
        for name in [n for n in self._known if n not in keep and not self._in_use.get(n)]:
            adapter = self._known.pop(name)
            await asyncio.gather(*(self._unload_or_owe(s, name) for s in self._replicas.servers))
            shutil.rmtree(adapter.path, ignore_errors=True)

    async def _unload_or_owe(self, server: Replica, name: str) -> None:
        try:
            if self._health.alive(server):
                return await self._unload_at(server, name)
        except ReplyError as problem:  # costs it memory, and the run nothing
            log.warning("%s: %s not unloaded: %s", _who(server), name, problem)
        self._owed[server.base_url].append(name)
        return None

    async def _unload_at(self, server: Replica, name: str) -> None:
        try:
            await self._post(server, "/unload_lora_adapter", {"lora_name": name}, _LOAD_S)
        except ReplyError as problem:
            if problem.kind != "http_404":  # it has none of that name
                raise

    # ------------------------------------------------------------------------------------- sampling
    async def sample(self, prompts_P: Sequence[Prompt], sampling: Sampling) -> Stream:
        """See ``types.PolicySampler``: by the weights of now, which are synced first."""
        return self.write(await self.sync_weights(), prompts_P, sampling)

    def write(self, adapter: Adapter, prompts_P: Sequence[Prompt], sampling: Sampling) -> Stream:
        """P x K programs by one version of the weights."""
        stream, tokenizer = Stream(), self._policy.tokenizer

        def ended(draw: Draw, drawn: Drawn) -> None:
            completion = completion_of(
                tokenizer,
                draw.prompt_ids,
                drawn.token_ids,
                drawn.logprobs,
                drawn.stop,
                adapter.version,
            )
            stream.put(Sample(*draw.place, completion))

        draws_P_K = []
        for p, prompt in enumerate(prompts_P):
            ids = tuple(prompt_ids(tokenizer, prompt.messages))
            draws_P_K.append([self._draw_at(p, k, ids, sampling) for k in range(sampling.samples)])
        stream.follow(self.draw(adapter, draws_P_K, ended))
        return stream

    def _draw_at(self, p: int, k: int, ids: tuple[int, ...], sampling: Sampling) -> Draw:
        return Draw(
            place=(p, k),
            prompt_ids=ids,
            temperature=sampling.temperature,
            max_new_tokens=sampling.max_new_tokens,
            seed=draw_seed(sampling.seed, p, k),
            stop_ids=tuple(sorted(self._policy.stop_ids)),
            vocabulary=int(self._policy.base.config.vocab_size),
        )

    async def draw(
        self,
        adapter: Adapter,
        draws: Sequence[Sequence[Draw]],
        ended: Ended,
    ) -> None:
        """Write all draws, those of one prompt at one replica; ``ended`` hears of each as it ends.

        Raises:
            EndpointError: one could not be written by any replica.
        """
        self._in_use[adapter.name] = self._in_use.get(adapter.name, 0) + 1
        tasks: list[asyncio.Task[None]] = []
        try:
            for draws_K in draws:
                server = await self._health.choose()
                for draw in draws_K:
                    server.in_flight += 1
                    seat = _Seat(server)
                    task = asyncio.create_task(self._one(adapter, draw, seat, ended))
                    task.add_done_callback(seat.leave)
                    tasks.append(task)
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self._in_use[adapter.name] -= 1

    async def _one(
        self,
        adapter: Adapter,
        draw: Draw,
        seat: _Seat,
        ended: Ended,
    ) -> None:
        tries = 0
        while True:
            server = seat.server
            try:
                async with self._slots[server.base_url]:
                    if self._health.ready(server):  # still, after it has waited for its turn
                        server.sent += 1
                        return ended(draw, await self._drawn(server, adapter, draw))
            except ReplyError as problem:
                tries += 1
                if not problem.retry or tries > self._limits.retries:
                    times = "1 try" if tries == 1 else f"{tries} tries"
                    raise EndpointError(
                        f"{_who(server)}: {problem.kind}: {problem.message} ({times} of one "
                        "program)"
                    ) from None
                self._resent += 1
                self._note_failure(server, problem)
                await asyncio.sleep(_PAUSE_S * tries)
            seat.take(await self._health.choose())

    def _note_failure(self, server: Replica, problem: ReplyError) -> None:
        if problem.kind == "connect":
            self._health.lost(server, f"{problem.kind}: {problem.message}")
        else:
            log.warning(
                "%s: %s: %s; its program is written anew",
                _who(server),
                problem.kind,
                problem.message,
            )
        self._replicas.rest(server)

    async def _drawn(self, server: Replica, adapter: Adapter, draw: Draw) -> Drawn:
        body = completion_body(adapter.name, draw)
        try:
            content = await self._post(server, "/completions", body)
        except ReplyError as problem:
            if problem.kind != "http_404":
                raise
            await self._load(server, adapter)  # it was started anew, and has forgotten
            content = await self._post(server, "/completions", body)
        return read_drawn(content, adapter.name, draw)

    def metrics(self) -> dict[str, float]:
        """Since the last call: programs that had to be asked for again; now: replicas that may be
        asked."""
        resent, self._resent = self._resent, 0
        ready = len(self._health.all_ready)
        return {"sampling/resent": float(resent), "sampling/replicas": float(ready)}

    # ------------------------------------------------------------------------------------- the wire
    async def _post(
        self, server: Replica, path: str, body: dict[str, Any], timeout_s: float | None = None
    ) -> bytes:
        timeout_s = timeout_s or self._limits.timeout_s
        status, headers, content = await post_json(
            self._http, server, path, body, timeout_s=timeout_s
        )
        if status != 200:
            raise refusal(status, headers, content)
        return content

    async def aclose(self) -> None:
        await self._health.aclose()
        await self._unload()


@asynccontextmanager
async def open_replicas(
    policy: Policy,
    urls: Sequence[str],
    folder: Path,
    limits: ReplicaLimits,
    *,
    temperature: float,
    turn: PolicyTurn = asyncio.to_thread,
) -> AsyncIterator[VllmReplicas]:
    """Replicas that have been asked whether they can do what is wanted of them.

    Args:
        urls: of each replica, ending in ``/v1``.
        folder: of the adapters; every replica must be able to read it under the same path.
        temperature: at which will be sampled.
        turn: the policy's, in which its adapter is written.
    Raises:
        ModelError: no replica answers, or one is not started as it must be.
    """
    for url in urls:
        if not url.startswith(("http://", "https://")):
            raise ModelError(f"sampling.replicas: {url!r}, wanted http://HOST:PORT/v1")
    async with httpx.AsyncClient(
        timeout=httpx.Timeout(limits.timeout_s, connect=CONNECT_S, pool=None),
        limits=POOL,
        trust_env=not all(is_loopback(url) for url in urls),
    ) as http:
        replicas = VllmReplicas(policy, http, urls, folder, limits, temperature, turn)
        try:
            await replicas.start()
            yield replicas
        finally:
            await replicas.aclose()


def _who(server: Replica) -> str:
    return f"policy sampler at {server.shown}"


def _advice(problem: ReplyError) -> str:
    if "No adapter found" in problem.message:
        return "; it must be able to read that path: set sampling.adapters to a folder of both"
    if problem.kind == "http_404":
        return "; start it with --enable-lora and VLLM_ALLOW_RUNTIME_LORA_UPDATING=1"
    return ""

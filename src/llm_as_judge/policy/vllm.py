"""Sampling by ``vllm serve`` on other processors or machines, beside the update of the weights.

Every update's adapter is published under a name of its own, ``policy-vVERSION-DIGEST``: written to
a folder that the replicas can read, then loaded by each of them. A name is never used for other
weights, not even by another run on the same servers: vLLM keeps the keys and values of a prompt by
the adapter's name and path. Each request names its adapter, so a program is by the weights it says.

Replicas are started with ``--enable-lora``, ``--logprobs-mode processed_logprobs`` and, in their
environment, ``VLLM_ALLOW_RUNTIME_LORA_UPDATING=1`` (TRAINING.md has the line). A prompt's programs
go to one replica, the least loaded, which computes the prompt once. What a replica fails to write is
written by another one, counted and logged; if none can, the run ends with what the last one said.
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
from llm_as_judge.llm.replicas import Replica, Replicas, is_loopback
from llm_as_judge.llm.transport import CONNECT_S, POOL, post_json
from llm_as_judge.llm.wire import Unusable, refusal
from llm_as_judge.policy.published import Adapter, PublishedAdapter
from llm_as_judge.policy.vllm_wire import (
    Draw,
    Drawn,
    completion_body,
    drawn_logprobs,
    probe_body,
    read_drawn,
)
from llm_as_judge.types import PolicyTurn

if TYPE_CHECKING:  # speaking to a server must not wait for torch
    from llm_as_judge.policy.model import Policy

log = logging.getLogger(__name__)

Ended = Callable[[Draw, Drawn], None]
KEPT = 2
"""Newest versions that stay whether they are used or not."""
_LOAD_S = 120.0
_PAUSE_S = 0.5


@dataclass(frozen=True, slots=True)
class Limits:
    """How the replicas may be used."""

    rows_at_once: int = 64
    """Programs in flight at one replica."""
    timeout_s: float = 600.0
    """Deadline of one program."""
    retries: int = 3
    """Tries of one program after the first."""


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
    """Servers that write programs by published adapters. Made by :func:`open_replicas`."""

    def __init__(
        self,
        policy: Policy,
        http: httpx.AsyncClient,
        urls: Sequence[str],
        folder: Path,
        limits: Limits,
    ) -> None:
        self._policy = policy
        self._http = http
        self._replicas = Replicas(tuple(urls))
        self._folder = folder
        self._limits = limits
        self._turn = asyncio.Semaphore(limits.rows_at_once * len(urls))
        self._known: dict[str, Adapter] = {}
        self._in_use: dict[str, int] = {}
        self._resent = 0

    # ------------------------------------------------------------------------------------- at start
    async def check(self, temperature: float) -> None:
        """Ask every replica for one token.

        Raises:
            ModelError: one does not answer, speaks no token ids, or gives log-probs of another
                distribution than the one it draws from.
        """
        for server in self._replicas.servers:
            try:
                content = await self._post(server, "/completions", probe_body(temperature))
                drawn = drawn_logprobs(content)
            except Unusable as problem:
                raise ModelError(f"{_who(server)}: {problem.kind}: {problem.message}") from None
            if not drawn and temperature not in (0.0, 1.0):
                raise ModelError(
                    f"{_who(server)}: its log-probs are not those at temperature {temperature:g}; "
                    "start it with --logprobs-mode processed_logprobs"
                )

    # ----------------------------------------------------------------------------------- publishing
    async def publish(self, on_policy: PolicyTurn) -> PublishedAdapter:
        """The weights as they are now, loaded by the replicas; older versions are unloaded.

        Args:
            on_policy: the policy's turn, in which its adapter is written.
        Raises:
            ModelError: a replica refuses the adapter.
            EndpointError: no replica answers.
        """
        adapter = await on_policy(self._write)
        new = adapter.name not in self._known
        self._known[adapter.name] = adapter
        if new:
            await self._load_everywhere(adapter)
            await self._unload(keep=list(self._known)[-KEPT:])
        policy = self._policy
        return PublishedAdapter(
            self,
            adapter,
            policy.tokenizer,
            tuple(sorted(policy.stop_ids)),
            int(policy.base.config.vocab_size),
        )

    def _write(self) -> Adapter:
        with output_errors(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            partial = Path(tempfile.mkdtemp(prefix=".policy-", dir=self._folder))
            try:
                partial.chmod(0o755)
                self._policy.save_adapter(partial)
                weights = (partial / "adapter_model.safetensors").read_bytes()
                version = self._policy.version
                name = f"policy-v{version}-{hashlib.sha256(weights).hexdigest()[:8]}"
                path = self._folder.resolve() / name
                if not path.exists():
                    partial.replace(path)
            finally:
                shutil.rmtree(partial, ignore_errors=True)
        return Adapter(name, path, version)

    async def _load_everywhere(self, adapter: Adapter) -> None:
        troubles = []
        for server in self._replicas.servers:
            try:
                await self._load(server, adapter)
            except Unusable as problem:  # it may come back: its first request loads what it lacks
                self._rest(server, problem, f"{adapter.name} is not loaded there")
                troubles.append(f"{_who(server)}: {problem.kind}: {problem.message}")
        if len(troubles) == len(self._replicas.servers):
            raise EndpointError(f"{troubles[0]}; no replica has loaded {adapter.name}")

    async def _load(self, server: Replica, adapter: Adapter) -> None:
        """
        Raises:
            ModelError: the replica refuses it.
            Unusable: the replica does not answer.
        """
        body = {"lora_name": adapter.name, "lora_path": str(adapter.path)}
        try:
            await self._post(server, "/load_lora_adapter", body, _LOAD_S)
        except Unusable as problem:
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
            for server in self._replicas.servers:
                try:
                    await self._post(server, "/unload_lora_adapter", {"lora_name": name}, _LOAD_S)
                except Unusable as problem:  # costs it memory, and the run nothing
                    if problem.kind != "http_404":
                        log.warning("%s: %s not unloaded: %s", _who(server), name, problem)
            shutil.rmtree(adapter.path, ignore_errors=True)

    # ------------------------------------------------------------------------------------- sampling
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
                server = self._replicas.choose()
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
            try:
                async with self._turn:
                    seat.server.sent += 1
                    drawn = await self._drawn(seat.server, adapter, draw)
            except Unusable as problem:
                tries += 1
                if not problem.retry or tries > self._limits.retries:
                    times = "1 try" if tries == 1 else f"{tries} tries"
                    raise EndpointError(
                        f"{_who(seat.server)}: {problem.kind}: {problem.message} ({times} of one "
                        "program)"
                    ) from None
                self._resent += 1
                self._rest(seat.server, problem, "its program is written anew")
                seat.take(self._replicas.choose())
                await asyncio.sleep(_PAUSE_S * tries)
            else:
                ended(draw, drawn)
                return

    async def _drawn(self, server: Replica, adapter: Adapter, draw: Draw) -> Drawn:
        body = completion_body(adapter.name, draw)
        try:
            content = await self._post(server, "/completions", body)
        except Unusable as problem:
            if problem.kind != "http_404":
                raise
            await self._load(server, adapter)  # it was started anew, and has forgotten
            content = await self._post(server, "/completions", body)
        return read_drawn(content, adapter.name, draw)

    def metrics(self) -> dict[str, float]:
        """Since the last call: programs that had to be asked for again."""
        resent, self._resent = self._resent, 0
        return {"sampling/resent": float(resent)}

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

    def _rest(self, server: Replica, problem: Unusable, then: str) -> None:
        log.warning("%s: %s: %s; %s", _who(server), problem.kind, problem.message, then)
        self._replicas.rest(server)

    async def aclose(self) -> None:
        """Unload what was published."""
        await self._unload()


@asynccontextmanager
async def open_replicas(
    policy: Policy, urls: Sequence[str], folder: Path, limits: Limits, *, temperature: float
) -> AsyncIterator[VllmReplicas]:
    """Replicas that have been asked whether they can do what is wanted of them.

    Args:
        urls: of each replica, ending in ``/v1``.
        folder: of the adapters; every replica must be able to read it under the same path.
        temperature: at which will be sampled.
    Raises:
        ModelError: a replica does not answer, or is not started as it must be.
    """
    for url in urls:
        if not url.startswith(("http://", "https://")):
            raise ModelError(f"sampling.replicas: {url!r}, wanted http://HOST:PORT/v1")
    async with httpx.AsyncClient(
        timeout=httpx.Timeout(limits.timeout_s, connect=CONNECT_S, pool=None),
        limits=POOL,
        trust_env=not all(is_loopback(url) for url in urls),
    ) as http:
        replicas = VllmReplicas(policy, http, urls, folder, limits)
        await replicas.check(temperature)
        try:
            yield replicas
        finally:
            await replicas.aclose()


def _who(server: Replica) -> str:
    return f"policy sampler at {server.shown}"


def _advice(problem: Unusable) -> str:
    if "No adapter found" in problem.message:
        return "; it must be able to read that path: set sampling.adapters to a folder of both"
    if problem.kind == "http_404":
        return "; start it with --enable-lora and VLLM_ALLOW_RUNTIME_LORA_UPDATING=1"
    return ""

"""Workers as actors of a Ray cluster (``pip install 'llm-as-judge[ray]'``).

Ray places them, carries bytes to them and tells when one has died; everything else is
:mod:`llm_as_judge.workers.pool`. Actors end with the driver, however that ends.
"""

from __future__ import annotations

import asyncio
import logging
import os
import platform
import socket
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from llm_as_judge.errors import ConfigError
from llm_as_judge.quoting import quoted
from llm_as_judge.sandbox.opening import Mechanism
from llm_as_judge.workers.link import WorkerLostError
from llm_as_judge.workers.messages import Options
from llm_as_judge.workers.pool import WorkerPool
from llm_as_judge.workers.work import LocalWork, open_local_work
from llm_as_judge.workers.worker_side import WorkerSide

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Placement:
    count: int = 1
    address: str | None = None
    """Of the cluster; None = RAY_ADDRESS, else a Ray of this process alone."""
    cpus: float = 1.0
    """Processors that Ray sets aside for one."""
    resource: str | None = None
    """Nodes that have this resource, one of it for each worker."""
    start_s: float = 120.0
    """In which the first must be ready."""


@asynccontextmanager
async def open_ray_workers(options: Options, placement: Placement) -> AsyncIterator[WorkerPool]:
    """Workers on a cluster, the first of them ready.

    Raises:
        ConfigError: Ray is not installed, or there is no cluster at the address.
        IsolationError: no worker could be used, or none was ready in time.
    """
    ray = _ray()
    ours = not ray.is_initialized()
    if ours:
        await asyncio.to_thread(_connect, ray, placement.address)
    try:
        pool = WorkerPool(lambda: RayWorker(placement), placement.count, options)
        await pool.open(placement.start_s)
        try:
            yield pool
        finally:
            await pool.aclose()
    finally:
        if ours:
            await asyncio.to_thread(ray.shutdown)


def _ray() -> Any:
    # Nothing is sent to Ray's makers unless whoever runs this has asked for it.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    # Workers are given no accelerator; without this every one of them warns of that.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ModuleNotFoundError:
        raise ConfigError(
            "workers.backend: ray is not installed; run: pip install 'llm-as-judge[ray]'"
        ) from None
    return ray


def _connect(ray: Any, address: str | None) -> None:
    """Not in the main thread: Ray would put its handler in the place of ours for SIGTERM."""
    logging.getLogger("ray").setLevel(logging.ERROR)
    address = address or os.environ.get("RAY_ADDRESS") or None
    began = time.monotonic()
    try:
        _reach(address)
        ray.init(
            address=address,
            namespace="llm-as-judge",
            log_to_driver=False,
            logging_level=logging.ERROR,
            include_dashboard=False,
        )
    except Exception as error:  # Ray raises bare ones, as where its node did not start in time
        raise ConfigError(
            f"workers.address: no Ray cluster {f'at {address!r}' if address else 'on this machine'}, waited "
            f"{time.monotonic() - began:.0f} s ({quoted(str(error), 300)}); start one: ray start --head"
        ) from error


def _reach(address: str | None) -> None:
    """Ray would go on trying for minutes, and then end the process.

    Raises:
        OSError: nothing listens there.
        ValueError: not HOST:PORT.
    """
    if address is None or address in ("auto", "local"):
        return
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise ValueError("wanted HOST:PORT of a head node, or auto; run on a node of the cluster")
    socket.create_connection((host, int(port)), timeout=10.0).close()


class RayWorker:
    """Implements :class:`llm_as_judge.workers.link.Worker` by an actor."""

    def __init__(self, placement: Placement) -> None:
        import ray

        self._ray = ray
        one = {placement.resource: 1.0} if placement.resource else {}
        self._actor = (
            ray.remote(_Actor)
            .options(
                num_cpus=placement.cpus,
                resources=one,
                scheduling_strategy="SPREAD",
                # The pool starts a successor itself, wherever there is room, and knows what to
                # run again: an actor that came back by itself would be asked twice.
                max_restarts=0,
                max_task_retries=0,
                max_concurrency=64,
            )
            .remote()
        )

    async def open(self, options: bytes) -> bytes:
        return cast(bytes, await self._attributed(self._actor.open.remote(options)))

    async def give(self, data: bytes) -> None:
        await self._attributed(self._actor.give.remote(data))

    async def fetch(self) -> bytes:
        return cast(bytes, await self._attributed(self._actor.fetch.remote()))

    def kill(self) -> None:
        self._ray.kill(self._actor, no_restart=True)

    async def _attributed(self, said: Awaitable[T]) -> T:
        errors = self._ray.exceptions
        try:
            return await said
        except (errors.RayActorError, errors.NodeDiedError, errors.ObjectLostError) as error:
            raise WorkerLostError(_why(str(error))) from None


def _why(message: str) -> str:
    """The first line of Ray's, and the reason, without its list of what may cause it."""
    lines = message.strip().splitlines() or ["no reason given"]
    reason = next((line for line in lines[1:] if line.startswith("The actor is dead")), "")
    return f"{lines[0]} {reason}".split(" Some common causes")[0].strip()[:400]


class _Actor(WorkerSide):
    """A worker's process on some node."""

    def __init__(self) -> None:
        import ray

        node = ray.get_runtime_context().get_node_id()
        super().__init__(_open, node=f"{platform.node()} ({node[:12]})")


async def _open(options: Options) -> LocalWork:
    return await open_local_work(
        cast(Mechanism, options.sandbox), options.concurrency, options.limits
    )

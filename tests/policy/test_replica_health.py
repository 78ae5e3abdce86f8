"""Replicas that die, drain, sicken and come back: nothing is lost, and nobody asks them meanwhile."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from test_vllm import PROMPTS, learn

from llm_as_judge.errors import EndpointError, ModelError
from llm_as_judge.policy.adapter import AdapterSpec
from llm_as_judge.policy.model import Policy, load_policy
from llm_as_judge.policy.replica_health import drained, set_drained, status_of
from llm_as_judge.policy.vllm import ReplicaLimits, VllmReplicas, open_replicas
from llm_as_judge.types import Completion, Sampling
from running_app import running
from streams import SyncedWeights, sync_weights
from vllm_server import ScriptedVllm


class Fleet:
    """Scripted replicas on ports of their own, which can be killed and started anew."""

    def __init__(self, policy: Policy, folder: Path, stack: AsyncExitStack) -> None:
        self.policy, self.folder, self._stack = policy, folder, stack
        self.servers: list[ScriptedVllm] = []
        self.urls: list[str] = []
        self._lives: list[AsyncExitStack] = []

    async def start(self, count: int) -> None:
        for _ in range(count):
            self.servers.append(ScriptedVllm())
            self._lives.append(await self._stack.enter_async_context(AsyncExitStack()))
            app = self.servers[-1].app
            self.urls.append(await self._lives[-1].enter_async_context(running(app)) + "/v1")

    async def kill(self, index: int) -> None:
        await self._lives[index].aclose()

    async def revive(self, index: int) -> ScriptedVllm:
        """A process that knows nothing of the one before, at its address."""
        self.servers[index] = ScriptedVllm()
        port = int(self.urls[index].split(":")[2].split("/")[0])
        await self._lives[index].enter_async_context(running(self.servers[index].app, port))
        return self.servers[index]

    async def open(self, generation_batch_size: int = 8, outage_s: float = 30.0) -> VllmReplicas:
        limits = ReplicaLimits(generation_batch_size, timeout_s=20, retries=2, outage_s=outage_s)
        opened = open_replicas(self.policy, self.urls, self.folder, limits, temperature=1.0)
        return await self._stack.enter_async_context(opened)


@pytest.fixture
async def fleet(
    tiny_weights: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Fleet]:
    monkeypatch.setattr("llm_as_judge.policy.vllm._PAUSE_S", 0.01)
    monkeypatch.setattr("llm_as_judge.policy.replica_health._LOOK_EVERY_S", 0.02)
    policy = load_policy(tiny_weights, adapter=AdapterSpec(4, 8), device="cpu", dtype="float32")
    async with AsyncExitStack() as stack:
        yield Fleet(policy, tmp_path / "adapters", stack)


async def sample(synced: SyncedWeights, k: int = 2) -> list[list[Completion]]:
    return await synced.sample(PROMPTS, Sampling(k, 1.0, 9, seed=0))


async def ready(replicas: VllmReplicas, count: int) -> None:
    await until(lambda: replicas.metrics()["sampling/replicas"] == count)


async def until(holds: Callable[[], bool]) -> None:
    async def wait() -> None:
        while not holds():  # noqa: ASYNC110 - it is the product that looks by the clock
            await asyncio.sleep(0.01)

    await asyncio.wait_for(wait(), 30)


async def test_who_dies_and_comes_back_has_all_adapters_in_use_before_new_work(
    fleet: Fleet, caplog: pytest.LogCaptureFixture
) -> None:
    await fleet.start(2)
    replicas = await fleet.open()
    older = await sync_weights(replicas)
    learn(fleet.policy)
    newer = await sync_weights(replicas)
    await fleet.kill(1)
    with caplog.at_level(logging.WARNING):
        assert [len(group) for group in await sample(newer)] == [2] * 4
    assert "no new work until it answers" in caplog.text
    assert len(fleet.servers[0].asked) == 8
    back = await fleet.revive(1)
    await ready(replicas, 2)
    assert back.said == [f"load {older.adapter.name}", f"load {newer.adapter.name}"]
    assert back.asked == []
    await sample(older)
    assert {body["model"] for body in back.asked} == {older.adapter.name}
    assert replicas.metrics()["sampling/resent"] == 0  # it was let in ready for work


async def test_an_adapter_that_was_unloaded_meanwhile_is_unloaded_on_return(fleet: Fleet) -> None:
    await fleet.start(2)
    replicas = await fleet.open()
    synced = [await sync_weights(replicas)]
    fleet.servers[1].health = 503
    await ready(replicas, 1)
    for _ in range(2):
        learn(fleet.policy)
        synced.append(await sync_weights(replicas))
    names = [one.adapter.name for one in synced]
    assert list(fleet.servers[1].adapters) == names[:1]
    fleet.servers[1].health = 200
    await ready(replicas, 2)
    assert list(fleet.servers[1].adapters) == names[1:]


async def test_a_sick_replica_gets_no_new_work(fleet: Fleet) -> None:
    await fleet.start(2)
    replicas = await fleet.open()
    synced = await sync_weights(replicas)
    fleet.servers[0].health = 500
    await ready(replicas, 1)
    await sample(synced)
    assert [len(server.asked) for server in fleet.servers] == [0, 8]


async def test_a_drained_replica_ends_what_it_writes_and_gets_nothing_more(fleet: Fleet) -> None:
    """What waits here for its turn there goes elsewhere too."""
    await fleet.start(2)
    replicas = await fleet.open(generation_batch_size=1)
    synced = await sync_weights(replicas)
    for server in fleet.servers:
        server.open.clear()
    writing = asyncio.create_task(sample(synced))
    for server in fleet.servers:
        await server.reached.wait()
    set_drained(fleet.folder, fleet.urls[:1])
    await ready(replicas, 1)
    for server in fleet.servers:
        server.open.set()
    assert [len(group) for group in await writing] == [2] * 4
    assert [len(server.asked) for server in fleet.servers] == [1, 7]
    assert replicas.metrics()["sampling/resent"] == 0
    set_drained(fleet.folder, [])
    await ready(replicas, 2)
    await sample(synced)
    assert len(fleet.servers[0].asked) > 1
    assert drained(fleet.folder) == []


async def test_all_may_be_gone_for_a_while(fleet: Fleet) -> None:
    await fleet.start(2)
    replicas = await fleet.open()
    synced = await sync_weights(replicas)
    for index in (0, 1):
        await fleet.kill(index)
    writing = asyncio.create_task(sample(synced))
    await ready(replicas, 0)
    assert not writing.done()
    await fleet.revive(1)
    assert [len(group) for group in await writing] == [2] * 4


async def test_all_gone_for_too_long_end_the_run_with_one_line_about_each(fleet: Fleet) -> None:
    await fleet.start(4)
    replicas = await fleet.open(outage_s=0.05)
    synced = await sync_weights(replicas)
    set_drained(fleet.folder, [fleet.urls[0], fleet.urls[3]])
    fleet.servers[1].health = 503
    await fleet.kill(2)
    await fleet.kill(3)
    await ready(replicas, 0)
    with pytest.raises(EndpointError) as caught:
        await sample(synced)
    line = str(caught.value)
    assert "no replica may be asked for 0.05 s (sampling.outage_s)" in line
    said = ("drained;", "/health says HTTP 503", "connect", "drained; connect")
    for url, why in zip(fleet.urls, said, strict=True):
        assert f"{url}: {why}" in line
    assert "\n" not in line


async def test_at_start_one_answer_is_enough_and_none_is_too_few(
    fleet: Fleet, caplog: pytest.LogCaptureFixture
) -> None:
    await fleet.start(2)
    await fleet.kill(0)
    with caplog.at_level(logging.WARNING):
        replicas = await fleet.open()
    assert f"{fleet.urls[0]}: connect: " in caplog.text
    await sample(await sync_weights(replicas))
    assert len(fleet.servers[1].asked) == 8
    await fleet.kill(1)
    with pytest.raises(ModelError) as caught:
        await fleet.open()
    assert all(f"policy sampler at {url}: connect: " in str(caught.value) for url in fleet.urls)
    assert "\n" not in str(caught.value)


async def test_who_comes_back_started_otherwise_is_not_let_in(
    fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its log-probs are of another distribution: the update would learn from wrong ratios."""
    await fleet.start(2)
    limits = ReplicaLimits(timeout_s=20, outage_s=0.05)
    async with open_replicas(
        fleet.policy, fleet.urls, fleet.folder, limits, temperature=0.7
    ) as replicas:
        synced = await sync_weights(replicas)
        await fleet.kill(1)
        await ready(replicas, 1)
        (await fleet.revive(1)).raw_logprobs = True
        await fleet.kill(0)
        await ready(replicas, 0)
        with pytest.raises(
            EndpointError, match=r"answers, but .*--logprobs-mode processed_logprobs"
        ):
            await synced.sample(PROMPTS, Sampling(1, 0.7, 9, seed=0))


async def test_a_look_from_outside_says_of_each_how_it_is_and_what_it_has(fleet: Fleet) -> None:
    await fleet.start(5)
    replicas = await fleet.open()
    name = (await sync_weights(replicas)).adapter.name
    fleet.servers[1].health = 503
    fleet.servers[2].adapters["[red]not ours"] = "/x"
    await fleet.kill(3)
    await fleet.kill(4)
    found = await status_of(fleet.urls, {fleet.urls[2], fleet.urls[4]})
    assert [row["replica"] for row in found] == fleet.urls
    assert [row["state"] for row in found] == [
        "ready",
        "/health says HTTP 503",
        "drained",
        "connect: ConnectError",
        "drained; connect: ConnectError",
    ]
    assert [row["answers"] for row in found] == [True, False, True, False, False]
    assert [row["drained"] for row in found] == [False, False, True, False, True]
    assert [row["adapters"] for row in found] == [[name], [], [name], [], []]


async def test_an_address_in_the_list_may_end_in_a_slash(fleet: Fleet) -> None:
    await fleet.start(2)
    replicas = await fleet.open()
    set_drained(fleet.folder, [f"{fleet.urls[0]}/"])
    await ready(replicas, 1)

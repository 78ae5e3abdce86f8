"""Sampling over HTTP: what is sent, what is believed, and what happens when a replica fails."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
import torch
from starlette.responses import JSONResponse

from llm_as_judge.errors import EndpointError, ModelError
from llm_as_judge.policy.adapter import AdapterSpec
from llm_as_judge.policy.model import Policy, load_policy
from llm_as_judge.policy.sample import HFSampler
from llm_as_judge.policy.vllm import ReplicaLimits, VllmReplicas, open_replicas
from llm_as_judge.types import Completion, Message, Sample, Sampling
from running_app import running
from streams import prompts, sync_weights
from vllm_server import FAULTS, ScriptedVllm, TwinOfPolicy

PROMPTS = [[Message("user", f"Problem {n}")] for n in range(4)]


@pytest.fixture
def policy(tiny_weights: Path) -> Policy:
    return load_policy(
        tiny_weights, adapter=AdapterSpec(4, 8), device="cpu", dtype="float32", seed=1
    )


def learn(policy: Policy, scale: float = 0.1) -> None:
    """What an update does: other weights, the next version."""
    with torch.no_grad():
        for name, parameter in policy.adapter_parameters():
            if "lora_B" in name:
                parameter.normal_(std=scale)
    policy.version += 1


class Fleet:
    """Two scripted replicas and what samples from them."""

    def __init__(self, policy: Policy, folder: Path) -> None:
        self.policy, self.folder = policy, folder
        self.servers = [ScriptedVllm(), ScriptedVllm()]

    async def open(self, stack: AsyncExitStack, temperature: float = 0.7) -> VllmReplicas:
        urls = [await stack.enter_async_context(running(s.app)) + "/v1" for s in self.servers]
        limits = ReplicaLimits(generation_batch_size=8, timeout_s=20, retries=2)
        return await stack.enter_async_context(
            open_replicas(self.policy, urls, self.folder, limits, temperature=temperature)
        )


@pytest.fixture
def fleet(policy: Policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    monkeypatch.setattr("llm_as_judge.policy.vllm._PAUSE_S", 0.01)
    return Fleet(policy, tmp_path / "adapters")


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as opened:
        yield opened


async def sample(
    replicas: VllmReplicas,
    k: int = 3,
    temperature: float = 0.7,
    each: Callable[[Sample], None] = lambda _: None,
) -> list[list[Completion]]:
    synced = await sync_weights(replicas)
    return await synced.sample(PROMPTS, Sampling(k, temperature, 9, seed=3), each)


async def test_each_request_names_its_adapter_and_everything_that_shapes_the_distribution(
    fleet: Fleet, stack: AsyncExitStack
) -> None:
    replicas = await fleet.open(stack)
    heard: list[tuple[int, int]] = []
    groups = await sample(replicas, each=lambda one: heard.append((one.p, one.k)))
    asked = [body for server in fleet.servers for body in server.asked]
    assert sorted(heard) == [(p, k) for p in range(4) for k in range(3)]
    assert len({body["seed"] for body in asked}) == len(asked) == 12
    (name,) = {body["model"] for body in asked}
    assert name.startswith("policy-v0-")
    sampler = HFSampler(fleet.policy)
    assert [list(g[0].prompt_ids) for g in groups] == [sampler.prompt_ids(p) for p in PROMPTS]
    neutral = {"top_p": 1.0, "top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0}
    for body in asked:
        assert {key: body[key] for key in neutral} == neutral
        assert (body["temperature"], body["max_tokens"], body["logprobs"]) == (0.7, 9, 0)
        assert set(body["stop_token_ids"]) == fleet.policy.stop_ids
        assert body["return_token_ids"]
        assert body["include_stop_str_in_output"]


async def test_a_prompt_is_written_by_one_replica_and_the_load_is_even(
    fleet: Fleet, stack: AsyncExitStack
) -> None:
    await sample(await fleet.open(stack))
    prompts = [{tuple(body["prompt"]) for body in server.asked} for server in fleet.servers]
    assert [len(found) for found in prompts] == [2, 2]
    assert not prompts[0] & prompts[1]


@pytest.mark.parametrize("fault", [*FAULTS, "500", "no_json", "drop"])
async def test_what_one_replica_spoils_another_writes_and_it_is_counted(
    fleet: Fleet, stack: AsyncExitStack, fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    replicas = await fleet.open(stack)
    fleet.servers[0].faults = [fault]
    if fault == "cut_short":  # no other replica would do better: it is a setting
        with pytest.raises(EndpointError, match="cut off after 2 of 9 tokens: its --max-model-len"):
            await sample(replicas)
        return
    with caplog.at_level(logging.WARNING):
        groups = await sample(replicas)
    assert [len(group) for group in groups] == [3] * 4
    assert {c.logprobs for group in groups for c in group} == {(-1.0, -0.5)}
    assert [len(server.asked) for server in fleet.servers] == [6, 7]
    assert replicas.metrics()["sampling/resent"] == 1.0
    assert replicas.metrics()["sampling/resent"] == 0.0
    assert "its program is written anew" in caplog.text


async def test_what_every_replica_spoils_ends_the_run_with_one_line(
    fleet: Fleet, stack: AsyncExitStack
) -> None:
    replicas = await fleet.open(stack)
    for server in fleet.servers:
        server.faults = ["no_logprobs"] * 100
    with pytest.raises(EndpointError) as caught:
        await sample(replicas)
    assert "\n" not in str(caught.value)
    assert "bad_shape: not one log-prob for each token (3 tries of one program)" in str(
        caught.value
    )


async def test_a_replica_that_was_started_anew_is_given_the_adapter_again(
    fleet: Fleet, stack: AsyncExitStack
) -> None:
    replicas = await fleet.open(stack)
    synced = await sync_weights(replicas)
    fleet.servers[1].adapters.clear()
    groups = await synced.sample(PROMPTS, Sampling(2, 0.7, 9, seed=0))
    assert [len(group) for group in groups] == [2] * 4
    assert replicas.metrics()["sampling/resent"] == 0.0
    assert len(fleet.servers[1].said) > 1  # once at the sync, and for the requests that missed it
    assert set(fleet.servers[1].adapters) == {synced.adapter.name}


async def test_versions_are_pinned_and_leave_when_nobody_uses_them(
    fleet: Fleet, stack: AsyncExitStack
) -> None:
    replicas = await fleet.open(stack)
    server = fleet.servers[0]
    first = await sync_weights(replicas)
    server.open.clear()
    writing = asyncio.create_task(first.sample(PROMPTS[:1], Sampling(1, 0.7, 9, seed=0)))
    await server.reached.wait()
    learn(fleet.policy)
    names = [first.adapter.name]
    for _ in range(2):
        names.append((await sync_weights(replicas)).adapter.name)
        learn(fleet.policy)
    assert list(server.adapters) == names  # the oldest is being used
    server.open.set()
    assert (await writing)[0][0].policy_version == 0
    names.append((await sync_weights(replicas)).adapter.name)
    for replica in fleet.servers:
        assert list(replica.adapters) == names[-2:]
    assert sorted(path.name for path in fleet.folder.iterdir()) == sorted(names[-2:])


async def test_equal_weights_have_one_name_and_other_weights_another(
    fleet: Fleet, stack: AsyncExitStack
) -> None:
    replicas = await fleet.open(stack)
    first = await sync_weights(replicas)
    again = await sync_weights(replicas)
    assert again.adapter == first.adapter
    assert [server.said for server in fleet.servers] == [[f"load {first.adapter.name}"]] * 2
    learn(fleet.policy)
    fleet.policy.version = 0  # as a new run would count
    other = await sync_weights(replicas)
    assert other.adapter.version == 0
    assert other.adapter.name != first.adapter.name


REFUSALS = {
    "rank": (
        JSONResponse(
            {"error": {"message": "LoRA rank 4 is greater than max_lora_rank 2."}}, status_code=500
        ),
        "refused: HTTP 500: LoRA rank 4 is greater than max_lora_rank 2.",
    ),
    "route": (
        JSONResponse({"detail": "Not Found"}, status_code=404),
        "start it with --enable-lora and VLLM_ALLOW_RUNTIME_LORA_UPDATING=1",
    ),
    "path": (
        JSONResponse(
            {"error": {"message": "Loading lora x failed: No adapter found for /x"}},
            status_code=404,
        ),
        "set sampling.adapters to a folder of both",
    ),
}


@pytest.mark.parametrize("why", REFUSALS)
async def test_a_refused_adapter_ends_in_one_line_that_says_what_to_do(
    fleet: Fleet, stack: AsyncExitStack, why: str
) -> None:
    replicas = await fleet.open(stack)
    fleet.servers[1].refusal, wanted = REFUSALS[why]
    with pytest.raises(ModelError) as caught:
        await sync_weights(replicas)
    assert str(caught.value).startswith("policy sampler at http://127.0.0.1:")
    assert wanted in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_logprobs_of_another_distribution_are_refused_at_start(
    fleet: Fleet, stack: AsyncExitStack
) -> None:
    fleet.servers[1].raw_logprobs = True
    await fleet.open(stack, temperature=1.0)  # there both are the same
    with pytest.raises(ModelError, match="start it with --logprobs-mode processed_logprobs"):
        await fleet.open(stack, temperature=0.7)


async def test_a_twin_of_the_policy_writes_with_the_synced_weights(
    fleet: Fleet, stack: AsyncExitStack, tiny_weights: Path
) -> None:
    """Ids and log-probs are those that the policy's own sampler gives, version by version."""
    twin = TwinOfPolicy(tiny_weights)
    fleet.servers = [ScriptedVllm(twin), ScriptedVllm(twin)]
    replicas = await fleet.open(stack)
    texts = []
    for _ in range(2):
        (wanted,) = HFSampler(fleet.policy).complete(
            prompts(PROMPTS[:1]), Sampling(1, 0.0, 9, seed=3)
        )
        ((found,), *_) = await sample(replicas, k=1, temperature=0.0)
        assert found.token_ids == wanted[0].token_ids
        assert found.logprobs == pytest.approx(wanted[0].logprobs, abs=1e-5)
        assert (found.text, found.stop) == (wanted[0].text, wanted[0].stop)
        assert found.policy_version == fleet.policy.version
        texts.append(found.text)
        learn(fleet.policy, scale=0.5)
    assert texts[0] != texts[1]

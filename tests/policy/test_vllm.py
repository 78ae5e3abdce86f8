"""Sampling over HTTP: what is sent, what is believed, and what happens when the server fails."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from starlette.responses import JSONResponse

from llm_as_judge.errors import EndpointError, ModelError
from llm_as_judge.policy.model import Policy
from llm_as_judge.policy.sample import HFSampler
from llm_as_judge.policy.vllm import ServerLimits, VllmSampler, open_vllm
from llm_as_judge.types import Completion, Message, Sample, Sampling
from running_app import running
from streams import prompts, sync_weights
from tiny_models import move, tiny_policy
from vllm_server import FAULTS, ScriptedVllm, TwinOfPolicy

PROMPTS = [[Message("user", f"Problem {n}")] for n in range(4)]


@pytest.fixture
def policy(tiny_weights: Path) -> Policy:
    return tiny_policy(tiny_weights)


def learn(policy: Policy, scale: float = 0.1) -> None:
    """What an update does: other weights, the next version."""
    move(policy, scale)
    policy.version += 1


class Served:
    """A scripted server on a port of its own, which can be killed and started anew."""

    def __init__(self, policy: Policy, folder: Path) -> None:
        self.policy, self.folder = policy, folder
        self.server = ScriptedVllm()
        self.url = ""
        self._life = AsyncExitStack()

    async def open(
        self, stack: AsyncExitStack, temperature: float = 0.7, outage_s: float = 30.0
    ) -> VllmSampler:
        self._life = await stack.enter_async_context(AsyncExitStack())
        self.url = await self._life.enter_async_context(running(self.server.app)) + "/v1"
        limits = ServerLimits(8, timeout_s=20, retries=2, outage_s=outage_s)
        return await stack.enter_async_context(
            open_vllm(self.policy, self.url, self.folder, limits, temperature=temperature)
        )

    async def kill(self) -> None:
        await self._life.aclose()

    async def revive(self) -> None:
        """A process that knows nothing of the one before, at its address."""
        self.server = ScriptedVllm()
        port = int(self.url.split(":")[2].split("/")[0])
        await self._life.enter_async_context(running(self.server.app, port))


@pytest.fixture
def served(policy: Policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Served:
    monkeypatch.setattr("llm_as_judge.policy.vllm._PAUSE_S", 0.01)
    return Served(policy, tmp_path / "adapters")


@pytest.fixture
async def stack() -> AsyncIterator[AsyncExitStack]:
    async with AsyncExitStack() as opened:
        yield opened


async def sample(
    sampler: VllmSampler,
    k: int = 3,
    temperature: float = 0.7,
    each: Callable[[Sample], None] = lambda _: None,
) -> list[list[Completion]]:
    synced = await sync_weights(sampler)
    return await synced.sample(PROMPTS, Sampling(k, temperature, 9, seed=3), each)


async def test_each_request_names_its_adapter_and_everything_that_shapes_the_distribution(
    served: Served, stack: AsyncExitStack
) -> None:
    vllm = await served.open(stack)
    heard: list[tuple[int, int]] = []
    groups = await sample(vllm, each=lambda one: heard.append((one.p, one.k)))
    asked = served.server.asked
    assert sorted(heard) == [(p, k) for p in range(4) for k in range(3)]
    assert len({body["seed"] for body in asked}) == len(asked) == 12
    (name,) = {body["model"] for body in asked}
    assert name.startswith("policy-v0-")
    own = HFSampler(served.policy)
    assert [list(g[0].prompt_ids) for g in groups] == [own.prompt_ids(p) for p in PROMPTS]
    neutral = {"top_p": 1.0, "top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0}
    for body in asked:
        assert {key: body[key] for key in neutral} == neutral
        assert (body["temperature"], body["max_tokens"], body["logprobs"]) == (0.7, 9, 0)
        assert set(body["stop_token_ids"]) == served.policy.stop_ids
        assert body["return_token_ids"]
        assert body["include_stop_str_in_output"]


@pytest.mark.parametrize("fault", [*FAULTS, "500", "no_json", "drop"])
async def test_what_the_server_spoils_is_written_anew_and_counted(
    served: Served, stack: AsyncExitStack, fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    vllm = await served.open(stack)
    served.server.faults = [fault]
    if fault == "cut_short":  # no other try would do better: it is a setting
        with pytest.raises(EndpointError, match="cut off after 2 of 9 tokens: its --max-model-len"):
            await sample(vllm)
        return
    with caplog.at_level(logging.WARNING):
        groups = await sample(vllm)
    assert [len(group) for group in groups] == [3] * 4
    assert {c.logprobs for group in groups for c in group} == {(-1.0, -0.5)}
    assert len(served.server.asked) == 13
    assert vllm.metrics() == {"sampling/resent": 1.0}
    assert vllm.metrics() == {"sampling/resent": 0.0}
    assert "its program is written anew" in caplog.text


async def test_what_the_server_always_spoils_ends_the_run_with_one_line(
    served: Served, stack: AsyncExitStack
) -> None:
    vllm = await served.open(stack)
    served.server.faults = ["no_logprobs"] * 100
    with pytest.raises(EndpointError) as caught:
        await sample(vllm)
    assert "\n" not in str(caught.value)
    assert ": not one log-prob for each token (3 tries of one program)" in str(caught.value)


async def test_a_server_that_died_and_was_started_anew_is_given_the_adapter_again(
    served: Served, stack: AsyncExitStack, caplog: pytest.LogCaptureFixture
) -> None:
    vllm = await served.open(stack)
    synced = await sync_weights(vllm)
    await served.kill()
    writing = asyncio.create_task(synced.sample(PROMPTS, Sampling(2, 0.7, 9, seed=0)))
    with caplog.at_level(logging.WARNING):
        while "its work waits" not in caplog.text:  # noqa: ASYNC110 - the log is all that says it
            await asyncio.sleep(0.01)
    await served.revive()
    assert [len(group) for group in await writing] == [2] * 4
    assert set(served.server.adapters) == {synced.adapter.name}
    assert vllm.metrics() == {"sampling/resent": 0.0}
    learn(served.policy)  # and the next update finds it, too
    await sync_weights(vllm)
    assert len(served.server.adapters) == 2


async def test_a_server_that_stays_away_ends_the_run_with_one_line(
    served: Served, stack: AsyncExitStack
) -> None:
    vllm = await served.open(stack, outage_s=0.05)
    synced = await sync_weights(vllm)
    await served.kill()
    wanted = r"policy sampler at http\S+: cannot connect .* for 0.05 s \(sampling.outage_s\)$"
    with pytest.raises(EndpointError, match=wanted):
        await synced.sample(PROMPTS, Sampling(2, 0.7, 9, seed=0))
    learn(served.policy)
    with pytest.raises(EndpointError, match=wanted):
        await sync_weights(vllm)


async def test_a_server_that_is_not_there_is_one_line_at_start(
    served: Served, stack: AsyncExitStack
) -> None:
    limits = ServerLimits(timeout_s=20)
    opened = open_vllm(
        served.policy, "http://127.0.0.1:1/v1", served.folder, limits, temperature=1.0
    )
    with pytest.raises(
        ModelError, match=r"policy sampler at http://127.0.0.1:1/v1: cannot connect"
    ):
        await stack.enter_async_context(opened)


async def test_versions_are_pinned_and_leave_when_nobody_uses_them(
    served: Served, stack: AsyncExitStack
) -> None:
    vllm, server = await served.open(stack), served.server
    first = await sync_weights(vllm)
    server.open.clear()
    writing = asyncio.create_task(first.sample(PROMPTS[:1], Sampling(1, 0.7, 9, seed=0)))
    await server.reached.wait()
    learn(served.policy)
    names = [first.adapter.name]
    for _ in range(2):
        names.append((await sync_weights(vllm)).adapter.name)
        learn(served.policy)
    assert list(server.adapters) == names  # the oldest is being used
    server.open.set()
    assert (await writing)[0][0].policy_version == 0
    names.append((await sync_weights(vllm)).adapter.name)
    assert list(server.adapters) == names[-2:]
    assert sorted(path.name for path in served.folder.iterdir()) == sorted(names[-2:])


async def test_equal_weights_have_one_name_and_other_weights_another(
    served: Served, stack: AsyncExitStack
) -> None:
    vllm = await served.open(stack)
    first = await sync_weights(vllm)
    again = await sync_weights(vllm)
    assert again.adapter == first.adapter
    assert served.server.said == [f"load {first.adapter.name}"]
    learn(served.policy)
    served.policy.version = 0  # as a new run would count
    other = await sync_weights(vllm)
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
    served: Served, stack: AsyncExitStack, why: str
) -> None:
    vllm = await served.open(stack)
    served.server.refusal, wanted = REFUSALS[why]
    with pytest.raises(ModelError) as caught:
        await sync_weights(vllm)
    assert str(caught.value).startswith("policy sampler at http://127.0.0.1:")
    assert wanted in str(caught.value)
    assert "\n" not in str(caught.value)


async def test_logprobs_of_another_distribution_are_refused_at_start(
    served: Served, stack: AsyncExitStack
) -> None:
    served.server.raw_logprobs = True
    await served.open(stack, temperature=1.0)  # there both are the same
    with pytest.raises(ModelError, match="start it with --logprobs-mode processed_logprobs"):
        await served.open(stack, temperature=0.7)


async def test_a_twin_of_the_policy_writes_with_the_synced_weights(
    served: Served, stack: AsyncExitStack, tiny_weights: Path
) -> None:
    """Ids and log-probs are those that the policy's own sampler gives, version by version."""
    served.server = ScriptedVllm(TwinOfPolicy(tiny_weights))
    vllm = await served.open(stack)
    texts = []
    for _ in range(2):
        (wanted,) = HFSampler(served.policy).complete(
            prompts(PROMPTS[:1]), Sampling(1, 0.0, 9, seed=3)
        )
        ((found,), *_) = await sample(vllm, k=1, temperature=0.0)
        assert found.token_ids == wanted[0].token_ids
        assert found.logprobs == pytest.approx(wanted[0].logprobs, abs=1e-5)
        assert (found.text, found.stop) == (wanted[0].text, wanted[0].stop)
        assert found.policy_version == served.policy.version
        texts.append(found.text)
        learn(served.policy, scale=0.5)
    assert texts[0] != texts[1]

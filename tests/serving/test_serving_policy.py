"""Writers of programs: batches of the policy, files; and the process from start to signal."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from serving_fakes import until

from llm_as_judge.assembly import Workbench, policy_prompt
from llm_as_judge.cli.solving import open_writer
from llm_as_judge.config import Config
from llm_as_judge.errors import ConfigError, DataError
from llm_as_judge.policy.stream import ready
from llm_as_judge.serving.app import ServerOptions
from llm_as_judge.serving.server import KEY_CHARS, Binding, safe_options, serve
from llm_as_judge.solving.writers import FileWriter, PolicyWriter, WritingOptions
from llm_as_judge.types import Completion, Problem, Prompt, SampleStream, Sampling, Usage
from written_programs import ONE_CALL

pytestmark = pytest.mark.asyncio(loop_scope="module")
PROBLEM = Problem("p/1", "custom", "qa", "2 + 2?")
OPTIONS = WritingOptions(temperature=0.25, seed=3, max_new_tokens=64)


class RecordingSampler:
    """Writes ONE_CALL for every prompt; the first batch waits until it is let go."""

    def __init__(self) -> None:
        self.batches: list[tuple[int, float, int]] = []
        self.go = threading.Event()

    async def sample(self, prompts_P: Sequence[Prompt], sampling: Sampling) -> SampleStream:
        self.batches.append((len(prompts_P), sampling.temperature, sampling.seed))
        assert await asyncio.to_thread(self.go.wait, 30)
        text = f"```python\n{ONE_CALL}```"
        return ready(
            [[Completion((1, 2, 3), (4, 5), (-1.0, -1.0), text, "stop")] for _ in prompts_P]
        )


def policy_writer(bench: Workbench, sampler: Any) -> PolicyWriter:
    return PolicyWriter(sampler, policy_prompt(bench.config), bench.parse, OPTIONS)


async def test_requests_that_wait_are_sampled_together(bench: Workbench) -> None:
    sampler = RecordingSampler()
    writer = policy_writer(bench, sampler)
    tasks = [asyncio.create_task(writer.write(PROBLEM, 0.5, 1))]
    await until(lambda: bool(sampler.batches))
    tasks += [asyncio.create_task(writer.write(PROBLEM, 0.5, 1)) for _ in range(3)]
    tasks.append(asyncio.create_task(writer.write(PROBLEM)))
    gone = asyncio.create_task(writer.write(PROBLEM, 0.5, 1))
    await until(lambda: len(writer._queue) == 5)
    gone.cancel()
    await asyncio.gather(gone, return_exceptions=True)
    sampler.go.set()
    written = await asyncio.gather(*tasks)
    # what differs in temperature or seed is a batch of its own; who has gone is in none
    assert sampler.batches == [(1, 0.5, 1), (3, 0.5, 1), (1, 0.25, 3)]
    assert all(w.program.strictly_valid and w.usage == Usage(3, 2) for w in written)
    assert written[0].prompt[-1].role == "user"
    await writer.aclose()


async def test_the_word_of_a_request_stands_in_its_prompt(bench: Workbench) -> None:
    sampler = RecordingSampler()
    sampler.go.set()
    reward = bench.config.reward.model_copy(update={"scheme": "priced"})
    config = bench.config.model_copy(update={"reward": reward})
    writer = policy_writer(replace(bench, config=config), sampler)
    told = [(await writer.write(PROBLEM, budget=word)).prompt[-1].content for word in ("low", None)]
    assert told[0].startswith("The budget for calls is low: ")
    assert told[1].startswith("The budget for calls is middle: ")
    assert policy_writer(bench, sampler).budget is None


async def test_a_failed_batch_fails_its_requests_and_not_the_next(bench: Workbench) -> None:
    sampler = RecordingSampler()
    sampler.go.set()

    class FailsOnce:
        failed = False

        async def sample(self, prompts_P: Sequence[Prompt], sampling: Sampling) -> SampleStream:
            if not self.failed:
                self.failed = True
                raise MemoryError("no room")
            return await sampler.sample(prompts_P, sampling)

    writer = policy_writer(bench, FailsOnce())
    with pytest.raises(MemoryError):
        await writer.write(PROBLEM)
    assert (await writer.write(PROBLEM)).program.runnable


async def test_a_program_file_that_cannot_be_read_is_the_users(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        FileWriter(tmp_path / "none.py", 8)


async def test_open_to_the_network_needs_a_key() -> None:
    with pytest.raises(ConfigError, match="LLM_AS_JUDGE_API_KEY"):
        safe_options(ServerOptions(), Binding(host="0.0.0.0"))
    with_key = ServerOptions(api_key="k" * KEY_CHARS)
    assert safe_options(with_key, Binding(host="0.0.0.0")) is with_key
    assert "localhost" in safe_options(ServerOptions(), Binding()).hosts
    assert "*" not in safe_options(ServerOptions(), Binding()).hosts


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
@pytest.mark.parametrize(
    "key", [" ", "\n", "two words of a key", "k\N{LATIN SMALL LETTER E WITH ACUTE}y" * 8]
)
async def test_a_key_that_is_blank_or_that_no_client_can_send_is_refused(
    host: str, key: str
) -> None:
    with pytest.raises(ConfigError, match="LLM_AS_JUDGE_API_KEY: ") as raised:
        safe_options(ServerOptions(api_key=key), Binding(host))
    assert "\n" not in str(raised.value)
    assert not key.strip() or key not in str(raised.value)


@pytest.mark.parametrize("key", ["k", "k" * (KEY_CHARS - 1), "k" + " " * KEY_CHARS])
async def test_a_key_that_can_be_guessed_is_good_for_this_machine_alone(key: str) -> None:
    with pytest.raises(ConfigError, match=r"secrets\.token_urlsafe\(32\)") as raised:
        safe_options(ServerOptions(api_key=key), Binding("0.0.0.0"))
    assert f"shorter than {KEY_CHARS} characters" in str(raised.value)
    assert safe_options(ServerOptions(api_key=key), Binding()).api_key == key.strip()


def config() -> Config:
    return Config.model_validate({"executor": {"model": "scripted"}, "judge": {"model": "none"}})


async def test_a_server_answers_until_a_signal_and_leaves_signals_as_they_were(
    tmp_path: Path,
) -> None:
    file = tmp_path / "p.py"
    file.write_text(ONE_CALL)
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    running = asyncio.create_task(
        serve(
            open_writer(config(), str(file)),
            ServerOptions(),
            Binding(port=0),
            announce=address.set_result,
        )
    )
    waited: set[asyncio.Future[Any]] = {running, address}
    done, _ = await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
    assert running not in done, running.exception()
    async with httpx.AsyncClient(timeout=600) as http:
        body = {"model": "llm-as-judge", "messages": [{"role": "user", "content": "2 + 2?"}]}
        reply = await http.post(f"{address.result()}/chat/completions", json=body)
    assert reply.status_code == 200
    os.kill(os.getpid(), signal.SIGTERM)
    await running
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


async def test_a_taken_port_and_a_policy_that_is_nothing_are_the_users(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=r"cannot listen: .*name another --port"):
            await serve(open_writer(config(), "untrained"), ServerOptions(), Binding(port=port))
    with pytest.raises(ConfigError, match="wanted untrained, a checkpoint"):
        await serve(open_writer(config(), str(tmp_path / "none")), ServerOptions(), Binding(port=0))

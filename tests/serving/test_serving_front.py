"""Clients that send half a request, leave, or lie about its length: others are answered, memory and log
stay as they are."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging
import os
import resource
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import psutil
import pytest
from serving_fakes import TextWriter, scripted, until

from llm_as_judge.assembly import Workbench
from llm_as_judge.serving.answering import Answerer
from llm_as_judge.serving.app import ServerOptions, make_app
from llm_as_judge.serving.front import Front, FrontLimits, places
from running_app import running
from written_programs import ONE_CALL

pytestmark = pytest.mark.asyncio(loop_scope="module")
ASK = {"model": "llm-as-judge", "messages": [{"role": "user", "content": "MARK-1?"}]}
HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nhost: h\r\ncontent-type: application/json\r\n"
PATIENT = FrontLimits(10, head_s=3600, body_s=3600)
Client = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def guarded(
    bench: Workbench, front: Front, options: ServerOptions | None = None
) -> AsyncIterator[str]:
    app = make_app(Answerer(bench, TextWriter(ONE_CALL)), options or ServerOptions())
    async with running(app, front=front) as url:
        yield url


async def opened(url: str, sent: bytes) -> Client:
    place = urlsplit(url)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    writer.write(sent)
    return reader, writer


async def ended(client: Client) -> bytes:
    """What the server said until it closed the connection."""
    reader, writer = client
    said = b""
    with contextlib.suppress(ConnectionError):
        said = await reader.read()
    writer.close()
    return said


async def answered(url: str) -> int:
    async with httpx.AsyncClient(timeout=600) as http:
        return (await http.post(f"{url}/v1/chat/completions", json=ASK)).status_code


@pytest.fixture
def quiet(bench: Workbench) -> Workbench:
    return dataclasses.replace(bench, executor=scripted())


# ------------------------------------------------------------------------------------- half sent
@pytest.mark.parametrize(
    ("sent", "part"),
    [
        (b"", "head"),
        (b"POST /v1/chat/comp", "head"),
        (HEAD, "head"),
        (HEAD + b"content-length: 90\r\n\r\n{", "body"),
        (HEAD + b"transfer-encoding: chunked\r\n\r\n1\r\n{\r\n", "body"),
    ],
)
async def test_half_a_request_is_waited_for_only_so_long(
    quiet: Workbench, caplog: pytest.LogCaptureFixture, sent: bytes, part: str
) -> None:
    changed = {"head": FrontLimits(10, 0.2, 3600), "body": FrontLimits(10, 3600, 0.2)}
    front = Front(changed[part])
    async with guarded(quiet, front) as url:
        assert await ended(await opened(url, sent)) == b""
        front.limits = PATIENT
        assert await answered(url) == 200
    assert [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING] == [
        f"connections ended by the server: 1 cut: no whole {part} in 0.2 s"
    ]


async def test_a_byte_now_and_then_gives_no_more_time(quiet: Workbench) -> None:
    async with guarded(quiet, Front(FrontLimits(10, head_s=0.2))) as url:
        client = await opened(url, b"POST ")
        for _ in range(200):
            client[1].write(b"/")
            await asyncio.sleep(0.02)
            if client[0].at_eof() or client[1].is_closing():
                break
        else:
            raise AssertionError("it is still waited for")
        await ended(client)


async def test_when_all_places_are_taken_who_has_sent_nothing_whole_gives_way(
    quiet: Workbench,
) -> None:
    async with guarded(quiet, Front(dataclasses.replace(PATIENT, connections=3))) as url:
        half = [await opened(url, HEAD) for _ in range(3)]
        assert await answered(url) == 200
        assert await ended(half[0]) == b""
        for _, writer in half:
            writer.close()


# ----------------------------------------------------------------------------------------- lengths
async def test_two_lengths_are_refused_and_nothing_behind_them_is_read(quiet: Workbench) -> None:
    smuggled = b"GET /health HTTP/1.1\r\nhost: h\r\n\r\n"
    sent = HEAD + b"content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n" + smuggled
    async with guarded(quiet, Front(PATIENT)) as url:
        said = await ended(await opened(url, sent))
    assert said.startswith(b"HTTP/1.1 400 ")
    assert said.count(b"HTTP/1.1") == 1
    assert b"send one of them" in said


# ------------------------------------------------------------------------------------------- log
@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01 no HTTP at all\r\n\r\n",
        HEAD + b"upgrade: websocket\r\nconnection: upgrade\r\ncontent-length: 90\r\n\r\n{",
        HEAD + b"content-length: 90\r\n\r\n{",
        HEAD,
    ],
)
async def test_clients_that_leave_or_speak_another_language_leave_no_traceback(
    quiet: Workbench, caplog: pytest.LogCaptureFixture, sent: bytes
) -> None:
    async with guarded(quiet, Front(PATIENT)) as url:
        for _ in range(20):
            _, writer = await opened(url, sent)
            await writer.drain()
            await asyncio.sleep(0.01)
            writer.transport.abort()
        assert await answered(url) == 200
    told = [r for r in caplog.records if r.levelno >= logging.WARNING]
    assert len(told) <= 1
    assert not any(r.exc_info for r in told)


# -------------------------------------------------------------------------------------- unfinished
async def test_unfinished_bodies_share_what_memory_they_may_hold(quiet: Workbench) -> None:
    options = ServerOptions(unfinished_bytes=300_000)
    sent = HEAD + b"content-length: 400000\r\n\r\n" + b" " * 200_000
    async with guarded(quiet, Front(PATIENT), options) as url:
        first, second, third = [await opened(url, sent) for _ in range(3)]
        said = await asyncio.wait_for(third[0].read(20), 20)
        assert said.startswith(b"HTTP/1.1 503")
        assert await answered(url) == 200
        for _, writer in (first, second, third):
            writer.transport.abort()


async def test_the_soft_limit_of_descriptors_is_raised_and_bounds_the_places(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limits = [(256, 1000)]
    monkeypatch.setattr(resource, "getrlimit", lambda kind: limits[-1])
    monkeypatch.setattr(resource, "setrlimit", lambda kind, both: limits.append(both))
    assert places(500) == 500
    assert limits[-1] == (756, 1000)
    assert places(5000) == 1000 - 256
    assert limits[-1] == (1000, 1000)
    limits[:] = [(resource.RLIM_INFINITY, resource.RLIM_INFINITY)]
    assert places(5000) == 5000


# ------------------------------------------------------------------------------------ the whole verb
@pytest.mark.slow
async def test_a_thousand_half_sent_requests_and_four_hundred_bodies_disturb_nobody(
    tmp_path: Path,
) -> None:
    """1,000 connections with half a head and 400 with an unfinished megabyte, beside 50 clients."""
    if places(2000) < 2000:
        pytest.skip("this account may not open 2,000 connections")
    (tmp_path / "program.py").write_text(ONE_CALL)
    command = [sys.executable, "-m", "llm_as_judge", "serve", "--policy", "program.py"]
    options = ["--port", "0", "--set", "executor.model=scripted", "--max-connections", "600"]
    with (tmp_path / "log").open("w+") as said:
        process = subprocess.Popen(  # noqa: ASYNC220 - it starts at once, and is awaited below
            [*command, *options], cwd=tmp_path, stdout=said, stderr=said, env=dict(os.environ)
        )
        try:
            await _disturbed(process, tmp_path / "log")
        finally:
            process.terminate()
            process.wait(60)
    lines = (tmp_path / "log").read_text().splitlines()
    assert "Traceback" not in "\n".join(lines)
    others = [line for line in lines if not line.startswith("answered  ")]
    assert len(others) < 20, others
    assert process.returncode == 0


async def _disturbed(process: subprocess.Popen[bytes], log: Path) -> None:
    await until(lambda: "serving  http" in log.read_text(), 300)
    serving = log.read_text().partition("serving  ")[2]
    assert "(program.py; executor scripted)" in serving
    url = serving.split()[0].removesuffix("/v1")
    assert await answered(url) == 200
    before = psutil.Process(process.pid).memory_info().rss
    body = HEAD.replace(b"host: h", b"host: localhost") + b"content-length: 1000000\r\n\r\n"
    crowd = [await opened(url, body + b" " * 900_000) for _ in range(400)]
    crowd += [await opened(url, HEAD) for _ in range(1000)]
    async with httpx.AsyncClient(timeout=120) as http:
        replies = await asyncio.gather(
            *(http.post(f"{url}/v1/chat/completions", json=ASK) for _ in range(50))
        )
    grown = psutil.Process(process.pid).memory_info().rss - before
    for _, writer in crowd:
        writer.transport.abort()
    assert [reply.status_code for reply in replies] == [200] * 50
    assert grown < 200 * 2**20, grown
    assert await answered(url) == 200

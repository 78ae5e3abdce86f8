"""Bait for attacks, and what the attacked host looks at afterwards."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from llm_as_judge.types import Json

__all__ = ["SECRET", "World", "lay_bait"]

SECRET = "canary-7f3a9"


@dataclass
class World:
    """What an attack is told, and what the attacked host looks at afterwards."""

    folder: Path
    tcp: socket.socket
    udp: socket.socket
    unix: socket.socket
    victim: subprocess.Popen[bytes]

    def told(self) -> dict[str, Json]:
        return {
            "folder": str(self.folder),
            "canary": str(self.folder / "canary"),
            "tcp": self.tcp.getsockname()[1],
            "udp": self.udp.getsockname()[1],
            "unix": self.unix.getsockname().decode()[1:],
            "victim": self.victim.pid,
            "host": os.getpid(),
            "packages": [path for path in sys.path if path.endswith("site-packages")],
            "project": str(Path(__file__).parents[2] / "src"),
        }

    def harm(self) -> list[str]:
        """What an attack has left behind outside."""
        seen = []
        canary = self.folder / "canary"
        if [path.name for path in self.folder.iterdir()] != ["canary"]:
            seen.append("a file was made or removed")
        elif canary.read_text() != SECRET or canary.stat().st_mode & 0o777 != 0o644:
            seen.append("the canary was changed")
        for listener in (self.tcp, self.unix):
            try:
                listener.accept()[0].close()
            except BlockingIOError:
                continue
            seen.append("a connection was made")
        try:
            self.udp.recv(1)
        except BlockingIOError:
            pass
        else:
            seen.append("a datagram arrived")
        if self.victim.poll() is not None:
            seen.append("the victim is dead")
        return seen


@contextlib.contextmanager
def lay_bait(folder: Path) -> Iterator[World]:
    (folder / "canary").write_text(SECRET)
    (folder / "canary").chmod(0o644)
    os.environ["SANDBOX_TEST_SECRET"] = SECRET
    with (
        socket.create_server(("127.0.0.1", 0)) as tcp,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp,
        socket.socket(socket.AF_UNIX) as unix,
        subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"]) as victim,
    ):
        udp.bind(("127.0.0.1", 0))
        unix.bind(f"\0{folder}")
        unix.listen()
        for sock in (tcp, udp, unix):
            sock.setblocking(False)
        yield World(folder, tcp, udp, unix, victim)
        victim.kill()
    os.environ.pop("SANDBOX_TEST_SECRET", None)

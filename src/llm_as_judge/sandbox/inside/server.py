"""The fork server: loads the interpreter once, then a child costs a fork.

It runs inside the jail and holds nothing worth reading: a program's source and data go from the
host to the child directly, over the child's own socket. Control messages are datagrams:

    host   -> server   {"start": n, "loops", "limits"} with the child's socket, {"kill": n}, {"look": n}
    server -> host     {"landlock": there is}, {"ended": n, "code" or "signal", "cpu_s"}, {"seen": n, "cpu_s"}
"""

from __future__ import annotations

import base64
import gc
import importlib
import json
import os
import random
import resource
import select
import signal
import socket
import time
from dataclasses import dataclass
from typing import Any

from . import child, confine, frames, functions, grading, kernel, packages, workflow

PRELOADED = """
    __future__ _strptime abc array ast asyncio base64 binascii bisect builtins calendar cmath
    collections collections.abc colorsys contextlib copy csv dataclasses datetime decimal
    difflib enum errno fractions functools gc graphlib hashlib heapq html inspect io itertools
    json keyword linecache locale logging math numbers operator os pickle pprint queue random re
    secrets shlex signal stat statistics string struct sys tempfile textwrap threading time
    timeit token tokenize traceback types typing unicodedata unittest uuid warnings weakref zlib
    zoneinfo encodings.idna encodings.latin_1 encodings.ascii encodings.utf_16
    encodings.unicode_escape stringprep concurrent.futures.thread
"""
"""Loaded once for all children; behind the filter no compiled module can be loaded any more."""

MESSAGE = 65536


@dataclass(frozen=True)
class Seals:
    """What is in force in a child before it hears its task."""

    syscalls: bytes
    landlock: int | None

    def apply(self, limits: dict[str, Any]) -> None:  # pragma: no cover - in the jail
        confine.limit_resources(limits)
        kernel.forbid_new_privileges()
        if self.landlock is not None:
            kernel.restrict_files(self.landlock)
            os.close(self.landlock)
        kernel.filter_syscalls(self.syscalls)


def main(descriptor: int) -> None:  # pragma: no cover - in the jail
    """Serves the host at ``descriptor`` until it hangs up."""
    control = socket.socket(fileno=descriptor)
    settings = json.loads(control.recv(MESSAGE))
    for name in PRELOADED.split():
        importlib.import_module(name)
    if settings["packages"]:
        packages.show(settings["packages"])
        packages.load()
    workflow.prepare_quiet_loop()
    for _ in range(3):  # fills what is filled at a first use: caches, lazy imports, bytecode
        _warm_up()
    rules = kernel.landlock_rules(settings["readable"])
    if settings["landlock"] and rules is None:
        raise OSError("this kernel has no Landlock")
    if (uid := settings["uid"]) is not None:  # without root's identity go its capabilities
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    server = _Server(control, Seals(base64.b64decode(settings["syscalls"]), rules))
    os.dup2(0, 2)
    gc.disable()
    gc.freeze()  # a child's collector leaves these pages alone, so that they stay shared
    control.send(json.dumps({"landlock": rules is not None}).encode())
    server.serve()


class _Server:  # pragma: no cover - in the jail
    def __init__(self, control: socket.socket, seals: Seals) -> None:
        self._control = control
        self._seals = seals
        self._numbers: dict[int, int] = {}
        self._pids: dict[int, int] = {}

    def serve(self) -> None:
        wake, woken = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(woken)
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.register(wake, select.POLLIN)
        while True:
            ready = {descriptor for descriptor, _ in poll.poll()}
            if wake in ready:
                os.read(wake, 4096)
                self._reap()
            if self._control.fileno() in ready:
                self._obey()

    def _obey(self) -> None:
        data, descriptors, _, _ = socket.recv_fds(self._control, MESSAGE, 1)
        if not data:
            self._end()
        order = json.loads(data)
        if "start" in order:
            self._start(order, descriptors[0])
        elif "look" in order:
            self._look(order["look"])
        elif (pid := self._pids.get(order["kill"])) is not None:
            os.kill(pid, signal.SIGKILL)

    def _look(self, number: int) -> None:
        pid = self._pids.get(number)
        used = None if pid is None else time.clock_gettime(confine.processor_clock(pid))
        self._control.send(json.dumps({"seen": number, "cpu_s": used}).encode())

    def _end(self) -> None:
        for pid in self._numbers:
            os.kill(pid, signal.SIGKILL)
        os._exit(0)

    def _start(self, order: dict[str, Any], descriptor: int) -> None:
        pid = os.fork()
        if pid == 0:
            self._become_child(order, descriptor)
        os.close(descriptor)
        self._numbers[pid] = order["start"]
        self._pids[order["start"]] = pid

    def _become_child(self, order: dict[str, Any], descriptor: int) -> None:
        try:
            random.seed()
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            keep = {descriptor}
            if self._seals.landlock is not None:
                keep.add(self._seals.landlock)
            kernel.die_with_parent()
            warm_up = _warm_up if order["loops"] else _warm_up_plain
            child.serve_task(descriptor, keep, lambda: self._seals.apply(order["limits"]), warm_up)
        finally:
            os._exit(1)

    def _reap(self) -> None:
        while self._numbers:
            pid, status, usage = os.wait4(-1, os.WNOHANG)
            if pid == 0:
                return
            number = self._numbers.pop(pid)
            del self._pids[number]
            code = os.waitstatus_to_exitcode(status)
            ended = {"ended": number, "code": code, "cpu_s": usage.ru_utime + usage.ru_stime}
            self._control.send(json.dumps(ended).encode())


_REHEARSED = """
class Workflow:
    def __init__(self, name, llm_config, dataset):
        self.custom = operator.Custom(create_llm_instance(llm_config))

    async def __call__(self, problem):
        result = await self.custom(input=problem)
        return result["response"], [a for a in range(3)]
"""


def _warm_up() -> None:
    """Touches what a run will touch: a fresh fork pays for each page at its first use."""
    _warm_up_plain()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        channel = frames.Channel(ours)
        theirs.sendall(frames.pack({"id": 0, "value": {"response": "warm"}}))
        task = {"source": _REHEARSED, "operators": ["Custom"], "arguments": {"problem": "p"}}
        workflow.run_workflow(channel, task)
        workflow.prepare_loop().remove_reader(ours.fileno())
    del channel
    gc.collect(1)  # what the rehearsal left is not for a program to find


def _warm_up_plain() -> None:
    """The part that every run needs."""
    gc.enable()
    source = "def f(a):\n    return [a for a in range(3)]\nassert f(1)"
    functions.execute(source, {"__name__": "warm"})
    grading.read_test("", source)
    frames.unpack(frames.pack({"text": "warm", "names": ["f"]})[4:])
    resource.getrlimit(resource.RLIMIT_AS)

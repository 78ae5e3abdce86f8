"""Hostile programs in both forms of the jail, watched from outside as well as from inside.

``f(world)`` of every attack returns something true if the attack worked; an exception or a killed
process means that it was stopped. ``world`` says where the bait is: a canary file, listeners, a
victim process.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio

from llm_as_judge.sandbox import open_sandbox
from llm_as_judge.sandbox.probing import JAIL_PROPERTIES
from llm_as_judge.types import Json, Limits, Sandbox

pytestmark = pytest.mark.asyncio(loop_scope="module")

LIMITS = Limits(wall_s=5.0, cpu_s=3.0)
SECRET = "canary-7f3a9"


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["jail", "landlock"])
async def jail(request: pytest.FixtureRequest) -> AsyncIterator[Sandbox]:
    opened = await open_sandbox(request.param, ["Custom"], max_children=4)
    yield opened
    await opened.aclose()


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


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with lay_bait(tmp_path_factory.mktemp("bait")) as world:
        yield world


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


PRELUDE = """
import ctypes, os, signal, socket, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
SECRET_HEAD, SECRET_TAIL = "canary", "-7f3a9"  # never whole in this source
libc.getenv.restype = ctypes.c_char_p
libc.mmap.restype = ctypes.c_long
def syscall(*arguments):
    # Any other error comes from the call itself: then the filter has let it through.
    return libc.syscall(*arguments) >= 0 or ctypes.get_errno() not in (1, 38)
"""

READ = {
    "environment": "any(SECRET_TAIL in v for v in os.environ.values()) or len(os.environ) > 1",
    "getenv": "libc.getenv(b'SANDBOX_TEST_SECRET')",
    "own environment in proc": "SECRET_TAIL in open('/proc/self/environ').read()",
    "environment of the trainer": "open(f'/proc/{w[\"host\"]}/environ', 'rb').read()",
    "memory of the trainer": "open(f'/proc/{w[\"host\"]}/mem', 'rb')",
    "processes": "[name for name in os.listdir('/proc') if name.isdigit()]",
    "passwd": "open('/etc/passwd').read()",
    "shadow": "open('/etc/shadow').read()",
    "canary": "open(w['canary']).read()",
    "canary by descriptor": "os.open(w['canary'], os.O_RDONLY)",
    "canary by O_PATH": "os.open(w['canary'], 0o10000000)",
    "stat": "os.stat(w['canary'])",
    "exists": "os.path.exists(w['canary'])",
    "access": "os.access(w['canary'], os.F_OK)",
    "folder": "os.listdir(w['folder'])",
    "home": "os.listdir(os.path.expanduser('~'))",
    "project": "os.listdir(w['project'])",
    "packages": "[os.listdir(p) for p in w['packages']]",
    "walk up": "open('../../../../../../..' + w['canary']).read()",
    "handle": "syscall(304, -100, 0, 0)",
    "readlink": "os.readlink('/proc/self/exe')",
    "statvfs": "os.statvfs(w['folder'])",
    "open files": "[fd for fd in range(3, 4096) if readable(fd)]",
    "uname": "os.uname()",
}
WRITE = {
    "canary": "open(w['canary'], 'w')",
    "append": "open(w['canary'], 'a')",
    "update": "open(w['canary'], 'r+')",
    "tmp": "open('/tmp/made', 'w')",
    "folder": "open(w['folder'] + '/made', 'x')",
    "working folder": "open('made', 'w')",
    "standard library": "open(os.__file__, 'a')",
    "temporary file": "__import__('tempfile').TemporaryFile()",
    "mkdir": "os.mkdir(w['folder'] + '/made') is None",
    "mkdir in the working folder": "os.mkdir('made') is None",
    "symlink": "os.symlink(w['canary'], 'made') is None",
    "hard link": "os.link(w['canary'], w['folder'] + '/made') is None",
    "unlink": "os.unlink(w['canary']) is None",
    "rename": "os.rename(w['canary'], w['folder'] + '/made') is None",
    "chmod": "os.chmod(w['canary'], 0o777) is None",
    "chown": "os.chown(w['canary'], 1, 1) is None",
    "utime": "os.utime(w['canary']) is None",
    "truncate": "os.truncate(w['canary'], 0) is None",
    "fifo": "os.mkfifo('made') is None",
    "device": "os.mknod('made') is None",
    "attribute": "os.setxattr(w['canary'], 'user.a', b'') is None",
    "memfd": "os.memfd_create('made')",
    "chdir": "os.chdir('/') is None and open('made', 'w')",
    "umask": "os.umask(0)",
}
NETWORK = {
    "tcp": "socket.create_connection(('127.0.0.1', w['tcp']), 1)",
    "tcp by syscall": "syscall(41, 2, 1, 0)",
    "udp": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', w['udp']))",
    "name": "socket.getaddrinfo('localhost', 80)",
    "name of a host": "socket.gethostbyname('example.invalid')",
    "abstract socket": "socket.socket(socket.AF_UNIX).connect('\\0' + w['unix']) is None",
    "bind abstract": "socket.socket(socket.AF_UNIX).bind('\\0made') is None",
    "pair, then connect": "socket.socketpair()[0].connect('\\0' + w['unix']) is None",
    "pair of internet sockets": "socket.socketpair(socket.AF_INET)",
    "listen": "socket.create_server(('127.0.0.1', 0))",
    "netlink": "socket.socket(16, socket.SOCK_RAW)",
    "packet": "socket.socket(17, socket.SOCK_RAW)",
    "vsock": "socket.socket(40, socket.SOCK_STREAM)",
    "kernel crypto": "socket.socket(38, socket.SOCK_SEQPACKET)",
    "sendto on the channel": "[s for s in channels() if s.sendto(b'x', '\\0' + w['unix'])]",
    "send a descriptor": "[socket.send_fds(s, [b'x'], [0]) for s in channels()]",
}
PROCESSES = {
    "fork": "fork()",
    "vfork": "syscall(58)",
    "clone": "syscall(56, 17, 0, 0, 0, 0)",
    "clone3": "syscall(435, bytes(88), 88)",
    "exec": "os.execv('/bin/true', ['true']) is None",
    "exec python": "os.execv(sys.executable, ['python']) is None",
    "execveat": "syscall(322, -100, b'/bin/true', 0, 0, 0)",
    "posix_spawn": "os.posix_spawn('/bin/true', ['true'], {})",
    "subprocess": "__import__('subprocess').run(['true']).returncode == 0",
    "system": "os.system('true') == 0",
    "popen": "os.popen('echo x').read()",
    "thread": "threading.Thread(target=int).start() is None",
    "2000 threads": "[threading.Thread(target=int).start() for _ in range(2000)]",
    "executor": "__import__('concurrent.futures').futures.ThreadPoolExecutor().submit(int)",
    "to_thread": "asyncio_run('asyncio.to_thread(int)') == 0",
    "kill victim": "os.kill(w['victim'], signal.SIGKILL) is None",
    "kill trainer": "os.kill(w['host'], 0) is None",
    "kill server": "os.kill(os.getppid(), signal.SIGKILL) is None",
    "kill first": "os.kill(1, signal.SIGKILL) is None",
    "kill all": "os.kill(-1, signal.SIGKILL) is None",
    "kill group": "os.killpg(0, signal.SIGTERM) is None",
    "tgkill": "syscall(234, w['victim'], w['victim'], 9)",
    "pidfd": "os.pidfd_open(w['victim'])",
    "ptrace": "syscall(101, 16, w['victim'], 0, 0)",
    "process_vm_readv": "syscall(310, w['victim'], 0, 0, 0, 0, 0)",
    "process_vm_writev": "syscall(311, w['victim'], 0, 0, 0, 0, 0)",
    "signal by file owner": "libc.fcntl(0, 8, w['victim']) == 0",
    "signal by file": "libc.fcntl(0, 10, 9) == 0",
    "peer of the channel": "[s.getsockopt(1, 17, 12) for s in channels()]",
    "pidfd of the peer": "[s.getsockopt(1, 77, 4) for s in channels()]",
    "setsid": "os.setsid() is None",
    "nice": "os.nice(-5)",
    "affinity": "os.sched_setaffinity(0, {0}) is None",
    "alarm": "signal.alarm(1) == 0",
    "timer": "signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)",
}
KERNEL = {
    "unshare": "syscall(272, 0x10000000)",
    "setns": "syscall(308, 3, 0)",
    "mount": "syscall(165, b'none', b'/', b'tmpfs', 0, 0)",
    "umount": "syscall(166, b'/', 2)",
    "chroot": "os.chroot('/') is None",
    "io_uring": "syscall(425, 8, bytes(120))",
    "bpf": "syscall(321, 0, 0, 0)",
    "keyctl": "syscall(250, 0, -3, 1)",
    "add_key": "syscall(248, b'user', b'a', b'b', 1, -3)",
    "perf": "syscall(298, bytes(128), 0, -1, -1, 0)",
    "userfaultfd": "syscall(323, 1)",
    "personality": "syscall(135, 0x0040000)",
    "modules": "syscall(175, 0, 0, b'')",
    "log": "syscall(103, 10, 0, 0)",
    "hostname": "syscall(170, b'x', 1)",
    "setuid": "os.setuid(0) is None",
    "capset": "syscall(126, 0, 0)",
    "prctl": "libc.prctl(4, 1, 0, 0, 0) == 0",
    "another filter": "libc.prctl(22, 2, 0, 0, 0) == 0",
    "arch_prctl": "syscall(158, 0x1003, ctypes.byref(ctypes.c_long()))",
    "x32": "syscall(0x40000000 + 39)",
    "shared memory": "syscall(29, 0, 4096, 0o1600)",
    "message queue": "syscall(68, 0, 0o1600)",
    "executable map": "libc.mmap(None, 4096, 7, 0x22, -1, 0) != -1",
    "executable mprotect": "executable_mprotect()",
    "raise limits": "__import__('resource').setrlimit(7, (4096, 4096)) is None",
    "raise own limits": "syscall(302, 0, 9, (ctypes.c_ulong * 2)(2**40, 2**40), 0)",
    "limits of another": "syscall(302, w['victim'], 9, 0, 0)",
    "clock": "syscall(227, 0, 0)",
    "reading limits of none": "syscall(302, 1, 9, 0, (ctypes.c_ulong * 2)())",
}
PYTHON = {
    "subclasses": (
        "[c for c in object.__subclasses__() if c.__name__ == '_wrap_close']"
        "[0].__init__.__globals__['system']('true') == 0"
    ),
    "format string": "SECRET_TAIL in '{0.__globals__[os].environ}'.format(f)",
    "packages": "sys.path.extend(w['packages']) or __import__('numpy')",
    "project": "sys.path.append(w['project']) or __import__('llm_as_judge')",
    "foreign extension": "load_extension(w['packages'])",
    "pickle": "__import__('pickle').loads(b'cposix\\nsystem\\n(S\"true\"\\ntR.') == 0",
    "frames": "[x for x in frames() if type(x).__name__ == '_Server' and x._control.send(b'{}')]",
    "server by gc": (
        "[x for x in __import__('gc').get_objects() if type(x).__name__ == '_Server'"
        " and x._control.send(b'{}')]"
    ),
    "sockets by gc": "[s for s in channels() if s.type == socket.SOCK_SEQPACKET and s.send(b'{}')]",
    "neighbour's source": "[x for x in strings() if SECRET_HEAD + SECRET_TAIL in x]",
    "input": "sys.stdin.read() or os.read(0, 10)",
}
HELPERS = """
def readable(fd):
    try:
        os.pread(fd, 1, 0)
    except OSError:
        return False
    return True
def channels():
    import gc
    return [x for x in gc.get_objects() if isinstance(x, socket.socket) and x.fileno() >= 0]
def strings():
    import gc
    for thing in gc.get_objects():
        if isinstance(thing, dict):
            yield from (x for x in list(thing.values()) if isinstance(x, str))
        elif isinstance(thing, (list, tuple)):
            yield from (x for x in thing if isinstance(x, str))
def frames():
    frame = sys._getframe()
    while frame:
        yield from list(frame.f_locals.values())
        frame = frame.f_back
def fork():
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    return pid
def asyncio_run(code):
    import asyncio
    return asyncio.run(eval(code, {"asyncio": asyncio}))
def executable_mprotect():
    address = libc.mmap(None, 4096, 3, 0x22, -1, 0)
    assert address != -1
    return libc.mprotect(ctypes.c_void_p(address), 4096, 5) == 0
def load_extension(folders):
    for folder in folders:
        for root, _, names in os.walk(folder):
            for name in names:
                if name.endswith(".so"):
                    return ctypes.CDLL(root + "/" + name)
"""

ATTACKS = {
    f"{kind}: {name}": attack
    for kind, attacks in {
        "read": READ,
        "write": WRITE,
        "network": NETWORK,
        "process": PROCESSES,
        "kernel": KERNEL,
        "python": PYTHON,
    }.items()
    for name, attack in attacks.items()
}


async def test_report_says_that_every_property_was_seen(jail: Sandbox) -> None:
    assert set(jail.isolation.holds) == set(JAIL_PROPERTIES)
    assert all(jail.isolation.holds.values())
    assert "seccomp" in jail.isolation.mechanism


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
async def test_attack_is_stopped(jail: Sandbox, world: World, attack: str) -> None:
    source = f"{PRELUDE}{HELPERS}\ndef f(w):\n    return ({attack}) or None\n"
    waiting = f"SECRET = '{SECRET}'\nimport time\ndef f(): time.sleep(0.05); return 'unharmed'"
    neighbour = asyncio.ensure_future(jail.run_function(waiting, "f", [], LIMITS))
    await asyncio.sleep(0.02)
    result = await jail.run_function(source, "f", [world.told()], LIMITS)
    assert (result.status, result.value) in [("ok", None), ("error", None), ("died", None)]
    assert "SyntaxError" not in result.error
    assert "NameError" not in result.error
    assert (await neighbour).value == "unharmed"
    assert world.harm() == []


CONTROLS = {
    "read: canary": "",
    "read: stat": "",
    "read: exists": "",
    "read: folder": "",
    "read: open files": None,
    "write: mkdir": "a file was made or removed",
    "write: chmod": "the canary was changed",
    "write: memfd": "",
    "network: tcp": "a connection was made",
    "network: abstract socket": "a connection was made",
    "network: udp": "a datagram arrived",
    "network: netlink": "",
    "process: fork": "",
    "process: system": "",
    "process: thread": "",
    "process: kill victim": "the victim is dead",
    "kernel: executable map": "",
    "kernel: executable mprotect": "",
    "python: subclasses": "",
    "python: pickle": "",
    "python: foreign extension": "",
}


@pytest.mark.parametrize(("name", "harm"), CONTROLS.items(), ids=CONTROLS)
async def test_attacks_do_work_where_nothing_stops_them(
    tmp_path: Path, name: str, harm: str | None
) -> None:
    unjailed = await open_sandbox("subprocess")
    source = f"{PRELUDE}{HELPERS}\ndef f(w):\n    return ({ATTACKS[name]}) or None\n"
    with lay_bait(tmp_path) as world:
        result = await unjailed.run_function(source, "f", [world.told()], LIMITS)
        if harm == "the victim is dead":
            world.victim.wait(5)
        if harm is None:
            assert result.value is None  # limits and closed files do hold here
        else:
            assert result.value is not None, result.error
            assert world.harm() == [harm] * bool(harm)
    await unjailed.aclose()


EXHAUSTION = {
    "8 GB": ("x = bytearray(8 * 2**30)", {"limit"}),
    "slow growth": ("x = []\nwhile True: x.append(' ' * 10**6 + str(len(x)))", {"limit"}),
    "a number": ("return 9**9**9", {"timeout", "limit"}),
    "recursion": ("def g(): g()\ng()", {"error"}),
    "recursion without bound": (
        "import sys\nsys.setrecursionlimit(10**9)\ndef g(x): return [g(x)]\ng(1)",
        {"died", "limit", "error", "timeout"},
    ),
    "deep parse": ("eval('(' * 10**6)", {"error", "limit", "died"}),
    "deep list": ("x = []\nfor i in range(10**6): x = [x]\nreturn x", {"error", "limit", "died"}),
    "endless output": ("while True: print('x' * 10**5)", {"limit"}),
    "loop": ("while True: pass", {"timeout"}),
    "sleep": ("import time\ntime.sleep(10**6)", {"timeout"}),
    "catch all": (
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
        {"timeout"},
    ),
    "ignored signals": (
        (
            "import signal\nfor s in range(1, 32):\n"
            "    try: signal.signal(s, signal.SIG_IGN)\n    except (OSError, ValueError): pass\n"
            "while True: pass"
        ),
        {"timeout"},
    ),
    "regular expression": ("import re\nre.match('(a+)+$', 'a' * 64 + 'b')", {"timeout"}),
    "descriptors": ("import os\nx = [os.dup(0) for _ in range(10**6)]", {"error"}),
    "zip bomb": (
        (
            "import zlib\nc = zlib.compressobj()\n"
            "d = b''.join(c.compress(bytes(2**20)) for _ in range(2000)) + c.flush()\n"
            "zlib.decompress(d)"
        ),
        {"limit", "timeout"},
    ),
    "segfault": ("import ctypes\nctypes.string_at(0)", {"died"}),
    "abort": ("import os\nos.abort()", {"died"}),
    "hanging atexit": (
        "import atexit, time\natexit.register(time.sleep, 10**6)\nreturn 1",
        {"ok"},
    ),
    "hanging finaliser": (
        (
            "import time\nclass A:\n    def __del__(self): time.sleep(10**6)\n"
            "global a\na = A()\nreturn 1"
        ),
        {"ok"},
    ),
    "long answer": ("return 'x' * 64 * 2**20", {"limit", "error", "timeout"}),
    "hash collisions": ("return len({i * (2**61 - 1) for i in range(10**5)})", {"timeout"}),
}


@pytest.mark.slow
@pytest.mark.parametrize(("body", "statuses"), EXHAUSTION.values(), ids=EXHAUSTION)
async def test_exhaustion_harms_nobody_else(jail: Sandbox, body: str, statuses: set[str]) -> None:
    lines = "\n".join("    " + line for line in body.splitlines())
    limits = Limits(wall_s=1.5, cpu_s=3.0, memory_bytes=256 * 2**20)
    started = time.monotonic()
    hostile = asyncio.ensure_future(jail.run_function(f"def f():\n{lines}", "f", [], limits))
    neighbour = await jail.run_function("def f(): return 'unharmed'", "f", [], LIMITS)
    result = await hostile
    assert result.status in statuses, result
    assert time.monotonic() - started < 60
    assert len(result.output) <= limits.output_bytes
    assert neighbour.value == "unharmed"


async def test_nobody_is_left_when_the_runs_are_over(jail: Sandbox) -> None:
    source = "import time\ndef f(): time.sleep(60)"
    runs = (jail.run_function(source, "f", [], Limits(wall_s=0.2)) for _ in range(20))
    assert {result.status for result in await asyncio.gather(*runs)} == {"timeout"}
    await asyncio.sleep(0.5)
    states = [_state(pid) for pid in _descendants_of(jail)]
    assert "Z" not in states
    assert len(states) <= 7  # the server, its parent and the spare children


def _descendants_of(jail: Sandbox) -> list[int]:
    root = jail._launcher.server_pid  # type: ignore[attr-defined]
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        fields = stat.read_text().rpartition(")")[2].split()
        parents[int(stat.parent.name)] = int(fields[1])
    found, level = [root], [root]
    while level:
        level = [pid for pid, parent in parents.items() if parent in level]
        found += level
    return found


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


async def test_death_of_the_server_is_our_failure_and_it_comes_back(jail: Sandbox) -> None:
    from llm_as_judge.errors import SandboxError

    source = "import time\ndef f(x): time.sleep(60)"
    tests = ("assert f(1)",)
    running = [jail.run_function(source, "f", [1], Limits(wall_s=20)) for _ in range(2)]
    grading = jail.run_tests(source, "f", tests, Limits(wall_s=20))
    together = asyncio.gather(*running, grading, return_exceptions=True)
    await asyncio.sleep(0.3)
    os.kill(jail._launcher.server_pid, signal.SIGKILL)  # type: ignore[attr-defined]
    assert [type(outcome) for outcome in await together] == [SandboxError] * 3
    result = await jail.run_function("def f(): return 'back'", "f", [], LIMITS)
    assert result.value == "back"

"""Expressions that do harm where nothing stops them, by kind.

``w`` says where the bait is. Each is true if the attack worked; an exception or a killed process
means that it was stopped.
"""

from __future__ import annotations

__all__ = ["ATTACKS", "source_of"]

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
    "neighbor's source": "[x for x in strings() if SECRET_HEAD + SECRET_TAIL in x]",
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


def source_of(attack: str) -> str:
    """The program of one attack: ``f(world)`` returns what it got hold of, or None."""
    return f"{PRELUDE}{HELPERS}\ndef f(w):\n    return ({attack}) or None\n"

"""The system calls that a jailed program may make: an allow-list, compiled by libseccomp.

Everything that is not named here is refused with EPERM: opening sockets, creating processes and
threads, signals and timers, executing files, changing names, owners and modes, every kernel
interface that few programs need. libseccomp writes the filter, because in a hand-written one a
wrong jump can allow everything and still load without an error.
"""

from __future__ import annotations

import errno
import importlib
import mmap
import os
import socket
import tempfile
from types import ModuleType
from typing import Any

from llm_as_judge.errors import SandboxError

ALWAYS = (
    # bytes over descriptors that are already open
    *("read", "write", "readv", "writev", "pread64", "lseek", "close", "close_range"),
    *("recvfrom", "sendto", "dup", "dup2", "dup3", "fstat"),
    # an event loop
    *("poll", "ppoll", "select", "pselect6"),
    *("epoll_create", "epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait"),
    # memory that cannot be executed (mmap and mprotect: see below)
    *("munmap", "mremap", "madvise", "brk"),
    # signals that the process gives itself by fault; none can be sent
    *("rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack"),
    *("futex", "set_robust_list", "rseq", "sched_yield", "sched_getaffinity", "restart_syscall"),
    # clocks, chance, identity
    *("clock_gettime", "clock_getres", "clock_nanosleep", "nanosleep", "gettimeofday", "time"),
    *("times", "getrusage", "getrandom"),
    *("getpid", "gettid", "getppid", "getuid", "geteuid", "getgid", "getegid"),
    *("exit", "exit_group"),
)
READ_PATHS = (
    *("stat", "lstat", "newfstatat", "statx", "access", "faccessat", "faccessat2"),
    *("readlink", "readlinkat", "getdents64", "getcwd"),
)
"""Allowed where the file system holds nothing but the standard library."""

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
HARMLESS_FCNTLS = {
    "F_DUPFD": 0,
    "F_GETFD": 1,
    "F_SETFD": 2,
    "F_GETFL": 3,
    "F_SETFL": 4,
    "F_DUPFD_CLOEXEC": 1030,
}
"""Not F_SETOWN and F_SETSIG: they make the kernel send any signal to any process of the user."""
HARMLESS_IOCTLS = {"FIONBIO": 0x5421, "FIOCLEX": 0x5451, "TCGETS": 0x5401}


def compile_filter(read_paths: bool) -> bytes:
    """The filter as the kernel takes it (``struct sock_filter[]``) for this machine.

    Args:
        read_paths: allow opening for reading and stat; else no call that names a path.
    Raises:
        SandboxError: libseccomp or its Python binding is missing.
    """
    seccomp = _binding()
    rules = seccomp.SyscallFilter(seccomp.ERRNO(errno.EPERM))
    for name in ALWAYS + (READ_PATHS if read_paths else ()):
        _add(seccomp, rules, seccomp.ALLOW, name)
    _add_conditional(seccomp, rules, read_paths)
    # The C library falls back to clone, which is refused, only if clone3 seems not to exist.
    _add(seccomp, rules, seccomp.ERRNO(errno.ENOSYS), "clone3")
    with tempfile.TemporaryFile() as file:
        rules.export_bpf(file)
        file.seek(0)
        return file.read()


def _add_conditional(seccomp: ModuleType, rules: Any, read_paths: bool) -> None:
    def allow(name: str, *conditions: tuple[int, int, int, int]) -> None:
        arguments = [seccomp.Arg(*condition) for condition in conditions]
        _add(seccomp, rules, seccomp.ALLOW, name, *arguments)

    def none_of(argument: int, bits: int) -> tuple[int, int, int, int]:
        return (argument, seccomp.MASKED_EQ, bits, 0)

    def equals(argument: int, value: int) -> tuple[int, int, int, int]:
        return (argument, seccomp.EQ, value, 0)

    allow("mmap", none_of(2, mmap.PROT_EXEC))
    allow("mprotect", none_of(2, mmap.PROT_EXEC))
    for command in HARMLESS_IOCTLS.values():
        allow("ioctl", equals(1, command))
    for command in HARMLESS_FCNTLS.values():
        allow("fcntl", equals(1, command))
    allow("prlimit64", equals(0, 0), equals(2, 0))  # reading one's own limits
    # asyncio.run makes a pair to wake itself; a pair reaches nobody else.
    allow("socketpair", equals(0, socket.AF_UNIX))
    if read_paths:
        allow("open", none_of(1, WRITING))
        allow("openat", none_of(2, WRITING))


def _add(seccomp: ModuleType, rules: Any, action: int, name: str, *conditions: Any) -> None:
    # A negative number stands for a call that this architecture does not have.
    if seccomp.resolve_syscall(seccomp.system_arch(), name) >= 0:
        rules.add_rule(action, name, *conditions)


def _binding() -> ModuleType:
    try:
        return importlib.import_module("pyseccomp")
    except (ImportError, OSError, RuntimeError) as error:
        raise SandboxError(
            f"sandbox: system calls cannot be filtered ({error}). Install the Python package "
            "pyseccomp and the library libseccomp (Debian: libseccomp2)"
        ) from None

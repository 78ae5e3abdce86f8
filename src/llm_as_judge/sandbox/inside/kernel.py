"""The three kernel calls that Python does not offer: no_new_privs, seccomp, Landlock."""

from __future__ import annotations

import ctypes
import os
import signal
import struct
from collections.abc import Iterable
from typing import Any

_PR_SET_PDEATHSIG = 1
_PR_SET_SECCOMP = 22
_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP_MODE_FILTER = 2
# Numbers that all architectures share (added after the tables were unified).
_LANDLOCK_CREATE_RULESET = 444
_LANDLOCK_ADD_RULE = 445
_LANDLOCK_RESTRICT_SELF = 446
_LANDLOCK_CREATE_RULESET_VERSION = 1
_LANDLOCK_RULE_PATH_BENEATH = 1
_READ_FILE_AND_FOLDER = 0b1100
_FILE_RIGHTS_BY_ABI = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_TCP_BIND_AND_CONNECT = 0b11
_SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS = 0b11

_libc: Any = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p)]


def _checked(result: int, what: str) -> int:  # pragma: no cover - in the child
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def forbid_new_privileges() -> None:  # pragma: no cover - in the child
    """No later exec can gain privileges; both filters below ask for it."""
    _checked(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")


def die_with_parent() -> None:  # pragma: no cover - in the child
    """This process is killed when its parent ends, however that ends."""
    _checked(_libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "parent-death signal")


def filter_syscalls(program: bytes) -> None:  # pragma: no cover - in the child
    """Installs a compiled filter (eight bytes an instruction) for good."""
    buffer = ctypes.create_string_buffer(program, len(program))
    header = _Program(len(program) // 8, ctypes.addressof(buffer))
    result = _libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(header), 0, 0)
    _checked(result, "seccomp")


def landlock_rules(readable: Iterable[str]) -> int | None:  # pragma: no cover - in the child
    """A rule set that allows reading below ``readable`` and nothing else.

    Returns:
        Its descriptor, or None where the kernel has no Landlock.
    """
    flags = ctypes.c_uint(_LANDLOCK_CREATE_RULESET_VERSION)
    abi = _libc.syscall(_LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), flags)
    if abi < 1:
        return None
    fields = [(1 << _FILE_RIGHTS_BY_ABI[min(abi, 5)]) - 1]
    if abi >= 4:
        fields.append(_TCP_BIND_AND_CONNECT)
    if abi >= 6:
        fields.append(_SCOPE_ABSTRACT_SOCKETS_AND_SIGNALS)
    attributes = struct.pack(f"{len(fields)}Q", *fields)
    size = ctypes.c_size_t(len(attributes))
    rules: int = _libc.syscall(_LANDLOCK_CREATE_RULESET, attributes, size, ctypes.c_uint(0))
    _checked(rules, "landlock_create_ruleset")
    for path in readable:
        _allow_reading(rules, path)
    return rules


def _allow_reading(rules: int, path: str) -> None:  # pragma: no cover - in the child
    folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        rule = struct.pack("=Qi", _READ_FILE_AND_FOLDER, folder)
        kind = ctypes.c_uint(_LANDLOCK_RULE_PATH_BENEATH)
        result = _libc.syscall(_LANDLOCK_ADD_RULE, rules, kind, rule, ctypes.c_uint(0))
        _checked(result, "landlock_add_rule")
    finally:
        os.close(folder)


def restrict_files(rules: int) -> None:  # pragma: no cover - in the child
    """Puts this process under a rule set for good."""
    result = _libc.syscall(_LANDLOCK_RESTRICT_SELF, rules, ctypes.c_uint(0))
    _checked(result, "landlock_restrict_self")

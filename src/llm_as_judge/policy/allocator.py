"""Memory of freed tensors goes back to the system at once, where the C library would keep it.

glibc's malloc raises the size above which a block is mapped by itself each time such a block is
freed, up to 32 MiB. From then on most activations are cut out of heaps that one small survivor keeps
from shrinking, so a training process grows with every step. A threshold that is set stays as it is.
Source: mallopt(3), M_MMAP_THRESHOLD.
"""

from __future__ import annotations

import ctypes

_M_MMAP_THRESHOLD = -3
OWN_MAPPING_BYTES = 2**20
"""Blocks from here on are mapped, and so freed, one by one; smaller ones are not worth a call."""


def return_freed_memory() -> bool:
    """Fix the threshold for this process; False where the C library is not glibc."""
    library = ctypes.CDLL(None)
    if not hasattr(library, "gnu_get_libc_version"):
        return False
    return bool(library.mallopt(_M_MMAP_THRESHOLD, OWN_MAPPING_BYTES))

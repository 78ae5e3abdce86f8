"""Starts the fork server in an interpreter whose modules do nothing at a fork.

threading, logging, random and others ask to be called in each child, for threads and for chance.
The server has no threads and seeds chance itself; the hooks would cost each child 160 pages.
"""

from __future__ import annotations

import os


def main(descriptor: int) -> None:  # pragma: no cover - in the jail
    """See :func:`server.main`; no module that asks for a hook may be loaded before this."""
    os.register_at_fork = lambda **_hooks: None
    from . import server

    server.main(descriptor)

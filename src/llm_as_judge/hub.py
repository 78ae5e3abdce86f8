"""Where the Hugging Face hub is, and whether it answers: the one question before any use of it."""

from __future__ import annotations

import os

import httpx

_YES = ("1", "ON", "YES", "TRUE")


def hub_address() -> str:
    """``HF_ENDPOINT``, else the public hub."""
    return os.environ.get("HF_ENDPOINT") or "https://huggingface.co"


def hub_errors() -> tuple[type[Exception], ...]:
    """What the hub's client raises where the wire, the repository or the disk is at fault. From its version 2 on
    it speaks httpx2, whose errors are none of httpx's."""
    try:
        from httpx2 import HTTPError
    except ImportError:
        return httpx.HTTPError, OSError, ValueError
    return httpx.HTTPError, HTTPError, OSError, ValueError


def hub_unreachable(timeout_s: float = 4.0) -> str:
    """Why the hub cannot be used, found out within ``timeout_s`` and not in its client's many retries;
    empty: it can."""
    if os.environ.get("HF_HUB_OFFLINE", "").upper() in _YES:
        return "HF_HUB_OFFLINE is set"
    address = hub_address()
    try:
        status = httpx.head(address, timeout=timeout_s).status_code
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        return f"{address} not reachable ({error or type(error).__name__})"
    # a proxy that lets nobody through, or a service that is down
    refused = status in (401, 403, 407) or status >= 500
    return f"{address} answered {status}" if refused else ""

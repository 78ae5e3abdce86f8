"""The Hugging Face hub: its address, whether it answers, and downloads from it.

A download is a process of its own (``python -m llm_as_judge.hub JSON``): its threads cannot be ended, a process
can. Finished parts stay in the hub's cache.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import httpx

from llm_as_judge import interruptible

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


class HubError(Exception):
    """A download that failed; the message says why, in a line."""


def hub_download(
    repository: str,
    *,
    revision: str | None,
    file: str | None = None,
    patterns: Sequence[str] = (),
) -> Path:
    """A file of a repository, or its snapshot, in the hub's cache; its bars are shown on standard error.

    Args:
        file: None = a snapshot of the files that fit ``patterns``.
    Raises:
        HubError: the wire, the repository or the disk is at fault.
    """
    asked = json.dumps([repository, revision, file, list(patterns)])
    command = [sys.executable, "-m", "llm_as_judge.hub", asked]
    child = interruptible.run(command, show_errors=True)
    try:
        said = json.loads(child.stdout.strip().splitlines()[-1])
    except (ValueError, IndexError):
        raise HubError(f"the download ended with status {child.returncode}") from None
    if "path" not in said:
        raise HubError(said["error"])
    return Path(said["path"])


def _download(
    repository: str, revision: str | None, file: str | None, patterns: list[str]
) -> dict[str, str]:
    from huggingface_hub import hf_hub_download, snapshot_download

    try:
        if file is not None:
            return {"path": hf_hub_download(repository, file, revision=revision)}
        return {"path": snapshot_download(repository, revision=revision, allow_patterns=patterns)}
    except hub_errors() as error:
        lines = str(error).strip().splitlines()
        return {"error": lines[0] if lines else type(error).__name__}


def _end_with_parent() -> None:
    while os.read(0, 4096):
        pass
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, daemon=True).start()
    print(json.dumps(_download(*json.loads(sys.argv[1]))))  # noqa: T201

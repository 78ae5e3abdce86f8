"""The Hugging Face hub, as far as downloading needs it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import IO, Any, Protocol

from llm_as_judge.data.catalog import HubRecord
from llm_as_judge.errors import DataError


class Hub(Protocol):
    """Where rows are fetched from; an interface for tests."""

    def unreachable(self) -> str:
        """Why the hub cannot be reached, found out within a few seconds; '' if it can."""
        ...

    def fetch(self, record: HubRecord, revision: str | None, stream: IO[bytes]) -> str:
        """Write all rows of the record to ``stream`` as JSONL; returns the revision read.

        Args:
            revision: commit to read; None = the newest.
        Raises:
            DataError: the record does not exist or cannot be read.
        """
        ...


class DatasetsHub:
    """The hub through the ``datasets`` library (imported when first used)."""

    def __init__(self, cache_dir: Path, timeout_s: float = 3.0) -> None:
        self._cache_dir, self._timeout_s = cache_dir, timeout_s
        self._endpoint = os.environ.get("HF_ENDPOINT") or "https://huggingface.co"

    def unreachable(self) -> str:
        if os.environ.get("HF_HUB_OFFLINE", "0").upper() in ("1", "TRUE", "YES", "ON"):
            return "HF_HUB_OFFLINE is set"
        import httpx

        try:
            status = httpx.head(self._endpoint, timeout=self._timeout_s).status_code
        except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
            return f"{self._endpoint}: {error or type(error).__name__}"
        # A proxy that lets nobody through, or a service that is down.
        refused = status in (401, 403, 407) or status >= 500
        return f"{self._endpoint}: answered {status}" if refused else ""

    def fetch(self, record: HubRecord, revision: str | None, stream: IO[bytes]) -> str:
        import datasets

        try:
            commit = revision or self._newest(record.repo)
            for config in record.configs:
                for split in record.splits:
                    rows = datasets.load_dataset(
                        record.repo,
                        config,
                        split=split,
                        revision=commit,
                        cache_dir=str(self._cache_dir),
                    )
                    _write_rows(rows, stream)
        except Exception as error:  # the library lets the errors of several others through
            first = (str(error).strip().splitlines() or [type(error).__name__])[0]
            raise DataError(first) from error
        return commit

    def _newest(self, repo: str) -> str:
        import httpx

        address = f"{self._endpoint}/api/datasets/{repo}/revision/main"
        reply = httpx.get(address, timeout=10 * self._timeout_s, follow_redirects=True)
        reply.raise_for_status()
        return str(reply.json()["sha"])


def _write_rows(rows: Any, stream: IO[bytes]) -> None:
    for row in rows:
        stream.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")

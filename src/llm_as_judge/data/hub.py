"""The Hugging Face hub, as far as downloading needs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import IO, Any, Protocol

from llm_as_judge.config import HubRecord
from llm_as_judge.errors import DataError
from llm_as_judge.hub import hub_address, hub_unreachable

_ANSWER_S = 30.0


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

    def __init__(self, cache_dir: Path) -> None:
        self._cache_dir = cache_dir

    def unreachable(self) -> str:
        return hub_unreachable()

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

        address = f"{hub_address()}/api/datasets/{repo}/revision/main"
        reply = httpx.get(address, timeout=_ANSWER_S, follow_redirects=True)
        reply.raise_for_status()
        return str(reply.json()["sha"])


def _write_rows(rows: Any, stream: IO[bytes]) -> None:
    for row in rows:
        stream.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")

"""The Hugging Face hub, as far as downloading and rows of one's own need it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import IO

from llm_as_judge.config import HubRecord
from llm_as_judge.errors import DataError
from llm_as_judge.files import write_atomically
from llm_as_judge.hub import hub_address, hub_unreachable

_ANSWER_S = 30.0


class DatasetsHub:
    """The hub through the ``datasets`` library (imported when first used)."""

    def __init__(self, cache_dir: Path) -> None:
        self._cache_dir = cache_dir

    def unreachable(self) -> str:
        """Why the hub cannot be reached, found out within a few seconds; '' if it can."""
        return hub_unreachable()

    def fetch(self, record: HubRecord, revision: str | None, stream: IO[bytes]) -> str:
        """Write all rows of the record to ``stream`` as JSONL; returns the revision read.

        Args:
            revision: commit to read; None = the newest.
        Raises:
            DataError: the record does not exist or cannot be read.
        """
        import datasets

        try:
            commit = revision or self._newest(record.repo)
            for config in record.configs:
                for split in record.splits:
                    place = {"revision": commit, "cache_dir": str(self._cache_dir)}
                    for row in datasets.load_dataset(record.repo, config, split=split, **place):
                        stream.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
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


_HUB_ID = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")


def is_of_hub(given: Path) -> bool:
    """Whether this names a data set of the hub, ``OWNER/NAME``, and no file."""
    named = given.suffix != ".jsonl" and _HUB_ID.fullmatch(given.as_posix()) is not None
    return named and not given.exists()


def own_rows(given: Path, hub: DatasetsHub) -> Path:
    """The file of the rows. ``OWNER/NAME``, where no such file is, is a data set of the hub: its
    train split becomes ``NAME.jsonl`` in the working folder, unless that is there already.

    Raises:
        DataError: the hub cannot be reached, or has no such set.
    """
    if not is_of_hub(given):
        return given
    path = Path(f"{given.name}.jsonl")
    if path.exists():
        return path
    record = HubRecord(repo=given.as_posix(), configs=("default",), splits=("train",))
    try:
        if reason := hub.unreachable():
            raise DataError(reason)  # noqa: TRY301 - told like any other reason
        with write_atomically(path) as stream:
            hub.fetch(record, None, stream)
    except DataError as error:
        raise DataError(
            f"{given}: no such file, and not from the hub: {error}. Name a file of rows, or try again"
        ) from None
    return path

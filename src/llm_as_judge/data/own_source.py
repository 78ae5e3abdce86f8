"""Where rows of one's own are taken from: a file, or a data set of the hub by its id."""

from __future__ import annotations

import re
from pathlib import Path

from llm_as_judge.config import HubRecord
from llm_as_judge.data.hub import Hub
from llm_as_judge.errors import DataError
from llm_as_judge.files import write_atomically

_HUB_ID = re.compile(r"[\w-][\w.-]*/(?P<name>[\w-][\w.-]*)")


def own_rows(given: Path, hub: Hub) -> Path:
    """The file of the rows. ``OWNER/NAME``, where no such file is, is a data set of the hub: its
    train split becomes ``NAME.jsonl`` in the working folder, unless that is there already.

    Raises:
        DataError: the hub cannot be reached, or has no such set.
    """
    hub_id = _HUB_ID.fullmatch(given.as_posix())
    if given.exists() or given.suffix == ".jsonl" or hub_id is None:
        return given
    path = Path(f"{hub_id['name']}.jsonl")
    if path.exists():
        return path
    if reason := hub.unreachable():
        raise _not_had(given, reason)
    record = HubRecord(repo=given.as_posix(), configs=("default",), splits=("train",))
    try:
        with write_atomically(path) as stream:
            hub.fetch(record, None, stream)
    except DataError as error:
        raise _not_had(given, str(error)) from None
    return path


def _not_had(given: Path, reason: str) -> DataError:
    return DataError(
        f"{given}: no such file, and not from the hub: {reason}. Name a file of rows, or try again"
    )

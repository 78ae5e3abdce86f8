"""Documents of ``data.documents``: read, cut into passages, and known by a hash."""

from __future__ import annotations

from llm_as_judge.config import Config
from llm_as_judge.data.documents import PASSAGE_CHARACTERS, document_passages
from llm_as_judge.operators.retrieval import Library, wants_documents
from llm_as_judge.types import Problem


def open_library(config: Config) -> Library | None:
    """None: the configuration names no folder.

    Raises:
        DataError: see :func:`document_passages`.
    """
    folder = config.data.documents
    return None if folder is None else Library(document_passages(folder), config.data.passages)


def library_facts(config: Config) -> dict[str, str]:
    """What a run must say of its documents; empty where it has none."""
    library = open_library(config)
    return {} if library is None else {"documents": library.sha256}


def longest_statement(config: Config, problem: Problem) -> int:
    """Bytes of what a program gets as ``problem``, its passages at their longest."""
    told = config.data.documents is not None and wants_documents(problem)
    more = config.data.passages * PASSAGE_CHARACTERS if told else 0
    return len(problem.statement().encode()) + more

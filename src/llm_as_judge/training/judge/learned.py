"""Digests of the questions that a judge has learned from, so that nothing is measured on them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from llm_as_judge.audit.attacks import Case
from llm_as_judge.errors import ModelError
from llm_as_judge.judge.judge_file import (
    QUESTIONS,
)
from llm_as_judge.training.judge.rows import (
    question_key,
)


def digests(cases: Sequence[Case]) -> list[str]:
    keys = {question_key(case) for case in cases}
    return sorted(hashlib.sha256(key.encode()).hexdigest()[:16] for key in keys)


def learned_questions(folder: Path, cases: Sequence[Case]) -> int:
    """How many questions of these rows the judge in a folder has learned from.

    Raises:
        ModelError: the folder does not say.
    """
    return len(known_questions(folder) & {*digests(cases)})


def known_questions(folder: Path) -> frozenset[str]:
    """Digests of the questions that the judge in a folder has learned from."""
    try:
        return frozenset((folder / QUESTIONS).read_text(encoding="utf-8").split())
    except (OSError, ValueError) as error:
        raise ModelError(f"{folder / QUESTIONS}: {error}; train the judge anew") from None

"""The test mix beside its sets: figures of rows that are evaluated anyway, so that it costs nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from llm_as_judge.data.files import read_problems
from llm_as_judge.data.mix import Draws, prefix_until_used_up
from llm_as_judge.types import Problem


def mix_of(
    sets: Sequence[tuple[str, Sequence[Problem]]], mixed_file: Path, seed: int
) -> tuple[tuple[Problem, ...], bool]:
    """(Problems of the mix, whether they are all rows of ``mixed_file``).

    The rows of the file, if all of them are in the sets; if the sets are samples, or the file is
    of others, a mix that is drawn from them by the rule that made the file.

    Args:
        sets: name and problems of each, one domain a set.
    Raises:
        DataError: the file is broken (``file:line``).
    """
    evaluated = {problem.id: problem for _, problems in sets for problem in problems}
    ids = [problem.id for problem in read_problems(mixed_file)] if mixed_file.is_file() else []
    if ids and evaluated.keys() >= set(ids):
        return tuple(evaluated[id_] for id_ in ids), True
    rows = {name: problems for name, problems in sets if problems}
    draws = {name: Draws(range(len(found)), seed, f"{name}/test") for name, found in rows.items()}
    domains = {name: found[0].domain for name, found in rows.items()}
    return tuple(rows[name][row] for name, row in prefix_until_used_up(draws, domains)), False

"""Version of the grading rules' meaning. Verdicts of two versions are no measure of each other.

It goes up by one whenever right, wrong or open changes for a kind of answers; :data:`CHANGES` says what
did. Files without a version are of version 1.
"""

from __future__ import annotations

from collections.abc import Mapping

CHANGES: Mapping[int, str] = {
    1: "rules for texts read words; accuracy left open answers out",
    2: "answers are compared as values of their kind, short texts exactly; accuracy is of all rows",
    3: "a sentence of the question's words is read; numbers of the question are no answers",
    4: "a sentence may have a pronoun, the unit or the time that is asked for; thousands that are asked for count; counts "
    "have no other unit; the question's own quantity is no answer",
    5: "'sure' and 'of course not' answer yes or no; a number denied behind the answer is read over",
}
GRADING_VERSION = max(CHANGES)


def older_verdicts(where: object, version: int) -> str:
    """What ``where`` was graded by, in a line; empty where that is today's version."""
    if version == GRADING_VERSION:
        return ""
    return (
        f"{where}: verdicts of the grading rules of version {version}; those of today are version {GRADING_VERSION} "
        f"({CHANGES[GRADING_VERSION]})"
    )

"""Ending of a recipe: what a person can mend is one line and exit status 2, as with the verbs."""

from __future__ import annotations

import sys
from collections.abc import Callable

from llm_as_judge.errors import UserError


def run(main: Callable[[], None]) -> None:
    """Calls ``main``; a ``UserError`` becomes its line on standard error and status 2."""
    try:
        main()
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)

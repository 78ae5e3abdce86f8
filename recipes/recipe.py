"""Beginning and end of a recipe: its arguments, and what a person can mend as one line and exit status 2."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, RawTextHelpFormatter
from collections.abc import Callable

from llm_as_judge.errors import UserError


def parser_of(doc: str | None) -> ArgumentParser:
    """A parser whose ``--help`` begins with the recipe's docstring, line by line."""
    return ArgumentParser(description=doc, formatter_class=RawTextHelpFormatter)


def run(main: Callable[[], None]) -> None:
    """Calls ``main``; a ``UserError`` becomes its line on standard error and status 2."""
    try:
        main()
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)

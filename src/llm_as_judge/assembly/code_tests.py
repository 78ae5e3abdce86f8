"""Check of the tests of code rows, for the verbs that take rows in."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass

from llm_as_judge.errors import IsolationError
from llm_as_judge.grading.row_tests import faults_of_tests
from llm_as_judge.sandbox import open_sandbox
from llm_as_judge.sandbox.opening import Mechanism
from llm_as_judge.types import Problem

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class CodeTestCheck:
    """Runs the tests of code problems in a sandbox of its own; may be sent to another process."""

    mechanism: Mechanism = "auto"

    def __call__(self, problems: Sequence[Problem]) -> list[str]:
        """Of each problem what is wrong with its tests; empty where nothing is.

        Where no sandbox can be had nothing is run, and a warning says so.
        """
        return asyncio.run(self._faults(problems))

    async def _faults(self, problems: Sequence[Problem]) -> list[str]:
        try:
            sandbox = await open_sandbox(self.mechanism, max_children=2 * (os.cpu_count() or 1))
        except IsolationError as error:
            log.warning("tests of %d code rows are not tried: %s", len(problems), error)
            return [""] * len(problems)
        try:
            return await faults_of_tests(problems, sandbox)
        finally:
            await sandbox.aclose()

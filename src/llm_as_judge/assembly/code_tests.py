"""Check of the tests of code rows, for the verbs that take rows in."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from llm_as_judge.errors import IsolationError
from llm_as_judge.files import write_text
from llm_as_judge.grading.fingerprint import code_fingerprint
from llm_as_judge.grading.row_tests import faults_of_tests
from llm_as_judge.sandbox import open_sandbox
from llm_as_judge.sandbox.opening import Mechanism
from llm_as_judge.types import Problem

log = logging.getLogger(__name__)

_DECIDING = ("llm_as_judge.grading.row_tests", "llm_as_judge.sandbox.inside.grading")


@dataclass(frozen=True, slots=True)
class CodeTestCheck:
    """Runs the tests of code problems in a sandbox of its own; may be sent to another process.

    Args:
        cache: folder that remembers problems without a fault: they are not tried twice.
    """

    mechanism: Mechanism = "auto"
    cache: Path | None = None

    def __call__(self, problems: Sequence[Problem]) -> list[str]:
        """Of each problem what is wrong with its tests; empty where nothing is.

        Where no sandbox can be had nothing is run, and a warning says so.

        Raises:
            OutputError: the cache cannot be written.
        """
        kept = self.cache and self.cache / "code_tests" / f"{_digest(problems)}.json"
        if kept is not None and kept.is_file():
            return [""] * len(problems)
        try:
            faults = asyncio.run(self._faults(problems))
        except IsolationError as error:
            log.warning("tests of %d code rows are not tried: %s", len(problems), error)
            return [""] * len(problems)
        if kept is not None and not any(faults):
            write_text(kept, f"{len(faults)} code rows without a fault in their tests\n")
        return faults

    async def _faults(self, problems: Sequence[Problem]) -> list[str]:
        sandbox = await open_sandbox(self.mechanism, max_children=2 * (os.cpu_count() or 1))
        try:
            return await faults_of_tests(problems, sandbox)
        finally:
            await sandbox.aclose()


def _digest(problems: Sequence[Problem]) -> str:
    tried = [
        (p.entry_point, p.setup_code, p.hidden_tests, p.visible_tests, p.meta.get("reference"))
        for p in problems
    ]
    known_by = [sys.version, code_fingerprint(_DECIDING, ()), tried]
    return hashlib.sha256(json.dumps(known_by).encode()).hexdigest()[:32]

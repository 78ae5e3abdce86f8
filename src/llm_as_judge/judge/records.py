"""Store of the LLM judge: verdicts by content, and every call it made."""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path
from typing import Any

from llm_as_judge.files import output_errors, read_json, write_text
from llm_as_judge.jsonl import JsonLines
from llm_as_judge.types import ChatReply, Problem, Verdict, from_json, to_json


def verdict_key(fingerprint: str, problem: Problem, candidate: str) -> str:
    """Names the verdict of the judge with ``fingerprint`` on ``candidate``."""
    parts = [fingerprint, problem.question, *problem.answers, "\0candidate", candidate]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


class JudgeRecords:
    """A cache of verdicts (in memory, and on disk if asked for) and a log of calls.

    A verdict's key holds the judge's fingerprint, so that no change of prompt, model or code can
    be answered from the past. Abstentions must not be kept.

    Args:
        cache_dir: one JSON file per verdict; None = memory alone.
        log_path: one JSON line per call, with the whole reply; None = no log.
    """

    def __init__(self, cache_dir: Path | None = None, log_path: Path | None = None) -> None:
        self._cache_dir = cache_dir
        self.log_path = log_path
        self._memory: dict[str, Verdict] = {}

    def cached(self, key: str) -> Verdict | None:
        """The verdict of ``key``; its cost is then 0, since nothing was asked."""
        if key not in self._memory and self._cache_dir is not None:
            path = self._path(self._cache_dir, key)
            try:
                self._memory[key] = from_json(Verdict, read_json(path))
            except FileNotFoundError:
                return None
            except (ValueError, TypeError, OSError):
                path.unlink(missing_ok=True)  # a torn file is asked again
                return None
        return self._memory.get(key)

    def keep(self, key: str, verdict: Verdict) -> None:
        """Remembers a verdict that was really given."""
        if verdict.correct is None:
            raise ValueError("an abstention is never cached")
        free: dict[str, Any] = {**to_json(verdict), "cost_usd": 0.0}
        self._memory[key] = from_json(Verdict, free)
        if self._cache_dir is None:
            return
        write_text(self._path(self._cache_dir, key), json.dumps(free))

    @staticmethod
    def _path(folder: Path, key: str) -> Path:
        return folder / key[:2] / f"{key}.json"

    def log(
        self,
        judge: str,
        problem_id: str,
        order: str,
        attempt: int,
        reply: ChatReply | None,
        outcome: str,
    ) -> None:
        """Appends one call of ``judge`` (its fingerprint) to the log.

        Raises:
            OutputError: the file cannot be written.
        """
        if self.log_path is None:
            return
        line = {
            "time": time.time(),
            "judge": judge,
            "problem": problem_id,
            "order": order,
            "attempt": attempt,
            "outcome": outcome,
            "reply": to_json(reply),
        }
        with output_errors(self.log_path):
            self.log_path.parent.mkdir(parents=True, exist_ok=True)
        JsonLines(self.log_path).append(line)

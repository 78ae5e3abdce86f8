"""A run without its texts: what can be shared when its rows may not be.

    python scripts/figures_only.py RUN_DIR OUT

Writes OUT/config.yaml and OUT/rollouts.jsonl, from which `python analyze_by_domain.py` makes the table that it makes of
the run. Problems are ids; of programs stay
operators, findings, calls and hashes of their lines (rewards count repeated ones); of answers the verdict; of calls what they
used. No text of a data set, of the policy or of the executor is kept.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from dataclasses import replace
from pathlib import Path

from llm_as_judge.errors import DataError, UserError
from llm_as_judge.files import write_text
from llm_as_judge.runs.runlog import ROLLOUTS, read_rollouts
from llm_as_judge.types import Rollout, to_json

_CONFIG = "config.yaml"


def bare(rollout: Rollout) -> Rollout:
    """The same rollout with hashes in place of texts."""
    program, execution, verdict = rollout.program, rollout.execution, rollout.verdict
    return replace(
        rollout,
        completion=replace(
            rollout.completion,
            prompt_ids=(),
            token_ids=(),
            logprobs=(),
            text=_hash(rollout.completion.text),
        ),
        program=replace(
            program,
            source=_lines(program.source),
            runnable=_lines(program.runnable),
            diagnostics=tuple(replace(d, message="", hint="") for d in program.diagnostics),
        ),
        execution=execution
        and replace(
            execution,
            answer="",
            error="",
            calls=tuple(replace(call, error="", notes=()) for call in execution.calls),
        ),
        verdict=verdict and replace(verdict, explanation=""),
        failure=rollout.failure and replace(rollout.failure, message=""),
    )


def _lines(text: str) -> str:
    """Equal lines stay equal, short ones (which no reward looks at) stay short."""
    return "\n".join(
        _hash(line.strip()) if len(line.strip()) > 3 else "" for line in text.splitlines()
    )


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12] if text else ""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("run", type=Path)
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args()
    rows = [
        {"step": step, "domain": domain, "rollout": to_json(bare(rollout))}
        for step, domain, rollout in read_rollouts(arguments.run)
    ]
    try:
        config = (arguments.run / _CONFIG).read_text(encoding="utf-8")
    except OSError as error:
        raise DataError(f"{arguments.run / _CONFIG}: cannot be read: {error.strerror}") from None
    lines = (json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
    write_text(arguments.out / ROLLOUTS, "".join(lines))
    write_text(arguments.out / _CONFIG, config)
    print(f"{len(rows)} rollouts without texts in {arguments.out}")


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)

"""Writes the recorded run that the quickstart begins with, from a finished quickstart.

python scripts/record_quickstart.py quickstart/seed_0
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from llm_as_judge.evaluation.recorded_quickstart import FILE, RECORDED, recorded_of
from llm_as_judge.evaluation.records import EvaluationRecord
from llm_as_judge.files import write_text

TARGET = Path(__file__).resolve().parents[1] / "src" / "llm_as_judge" / "evaluation" / FILE


def main(root: Path) -> None:
    lines = []
    for system in RECORDED:
        path = root / "results" / "evaluation" / f"{system}_results.json"
        lines += [json.dumps(row) for row in recorded_of(EvaluationRecord.read(path), system)]
    write_text(TARGET, "\n".join(lines) + "\n")
    print(f"{TARGET}: {len(lines)} answers of {len(RECORDED)} systems")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

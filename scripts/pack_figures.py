"""Figures of an evaluation packed to be shipped: what `compare` reads, in a tenth of the room.

    python scripts/pack_figures.py results/evaluation/NAME/HASH ...

Replaces full.json by full.json.gz. Of each problem stay its id, its set, a digest, verdicts and costs; hashes of answers, operators
and seconds are left out. `compare` and `headroom` say of both files the same.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from pathlib import Path

from llm_as_judge.errors import UserError
from llm_as_judge.evaluation.layout import FULL, PACKED
from llm_as_judge.files import write_atomically
from llm_as_judge.runs.results import FullResults, read_results_file

LEFT_OUT = ("answers", "operators", "official", "seconds", "strictly_valid", "rule", "cost_usd")


def packed(figures: FullResults) -> bytes:
    """The same figures, equal bytes at each call."""
    data = figures.model_dump(mode="json", exclude_defaults=True)
    data["problems"] = [
        {key: value for key, value in row.items() if key not in LEFT_OUT}
        for row in data["problems"]
    ]
    return gzip.compress(json.dumps(data, separators=(",", ":")).encode(), mtime=0)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folders", type=Path, nargs="+")
    for folder in parser.parse_args().folders:
        whole = folder / FULL
        with write_atomically(folder / PACKED) as out:
            out.write(packed(read_results_file(FullResults, whole)))
        whole.unlink()


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)

"""Labeled rows of lakes, half of them right, for judges that are trained."""

from __future__ import annotations

import json
from pathlib import Path

WORDS = ("Ostra", "Venn", "Mora", "Silt", "Arden", "Pell", "Quay", "Rook")


def rows(path: Path, first: int, n: int, labels: tuple[bool, ...] = (True, False)) -> Path:
    lines = [
        json.dumps(
            {
                "id": f"{number}-{label}",
                "domain": "qa",
                "question": f"Which lake does river number {number} feed?",
                "reference": f"Lake {WORDS[number % 8]} {number}",
                "candidate": f"Lake {WORDS[(number + (not label)) % 8]} {number}, the maps of some say.",
                "correct": label,
            }
        )
        for number in range(first, first + n)
        for label in labels
    ]
    path.write_text("".join(line + "\n" for line in lines))
    return path

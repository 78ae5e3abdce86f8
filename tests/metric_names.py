"""The metrics that docs/metrics.md tells of."""

from __future__ import annotations

import re
from pathlib import Path

_PAGE = Path(__file__).resolve().parents[1] / "docs" / "metrics.md"
_NOW, _, BEFORE = _PAGE.read_text(encoding="utf-8").partition("\n## Older names\n")
METRIC_NAMES: dict[str, str] = dict(re.findall(r"^\| `([^`]+)` \| (.+) \|$", _NOW, re.M))
"""Name -> meaning."""
OLDER: dict[str, str] = dict(re.findall(r"^\| `([^`]+)` \| `([^`]+)` \|$", BEFORE, re.M))


def meaning_of(name: str) -> str | None:
    """What the metric ``name`` means, the most special entry first; None = not documented."""
    if name in METRIC_NAMES:
        return METRIC_NAMES[name]
    families = [key for key in METRIC_NAMES if key.endswith("*") and name.startswith(key[:-1])]
    return METRIC_NAMES[max(families, key=len)] if families else None

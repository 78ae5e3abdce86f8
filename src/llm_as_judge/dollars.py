"""Sums of dollars as a person reads them."""

from __future__ import annotations

import math


def in_dollars(usd: float, figures: int = 4) -> str:
    """``$1,234.50``, ``$0.25``, ``$0.00003012``: never without cents, and a small sum is not shown as free.

    Args:
        figures: that a sum below one dollar keeps.
    """
    decimals = figures - 1 - math.floor(math.log10(usd)) if 0 < usd < 1 else 2
    whole, _, part = f"{usd:,.{max(decimals, 2)}f}".partition(".")
    return f"${whole}.{part.rstrip('0').ljust(2, '0')}"

"""Sums of dollars: never without cents, never an exponent, and a small one is not shown as free."""

from __future__ import annotations

import pytest

from llm_as_judge.dollars import in_dollars


@pytest.mark.parametrize(
    ("usd", "said"),
    [
        (0.0, "$0.00"),
        (0.0000301234, "$0.00003012"),
        (0.00123, "$0.00123"),
        (0.5, "$0.50"),
        (0.123456, "$0.1235"),
        (0.99999, "$1.00"),
        (2.0, "$2.00"),
        (1234.5, "$1,234.50"),
    ],
)
def test_a_sum_keeps_cents_and_four_figures(usd: float, said: str) -> None:
    assert in_dollars(usd) == said


def test_an_estimate_keeps_two_figures() -> None:
    assert [in_dollars(usd, 2) for usd in (0.00123, 0.5, 12.3456)] == ["$0.0012", "$0.50", "$12.35"]

"""Decisions of the learned stop: 10,000 states in less than a second, one after the other.

    python benchmarks/stopping.py [--states 10000]

Expected, before it was run: 0.1 s; a decision is one sum of about fifteen products.
"""

from __future__ import annotations

import argparse
import random
import time

from llm_as_judge.operators.stopping import FEATURES, StopRule, StopState, votes

MOST = 8


def states(count: int) -> list[StopState]:
    chance = random.Random(0)
    found = []
    for _ in range(count):
        drawn = [chance.choice((None, 0, 0, 1, 2)) for _ in range(chance.randint(1, MOST - 1))]
        found.append(
            StopState(
                votes(drawn), drawn.count(None), chance.random() * 5000, 300, "math", passed=False
            )
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--states", type=int, default=10_000)
    count = parser.parse_args().states
    chance = random.Random(1)
    rows = tuple(
        tuple(chance.gauss(0, 1) for _ in range(1 + len(FEATURES) + 1)) for _ in range(MOST - 1)
    )
    rule, asked = StopRule(rows, ("math",)), states(count)
    began = time.perf_counter()
    more = sum(rule.gain(state) > 0 for state in asked)
    took = time.perf_counter() - began
    print(f"{count} states in {took:.3f} s, {count / took:,.0f} a second; {more} go on")


if __name__ == "__main__":
    main()

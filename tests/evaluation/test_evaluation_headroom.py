"""The audit against tables whose truth is known: interaction, what the text says."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from llm_as_judge.evaluation.headroom import DomainTable, Headroom, headroom
from llm_as_judge.runs.table import Array

PROGRAMS, PROBLEMS, DRAWS = 8, 300, 4


def part(
    chances_JP: Array,
    seed: int,
    draws: int = DRAWS,
    vectors_PE: Array | None = None,
    calls: float = 1.0,
) -> DomainTable:
    random = np.random.default_rng(seed)
    right = (random.random((*chances_JP.shape, draws)) < chances_JP[:, :, None]).astype(float)
    groups = ["gsm8k" if p % 2 else "math" for p in range(chances_JP.shape[1])]
    calls_J = [calls] * len(right)
    return DomainTable(right, np.full(right.shape, 100.0), groups, calls_J, vectors_PE)


def voting(replies: int, seed: int) -> DomainTable:
    """Rows of a Rasch table, each a vote of three over rotated replies: the draws of one share them."""
    chances_JP = rasch(seed)
    random = np.random.default_rng(seed)
    right_JPD = random.random((*chances_JP.shape, replies)) < chances_JP[:, :, None]
    replies_DJPD = np.stack([np.roll(right_JPD, -later, axis=2) for later in range(3)])
    voted = replies_DJPD.sum(axis=0) >= 2
    groups = ["gsm8k"] * chances_JP.shape[1]
    cost = np.full(voted.shape, 100.0)
    return DomainTable(voted.astype(float), cost, groups, [3.0] * len(voted))


def rasch(seed: int, problems: int = PROBLEMS) -> Array:
    """Difficulty and ability alone; the first program is the best."""
    random = np.random.default_rng(1000 + seed)
    ability = np.linspace(0.6, -0.8, PROGRAMS)
    return np.asarray(1 / (1 + np.exp(random.normal(0, 1.5, problems)[None, :] - ability[:, None])))


def with_interaction(seed: int, points: float) -> Array:
    """On a share of the problems, which program 0 never solves, program 1 always does; on as many it is
    the other way round. They are equal on all others, so choosing gains exactly that share."""
    chances = rasch(seed)
    chances[1] = chances[0]
    count = round(points / 100 * PROBLEMS)
    chances[0, :count], chances[1, :count] = 0.0, 1.0
    chances[0, count : 2 * count], chances[1, count : 2 * count] = 1.0, 0.0
    chances[2:, : 2 * count] = 0.0
    return np.asarray(chances[:, np.random.default_rng(seed).permutation(PROBLEMS)])


def audited(*parts: DomainTable) -> Headroom:
    found = headroom(parts)
    assert found is not None
    return found


@pytest.mark.slow
@pytest.mark.parametrize("points", [0.0, 8.0])
def test_the_interval_covers_the_planted_interaction(points: float) -> None:
    covered = 0
    for seed in range(20):
        found = audited(part(with_interaction(seed, points), seed)).interaction
        assert found is not None
        covered += found.low <= points / 100 + 1e-9 and found.high >= points / 100 - 1e-9
    assert covered >= 17  # of 20 intervals of 95 % fewer than 17 cover once in 60 tries


@pytest.mark.slow
def test_pure_luck_is_said_to_be_none_of_it() -> None:
    for seed in range(4):
        random = np.random.default_rng(seed).normal(size=(PROBLEMS, 16))
        vectors = random / np.linalg.norm(random, axis=1, keepdims=True)
        found = audited(part(rasch(seed), seed, vectors_PE=vectors))
        assert found.adaptation is False
        assert "There is nothing to learn for each problem" in found.words
        assert found.oracle > found.fixed + 0.1  # which looks like much to learn, and is not


def test_draws_that_share_replies_are_no_evidence() -> None:
    """Nothing is planted: what choosing gains over votes is luck that both halves share."""
    for seed in range(4):
        found = audited(voting(DRAWS, seed))
        assert found.interaction is not None
        assert found.interaction.value > 0.02
        assert (found.once, found.adaptation, found.clear) == (None, None, False)
        assert "as an upper bound" in found.words
        assert "More draws tell how much of it is luck" in found.words


def together(first: DomainTable, second: DomainTable) -> DomainTable:
    return DomainTable(
        np.concatenate([first.right_JPD, second.right_JPD]),
        np.concatenate([first.cost_JPD, second.cost_JPD]),
        first.groups_P,
        [*first.calls_J, *second.calls_J],
        names_J=[
            *(f"once {j}" for j in range(len(first.calls_J))),
            *["vote"] * len(second.calls_J),
        ],
    )


def test_programs_that_ask_once_show_an_interaction_beside_votes() -> None:
    found = audited(together(part(with_interaction(0, 8.0), 0), voting(DRAWS, 0)))
    assert found.adaptation is True
    assert found.clear


def test_what_a_better_fixed_program_has_too_is_not_gained_by_choosing() -> None:
    """Those that ask once suit different problems; a vote is right on all of these, and by luck on others."""
    once = part(with_interaction(0, 8.0), 0)
    either = np.maximum(*once.right_JPD[:2, :, 0])
    votes = part(np.stack([0.1 + 0.9 * either, np.full(PROBLEMS, 0.5)]), 1, calls=3.0)
    found = audited(together(once, votes))
    assert (found.best, found.adaptation is True, found.clear) == ("vote", False, False)
    assert found.once is not None
    assert found.once.value < 0.01


def test_undecided_figures_name_the_fixed_program_to_use() -> None:
    best = voting(DRAWS, 0)
    found = audited(replace(best, names_J=[f"vote {j}" for j in range(len(best.calls_J))]))
    assert found.best.startswith("vote ")
    assert f"Use the best fixed program, {found.best}. More draws tell" in found.words


def test_a_planted_interaction_is_said_to_be_there() -> None:
    found = audited(part(with_interaction(0, 8.0), 0))
    assert found.adaptation is True
    assert "There is something to learn for each problem" in found.words


@pytest.mark.slow
def test_cross_validated_choices_are_not_too_high_and_in_sample_ones_are() -> None:
    """60 programs that are all right half of the time."""
    cross_validated, in_sample = [], []
    for seed in range(20):
        found = audited(part(np.full((60, 60), 0.5), seed, draws=1))
        cross_validated.append(found.by_group)
        in_sample.append(found.by_group_in_sample)
        assert found.interaction is None
        assert "One draw" in found.words
    assert abs(np.mean(cross_validated) - 0.5) < 0.03
    assert np.mean(in_sample) > 0.6


def test_a_text_that_tells_which_program_suits_is_read() -> None:
    """The first number of the vector says which of two programs can solve the problem."""
    random = np.random.default_rng(0)
    kind = random.integers(0, 2, PROBLEMS)
    vectors = 0.3 * random.normal(size=(PROBLEMS, 16))
    vectors[:, 0] = 2.0 * kind - 1
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    chances = np.where(np.array([0, 1])[:, None] == kind[None, :], 0.9, 0.3)
    found = audited(part(chances, 0, vectors_PE=vectors))
    assert found.text is not None
    assert found.text.low > 0.2
    assert found.adaptation is True


def test_groups_get_a_program_each_and_that_is_no_interaction() -> None:
    chances = np.full((2, PROBLEMS), 0.2)
    chances[0, 0::2], chances[1, 1::2] = 0.8, 0.8  # the two data sets
    found = audited(part(chances, 3))
    assert found.by_group > found.fixed + 0.2
    assert found.interaction is not None
    assert abs(found.interaction.value) < 0.02


def test_domains_are_put_together_and_one_program_is_no_choice() -> None:
    first, second = part(rasch(0), 0), part(rasch(1, 100), 1)
    found = audited(first, second)
    assert (found.problems, found.programs, found.draws) == (400, 16, 4)
    assert headroom([part(rasch(0)[:1], 0)]) is None
    assert headroom([]) is None
    assert found == headroom([first, second])  # the same by the seed

"""Runs of a program go round the draws of a pool, and none sees a draw twice."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from pool_values import ask, put

from llm_as_judge.errors import ModelError
from llm_as_judge.llm.pool import Pool
from llm_as_judge.llm.recorded import RecordedChat
from llm_as_judge.llm.rounds import Rounds, fill_to, filled
from llm_as_judge.llm.scripted import ScriptedChat
from llm_as_judge.llm.shared import OffsetDraws
from llm_as_judge.types import ChatRequest, Message


def pool_of(folder: Path, draws: Sequence[int], most: int | None) -> Pool:
    """One that was filled with ``most`` draws of each request and holds ``draws`` of one; None = not filled."""
    pool = Pool(folder)
    for draw in draws:
        put(pool, "a", draw)
    if most is not None:
        fill_to(pool, "m", most)
    return pool


ASKS = {
    "first": (range(4), 0, 0, 0),
    "next": (range(4), 0, 3, 3),
    "round": (range(4), 1, 3, 0),
    "round_last": (range(4), 3, 3, 2),
    "more_than_drawn": (range(4), 4, 3, 4),
    "ended_early": (range(2), 0, 3, 1),
    "begins_beyond": (range(4), 0, 4, 4),
    "beyond_next": (range(4), 1, 4, 5),
    "second_try": ([2], 0, 3, 2),
    "second_try_left_out": ([2], 1, 3, 0),
    "second_try_beyond": ([2], 3, 1, 3),
    "none": ([], 2, 1, 3),
}
REPLAYED = {
    "next": (range(3), 0, 1, 1),
    "round": (range(3), 2, 1, 0),
    "round_far": (range(3), 1, 2, 0),
    "round_last": (range(3), 2, 2, 1),
    "not_held": (range(3), 3, 1, 4),
    "filled_beyond": (range(3), 0, 3, 0),
    "second_try": ([1, 3], 0, 1, 1),
    "second_try_later": ([1, 3], 0, 3, 3),
    "second_try_of_another_run": ([1, 3], 0, 2, 1),
    "second_try_again": ([1, 3], 1, 1, 2),
    "after_a_gap": ([0, 3], 0, 3, 0),
}
"""Draws that are held, draw, offset -> the draw that is seen: of a pool that asks, and of a replay."""


@pytest.mark.parametrize("closed", [False, True], ids=["asks", "replays"])
def test_a_pool_is_read_round_before_anything_else_is_asked(tmp_path: Path, closed: bool) -> None:
    for name, (held, draw, offset, seen) in (REPLAYED if closed else ASKS).items():
        rounds = Rounds(pool_of(tmp_path / name, held, 4), closed=closed)
        assert rounds("m", ask("a", draw, seed=5), offset) == ask("a", seen, seed=5), name


def test_a_pool_that_nobody_filled_gives_the_next_draws(tmp_path: Path) -> None:
    rounds = Rounds(pool_of(tmp_path, (0, 1), None), closed=False)
    assert rounds("m", ask("a", 2, seed=5), 3) == ask("a", 5, seed=5)


@pytest.mark.parametrize("held", [[], [0, 1, 2], [1], [0, 2, 5]])
@pytest.mark.parametrize("closed", [False, True])
def test_no_run_sees_a_draw_twice(tmp_path: Path, held: Sequence[int], closed: bool) -> None:
    rounds = Rounds(pool_of(tmp_path, held, 6), closed=closed)
    for offset in range(6):
        seen = [rounds("m", ask("a", draw, seed=5), offset).draw for draw in range(8)]
        assert len(set(seen) & set(held)) == len([draw for draw in seen if draw in held])


def test_a_replay_that_begins_beyond_the_filling_is_one_line(tmp_path: Path) -> None:
    pool = pool_of(tmp_path, (0, 1), None)
    with pytest.raises(ModelError, match=r"begins at draw 2 .*draws 0 to 1 of what it asks; fill"):
        Rounds(pool, closed=True)("m", ask("a", seed=5), 2)
    fill_to(pool, "m", 4)
    fill_to(pool, "m", 3)
    assert (filled(Pool(tmp_path), "m"), filled(pool, "other")) == (4, 0)
    with pytest.raises(ModelError, match="begins at draw 4"):
        Rounds(pool, closed=True)("m", ask("a", seed=5), 4)
    never_asked = ask("b", seed=5)  # a miss, which the replay tells
    assert Rounds(pool, closed=True)("m", never_asked, 9) == never_asked.later(9)


def test_what_is_asked_after_a_filling_changes_no_round(tmp_path: Path) -> None:
    pool = pool_of(tmp_path, (0, 1), 4)
    for draw in (2, 3):
        put(pool, "a", draw)
    pool.close()
    again = Pool(tmp_path)
    assert Rounds(again, closed=False)("m", ask("a", 1, seed=5), 1) == ask("a", 0, seed=5)
    fill_to(again, "m", 4)
    assert Rounds(again, closed=False)("m", ask("a", 1, seed=5), 1) == ask("a", 2, seed=5)


async def test_an_offset_at_temperature_0_asks_for_the_one_reply_of_a_closed_pool(
    tmp_path: Path,
) -> None:
    greedy = ChatRequest((Message("user", "2+2?"),), 16)
    await RecordedChat(ScriptedChat(["4"], name="m"), Pool(tmp_path), "cache").chat(greedy)
    pool = Pool(tmp_path)
    replay = RecordedChat(None, pool, "replay", name="m")
    assert (await OffsetDraws(replay, 5, Rounds(pool, closed=True)).chat(greedy)).text == "4"

"""Early end of replies: what is saved and lost, by hand and from a pool of three replies."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from hopeless import Reply, longer, looped, measured, report
from llm_as_judge.config import Config
from llm_as_judge.data.files import write_problems
from llm_as_judge.errors import ConfigError, DataError
from llm_as_judge.llm.pool import Pool
from llm_as_judge.llm.recorded import RecordedChat
from llm_as_judge.operators import ExecutionContext, OperatorService, load_enhancements, registry
from llm_as_judge.operators.base import OperatorSettings
from llm_as_judge.types import ChatReply, ChatRequest, Problem, Usage

CONFIG = Config.model_validate(
    {"executor": {"model": "scripted", "max_tokens": 100, "temperature": 0.7, "seed": 0}}
)
ROW = Problem("gsm8k/train/1", "gsm8k", "math", "What is 1 + 1?", ("2",))
LOOP = "so we add one again and then we look at it once more " * 9


def test_a_loop_is_seen_at_its_third_round_and_a_text_without_one_never() -> None:
    stop = looped(12, 3)
    words = [f"w{n}" for n in range(12)]
    assert stop(Reply(words * 6, 100, 100, cut=True, right=False)) == 0.5
    assert stop(Reply([f"w{n}" for n in range(72)], 100, 100, cut=True, right=False)) == 1
    assert stop(Reply([], 0, 100, cut=False, right=False)) == 1


def test_a_part_of_the_limit_stops_what_is_longer() -> None:
    assert longer(0.5)(Reply(["w"], 80, 100, cut=False, right=True)) == pytest.approx(50 / 80)
    assert longer(0.5)(Reply(["w"], 40, 100, cut=False, right=True)) == 1


def test_saved_and_lost_are_shares_of_all_tokens_and_of_all_right_replies() -> None:
    replies = [
        Reply([str(n) for n in range(20)], 40, 100, cut=False, right=True),
        Reply([str(n) for n in range(40)], 60, 100, cut=False, right=True),
        Reply(LOOP.split(), 100, 100, cut=True, right=False),
    ]
    lines = report(replies).splitlines()
    assert lines[0] == "3 replies, 2 right; the limit cuts off 1, which hold 50.0% of the tokens"
    half = next(line for line in lines if line.startswith("| at 50% of the limit"))
    assert half == "| at 50% of the limit | 100.0% | 30.0% | 50.0% |"
    loop = next(line for line in lines if line.startswith("| 12 words for time 3"))
    assert loop.startswith("| 12 words for time 3 | 100.0% | 3")
    assert loop.endswith("| 0.0% |")


class Writes:
    """Right, in a loop until the limit, wrong."""

    name = "scripted"

    async def chat(self, request: ChatRequest) -> ChatReply:
        texts = ("Thought: easy.\nAnswer: 2", LOOP, "Answer: 3")
        cut = request.draw == 1
        usage = Usage(20, 100 if cut else 10)
        return ChatReply(texts[request.draw], "length" if cut else "stop", usage)


async def fill(folder: Path) -> None:
    pool = Pool(folder)
    settings = OperatorSettings(max_tokens=100, temperature=0.7, seed=0)
    chat = RecordedChat(Writes(), pool, "cache")
    context = ExecutionContext(chat, None, ROW, settings, load_enhancements())  # type: ignore[arg-type]
    ask = OperatorService(registry(), context)
    for _ in range(3):
        await ask("AnswerGenerate", [ROW.statement()], {})
    pool.close()


def test_kept_replies_are_read_from_a_pool_and_graded(tmp_path: Path) -> None:
    asyncio.run(fill(tmp_path / "calls"))
    rows = tmp_path / "rows.jsonl"
    write_problems(rows, [ROW, Problem("gsm8k/train/2", "gsm8k", "math", "Never asked", ("1",))])
    found = measured(tmp_path / "calls", rows, CONFIG, 4)
    assert found.startswith(
        "3 replies, 1 right; the limit cuts off 1, which hold 83.3% of the tokens"
    )
    other = CONFIG.model_copy(
        update={"executor": CONFIG.executor.model_copy(update={"max_tokens": 7})}
    )
    with pytest.raises(DataError, match="no kept reply to these rows"):
        measured(tmp_path / "calls", rows, other, 4)
    with pytest.raises(ConfigError, match=r"nowhere: no pool.sqlite in it"):
        measured(tmp_path / "nowhere", rows, CONFIG, 4)

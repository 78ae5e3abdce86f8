"""Cost of draws of one prompt: n in one request against n requests.

    python benchmarks/draws.py [--model smollm2-135m] [--draws 5] [--max-tokens 96]

First at a scripted endpoint, whose bill is known to the token, then at an embedded server with real weights. Tokens
are those of the ledger, units those of the price (a prompt token a quarter of a written one).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from contextlib import AsyncExitStack

import httpx

from llm_as_judge.chat_models import embedded_limits, start_embedded
from llm_as_judge.config import load_config
from llm_as_judge.llm.client import OpenAIChat
from llm_as_judge.llm.gathered import GatheredDraws
from llm_as_judge.types import ChatModel, ChatRequest, Message

QUESTION = (
    "Context:\n"
    + "The ferry to Runmar sails from March. It stops in November, when the ice comes. " * 20
) + "\nQuestion: In which month does the ferry stop? Think step by step, then answer."


def scripted(request: httpx.Request) -> httpx.Response:
    """60 written tokens a draw."""
    body = json.loads(request.content)
    count = int(body.get("n", 1))
    written = min(60, body["max_tokens"])
    choice = {"message": {"content": "November"}, "finish_reason": "length"}
    usage = {"prompt_tokens": len(str(body["messages"])) // 4, "completion_tokens": count * written}
    return httpx.Response(200, json={"choices": [choice] * count, "usage": usage})


async def measured(chat: OpenAIChat, through: ChatModel, request: ChatRequest, draws: int) -> float:
    """Units; prints tokens and seconds."""
    before, began = chat.ledger.total.prompt_tokens, time.perf_counter()
    written_before = chat.ledger.total.completion_tokens
    requests = chat.ledger.total.attempts
    await asyncio.gather(*(through.chat(request.later(draw)) for draw in range(draws)))
    total = chat.ledger.total
    prompt, written = total.prompt_tokens - before, total.completion_tokens - written_before
    units = prompt / 4 + written
    print(
        f"  {total.attempts - requests} requests: {prompt} prompt + {written} written tokens, "
        f"{units:.0f} units, {time.perf_counter() - began:.1f} s"
    )
    return units


async def compared(chat: OpenAIChat, draws: int, max_tokens: int) -> None:
    request = ChatRequest((Message("user", QUESTION),), max_tokens, temperature=0.7, seed=0)
    await chat.known_draws()
    for n in (1, draws):
        one = await measured(chat, GatheredDraws(chat), request.later(1000 * n), n)
        each = await measured(chat, chat, request.later(2000 * n), n)
        print(f"  {n} draws: one request costs {one / each:.2f} of {n} requests")
        if n == 1:
            single = each
    print(
        f"  {draws} draws in one request cost {one / single:.2f} x one draw, {draws} requests {each / single:.2f} x"
    )


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", default="smollm2-135m")
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--max-tokens", type=int, default=96)
    options = parser.parse_args()
    print("scripted endpoint")
    transport = httpx.MockTransport(scripted)
    async with OpenAIChat("scripted", "http://model.test/v1", transport=transport).opened() as chat:
        await compared(chat, options.draws, options.max_tokens)
    print(f"embedded server, {options.model}")
    config = load_config("embedded")
    async with AsyncExitStack() as stack:
        server = await start_embedded(stack, config, options.model)
        client = OpenAIChat(
            options.model, server.base_url, api_key=server.api_key, limits=embedded_limits(config)
        )
        async with client.opened() as chat:
            await compared(chat, options.draws, options.max_tokens)


if __name__ == "__main__":
    asyncio.run(main())

"""serve: the policy behind the OpenAI API."""

from __future__ import annotations

import asyncio
import os

from llm_as_judge.cli.asking import Asked
from llm_as_judge.cli.programs import wanted_domain
from llm_as_judge.cli.solving import UNTRAINED, chosen, open_writer
from llm_as_judge.config import RULES_ALONE
from llm_as_judge.serving.app import ServerOptions
from llm_as_judge.serving.front import FrontLimits
from llm_as_judge.serving.requests import RequestLimits
from llm_as_judge.serving.server import Binding, safe_options
from llm_as_judge.serving.server import serve as run_server
from llm_as_judge.views.console import note


def serve(
    asked: Asked,
    *,
    policy: str | None,
    host: str,
    port: int,
    name: str,
    domain: str,
    concurrency: int,
    max_connections: int,
    max_calls: int,
    max_tokens: int,
    timeout: float,
    head_timeout: float,
    body_timeout: float,
    max_body: int,
    grace: int,
) -> None:
    settings, writes = chosen(policy, asked, RULES_ALONE, "serve")  # nothing is graded
    options = ServerOptions(
        model=name,
        domain=wanted_domain(domain),
        api_key=os.environ.get("LLM_AS_JUDGE_API_KEY", ""),
        concurrency=concurrency,
        max_body_bytes=max_body,
        limits=RequestLimits(max_calls, max_tokens, timeout),
    )
    binding = Binding(host, port, grace, FrontLimits(max_connections, head_timeout, body_timeout))
    safe_options(options, binding)  # refused before a model is loaded
    writer = open_writer(settings, writes)
    what = f"untrained {settings.policy.label}" if writes == UNTRAINED else writes

    def announce(url: str) -> None:
        note(f"serving  {url}  ({what}; executor {settings.executor.model})")

    asyncio.run(run_server(writer, options, binding, announce=announce, told=note))

"""A run's calls from what is kept: a pool that runs share, or the recording of one run, and replay of
either without any server.

A call is found by the SHA-256 of model, request and draw index. Runs that the clock or
the limit of calls cut off are kept whole: a replay, which waits for nothing, would see more of them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from llm_as_judge.config import config_files, find_model, load_endpoints
from llm_as_judge.errors import (
    ConfigError,
    ContentFilterError,
    ContextError,
    EndpointError,
    ModelError,
    NotRecordedError,
)
from llm_as_judge.llm.billing import Role, metered
from llm_as_judge.llm.ledger import Ledger
from llm_as_judge.llm.pool import Pool, is_pool
from llm_as_judge.llm.recording import Outcome
from llm_as_judge.llm.shared import InFlight, request_digest
from llm_as_judge.llm.weights import weights_identity
from llm_as_judge.quoting import quoted
from llm_as_judge.types import (
    ChatModel,
    ChatReply,
    ChatRequest,
    Execution,
    Problem,
    Program,
    RunLimits,
    to_json,
)

_DRAWS_LOOKED_UP = 1000
_CUT_OFF = ("timeout", "call_limit")
"""Calls were in flight when these ended: a replay, which waits for nothing, would see their replies."""
Mode = Literal["cache", "record", "replay"]
"""``cache``: known replies are given at once, marked ``cached``; failures are not kept.
``record``: like it, but failures are kept too, so that a replay meets them. ``replay``: known replies only;
an unknown call is an error."""


class RecordedChat:
    """ChatModel that keeps the replies of ``model`` in a recording, or gives only recorded ones.

    Args:
        model: None in mode ``replay``.
        name: in mode ``replay``, the name of the recorded model.
    """

    def __init__(
        self,
        model: ChatModel | None,
        recording: Pool,
        mode: Mode,
        *,
        name: str = "",
        ledger: Ledger | None = None,
        role: Role = "executor",
    ) -> None:
        if model is None and mode != "replay":
            raise ValueError(f"mode {mode!r} needs a model")
        if mode == "replay" and not len(recording):
            raise ModelError(f"replay: no recorded calls in {recording.path}; record a run first")
        self._model = model
        self._recording = recording
        self._mode = mode
        self.name = name or (model.name if model is not None else "")
        self._ledger = ledger
        self._role: Role = role
        self._in_flight: InFlight[Outcome] = InFlight()
        self._billed: set[str] = set()

    async def chat(self, request: ChatRequest) -> ChatReply:
        """One reply, recorded or new.

        Raises:
            NotRecordedError: replay of a call that was not recorded.
            EndpointError: from the model, or as it was recorded.
        """
        key = request_digest(self.name, request)
        known = self._known(request)
        if known is None and self._mode == "replay":
            raise NotRecordedError(self._not_recorded(request))
        if known is None or (known.reply is None and self._mode == "cache"):
            joined = self._in_flight.has(key)
            outcome = await self._in_flight.run(key, lambda: self._ask(key, request))
            return self._kept(outcome) if joined else outcome.give()
        if self._mode != "replay":
            return self._kept(known)
        self._bill(key, known)
        return replace(known.give(), cached=True)

    def _not_recorded(self, request: ChatRequest) -> str:
        asked = quoted(request.messages[-1].content, 80) if request.messages else ""
        text = (
            f"replay: {self.name} was not asked this in {self._recording.path} (draw "
            f"{request.draw}, {asked!r})"
        )
        earlier = reversed(range(min(request.draw, _DRAWS_LOOKED_UP)))
        last = next((d for d in earlier if self._known(request.later(d - request.draw))), None)
        if last is None:
            return f"{text}; {self._recording.remedy}"
        return (
            f"{text}; its last recorded draw is {last}: name the policy that was recorded, or lower "
            f"executor.draw_offset or workflow.draws; else {self._recording.remedy}"
        )

    def _known(self, request: ChatRequest) -> Outcome | None:
        return self._recording.get(request_digest(self.name, request), self._asked(request))

    def _asked(self, request: ChatRequest) -> dict[str, Any]:
        return {"model": self.name, "request": request}

    async def _ask(self, key: str, request: ChatRequest) -> Outcome:
        assert self._model is not None
        with metered() as attempts:
            try:
                outcome = Outcome(reply=await self._model.chat(request))
            except EndpointError as error:
                if self._mode == "cache":
                    raise
                outcome = Outcome(
                    error=str(error),
                    too_long=isinstance(error, ContextError),
                    filtered=isinstance(error, ContentFilterError),
                )
        outcome = replace(outcome, attempts=tuple(attempts))
        self._recording.put(key, self._asked(request), outcome)
        return outcome

    def _kept(self, outcome: Outcome) -> ChatReply:
        if self._ledger is not None:
            self._ledger.record_cached(self._role)
        return replace(outcome.give(), cached=True)

    def _bill(self, key: str, known: Outcome) -> None:
        """A replayed call is booked once, as the recorded run paid it: its sums are the same."""
        if self._ledger is None:
            return
        if key in self._billed:
            self._ledger.record_cached(self._role)
            return
        self._billed.add(key)
        self._ledger.record_call(self._role)
        for attempt in known.attempts:
            self._ledger.record_attempt(self._role, attempt)


async def recorded_run(
    recording: Pool,
    program: Program,
    problem: Problem,
    limits: RunLimits,
    run: Callable[[], Awaitable[Execution]],
    offset: int = 0,
) -> Execution:
    """The execution of ``run``, or the recorded one if the recorded run was cut off, in time or by the
    limit of calls.

    What a cut-off run was billed for is not booked again.

    Args:
        offset: of the draws that the program sees.
    """
    asked = {"program": program.runnable, "problem": to_json(problem), "limits": to_json(limits)}
    if offset:
        asked["offset"] = offset
    text = json.dumps(asked, sort_keys=True, ensure_ascii=True)
    key = hashlib.sha256(text.encode()).hexdigest()
    known = recording.get(key)
    if known is not None and known.execution is not None:
        calls = (replace(call, cached=call.llm_calls) for call in known.execution.calls)
        return replace(known.execution, calls=tuple(calls))
    execution = await run()
    if execution.status in _CUT_OFF:
        asked["problem"] = problem.id
        recording.put(key, asked, Outcome(execution=execution))
    return execution


def open_call_store(mode: Mode | Literal["off"], folder: Path) -> Pool | None:
    """What the calls of a run are answered from and kept in: the pool of the folder, or the
    recording of this one run; None = nothing is kept.

    Raises:
        UserError: the folder, or what is in it, is not as wanted.
    """
    if mode == "off":
        return None
    if mode != "replay" and folder.is_file():
        raise ConfigError(f"calls.folder: {folder} is a file; name a folder")
    if mode == "replay" and not is_pool(folder):
        return Pool(folder, lines=True)
    pool = Pool(folder, one_run=mode == "record")
    if mode == "record" and not pool.one_run:
        pool.close()
        raise ConfigError(
            f"calls.folder: {folder} holds a pool that runs share; name another folder for a recording"
        )
    return pool


def origin(name: str, role: Role, seed: int) -> dict[str, str]:
    """What replies of a model come from: its weights and, of an executor, what operators ask it with.

    Args:
        seed: of its first draws.
    """
    weights = {"weights": model_identity(name)}
    if role == "judge":
        return weights
    prompts = hashlib.sha256()
    for path in config_files("prompts/operators"):
        prompts.update(path.name.encode() + path.read_bytes())
    return {**weights, "prompts": prompts.hexdigest()[:12], "seed": str(seed)}


def model_identity(name: str) -> str:
    """Weights by their hash, an endpoint by the model it is asked for; not where it runs."""
    endpoints, entry = load_endpoints(), find_model(name)
    if name in endpoints:
        return endpoints[name].model_name or name
    return (weights_identity(entry) or name) if entry else name

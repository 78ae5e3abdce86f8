"""Spans say who called whom, what it used and what came of it, and hold no text that nobody asked for."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("opentelemetry.sdk", reason="the extra otel")
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from llm_as_judge.assembly import open_workbench
from llm_as_judge.config import Config, load_config
from llm_as_judge.errors import ConfigError, EndpointError
from llm_as_judge.llm.scripted import ScriptedChat
from llm_as_judge.rollout.line import rollout, written
from llm_as_judge.runs.sinks import TrackingOptions, require_sinks
from llm_as_judge.runs.spans import CONTENT, TracedChat, open_spans, operator_span
from llm_as_judge.types import ChatRequest, Completion, Message, Problem, Rollout
from running_app import running

PROGRAM = """first = await answer_generate(input=problem)
second = await custom(input=problem, instruction="Check " + first["answer"])
return second["response"]"""
FIXED = """first = await answer_generate(input=problem)
return str(len(first["answer"]) * 0 + {answer})
"""
PROBLEM = Problem("gsm8k/test/1", "gsm8k", "math", "What is 6 * 7?", ("42",))


def scripted(tmp_path: Path, *more: str) -> Config:
    folder = f"output.results={tmp_path}"
    return load_config(
        overrides=[
            "executor.model=scripted",
            "judge.model=none",
            "workflow.sandbox=subprocess",
            folder,
            *more,
        ]
    )


async def run(config: Config, source: str = PROGRAM) -> Rollout:
    async with open_workbench(config) as bench:
        completion = Completion((), (), (), source, "stop")
        env = bench.environment()
        return await rollout(env, PROBLEM, written(env, PROBLEM, 0, completion))


@contextmanager
def kept() -> Iterator[tuple[InMemorySpanExporter, InMemoryLogRecordExporter]]:
    spans, events = InMemorySpanExporter(), InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]
    with open_spans(lambda: (spans, events)):
        yield spans, events


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def test_a_rollout_is_a_workflow_with_its_operators_and_calls_below(tmp_path: Path) -> None:
    with kept() as (exporter, events):
        ended = asyncio.run(run(scripted(tmp_path)))
    spans = {span.context.span_id: span for span in exporter.get_finished_spans()}
    above = {
        (span.name, spans[span.parent.span_id].name if span.parent else None)
        for span in spans.values()
    }
    assert above == {
        ("invoke_workflow math", None),
        ("execute_tool AnswerGenerate", "invoke_workflow math"),
        ("execute_tool Custom", "invoke_workflow math"),
        ("chat scripted", "execute_tool AnswerGenerate"),
        ("chat scripted", "execute_tool Custom"),
    }
    assert len({span.context.trace_id for span in spans.values()}) == 1
    assert ended.execution is not None
    calls = [attributes(one) for one in spans.values() if one.name.startswith("chat")]
    assert len(calls) == ended.execution.llm_calls
    used = Counter[str]()
    for call in calls:
        used["tokens"] += call["gen_ai.usage.input_tokens"] + call["gen_ai.usage.output_tokens"]
    assert used["tokens"] == ended.execution.tokens
    assert {call["gen_ai.provider.name"] for call in calls} == {"scripted"}
    assert events.get_finished_logs()


def test_the_verdict_is_an_event_of_its_workflow_and_on_its_span(tmp_path: Path) -> None:
    for answer, label, value in (("42", "right", 1.0), ("41", "wrong", 0.0)):
        with kept() as (exporter, events):
            asyncio.run(run(scripted(tmp_path), FIXED.format(answer=answer)))
        *_, span = exporter.get_finished_spans()
        (event,) = events.get_finished_logs()
        record = event.log_record
        assert (record.event_name, record.span_id, record.trace_id) == (
            "gen_ai.evaluation.result",
            span.context.span_id,
            span.context.trace_id,
        )
        said = dict(record.attributes or {})
        assert said["gen_ai.evaluation.score.label"] == label
        assert said["gen_ai.evaluation.score.value"] == value
        assert said.items() <= attributes(span).items()


def test_the_text_of_a_person_is_in_no_span_unless_the_environment_asks_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(CONTENT, raising=False)
    with kept() as (exporter, events):
        asyncio.run(run(scripted(tmp_path)))
    told = "".join(span.to_json() for span in exporter.get_finished_spans())
    told += "".join(event.to_json() for event in events.get_finished_logs())
    assert "6 * 7" not in told
    assert "gen_ai.evaluation.explanation" not in told
    monkeypatch.setenv(CONTENT, "true")
    with kept() as (exporter, _):
        asyncio.run(run(scripted(tmp_path)))
    asked = [
        attributes(one).get("gen_ai.input.messages", "[]") for one in exporter.get_finished_spans()
    ]
    assert any("6 * 7" in str(json.loads(text)) for text in asked)


def test_a_call_that_fails_names_the_kind_of_its_error_and_no_text_of_it() -> None:
    def refuse(request: ChatRequest) -> str:
        raise EndpointError("the endpoint said: Ada Lovelace is not allowed")

    request = ChatRequest((Message("user", "?"),), max_tokens=5)
    with kept() as (exporter, _), pytest.raises(EndpointError):
        asyncio.run(TracedChat(ScriptedChat(refuse), "openai").chat(request))
    (span,) = exporter.get_finished_spans()
    assert attributes(span)["error.type"] == "EndpointError"
    assert not span.status.is_ok
    assert "Ada" not in span.to_json()


def test_an_operator_that_fails_in_a_program_that_goes_on_is_a_failed_span() -> None:
    with kept() as (exporter, _), operator_span("Custom") as failed:
        failed("unusable_reply")
    (span,) = exporter.get_finished_spans()
    assert attributes(span)["error.type"] == "unusable_reply"
    assert not span.status.is_ok


def test_a_program_that_gives_no_answer_is_a_failed_workflow(tmp_path: Path) -> None:
    with kept() as (exporter, _):
        asyncio.run(
            run(
                scripted(tmp_path),
                "first = await answer_generate(input=problem)\nreturn {'a': 'b'}[first['answer']]",
            )
        )
    *_, span = exporter.get_finished_spans()
    assert attributes(span)["error.type"] == "crashed"


def test_without_the_sink_nothing_is_traced(tmp_path: Path) -> None:
    with kept() as (exporter, _):
        pass
    asyncio.run(run(scripted(tmp_path)))
    assert not exporter.get_finished_spans()


async def test_the_sink_sends_spans_and_events_to_the_collector_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    posted: dict[str, bytes] = {}

    async def take(request: Request) -> Response:
        posted[request.url.path] = await request.body()
        return Response(b"", media_type="application/x-protobuf")

    app = Starlette(routes=[Route("/v1/{signal}", take, methods=["POST"])])
    async with running(app) as address:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", address)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
        config = scripted(tmp_path, "tracking.sinks=[otel]")
        await asyncio.to_thread(lambda: asyncio.run(run(config)))
    (spans,) = ExportTraceServiceRequest.FromString(posted["/v1/traces"]).resource_spans
    assert len(spans.scope_spans[0].spans) == 5
    (events,) = ExportLogsServiceRequest.FromString(posted["/v1/logs"]).resource_logs
    assert events.scope_logs[0].log_records[0].event_name == "gen_ai.evaluation.result"


def test_spans_leave_this_machine_only_where_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    require_sinks(TrackingOptions(("otel",)))
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:6006")
    require_sinks(TrackingOptions(("otel",)))
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://cloud.example/v1/traces")
    with pytest.raises(ConfigError, match=r"TRACES_ENDPOINT is https://cloud\.example") as error:
        require_sinks(TrackingOptions(("otel",)))
    assert "\n" not in str(error.value)
    require_sinks(TrackingOptions(("otel",), online=True))

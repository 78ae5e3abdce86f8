"""Spans of OpenTelemetry: a workflow, its operators, its calls, and the verdict as an event.

The names are those of the GenAI conventions (https://github.com/open-telemetry/semantic-conventions-genai);
what they have no name for begins with ``llm_as_judge.``. Without the sink ``otel`` all of this does nothing.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llm_as_judge.types import ChatModel, ChatReply, ChatRequest, Execution, Problem, Verdict

if TYPE_CHECKING:
    from opentelemetry._logs import Logger
    from opentelemetry.sdk._logs.export import LogRecordExporter
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Span, Tracer

    Exporters = tuple[SpanExporter, LogRecordExporter | None]

CONTENT = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""Variable of the environment: ``true`` puts prompts, replies and explanations into the spans, too."""
_LABELS = {True: "right", False: "wrong", None: "open"}


@dataclass(frozen=True, slots=True)
class _Sinks:
    tracer: Tracer
    events: Logger | None


_sinks: _Sinks | None = None
"""Of this process, as OpenTelemetry's own providers are: the tasks of a server share no context."""


@contextmanager
def open_spans(exporters: Callable[[], Exporters] | None = None) -> Iterator[None]:
    """Everything that runs until the end of the block makes spans; the last are sent at its end.

    Args:
        exporters: where they go; default: the collector that OTEL_EXPORTER_OTLP_* names.
    """
    global _sinks
    # Imported here: an extra, which who does not ask for it need not have.
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    to_spans, to_events = (exporters or _collector)()
    named = os.environ.get("OTEL_SERVICE_NAME", "llm-as-judge")
    resource = Resource.create({"service.name": named})
    traces = TracerProvider(resource=resource, shutdown_on_exit=False)
    traces.add_span_processor(BatchSpanProcessor(to_spans))
    logs = LoggerProvider(resource=resource, shutdown_on_exit=False)
    if to_events is not None:
        logs.add_log_record_processor(BatchLogRecordProcessor(to_events))
    before, events = _sinks, logs.get_logger(__name__) if to_events else None
    _sinks = _Sinks(traces.get_tracer(__name__), events)
    try:
        yield
    finally:
        _sinks = before
        traces.shutdown()
        logs.shutdown()


def _collector() -> Exporters:
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    wanted = os.environ.get("OTEL_LOGS_EXPORTER", "otlp") != "none"
    return OTLPSpanExporter(), OTLPLogExporter() if wanted else None


class WorkflowSpan:
    """The span of one program on one problem, or nothing where nobody wants it."""

    def __init__(self, sinks: _Sinks | None, span: Span | None) -> None:
        self._sinks, self._span = sinks, span
        self.ended_ns: int | None = None
        """When its program ended: a verdict comes later, and is no part of the run."""

    def ran(self, execution: Execution) -> None:
        if self._span is None:
            return
        self.ended_ns = time.time_ns()
        self._span.set_attributes(
            {
                "llm_as_judge.execution.status": execution.status,
                "llm_as_judge.execution.calls": execution.llm_calls,
                "llm_as_judge.execution.tokens": execution.tokens,
                "llm_as_judge.execution.cost": execution.cost,
            }
        )
        if execution.status != "ok":
            _failed(self._span, execution.status)

    def failed(self, error: Exception) -> None:
        """By our fault, before it had ended."""
        if self._span is not None:
            _failed(self._span, type(error).__name__)

    def graded(self, verdict: Verdict) -> None:
        """The event of the conventions, and the same on the span, for who reads spans alone."""
        if self._span is None or self._sinks is None:
            return
        found: dict[str, Any] = {
            "gen_ai.evaluation.name": f"{verdict.stage}.{verdict.rule}",
            "gen_ai.evaluation.score.label": _LABELS[verdict.correct],
        }
        if verdict.right is not None:
            found["gen_ai.evaluation.score.value"] = verdict.right
        if _with_content() and verdict.explanation:
            found["gen_ai.evaluation.explanation"] = verdict.explanation
        self._span.set_attributes(found)
        if self._sinks.events is not None:
            from opentelemetry.trace import set_span_in_context

            self._sinks.events.emit(
                event_name="gen_ai.evaluation.result",
                context=set_span_in_context(self._span),
                attributes=found,
            )


@contextmanager
def workflow_span(problem: Problem, program: str) -> Iterator[WorkflowSpan]:
    """
    Args:
        program: its hash.
    """
    facts = {
        "gen_ai.workflow.name": problem.domain,
        "llm_as_judge.problem.id": problem.id,
        "llm_as_judge.program.hash": program,
    }
    with _span("invoke_workflow", problem.domain, facts, ends_itself=True) as span:
        made = WorkflowSpan(_sinks, span)
        try:
            yield made
        finally:
            if span is not None:
                span.end(made.ended_ns)


@contextmanager
def operator_span(name: str) -> Iterator[Callable[[str], None]]:
    """Gives what to call with the reason where the operator has failed, and its program goes on."""
    facts = {"gen_ai.tool.name": name, "gen_ai.tool.type": "function"}
    with _span("execute_tool", name, facts) as span:
        yield (lambda reason: None) if span is None else lambda reason: _failed(span, reason)


class TracedChat:
    """ChatModel of which each call is a span.

    Args:
        provider: who serves it, by the conventions' names.
    """

    def __init__(self, model: ChatModel, provider: str) -> None:
        self._model, self._provider = model, provider

    @property
    def name(self) -> str:
        return self._model.name

    async def chat(self, request: ChatRequest) -> ChatReply:
        """
        Raises:
            EndpointError: from the model.
        """
        facts = {"gen_ai.provider.name": self._provider, "gen_ai.request.model": self.name}
        with _span("chat", self.name, facts | _asked(request), kind="CLIENT") as span:
            reply = await self._model.chat(request)
            if span is not None:
                span.set_attributes(_replied(reply))
        return reply


def traced(model: ChatModel, provider: str) -> ChatModel:
    """The model, with spans where they are wanted."""
    return model if _sinks is None else TracedChat(model, provider)


def _asked(request: ChatRequest) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "gen_ai.request.max_tokens": request.max_tokens,
        "gen_ai.request.temperature": request.temperature,
        "gen_ai.request.top_p": request.top_p,
        "llm_as_judge.request.draw": request.draw,
    }
    if request.seed is not None:
        facts["gen_ai.request.seed"] = request.seed
    if request.stop:
        facts["gen_ai.request.stop_sequences"] = request.stop
    if _with_content():
        facts["gen_ai.input.messages"] = json.dumps(
            [_message(one.role, one.content) for one in request.messages]
        )
    return facts


def _replied(reply: ChatReply) -> dict[str, Any]:
    usage = reply.usage
    facts: dict[str, Any] = {
        "gen_ai.response.finish_reasons": (reply.finish_reason,),
        "gen_ai.usage.input_tokens": usage.prompt_tokens,
        "gen_ai.usage.output_tokens": usage.completion_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
        "llm_as_judge.response.recorded": reply.cached,
    }
    if reply.cost_usd is not None:
        facts["llm_as_judge.response.cost_usd"] = reply.cost_usd
    if _with_content():
        said = {**_message("assistant", reply.text), "finish_reason": reply.finish_reason}
        facts["gen_ai.output.messages"] = json.dumps([said])
    return facts


def _message(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def _with_content() -> bool:
    return os.environ.get(CONTENT, "").lower() == "true"


@contextmanager
def _span(
    operation: str,
    name: str,
    facts: Mapping[str, Any],
    *,
    kind: str = "INTERNAL",
    ends_itself: bool = False,
) -> Iterator[Span | None]:
    """The span that all inside belongs to; None where nobody wants it."""
    if _sinks is None:
        yield None
        return
    from opentelemetry.trace import SpanKind

    with _sinks.tracer.start_as_current_span(
        f"{operation} {name}",
        kind=SpanKind[kind],
        attributes={"gen_ai.operation.name": operation, **facts},
        record_exception=False,  # its text may hold what a person asked
        set_status_on_exception=False,
        end_on_exit=not ends_itself,
    ) as span:
        try:
            yield span
        except BaseException as error:
            _failed(span, type(error).__name__)
            raise


def _failed(span: Span, reason: str) -> None:
    from opentelemetry.trace import Status, StatusCode

    span.set_attribute("error.type", reason)
    span.set_status(Status(StatusCode.ERROR))

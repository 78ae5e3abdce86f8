"""Executor, judge and a place to work: all that running and grading programs needs. No policy, no torch."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from llm_as_judge.assembly.chat_models import ChatModels, embedded_weights, no_such_model
from llm_as_judge.assembly.documents import open_library
from llm_as_judge.assembly.executor_settings import operator_settings
from llm_as_judge.config import Config, find_model, known_model, load_endpoints
from llm_as_judge.errors import ConfigError
from llm_as_judge.grading.rules import RuleGrader
from llm_as_judge.interruptible import in_thread
from llm_as_judge.judge.cascade import Judge, SetAnswers
from llm_as_judge.judge.cascade import judge_fingerprint as fingerprint_of
from llm_as_judge.judge.judge_file import JUDGE_FILE, JudgeFile
from llm_as_judge.judge.kinds import JudgePlace, judge_kind, rules_alone
from llm_as_judge.judge.records import JudgeRecords
from llm_as_judge.judge.scoring import Computing
from llm_as_judge.llm.billing import BilledAs
from llm_as_judge.llm.ledger import Ledger
from llm_as_judge.llm.pool import Pool
from llm_as_judge.llm.rounds import Rounds
from llm_as_judge.llm.weights import fetch, weights_identity
from llm_as_judge.operators import OperatorSettings
from llm_as_judge.operators.retrieval import Library
from llm_as_judge.policy.unpacking import unpack_gguf
from llm_as_judge.rollout import WorkflowEnvironment
from llm_as_judge.runs.sinks import TrackingOptions, wanted_spans
from llm_as_judge.runs.spans import workflow_span
from llm_as_judge.types import (
    ChatModel,
    ChatRequest,
    Execution,
    Problem,
    Program,
    RunLimits,
)
from llm_as_judge.workers import RunSettings, Work, open_local_work
from llm_as_judge.workflow.program import ProgramForm

if TYPE_CHECKING:
    from llm_as_judge.policy.label_scorer import LabelScorer


@dataclass(frozen=True, slots=True)
class Workbench:
    """What running and grading programs needs; no policy, no torch."""

    config: Config
    executor: ChatModel
    """The default one; it passes requests that name another one on to that."""
    judge: Judge
    work: Work
    ledger: Ledger
    operators: OperatorSettings | None = None
    """How operators ask the executor; None = as the configuration and the endpoint say."""
    recording: Pool | None = None
    documents: Library | None = None

    def environment(self, form: ProgramForm | None = None, *, runs: int = 1) -> WorkflowEnvironment:
        """Where programs are checked, run and graded.

        Args:
            form: in which programs are written; None = each in the form that it is in.
            runs: of each program.
        """
        config = self.config
        operators = self.operators or operator_settings(config)
        replayable = config.calls.mode in ("record", "replay")
        return WorkflowEnvironment(
            work=self.work,
            executor=self.executor,
            judge=self.judge,
            settings=RunSettings(
                run_limits(config),
                operators,
                config.executor.enhance,
            ),
            max_calls=config.workflow.max_worst_case_calls,
            form=form,
            offset=config.executor.draw_offset,
            runs=runs,
            ledger=self.ledger,
            recording=self.recording if replayable else None,
            rotated=self._rotated(),
            documents=self.documents,
        )

    def _rotated(self) -> Callable[[str, ChatRequest, int], ChatRequest] | None:
        pool, mode = self.recording, self.config.calls.mode
        if pool is None or pool.one_run:
            return None
        return Rounds(pool, closed=mode == "replay")

    def parse(self, text: str, problem: Problem) -> Program:
        """Text of a reply -> checked program; one that could make too many calls is rejected."""
        return self.environment(self.config.sampling.form).parse(text, problem)

    async def run(self, program: Program, problem: Problem, executor: ChatModel) -> Execution:
        """Run a checked program on its problem.

        Raises:
            EndpointError, SandboxError: see :class:`Environment`.
        """
        with workflow_span(problem, program.hash) as span:
            execution = await self.environment().asking(executor).run(program, problem)
            span.ran(execution)
        return execution


def tracking_options(config: Config) -> TrackingOptions:
    return TrackingOptions(**config.tracking.model_dump())


def run_limits(config: Config) -> RunLimits:
    workflow = config.workflow
    return RunLimits(
        wall_s=workflow.timeout_s,
        cpu_s=workflow.cpu_s,
        memory_bytes=workflow.memory_mb * 2**20,
        operator_calls=workflow.max_operator_calls,
    )


@asynccontextmanager
async def open_workbench(config: Config) -> AsyncIterator[Workbench]:
    """Executor, judge and where programs run, started and probed.

    Raises:
        UserError: model or endpoint missing, weights cannot be fetched, documents cannot be read.
        SandboxError: the asked-for isolation does not hold on this machine.
    """
    documents = await in_thread(open_library, config)
    async with AsyncExitStack() as stack:
        stack.enter_context(wanted_spans(tracking_options(config)))
        chats = ChatModels(config, stack)
        work = await _open_work(stack, config)
        executor = await chats.open_executors()
        judge = await _open_judge(stack, config, work.rules, chats)
        settings = operator_settings(config)
        ledger, kept = chats.ledger, chats.recording
        yield Workbench(config, executor, judge, work, ledger, settings, kept, documents)


@asynccontextmanager
async def open_judge(config: Config) -> AsyncIterator[Judge]:
    """The judge with its sandbox, without an executor: for grading answers that exist."""
    async with AsyncExitStack() as stack:
        work = await _open_work(stack, config, grading_only=True)
        yield await _open_judge(stack, config, work.rules, ChatModels(config, stack))


@asynccontextmanager
async def open_judge_model(config: Config) -> AsyncIterator[tuple[ChatModel, str]]:
    """The model of ``judge.model`` alone, and what it is known by.

    Raises:
        ConfigError: none is named.
    """
    identity = _judge_identity(config)
    if identity is None:
        raise ConfigError("judge.model: found none, wanted a model; name it with --model")
    async with AsyncExitStack() as stack:
        yield await ChatModels(config, stack).open(config.judge.model, "judge"), identity


async def _open_work(stack: AsyncExitStack, config: Config, *, grading_only: bool = False) -> Work:
    """Where programs run and rules grade: this machine, or workers of a cluster."""
    workflow, workers = config.workflow, config.workers
    if workers.backend == "ray":
        # Imported here: the extra is needed by those who ask for it alone.
        from llm_as_judge.workers.messages import Options
        from llm_as_judge.workers.ray_workers import Placement, open_ray_workers

        options = Options(
            workflow.sandbox, workflow.concurrency, run_limits(config), config.plugins
        )
        placement = Placement(
            workers.count, workers.address, workers.cpus, workers.resource, workers.start_s
        )
        return await stack.enter_async_context(open_ray_workers(options, placement))
    expected = None if grading_only else run_limits(config)
    work = await open_local_work(workflow.sandbox, workflow.concurrency, expected)
    stack.push_async_callback(work.aclose)
    return work


async def _open_judge(
    stack: AsyncExitStack,
    config: Config,
    rules: RuleGrader,
    chats: ChatModels,
) -> Judge:
    model: ChatModel | None = None
    if (executor := chats.executors.get(config.judge.model)) is not None:
        model = BilledAs(executor, "judge")
    elif config.judge.model != "none":
        model = await chats.open(config.judge.model, "judge")
    replayable = config.calls.mode in ("record", "replay")  # a replay has no memory of its own
    remembers = model is not None and config.judge.model != "scripted" and not replayable
    records = JudgeRecords(
        config.output.cache_dir() / "judge" if remembers else None,
        config.output.results / "judge_calls.jsonl",  # a run has one of its own
    )
    last = None
    if not rules_alone(config.judge):
        place = JudgePlace(
            config.judge,
            model,
            _judge_identity(config),
            records,
            open_scorer=lambda folder, made: _open_scorer(stack, config, folder, made),
            weights_identity=_weights_identity,
        )
        last = await in_thread(judge_kind(config.judge).open, place)
    judge = Judge(
        rules=rules,
        last=last,
        f1_threshold=config.judge.qa_f1_threshold,
        sets=answers_of_sets(config),
    )
    stack.push_async_callback(judge.aclose)
    return judge


def answers_of_sets(config: Config) -> dict[str, SetAnswers]:
    """How the answers of own sets are compared, by the sets' names."""
    return {name: SetAnswers(said.spec, said.aliases) for name, said in config.data.answers.items()}


def judge_fingerprint(config: Config) -> str:
    """The fingerprint of the judge that ``config`` asks for; starts nothing.

    Raises:
        ConfigError: there is no such model or judge, or an option is not as wanted.
    """
    last = None
    if not rules_alone(config.judge):
        place = JudgePlace(
            config.judge, identity=_judge_identity(config), weights_identity=_weights_identity
        )
        last = judge_kind(config.judge).fingerprint(place)
    return fingerprint_of(last, f1_threshold=config.judge.qa_f1_threshold)


def _open_scorer(stack: AsyncExitStack, config: Config, folder: Path, made: JudgeFile) -> Computing:
    entry = known_model(made.base, f"{folder / JUDGE_FILE}: base")
    weights = fetch(entry, config.output.cache_dir())
    if (
        entry.format == "gguf"
    ):  # here, where it can be stopped: the first answer waits in any thread
        weights = unpack_gguf(weights)

    def load() -> LabelScorer:
        # Imported here: who is graded by rules or by an endpoint does not wait for torch.
        from llm_as_judge.policy.label_scorer import LabelScorer

        return LabelScorer.load(weights, folder, layers=made.layers, device=config.policy.device)

    scorer = _LoadedWhenAsked(load)
    stack.callback(scorer.close)
    return scorer


class _LoadedWhenAsked:
    """A trained judge whose weights are read when the first answer reaches it: rules decide most."""

    def __init__(self, load: Callable[[], LabelScorer]) -> None:
        self._load = load
        self._scorer: LabelScorer | None = None

    def log_odds(self, pairs: Sequence[tuple[Problem, str]]) -> list[float]:
        if self._scorer is None:
            self._scorer = self._load()
        return self._scorer.log_odds(pairs)

    def close(self) -> None:
        if self._scorer is not None:
            self._scorer.close()
            self._scorer = None


def _weights_identity(base: str) -> str:
    entry = find_model(base)
    return f"{base}={weights_identity(entry) or entry.filename}" if entry else base


def _judge_identity(config: Config) -> str | None:
    """What the judge model is known by: an endpoint by the model it is asked for, weights by
    their hash. Where an endpoint runs is no part of it."""
    name = config.judge.model
    endpoints, weights = load_endpoints(), embedded_weights(name)
    if name == "none":
        return None
    if name in endpoints:
        one = endpoints[name]
        thinking = f";thinking={one.thinking_tokens}" if one.thinking_tokens else ""
        effort = f";effort={one.reasoning_effort}" if one.reasoning_effort else ""
        return f"{name}={one.model_name or name}{thinking}{effort}"
    if weights is not None:
        return f"{weights.name}={weights_identity(weights) or weights.filename}"
    if name == "scripted":
        return name
    raise no_such_model("judge", name)

"""Systems that can be evaluated: a policy model, or programs that are written already (the baselines).

All of them go through :class:`RolloutRunner`: a baseline is a policy that always writes the same
program, so executor, rows, sandbox and judge are the same by construction.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from llm_as_judge.assembly import (
    Workbench,
    open_memory,
    open_system,
    open_workbench,
    policy_prompt,
    require_draws,
    rollout_runner,
)
from llm_as_judge.config import Config
from llm_as_judge.config.names import file_label
from llm_as_judge.errors import ConfigError, ModelError
from llm_as_judge.files import read_json
from llm_as_judge.interruptible import in_thread
from llm_as_judge.llm.ledger import Ledger
from llm_as_judge.llm.pool import Pool
from llm_as_judge.policy.backends import sampler_backend
from llm_as_judge.policy.checkpoint import EXPERIENCE
from llm_as_judge.policy.recorded import RecordedSampler
from llm_as_judge.policy.stream import ready
from llm_as_judge.rollout import RolloutRunner
from llm_as_judge.types import (
    DOMAINS,
    Completion,
    Domain,
    IsolationReport,
    PolicySampler,
    Problem,
    Prompt,
    Rollout,
    SampleStream,
    Sampling,
)
from llm_as_judge.workflow.program import ProgramOptions

Keep = Callable[[Rollout], None]
Attempt = Callable[[Sequence[tuple[Problem, int]], Keep], Awaitable[None]]
"""Makes the rollouts of the wanted (problem, number) pairs; gives each to ``keep`` as it ends. One of a
policy is given to it before, too: as its program is written, without verdict and failure."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A system whose models and sandbox are up."""

    attempt: Attempt
    isolation: IsolationReport
    """What was seen to hold where its programs run."""
    ledger: Ledger = field(default_factory=Ledger)
    """Of its calls: its budget is that of the run."""


class EvaluatedSystem(ABC):
    """One row of the table."""

    label: str
    adapter: Path | None = None
    """Of a checkpoint."""
    is_prompted = True
    """Whether a model writes the programs, and reads the prompt for it."""

    @property
    def domains(self) -> frozenset[Domain]:
        """What it has programs for; problems of other domains are left out."""
        return frozenset(DOMAINS)

    @abstractmethod
    def identity(self) -> Mapping[str, str]:
        """Hashes of what decides the programs, beside the configuration.

        Raises:
            UserError: a file of it is missing or does not fit.
        """

    @abstractmethod
    def check(self, config: Config) -> None:
        """
        Raises:
            UserError: the configuration does not fit it; found before anything is started.
        """

    @abstractmethod
    def open(self, config: Config) -> AbstractAsyncContextManager[Opened]:
        """Start what it needs; everything is closed on the way out."""


# ----------------------------------------------------------------------------------- policy model
@dataclass(frozen=True)
class PolicySystem(EvaluatedSystem):
    """The base model with a saved adapter, or with none."""

    label: str
    adapter: Path | None

    def identity(self) -> Mapping[str, str]:
        if self.adapter is None:
            return {"adapter": "none"}
        # a checkpoint's own experience buffer stands in its prompts
        experience = sorted(p for p in (self.adapter / EXPERIENCE).rglob("*") if p.is_file())
        files = [self.adapter / "adapter_model.safetensors", *experience]
        return {"adapter": _digest(b"".join(map(_bytes, files)))}

    def check(self, config: Config) -> None:
        if self.adapter is not None:
            check_base_model(self.adapter, config.policy.name)
        require_draws(config)
        if config.evaluation.samples > 1 and config.evaluation.temperature == 0:
            raise ConfigError(
                f"evaluation.samples: {config.evaluation.samples} programs at temperature 0 are "
                "all the same; set evaluation.temperature above 0"
            )
        sampler = sampler_backend(config.sampling)
        if config.calls.mode == "record" and not sampler.own_weights:
            raise ConfigError(
                f"calls.mode: record keeps the programs of sampling.backend hf, not of "
                f"{sampler.name}; set one of the two"
            )

    @asynccontextmanager
    async def _runner(self, config: Config) -> AsyncIterator[tuple[RolloutRunner, Workbench]]:
        """In a replay neither the policy nor the executor is started."""
        policy = {"base": config.policy.name, **self.identity()}
        form = config.sampling.form
        if config.calls.mode == "replay":
            async with open_workbench(config) as bench:
                sampler = RecordedSampler(None, _recording(bench), policy)
                memory = await in_thread(open_memory, config, self.adapter)
                prompt = policy_prompt(config, memory=memory)
                yield rollout_runner(bench, prompt, sampler, form), bench
            return
        async with open_system(config, adapter=self.adapter) as system:
            runner, bench = system.runner, system.bench
            if config.calls.mode == "record":
                sampler = RecordedSampler(system.sampler, _recording(bench), policy)
                runner = rollout_runner(bench, system.prompt, sampler, form)
            yield runner, bench

    @asynccontextmanager
    async def open(self, config: Config) -> AsyncIterator[Opened]:
        async with self._runner(config) as (runner, bench):

            async def attempt(wanted: Sequence[tuple[Problem, int]], keep: Keep) -> None:
                pairs = {(problem.id, index) for problem, index in wanted}
                problems = list({problem.id: problem for problem, _ in wanted}.values())
                samples = config.evaluation.samples
                at_once = max(1, config.sampling.generation_batch_size // samples)
                for start in range(0, len(problems), at_once):
                    sampling = Sampling(
                        samples,
                        config.evaluation.temperature,
                        config.sampling.max_new_tokens,
                        seed=config.training.seed * 1_000_003 + start,
                    )
                    part = problems[start : start + at_once]
                    async with aclosing(await runner.start(part, sampling)) as batch:
                        async for event in batch:
                            rollout = event.rollout
                            if (rollout.problem_id, rollout.index) in pairs:
                                keep(rollout)

            yield Opened(attempt, bench.work.isolation, bench.ledger)


def _recording(bench: Workbench) -> Pool:
    assert bench.recording is not None, "calls.mode is record or replay"
    return bench.recording


def check_base_model(adapter: Path, policy: str) -> None:
    """
    Raises:
        ModelError: the checkpoint is not one, or belongs to another base model.
    """
    try:
        state = read_json(adapter / "state.json")
    except FileNotFoundError:
        raise ModelError(f"{adapter}: no state.json; wanted a checkpoint folder step_N") from None
    except (OSError, ValueError) as error:
        raise ModelError(f"{adapter / 'state.json'}: cannot be read: {error}") from None
    base = state.get("base_model") if isinstance(state, dict) else None
    # an exported adapter names its base model without the path that the weights had elsewhere
    if base not in (policy, file_label(policy)):
        raise ModelError(
            f"{adapter}: an adapter of {base}, and the policy is {policy}; give --model {base}"
        )


# --------------------------------------------------------------------------------------- programs
class FixedProgram:
    """A policy that writes the same text for every problem."""

    def __init__(self, text: str) -> None:
        self.text = text

    async def sample(self, prompts_P: Sequence[Prompt], sampling: Sampling) -> SampleStream:
        """See ``types.PolicySampler``."""
        # no ids: no model wrote it, so it costs the policy no tokens
        written = Completion((), (), (), self.text, "stop")
        return ready([[written] * sampling.samples for _ in prompts_P])


@dataclass(frozen=True)
class ProgramSystem(EvaluatedSystem):
    """Programs that are written already: one sampler for each domain."""

    label: str
    samplers: Mapping[Domain, PolicySampler]
    contents: str
    """What decides the programs: their texts, or the grammar they are drawn from."""
    is_prompted = False

    @property
    def domains(self) -> frozenset[Domain]:
        return frozenset(self.samplers)

    def expected_calls(self, options: ProgramOptions) -> dict[Domain, float]:
        """Executor calls that a run of each fixed program is expected to make; drawn ones are left out."""
        return {
            domain: options.parse(sampler.text, domain).expected_calls
            for domain, sampler in self.samplers.items()
            if isinstance(sampler, FixedProgram)
        }

    def identity(self) -> Mapping[str, str]:
        return {"programs": _digest(self.contents.encode())}

    def check(self, config: Config) -> None:
        written = all(isinstance(sampler, FixedProgram) for sampler in self.samplers.values())
        if config.evaluation.samples > 1 and written:
            raise ConfigError(
                f"evaluation.samples: {config.evaluation.samples} samples of a program that is written "
                f"are all the same; set workflow.draws={config.evaluation.samples} to run it so often"
            )
        require_draws(config)

    @asynccontextmanager
    async def open(self, config: Config) -> AsyncIterator[Opened]:
        async with open_workbench(config) as bench:

            async def attempt(wanted: Sequence[tuple[Problem, int]], keep: Keep) -> None:
                parts: dict[tuple[int, Domain], list[Problem]] = defaultdict(list)
                for problem, number in wanted:
                    parts[number, problem.domain].append(problem)
                for (number, domain), problems in parts.items():
                    prompt, sampler = policy_prompt(bench.config), self.samplers[domain]
                    # without a form of the run's: each program is in its own
                    runner = rollout_runner(bench, prompt, sampler)
                    seed = config.training.seed + number
                    sampling = Sampling(1, 0.0, config.sampling.max_new_tokens, seed=seed)
                    async with aclosing(await runner.start(problems, sampling)) as batch:
                        async for event in batch:
                            if event.ended:
                                keep(replace(event.rollout, index=number))

            yield Opened(attempt, bench.work.isolation, bench.ledger)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ModelError(
            f"{path}: cannot be read: {error.strerror}; wanted a checkpoint folder step_N"
        ) from None

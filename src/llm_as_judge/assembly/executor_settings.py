"""Settings of a configuration's executors, their cost, and what a run will ask of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from llm_as_judge.assembly.documents import longest_statement
from llm_as_judge.config import Config, Endpoint, load_endpoints
from llm_as_judge.config.reading import options_of
from llm_as_judge.errors import ConfigError, DataError
from llm_as_judge.grading.version import GRADING_VERSION
from llm_as_judge.llm.billing import Role
from llm_as_judge.llm.estimate import ASSUMED_CALLS, Estimate, Means, assumed_means
from llm_as_judge.llm.ledger import Budget, Price, prompt_price
from llm_as_judge.llm.recorded import model_identity
from llm_as_judge.operators import ExecutorSettings, OperatorSettings
from llm_as_judge.operators.base import StopSettings
from llm_as_judge.operators.stopping import StopTable
from llm_as_judge.reward import PRICES, USUAL_BUDGET
from llm_as_judge.runs.table import VERSION
from llm_as_judge.types import Json, Problem, RunLimits

FREE = Price(0.0, 0.0)
"""Our own processor: the price is known, and nothing."""
_SEEDS_APART = 1_000_003
"""Between the first draws of two values of ``executor.seed``; more than any draw index."""


def limits_of(config: Config) -> Budget:
    """``budget`` of the configuration, for a ledger."""
    return Budget(**config.budget.model_dump())


def label_of(name: str, role: Role) -> str:
    """What a model's calls are kept under. A scripted one is a model of its own for each executor."""
    _, _, executor = role.partition(" ")
    return f"{name}/{executor}" if name == "scripted" and executor else name


def price_of(endpoint: Endpoint) -> Price | None:
    """None = unknown."""
    prompt = endpoint.usd_per_million_prompt_tokens
    completion = endpoint.usd_per_million_completion_tokens
    if prompt is None or completion is None:
        return None
    return Price(prompt, completion, endpoint.usd_per_million_cached_tokens)


def written_price(config: Config, name: str) -> float:
    """Of a written token of an executor beside the default one, in those of the default one.

    Raises:
        ConfigError: neither the configuration nor the endpoints say it.
    """
    one = config.executors[name]
    if one.price is not None:
        return one.price
    endpoints = load_endpoints()
    own, default = (
        price_of(endpoints[model]) if model in endpoints else None
        for model in (one.model, config.executor.model)
    )
    if own is None or default is None or not own.completion or not default.completion:
        raise ConfigError(
            f"executors.{name}.price: not set, and not known from dollars, which want prices of both "
            f"{one.model!r} and executor.model {config.executor.model!r}; set it: what a written token "
            "costs, in written tokens of executor.model"
        )
    return own.completion / default.completion


def operator_settings(config: Config) -> OperatorSettings:
    """How operators ask the executors. What the configuration leaves open, the endpoint decides.

    Raises:
        ConfigError: the price of an executor is not known.
    """
    default = _asking(config, config.executor.model)
    others = {
        name: replace(
            _asking(config, one.model, written_price(config, name)),
            model=label_of(one.model, f"executor {name}"),
        )
        for name, one in config.executors.items()
    }
    return options_of(
        OperatorSettings,
        config.executor,
        temperature=default.temperature,
        steady_temperature=default.steady_temperature,
        top_p=default.top_p,
        seed=first_seed(config),
        prompt_price=default.prompt_price,
        executors=others,
        code_limits=RunLimits(
            wall_s=config.workflow.code_timeout_s,
            cpu_s=config.workflow.code_cpu_s,
            memory_bytes=config.workflow.memory_mb * 2**20,
        ),
        max_calls=config.workflow.max_calls,
        stop=stop_settings(config),
    )


def _of_executor(key: str, config: Config) -> Json:
    value: Json = getattr(config.executor, key)
    return value


_BINDING = ("temperature", "top_p", "max_tokens", "max_tokens_of", "enhance")
BOUND: Mapping[str, Callable[[Config], Json]] = {
    "executor.model": lambda config: config.executor.model,
    "weights of the executor": lambda config: model_identity(config.executor.model),
    **{f"executor.{key}": partial(_of_executor, key) for key in _BINDING},
    VERSION: lambda config: GRADING_VERSION,
}
"""Conditions that a stop table is bound to, by their names in a bank: with another executor the same draws
are worth something else."""


def bound_of(about: Mapping[str, Json], folder: Path) -> dict[str, str]:
    """What a stop table of a bank with these conditions is bound to.

    Raises:
        DataError: a bank of an earlier version does not say all of it.
    """
    if missing := sorted(BOUND.keys() - about.keys()):
        raise DataError(
            f"{folder}/about.json: no {missing[0]!r}; it is of an earlier version: fill another bank"
        )
    return {name: _shown(about[name]) for name in BOUND}


def _shown(value: Json) -> str:
    return json.dumps(value, sort_keys=True)


def stop_settings(config: Config) -> StopSettings | None:
    """How ``until_worth`` decides; None: no table is named.

    Raises:
        ConfigError: the table was learned under other conditions.
        DataError: it cannot be read.
    """
    stop = config.stop
    if stop.table is None:
        return None
    table = StopTable.read(stop.table)
    for name, here in BOUND.items():
        there, found = table.bound.get(name), _shown(here(config))
        if there != found:
            raise ConfigError(
                f"stop.table: {stop.table} was learned with {name} {there}, and here it is "
                f"{found}; make one for this executor: llm-as-judge stop learn"
            )
    price = PRICES[config.reward.prompt_budget or USUAL_BUDGET]
    return StopSettings(table, stop.price or price, stop.round, stop.price is not None)


def _asking(config: Config, model: str, written_price: float = 1.0) -> ExecutorSettings:
    executor, endpoint = config.executor, load_endpoints().get(model)
    steady = (endpoint.temperature if endpoint else None) or 0.0
    drafting = steady if executor.temperature is None else executor.temperature
    masses = (executor.top_p, endpoint.top_p if endpoint else None, 1.0)
    return ExecutorSettings(
        model,
        temperature=drafting,
        steady_temperature=min(steady, drafting),
        top_p=next(value for value in masses if value is not None),
        prompt_price=prompt_price(price_of(endpoint) if endpoint else FREE),
        written_price=written_price,
    )


def _price_known(model: str) -> Price | None:
    """Embedded weights ask for no money; what the scripted model would cost nobody knows."""
    endpoint = load_endpoints().get(model)
    if endpoint is not None:
        return price_of(endpoint)
    return None if model == "scripted" else FREE


def first_seed(config: Config) -> int:
    """Seeds of one's own are so far apart that no two share a draw."""
    own = config.executor.seed
    return config.training.seed if own is None else own * _SEEDS_APART


CALLS_A_VERDICT = 2
"""Of the judge's model at most: an acceptance is asked for in both orders."""


def estimate_of(
    config: Config,
    rollouts: int,
    problems: Sequence[Problem],
    measured: Means | None,
    runs: int = 1,
    calls_a_run: float = ASSUMED_CALLS,
) -> Estimate:
    """What ``rollouts`` more programs will ask of the executor.

    Args:
        runs: of each program.
        problems: of the run, or a sample of them.
        measured: means of earlier rollouts; None = none were made yet.
        calls_a_run: what a run of a program is expected to ask, as long as nothing is measured.
    """
    executor, endpoints = config.executor, load_endpoints()
    models = (executor.model, *(one.model for one in config.executors.values()))
    prices = (1.0, *(written_price(config, name) for name in config.executors))
    dearest, factor = max(zip(models, prices, strict=True), key=lambda item: item[1])
    lengths = [longest_statement(config, problem) for problem in problems]
    means = measured or assumed_means(
        sum(lengths) / max(1, len(lengths)), executor.max_tokens, runs, calls_a_run
    )
    most_calls = rollouts * runs * config.workflow.most_calls
    longest = max(executor.max_tokens, *executor.max_tokens_of.values(), 0)
    thinking = (endpoints[name].thinking_tokens for name in models if name in endpoints)
    most_tokens = longest + max(thinking, default=0)
    judged = config.judge.kind == "llm" and config.judge.model != "none"
    return Estimate(
        rollouts=rollouts,
        means=means,
        most_calls=most_calls,
        most_completion_tokens=most_calls * most_tokens,
        price=_price_known(dearest),
        written_price=factor,
        most_judge_calls=CALLS_A_VERDICT * rollouts * runs if judged else 0,
    )


def training_estimate(
    config: Config, steps: int, problems: Sequence[Problem], measured: Means | None
) -> Estimate:
    """What ``steps`` more steps of training will ask of the executor.

    Args:
        problems, measured: as for :func:`estimate_of`; 200 problems stand for all.
    """
    training = config.training
    rollouts = steps * training.problems_per_step * training.samples_per_problem
    sample = [problems[i] for i in range(min(200, len(problems)))]
    found = estimate_of(config, rollouts, sample, measured, config.workflow.draws)
    return replace(found, steps=steps)

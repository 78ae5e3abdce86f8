"""Names in the configuration -> chat models: executors and judge of one run.

    name in aflow_llm.yaml         a client of that endpoint, probed
    GGUF weights                   an embedded server, started here, and its client
    scripted                       replies from a hash of the request: dry runs; each executor has its own
    any name, calls.mode replay    replies of a recorded run; nothing is started

With ``calls.mode`` cache what the model says is kept in the pool of ``calls.folder``, with record in a
recording of the run.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial

from llm_as_judge.config import (
    CallsConfig,
    Config,
    Endpoint,
    ModelEntry,
    find_model,
    known_model,
    load_endpoints,
    load_models,
)
from llm_as_judge.errors import ConfigError, ModelError
from llm_as_judge.llm.billing import Role
from llm_as_judge.llm.client import EndpointLimits, OpenAIChat
from llm_as_judge.llm.estimate import Estimate, Means, assumed_means
from llm_as_judge.llm.executors import Executors
from llm_as_judge.llm.gathered import MOST_DRAWS, GatheredDraws
from llm_as_judge.llm.kept import kept_calls, origin
from llm_as_judge.llm.ledger import Budget, Ledger, Price, prompt_price
from llm_as_judge.llm.local import EmbeddedServer, ServerSettings
from llm_as_judge.llm.pool import Pool
from llm_as_judge.llm.recorded import RecordedChat
from llm_as_judge.llm.scripted import ScriptedChat
from llm_as_judge.llm.weights import fetch
from llm_as_judge.operators import ExecutorSettings, OperatorSettings
from llm_as_judge.operators.rehearsal import rehearsed_reply
from llm_as_judge.types import ChatModel, Problem, RunLimits

log = logging.getLogger(__name__)

FREE = Price(0.0, 0.0)
"""Our own processor: the price is known, and nothing."""
_SEEDS_APART = 1_000_003
"""Between the first draws of two values of ``executor.seed``; more than any draw index."""


class ChatModels:
    """Opens the chat models of one run; they share its ledger and its recording.

    Args:
        stack: closes servers, connections and the recording.
    """

    def __init__(self, config: Config, stack: AsyncExitStack) -> None:
        self._config = config
        self._stack = stack
        budget = config.budget
        self.ledger = Ledger(Budget(budget.usd, budget.tokens, budget.calls, budget.cost))
        self.executors: dict[str, ChatModel] = {}
        """Those that are open, by their model's name."""
        self.recording = kept_calls(config.calls)
        if self.recording is not None:
            stack.callback(self.recording.close)

    async def open_executors(self) -> ChatModel:
        """The default executor and those beside it, behind one.

        Raises:
            ConfigError: as :meth:`open`; two are one model, or the price of one is not known.
            ModelError: as :meth:`open`.
        """
        config = self._config
        _require_different(config)
        prices = {name: written_price(config, name) for name in config.executors}
        default = await self.open(config.executor.model, "executor")
        others = {
            name: await self.open(one.model, f"executor {name}", prices[name])
            for name, one in config.executors.items()
        }
        return Executors(default, others) if others else default

    async def open(self, name: str, role: Role, written_price: float = 1.0) -> ChatModel:
        """The model called ``name``, ready to be asked.

        Args:
            written_price: of a written token, in those of the default executor.
        Raises:
            ConfigError: no such model, or a budget in dollars without its price.
            ModelError: not reachable, not served, weights missing, nothing recorded.
        """
        calls = self._config.calls
        label = _label(name, role)
        opened = None if calls.mode == "replay" else await self._live(name, role, written_price)
        if isinstance(self.recording, Pool):
            notice = self.recording.of(label, origin(name, role, _first_seed(self._config)))
            if notice:
                log.warning("%s", notice)
        if self.recording is not None:
            assert calls.mode != "off"
            opened = RecordedChat(
                opened,
                self.recording,
                calls.mode,
                name=label,
                ledger=self.ledger,
                role=role,
            )
        assert opened is not None
        if role != "judge":
            self.executors[label] = opened
        return opened

    async def _live(self, name: str, role: Role, written_price: float) -> ChatModel:
        if name == "scripted":
            self._require_price(None, name, role)
            label = _label(name, role)
            one_of_several = label.removeprefix(name)
            return ScriptedChat(
                None if role == "judge" else partial(rehearsed_reply, name=one_of_several),
                name=label,
                written_price=written_price,
                ledger=self.ledger,
                role=role,
            )
        endpoints = load_endpoints()
        if name in endpoints:
            price = price_of(endpoints[name])
            self._require_price(price, name, role)
            chat = self._endpoint(name, endpoints[name], price, role, written_price)
        elif embedded_weights(name):
            chat = await self._embedded(name, role, written_price)
        else:
            raise no_such_model(role, name)
        self._stack.push_async_callback(chat.aclose)
        await chat.probe()
        return chat if role == "judge" else await self._gathering(chat, f"{role} {name}")

    async def _gathering(self, chat: OpenAIChat, which: str) -> ChatModel:
        """``chat``, asked for neighboring draws together.

        Raises:
            ModelError: the configuration wants that, and the endpoint cannot.
        """
        wanted = self._config.executor.draws_at_once
        most = min(wanted or MOST_DRAWS, chat.limits.concurrency)
        if most < 2:
            return chat
        if wanted is not None and (await chat.known_draws()).most < 2:
            raise ModelError(
                f"executor.draws_at_once: {wanted}, but {which} gives one draw a request "
                "(it takes no `n`, or does not tell what its draws used); set it to 1, or leave it out"
            )
        return GatheredDraws(chat, most)

    def _endpoint(
        self,
        name: str,
        endpoint: Endpoint,
        price: Price | None,
        role: Role,
        written_price: float,
    ) -> OpenAIChat:
        executor = self._config.executor
        return OpenAIChat(
            name,
            endpoint.urls(),
            api_key=endpoint.api_key.get_secret_value(),
            model_name=endpoint.model_name,
            price=price,
            written_price=written_price,
            limits=EndpointLimits(
                concurrency=executor.concurrency,
                timeout_s=executor.timeout_s,
                retries=executor.retries,
                requests_per_minute=endpoint.requests_per_minute,
                tokens_per_minute=endpoint.tokens_per_minute,
                thinking_tokens=endpoint.thinking_tokens,
                reasoning_effort=endpoint.reasoning_effort,
            ),
            no_proxy=endpoint.no_proxy,
            ledger=self.ledger,
            role=role,
        )

    async def _embedded(self, name: str, role: Role, written_price: float) -> OpenAIChat:
        server = await start_embedded(self._stack, self._config, name)
        return OpenAIChat(
            name,
            server.base_url,
            api_key=server.api_key,
            model_name=server.model_name,
            price=FREE,
            written_price=written_price,
            limits=embedded_limits(self._config),
            ledger=self.ledger,
            role=role,
            revive=lambda began: asyncio.to_thread(server.revive, began),
        )

    def _require_price(self, price: Price | None, name: str, role: Role) -> None:
        if price is None and self._config.budget.usd is not None:
            raise ConfigError(
                f"budget.usd: the price of {role} {name!r} is not known; set "
                "usd_per_million_prompt_tokens and usd_per_million_completion_tokens in "
                "aflow_llm.yaml, or limit budget.tokens instead"
            )


def _label(name: str, role: Role) -> str:
    """What a model's calls are kept under. A scripted one is a model of its own for each executor."""
    _, _, executor = role.partition(" ")
    return f"{name}/{executor}" if name == "scripted" and executor else name


def _asked(config: Config) -> Sequence[tuple[Role, str | None]]:
    """Names of executors and judges."""
    judge = config.judge
    return (
        ("executor", config.executor.model),
        *((f"executor {name}", one.model) for name, one in config.executors.items()),
        ("judge", judge.model),
        ("judge", judge.second_model),
    )


async def require_endpoints(config: Config) -> None:
    """Every endpoint that the run will ask is up and serves its model; asks for no reply.

    Raises:
        ModelError: one is not reachable, refuses the key or does not serve the model.
    """
    if config.calls.mode == "replay":
        return
    unrecorded = config.model_copy(update={"calls": CallsConfig()})
    endpoints = load_endpoints()
    async with AsyncExitStack() as stack:
        chats = ChatModels(unrecorded, stack)
        for role, name in dict.fromkeys(_asked(config)):
            if name in endpoints:
                await chats.open(name, role)


def require_known_models(config: Config) -> None:
    """Executors and judges are names that can be opened; starts nothing.

    Raises:
        ConfigError: one is not, with the names that are; or an executor has no price, or is another
            one under a second name.
    """
    _require_different(config)
    for executor in config.executors:
        written_price(config, executor)
    endpoints = load_endpoints()
    for role, name in _asked(config):
        unserved = name in (None, "scripted") or (role == "judge" and name == "none")
        if name is not None and not (unserved or name in endpoints or embedded_weights(name)):
            raise no_such_model(role, name)


def _require_different(config: Config) -> None:
    names = {config.executor.model: "executor.model"}
    for name, one in config.executors.items():
        if one.model in names and one.model != "scripted":
            raise ConfigError(
                f"executors.{name}.model: {one.model!r} is {names[one.model]} already; name another "
                "model"
            )
        names[one.model] = f"executors.{name}.model"


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
            f"executors.{name}.price: not known, for {one.model!r} and executor.model "
            f"{config.executor.model!r} have no prices in dollars both; set it: what a written token "
            "costs, in written tokens of executor.model"
        )
    return own.completion / default.completion


def embedded_limits(config: Config) -> EndpointLimits:
    """Never more requests than slots: one in the server's queue would wait within its deadline."""
    executor = config.executor
    return EndpointLimits(
        concurrency=min(executor.concurrency, executor.slots),
        timeout_s=executor.timeout_s,
        retries=executor.retries,
    )


def embedded_weights(name: str) -> ModelEntry | None:
    """The weights of this name that the embedded server can serve, if there are any."""
    entry = find_model(name)
    return entry if entry and entry.format == "gguf" else None


def no_such_model(role: Role, name: str) -> ConfigError:
    """
    Args:
        role: whose model it was to be.
    """
    _, _, executor = role.partition(" ")
    key = f"executors.{executor}.model" if executor else f"{role}.model"
    entry = find_model(name)
    if entry is not None:
        return ConfigError(
            f"{key}: {name!r} is safetensors weights, and the embedded server reads GGUF; "
            "serve them (vllm serve), and name the server in config/aflow_llm.yaml"
        )
    local = (n for n, entry in load_models().items() if entry.format == "gguf")
    known = [*load_endpoints(), *local, "scripted"]
    return ConfigError(f"{key}: no {name!r} (known: {', '.join(known)})")


def price_of(endpoint: Endpoint) -> Price | None:
    """None = unknown."""
    prompt = endpoint.usd_per_million_prompt_tokens
    completion = endpoint.usd_per_million_completion_tokens
    if prompt is None or completion is None:
        return None
    return Price(prompt, completion, endpoint.usd_per_million_cached_tokens)


async def start_embedded(stack: AsyncExitStack, config: Config, name: str) -> EmbeddedServer:
    """A server of the GGUF weights ``name``, fetched if need be; ``stack`` stops it.

    Raises:
        ConfigError: no such weights.
        ModelError: weights cannot be had, or the server does not start.
    """
    weights = await asyncio.to_thread(fetch, known_model(name, "model"), config.output.cache_dir())
    executor = config.executor
    settings = ServerSettings(slots=executor.slots, context_tokens=executor.context_tokens)
    server = EmbeddedServer(weights, name, settings)
    stack.callback(server.close)
    await asyncio.to_thread(server.start)
    return server


def operator_settings(config: Config) -> OperatorSettings:
    """How operators ask the executors. What the configuration leaves open, the endpoint decides.

    Raises:
        ConfigError: the price of an executor is not known.
    """
    executor = config.executor
    default = _asking(config, executor.model)
    others = {
        name: replace(
            _asking(config, one.model, written_price(config, name)),
            model=_label(one.model, f"executor {name}"),
        )
        for name, one in config.executors.items()
    }
    return OperatorSettings(
        max_tokens=executor.max_tokens,
        max_tokens_of=executor.max_tokens_of,
        temperature=default.temperature,
        steady_temperature=default.steady_temperature,
        vote_temperature=executor.vote_temperature,
        top_p=default.top_p,
        seed=_first_seed(config),
        prompt_price=default.prompt_price,
        executors=others,
        code_limits=RunLimits(
            wall_s=config.workflow.code_timeout_s,
            cpu_s=config.workflow.code_cpu_s,
            memory_bytes=config.workflow.memory_mb * 2**20,
        ),
        max_calls=config.workflow.max_calls,
    )


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


def _first_seed(config: Config) -> int:
    """Seeds of one's own are so far apart that no two share a draw."""
    own = config.executor.seed
    return config.training.seed if own is None else own * _SEEDS_APART


def estimate_of(
    config: Config,
    rollouts: int,
    problems: Sequence[Problem],
    measured: Means | None,
    runs: int = 1,
) -> Estimate:
    """What ``rollouts`` more programs will ask of the executor.

    Args:
        runs: of each program.
        problems: of the run, or a sample of them.
        measured: means of earlier rollouts; None = none were made yet.
    """
    executor, endpoints = config.executor, load_endpoints()
    dearest, factor = max(_prices(config), key=lambda item: item[1])
    lengths = [len(problem.statement().encode()) for problem in problems]
    means = measured or assumed_means(
        sum(lengths) / max(1, len(lengths)), executor.max_tokens, runs
    )
    most_calls = rollouts * runs * config.workflow.most_calls
    longest = max(executor.max_tokens, *executor.max_tokens_of.values(), 0)
    models = (executor.model, *(one.model for one in config.executors.values()))
    thinking = (endpoints[name].thinking_tokens for name in models if name in endpoints)
    most_tokens = longest + max(thinking, default=0)
    return Estimate(
        rollouts=rollouts,
        means=means,
        most_calls=most_calls,
        most_completion_tokens=most_calls * most_tokens,
        price=price_of(endpoints[dearest]) if dearest in endpoints else FREE,
        written_price=factor,
    )


def _prices(config: Config) -> list[tuple[str, float]]:
    """(model, price of a written token) of each executor, the default one first."""
    others = ((one.model, written_price(config, name)) for name, one in config.executors.items())
    return [(config.executor.model, 1.0), *others]

"""Names in the configuration -> chat models: executors and judge of one run.

    name in aflow_llm.yaml         a client of that endpoint, probed
    GGUF weights                   an embedded server, started here, and its client; with a pool, by the first
                                   request that the pool has no reply to
    scripted                       replies from a hash of the request: dry runs; each executor has its own
    any name, calls.mode replay    replies of a recorded run; nothing is started

With ``calls.mode`` cache what the model says is kept in the pool of ``calls.folder``, with record in a
recording of the run.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from contextvars import ContextVar
from functools import partial

from llm_as_judge.assembly.executor_settings import (
    FREE,
    first_seed,
    label_of,
    limits_of,
    price_of,
    written_price,
)
from llm_as_judge.config import (
    ADDRESS_FORM,
    CallsConfig,
    Config,
    Endpoint,
    ModelEntry,
    entry_to_write,
    find_model,
    known_model,
    load_endpoints,
    load_models,
)
from llm_as_judge.config.providers import PROVIDER_FORM, provider_of, require_provider_key
from llm_as_judge.config.reading import options_of
from llm_as_judge.errors import ConfigError, EndpointError, ModelError
from llm_as_judge.interruptible import in_thread
from llm_as_judge.llm.billing import Role
from llm_as_judge.llm.client import EndpointLimits, OpenAIChat
from llm_as_judge.llm.gathered import MOST_DRAWS, GatheredDraws
from llm_as_judge.llm.ledger import Ledger, Price
from llm_as_judge.llm.local import EmbeddedServer, ServerSettings
from llm_as_judge.llm.recorded import RecordedChat, open_call_store, origin
from llm_as_judge.llm.refusals import WITHOUT_TEXT
from llm_as_judge.llm.scripted import ScriptedChat
from llm_as_judge.llm.shared import Executors
from llm_as_judge.llm.weights import fetch
from llm_as_judge.operators.rehearsal import rehearsed_reply
from llm_as_judge.runs.spans import traced
from llm_as_judge.types import ChatModel, ChatReply, ChatRequest, Message

log = logging.getLogger(__name__)


class ChatModels:
    """Opens the chat models of one run; they share its ledger and its recording.

    Args:
        stack: closes servers, connections and the recording.
    """

    def __init__(self, config: Config, stack: AsyncExitStack) -> None:
        self._config = config
        self._stack = stack
        self.ledger = Ledger(limits_of(config))
        self.executors: dict[str, ChatModel] = {}
        """Those that are open, by their model's name."""
        calls = config.calls
        self.recording = open_call_store(calls.mode, calls.folder)
        if self.recording is not None:
            stack.callback(self.recording.close)

    async def open_executors(self) -> ChatModel:
        """The default executor and those beside it, behind one.

        Raises:
            ConfigError: as :meth:`open`; two are one model, or the price of one is not known.
            ModelError: as :meth:`open`.
        """
        config, prices = self._config, _executor_prices(self._config)
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
        mode, recording = self._config.calls.mode, self.recording
        label = label_of(name, role)
        opened: ChatModel | None = None
        if mode == "cache" and embedded_weights(name) and name not in load_endpoints():
            opened = _StartedWhenAsked(label, partial(self._live, name, role, written_price))
        elif mode != "replay":
            opened = await self._live(name, role, written_price)
        if recording is not None:
            assert mode != "off"
            of = origin(name, role, first_seed(self._config))
            if not recording.one_run and (notice := recording.of(label, of)):
                log.warning("%s", notice)
            opened = RecordedChat(
                opened, recording, mode, name=label, ledger=self.ledger, role=role
            )
        assert opened is not None
        opened = traced(opened, _provider(name))
        if role != "judge":
            self.executors[label] = opened
        return opened

    async def _live(self, name: str, role: Role, written_price: float) -> ChatModel:
        if name == "scripted":
            self._require_price(None, name, role)
            label = label_of(name, role)
            reply = partial(rehearsed_reply, name=label.removeprefix(name))
            return ScriptedChat(
                None if role == "judge" else reply,
                name=label,
                written_price=written_price,
                ledger=self.ledger,
                role=role,
            )
        endpoints = load_endpoints()
        if name in endpoints:
            require_provider_key(name, role)
            price = price_of(endpoints[name])
            self._require_price(price, name, role)
            chat = self._endpoint(name, endpoints[name], price, role, written_price)
        elif embedded_weights(name):
            chat = await self._embedded(name, role, written_price)
        else:
            raise no_such_model(role, name)
        self._stack.push_async_callback(chat.aclose)
        with _naming(endpoints.written.get(name)):
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
        return OpenAIChat(
            name,
            endpoint.base_url,
            api_key=endpoint.api_key.get_secret_value(),
            model_name=endpoint.model_name,
            price=price,
            written_price=written_price,
            limits=options_of(EndpointLimits, self._config.executor, endpoint),
            no_proxy=endpoint.no_proxy,
            ledger=self.ledger,
            role=role,
            key_variable=load_endpoints().key_variable(name),
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
                f"{load_endpoints().written.get(name) or entry_to_write('NAME')}, or limit budget.tokens instead"
            )


def _provider(name: str) -> str:
    """Who serves the model ``name``, as spans say it; of an endpoint of one's own its protocol is known."""
    if name in load_endpoints():
        return provider_of(name) or "openai"
    return "openvino" if embedded_weights(name) else name


class _StartedWhenAsked:
    """A model that is started by its first request: where a pool has every reply, it never is.

    Args:
        start: see :meth:`ChatModels.open`; what it raises, each request raises that waits for it.
    """

    def __init__(self, name: str, start: Callable[[], Awaitable[ChatModel]]) -> None:
        self._name = name
        self._start = start
        self._starting = asyncio.Lock()
        self._model: ChatModel | None = None

    @property
    def name(self) -> str:
        return self._name

    async def chat(self, request: ChatRequest) -> ChatReply:
        """See ``types.ChatModel``.

        Raises:
            ModelError: the model cannot be started.
        """
        async with self._starting:
            if self._model is None:
                self._model = await self._start()
        return await self._model.chat(request)


def _asked(config: Config) -> Sequence[tuple[Role, str]]:
    """Names of executors and judges."""
    return (
        ("executor", config.executor.model),
        *((f"executor {name}", one.model) for name, one in config.executors.items()),
        ("judge", config.judge.model),
    )


TRIED_S, TRIED_TOKENS = 60.0, 64


async def require_endpoints(config: Config, *, tried: bool = False) -> None:
    """Every endpoint that the run will ask is up and serves its model.

    Args:
        tried: each is asked for one short reply, too.
    Raises:
        ModelError: one is not reachable, refuses the key, does not serve the model, or gives no reply.
    """
    if config.calls.mode == "replay":
        return
    unrecorded = config.model_copy(update={"calls": CallsConfig()})
    endpoints = load_endpoints()
    async with AsyncExitStack() as stack:
        chats = ChatModels(unrecorded, stack)
        for role, name in dict.fromkeys(_asked(config)):
            if name is not None and name in endpoints:
                chat = await chats.open(name, role)
                if tried:
                    with _naming(endpoints.written.get(name)):
                        await _try_once(chat, chats.ledger)


async def _try_once(chat: ChatModel, ledger: Ledger) -> None:
    """
    Raises:
        ModelError: it gives no reply.
    """
    try:
        await chat.chat(ChatRequest((Message("user", "Say yes."),), TRIED_TOKENS))
    except EndpointError as error:
        if not ledger.failures or ledger.failures.keys() - WITHOUT_TEXT:
            raise ModelError(str(error)) from None


def require_known_models(config: Config) -> None:
    """Executors and judges are names that can be opened; starts nothing.

    Raises:
        ConfigError: one is not, with the names that are; or an executor has no price, or is another
            one under a second name.
    """
    _executor_prices(config)
    endpoints = load_endpoints()
    for role, name in _asked(config):
        unserved = name in (None, "scripted") or (role == "judge" and name == "none")
        if name is not None and not (unserved or name in endpoints or embedded_weights(name)):
            raise no_such_model(role, name)


def _executor_prices(config: Config) -> dict[str, float]:
    """Of a written token of each executor beside the default one.

    Raises:
        ConfigError: two are one model, or a price is not known.
    """
    names = {config.executor.model: "executor.model"}
    for name, one in config.executors.items():
        if one.model in names and one.model != "scripted":
            raise ConfigError(
                f"executors.{name}.model: {one.model!r} is {names[one.model]} already; name another "
                "model"
            )
        names[one.model] = f"executors.{name}.model"
    return {name: written_price(config, name) for name in config.executors}


def embedded_limits(config: Config) -> EndpointLimits:
    """Never more requests than slots: one in the server's queue would wait within its deadline."""
    at_once = min(config.executor.concurrency, config.executor.slots)
    return options_of(EndpointLimits, config.executor, concurrency=at_once, logprobs=0)


def embedded_weights(name: str) -> ModelEntry | None:
    """The weights of this name that the embedded server can serve, if there are any."""
    entry = find_model(name)
    return entry if entry and entry.format == "gguf" else None


def no_such_model(role: Role, name: str) -> ConfigError:
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
    return ConfigError(
        f"{key}: no {name!r} (known: {', '.join(known)}); write {entry_to_write(name)}, or name "
        f"{ADDRESS_FORM} or {PROVIDER_FORM} (docs/models.md#providers)"
    )


@contextmanager
def _naming(written: str | None) -> Iterator[None]:
    """
    Args:
        written: where the endpoint's entry stands; None: no file has one.
    Raises:
        ModelError: that of the block, with the entry to mend.
    """
    try:
        yield
    except ModelError as error:
        raise ModelError(f"{error} (its entry: {written})") if written else error from None


_KEPT: ContextVar[dict[tuple[str, ServerSettings], EmbeddedServer] | None] = ContextVar(
    "kept", default=None
)


@contextmanager
def embedded_servers_kept() -> Iterator[None]:
    """Embedded servers that are started inside stay up until the end: who wants the same weights with
    the same settings next finds them loaded."""
    servers: dict[tuple[str, ServerSettings], EmbeddedServer] = {}
    token = _KEPT.set(servers)
    try:
        yield
    finally:
        _KEPT.reset(token)
        for server in servers.values():
            server.close()


async def start_embedded(stack: AsyncExitStack, config: Config, name: str) -> EmbeddedServer:
    """A server of the GGUF weights ``name``, fetched if need be; ``stack`` stops it, or the end of
    :func:`embedded_servers_kept`.

    Raises:
        ConfigError: no such weights.
        ModelError: weights cannot be had, or the server does not start.
    """
    executor = config.executor
    settings = ServerSettings(slots=executor.slots, context_tokens=executor.context_tokens)
    kept = _KEPT.get()
    if kept is not None and (name, settings) in kept:
        return kept[name, settings]
    weights = await in_thread(fetch, known_model(name, "model"), config.output.cache_dir())
    server = EmbeddedServer(weights, name, settings, start_timeout_s=executor.start_timeout_s)
    if kept is None:
        stack.callback(server.close)
    else:
        kept[name, settings] = server
    try:
        await in_thread(server.start)
    except BaseException:  # cancelled, too: the thread ends when its child does
        server.close()
        if kept is not None:
            del kept[name, settings]
        raise
    return server

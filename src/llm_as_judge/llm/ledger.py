"""Ledger of a run: tokens, dollars, calls and seconds, by role, operator and rollout; and its budget.

Every attempt at an endpoint is written down here by the client itself, retries and unusable replies
included, so the sums agree with the endpoint's own. What an endpoint does not say (it timed out, the
connection broke, the reply has no usage) is counted at its upper bound, apart from what was said: a
budget holds all the same. A price that is not known is *unknown*, never 0.
Who a call belongs to is said by :func:`llm_as_judge.llm.billing.billed_to`.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, fields

from llm_as_judge.dollars import in_dollars
from llm_as_judge.errors import BudgetError
from llm_as_judge.llm.billing import Attempt, Role, current_scope
from llm_as_judge.types import PROMPT_PRICE, ChatRequest, Json, Usage, from_json

_TOKENS_OF_A_FRAME = 16
"""What a chat template puts around one message, at most."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per million tokens."""

    prompt: float
    completion: float
    cached: float | None = None
    """Of prompt tokens that the endpoint had kept; None: like the others."""

    def of(self, usage: Usage) -> float:
        cached = self.prompt if self.cached is None else self.cached
        asked = (usage.prompt_tokens - usage.cached_tokens) * self.prompt
        kept = usage.cached_tokens * cached
        return (asked + kept + usage.completion_tokens * self.completion) / 1e6


def prompt_price(price: Price | None) -> float:
    """Of a prompt token, in written tokens: what a model costs can then be compared though dollars are
    not known, or nothing."""
    known = price is not None and price.completion > 0
    return price.prompt / price.completion if price is not None and known else PROMPT_PRICE


_LOGGED = (
    *("calls", "attempts", "failed_attempts", "unmetered_attempts", "cached_calls"),
    *("prompt_tokens", "completion_tokens", "estimated_tokens", "cost"),
)


@dataclass(slots=True)
class Totals:
    """Sums over calls. A *call* is one request of ours, an *attempt* one request on the wire."""

    calls: int = 0
    attempts: int = 0
    failed_attempts: int = 0
    unmetered_attempts: int = 0
    """Attempts whose usage the endpoint never said (it died, or replied without usage)."""
    estimated_tokens: int = 0
    """What these used at most, prompt and completion together; not in the two sums below."""
    estimated_usd: float = 0.0
    """The price of that; not in ``priced_usd``."""
    cached_calls: int = 0
    """Answered from a shared draw or the cache: nothing was sent or paid."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    priced_usd: float = 0.0
    unpriced_tokens: int = 0
    cost: float = 0.0
    """In written tokens of the default executor: every token at its price; estimated ones included."""
    seconds: float = 0.0

    @property
    def tokens(self) -> int:
        """All that counts for a budget, estimated ones included."""
        return self.prompt_tokens + self.completion_tokens + self.estimated_tokens

    @property
    def spent_usd(self) -> float:
        """All that counts for a budget, estimated dollars included."""
        return self.priced_usd + self.estimated_usd

    @property
    def cost_usd(self) -> float | None:
        """``spent_usd``; None as soon as any token has no known price."""
        return None if self.unpriced_tokens else self.spent_usd

    def add(self, other: Totals) -> None:
        for item in fields(Totals):
            setattr(self, item.name, getattr(self, item.name) + getattr(other, item.name))

    def since(self, earlier: Totals) -> Totals:
        """What came after ``earlier``, an older copy of these sums."""
        return Totals(
            **{f.name: getattr(self, f.name) - getattr(earlier, f.name) for f in fields(Totals)}
        )

    def metrics(self) -> dict[str, float]:
        """The sums as ``ledger/...``, for the log of a step; no cost where it is unknown."""
        sums = {f"ledger/{name}": float(getattr(self, name)) for name in _LOGGED}
        if self.cost_usd is not None:
            sums["ledger/cost_usd"] = self.cost_usd
            sums["ledger/estimated_usd"] = self.estimated_usd
        return sums


@dataclass(frozen=True, slots=True)
class Budget:
    """Hard limits of a run; None = no limit. Tokens are prompt and completion tokens together; cost is in
    written tokens, a prompt token at its price; calls are requests on the wire, retries included."""

    usd: float | None = None
    tokens: int | None = None
    calls: int | None = None
    cost: float | None = None


@dataclass(slots=True)
class Ledger:
    """The sums of one run. All methods are called from one event loop."""

    budget: Budget = field(default_factory=Budget)
    total: Totals = field(default_factory=Totals)
    by_role: dict[str, Totals] = field(default_factory=dict)
    by_operator: dict[str, Totals] = field(default_factory=dict)
    by_attempt: dict[str, Totals] = field(default_factory=dict)
    """``1``: first tries, ``2``: second tries ...: what retrying cost."""
    by_rollout: dict[str, Totals] = field(default_factory=dict)
    """Since the last :meth:`take_rollouts`."""
    failures: Counter[str] = field(default_factory=Counter)
    """Failed attempts by kind: ``http_429``, ``timeout``, ``empty`` ..."""
    _reserved: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    """What attempts in flight may use, by the unit of the budget."""
    _waiting: list[asyncio.Future[None]] = field(default_factory=list)

    def record_attempt(self, role: Role, attempt: Attempt) -> None:
        """One request on the wire, for the scope it was made in and the meters around it."""
        self.book(attempt, role)
        for meter in current_scope().meters:
            meter.append(attempt)

    def book(self, attempt: Attempt, role: Role | None = None) -> None:
        """An attempt that was made, here or elsewhere."""
        entry = _totals_of(attempt)
        self._book(role, entry)
        self.by_attempt.setdefault(str(attempt.number), Totals()).add(entry)
        if attempt.failure:
            self.failures[attempt.failure] += 1

    def record_call(self, role: Role) -> None:
        """One request of ours that went to the endpoint, whatever its attempts came to."""
        self._book(role, Totals(calls=1))

    def record_cached(self, role: Role) -> None:
        """One request of ours answered without the endpoint."""
        self._book(role, Totals(cached_calls=1))

    def _book(self, role: Role | None, entry: Totals) -> None:
        scope = current_scope()
        self.total.add(entry)
        for table, key in (
            (self.by_role, scope.role or role),
            (self.by_operator, scope.operator),
            (self.by_rollout, scope.rollout),
        ):
            if key:
                table.setdefault(key, Totals()).add(entry)

    def take_rollouts(self) -> dict[str, Totals]:
        """The sums by rollout since the last take, and forget them: a run has very many."""
        taken, self.by_rollout = self.by_rollout, {}
        return taken

    # ------------------------------------------------------------------------------------- budget
    @asynccontextmanager
    async def within_budget(
        self, worst: Usage, price: Price | None, written_price: float = 1.0
    ) -> AsyncIterator[None]:
        """Enter once an attempt that uses ``worst`` fits the budget; hold that much meanwhile.

        Where it would fit but for attempts in flight, which mostly use less than their worst
        case, it waits for them.

        Args:
            written_price: see :class:`Attempt`.
        Raises:
            BudgetError: the attempt could pass a limit; nothing was sent.
        """
        if self.budget.usd is not None and price is None:
            raise BudgetError(
                "a budget in dollars needs the price of the model: set "
                "usd_per_million_prompt_tokens and usd_per_million_completion_tokens of its "
                "endpoint, or give the budget in tokens"
            )
        tokens = worst.prompt_tokens + worst.completion_tokens
        cost = worst.cost(prompt_price(price)) * written_price
        dollars = price.of(worst) if price else 0.0
        want = {"dollars": dollars, "tokens": tokens, "calls": 1, "cost": cost}
        while self._exceeds(want, self._reserved):
            if found := self._exceeds(want, {}):
                raise BudgetError(
                    f"budget: {found}; what is finished is saved: raise the budget and give the same command again (train: with --resume)"
                )
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(waiter)
            await waiter
        self._hold(want, 1)
        try:
            yield
        finally:
            self._hold(want, -1)
            waiting, self._waiting = self._waiting, []
            for waiter in waiting:
                if not waiter.done():
                    waiter.set_result(None)

    def _hold(self, want: Mapping[str, float], sign: int) -> None:
        for unit, amount in want.items():
            self._reserved[unit] += sign * amount

    def _exceeds(self, want: Mapping[str, float], held: Mapping[str, float]) -> str:
        """The first limit that spent + held + wanted would pass, as a text; empty if none."""
        for unit, limit, spent in (
            ("dollars", self.budget.usd, self.total.spent_usd),
            ("tokens", self.budget.tokens, self.total.tokens),
            ("calls", self.budget.calls, self.total.attempts),
            ("cost", self.budget.cost, self.total.cost),
        ):
            if limit is not None and spent + held.get(unit, 0) + want[unit] > limit + 1e-9:
                used, whole, need = (_amount(n, unit) for n in (spent, limit, want[unit]))
                kind = "" if unit == "dollars" else f" {unit}"
                return f"{used} of {whole}{kind} used{self._estimated(unit)}, next call may need {need}"
        return ""

    def _estimated(self, unit: str) -> str:
        """How much of what is used of a limit is estimated, as a text; empty if nothing is."""
        total = self.total
        part = {"dollars": total.estimated_usd, "tokens": total.estimated_tokens}.get(unit, 0)
        said = f"{total.unmetered_attempts} requests said no usage"
        return f" ({_amount(part, unit)} of these estimated: {said})" if part else ""

    # -------------------------------------------------------------------------------- persistence
    def snapshot(self) -> dict[str, Json]:
        """Sums that a run keeps, so that it goes on under the same budget when it is resumed."""
        tables: dict[str, Json] = {
            name: {key: asdict(sums) for key, sums in getattr(self, name).items()}
            for name in _KEPT_TABLES
        }
        return {"total": asdict(self.total), **tables, "failures": dict(self.failures)}

    def restore(self, snapshot: Mapping[str, Mapping[str, object]]) -> None:
        """Go on from :meth:`snapshot`.

        Raises:
            TypeError: it is none.
        """
        try:
            total = _totals(snapshot["total"])
            tables = {
                name: {k: _totals(sums) for k, sums in snapshot.get(name, {}).items()}
                for name in _KEPT_TABLES
            }
            failures = Counter({name: int(str(n)) for name, n in snapshot["failures"].items()})
        except (KeyError, ValueError, AttributeError) as error:
            raise TypeError(f"ledger: no sums of a run: {error}") from None
        self.total, self.failures = total, failures
        for name, table in tables.items():
            setattr(self, name, table)


_KEPT_TABLES = ("by_role", "by_operator", "by_attempt")


def _amount(count: float, unit: str) -> str:
    return in_dollars(count) if unit == "dollars" else f"{count:.6g}"


def worst_case_tokens(request: ChatRequest) -> Usage:
    """Upper bound: no tokenizer makes more than one token of a byte."""
    text = sum(len(m.content.encode()) + _TOKENS_OF_A_FRAME for m in request.messages)
    if request.json_schema is not None:  # some endpoints put it into the prompt
        text += len(json.dumps(dict(request.json_schema)))
    return Usage(prompt_tokens=text, completion_tokens=request.max_tokens)


def _totals_of(attempt: Attempt) -> Totals:
    usage = attempt.usage or Usage()
    counted, cost = attempt.counted, attempt.cost_usd
    said = attempt.usage is not None
    tokens = counted.prompt_tokens + counted.completion_tokens
    return Totals(
        attempts=1,
        failed_attempts=int(bool(attempt.failure)),
        unmetered_attempts=int(not said),
        estimated_tokens=0 if said else tokens,
        estimated_usd=0.0 if said else cost or 0.0,
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        priced_usd=cost or 0.0 if said else 0.0,
        unpriced_tokens=tokens if cost is None else 0,
        cost=counted.cost(attempt.prompt_price) * attempt.written_price,
        seconds=attempt.seconds,
    )


def _totals(data: object) -> Totals:
    if not isinstance(data, Mapping):
        raise TypeError(f"ledger: found {type(data).__name__}, wanted an object of sums")
    totals: Totals = from_json(Totals, data)
    if "cost" not in data:  # sums of before it was kept
        totals.cost = Usage(totals.prompt_tokens, totals.completion_tokens).cost(PROMPT_PRICE)
    return totals

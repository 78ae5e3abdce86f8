"""What builtins and functions of the allowed modules give: a table from name to effect."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TypeAlias

from llm_as_judge.workflow.algebra import (
    as_item,
    calls_of,
    computed,
    concatenated,
    item_of,
    joined,
    labelled,
    length,
    listed,
    mapped,
    origin_of,
)
from llm_as_judge.workflow.context import Frame
from llm_as_judge.workflow.lookup import as_key, attribute
from llm_as_judge.workflow.values import (
    INF,
    OWN,
    RECOVERED,
    Arguments,
    Given,
    Listed,
    Mapped,
    Nothing,
    Number,
    Origin,
    Pending,
    Result,
    Text,
    Unknown,
    Value,
)

__all__ = ["effect_of", "no_whole_results", "origin_of_call", "pending", "unawaited_items"]

Effect: TypeAlias = Callable[[Arguments, Frame], Value]


def effect_of(name: str) -> Effect:
    """The effect of that name, else that of its module."""
    module, dot, _ = name.partition(".")
    return EFFECTS.get(name) or EFFECTS.get(module + dot) or (_made_object if dot else _anything)


def pending(node: ast.Call, name: str, outcome: Value, at: Frame) -> Pending:
    """What an un-awaited call gives."""
    at.check.created[id(node)] = node, name
    return Pending(outcome, frozenset({id(node)}))


def origin_of_call(given: Arguments) -> Origin:
    """Of what a function makes of its arguments."""
    made = () if given.made is None else (origin_of(given.made),)
    return computed(*map(origin_of, given.every), *made)


def no_whole_results(given: Arguments, where: str, at: Frame) -> None:
    """Notes arguments, or items of them, that are whole results where texts are wanted."""
    for value in given.every:
        if isinstance(value, Result) or (
            isinstance(value, Listed) and isinstance(value.element, Result)
        ):
            detail = f"a whole result in {where}, read one of its keys"
            at.check.report("W208", given.node, detail)


# ------------------------------------------------------------------------------ texts and numbers
def _anything(given: Arguments, at: Frame) -> Value:
    return Unknown(origin_of_call(given), unawaited_items(given))


def _made_object(given: Arguments, at: Frame) -> Value:
    return Unknown(origin_of_call(given), unawaited_items(given), is_object=True)


def unawaited_items(given: Arguments) -> Value | None:
    """The calls among the arguments, which a function may give back."""
    return joined(item_of(value) for value in given.every if calls_of(value))


def _text(given: Arguments, at: Frame) -> Value:
    return Text(origin_of_call(given))


def _number(given: Arguments, at: Frame) -> Value:
    return Number(origin_of_call(given))


def _of_texts(effect: Effect) -> Effect:
    """Takes texts and numbers, never whole results."""

    def checked(given: Arguments, at: Frame) -> Value:
        no_whole_results(given, ast.unparse(given.node.func), at)
        return effect(given, at)

    return checked


def _length(given: Arguments, at: Frame) -> Value:
    return Number(origin_of_call(given), *length(given.first))


def _sum(given: Arguments, at: Frame) -> Value:
    if len(given.positional) > 1:  # of lists: sum(lists, [])
        return Unknown(origin_of_call(given), item_of(item_of(given.first)))
    return _number(given, at)


def _picked(given: Arguments, at: Frame) -> Value:
    """``max``, ``min``, ``next``."""
    origin, first = origin_of_call(given), given.first
    if len(given.positional) == 1 or isinstance(first, Listed):
        return labelled(item_of(first), origin)
    numbers = [value for value in given.positional if isinstance(value, Number)]
    if not numbers or len(numbers) < len(given.positional):
        return labelled(joined(given.positional) or Unknown(), origin)
    pick = min if ast.unparse(given.node.func) == "min" else max
    return Number(origin, pick(n.least for n in numbers), pick(n.most for n in numbers))


# ------------------------------------------------------------------------------------ containers
def _range(given: Arguments, at: Frame) -> Value:
    numbers = [value for value in given.positional if isinstance(value, Number)]
    exact = [number.exact for number in numbers]
    least, most = 0.0, INF
    if numbers and len(numbers) == len(given.positional):
        known = [n for n in exact if n is not None]
        if len(known) == len(exact) <= 3 and 0 not in known[2:]:
            least = most = float(len(range(*known)))
        elif len(numbers) == 1:
            least, most = max(0, numbers[0].least), max(0, numbers[0].most)
        elif len(numbers) == 2:
            most = max(0, numbers[1].most - numbers[0].least)
    return listed(Number(origin_of_call(given)), least, most)


def _copied(given: Arguments, at: Frame) -> Value:
    """``list``, ``sorted``, ``set`` and the like."""
    name, source = ast.unparse(given.node.func), given.first
    if not given.positional:
        return listed(None, 0, 0, (), "set" in name)
    least, most = length(source)
    if "set" in name:
        return listed(as_key(item_of(source), given.node, at), min(1, least), most, None, True)
    if not isinstance(source, Listed):
        return listed(item_of(source), least, most)
    ordered = name in ("list", "tuple", "iter")
    return listed(source.element, least, most, source.items if ordered else None)


def _dict(given: Arguments, at: Frame) -> Value:
    if not given.positional and not given.unknown:
        return mapped(joined(given.named.values()), dict(given.named), OWN)
    if isinstance(given.first, Mapped):
        return given.first
    row = item_of(given.first)
    pair = row.items if isinstance(row, Listed) and row.items else (row, item_of(row))
    return mapped(as_item(pair[-1]), None, origin_of(pair[0]), *length(given.first))


def _zip(given: Arguments, at: Frame) -> Value:
    lengths = [length(value) for value in given.positional]
    row = tuple(map(item_of, given.positional))
    least, most = (
        (min(bounds, default=0) for bounds in zip(*lengths, strict=True)) if row else (0, 0)
    )
    return listed(listed(joined(row), len(row), len(row), row), least, most)


def _enumerate(given: Arguments, at: Frame) -> Value:
    row = (Number(OWN), item_of(given.first))
    return listed(listed(joined(row), 2, 2, row), *length(given.first))


def _mapped(given: Arguments, at: Frame) -> Value:
    """``map(function, items)``."""
    source = given.positional[1] if len(given.positional) > 1 else Unknown()
    return listed(given.made or Unknown(origin_of_call(given)), *length(source))


def _filtered(given: Arguments, at: Frame) -> Value:
    source = given.positional[-1] if given.positional else Unknown()
    return listed(item_of(source), 0, length(source)[1])


def _chained(given: Arguments, at: Frame) -> Value:
    chain = listed(None, 0, 0, ())
    for source in given.positional:
        chain = concatenated(chain, source)
    return chain


def _deque(given: Arguments, at: Frame) -> Value:
    return (
        concatenated(listed(None, 0, 0, ()), given.first)
        if given.positional
        else _chained(given, at)
    )


def _endless(given: Arguments, at: Frame) -> Value:
    return listed(item_of(given.first), INF, INF)


def _repeat(given: Arguments, at: Frame) -> Value:
    count = given.positional[1] if len(given.positional) > 1 else Number(OWN, INF, INF)
    bounds = (count.least, count.most) if isinstance(count, Number) else (0, INF)
    return listed(as_item(given.first), *bounds)


def _some(given: Arguments, at: Frame) -> Value:
    """``random.sample(items, 2)``, ``itertools.islice(items, 2)``."""
    count = given.named.get("k", given.positional[-1] if len(given.positional) > 1 else None)
    most = max(0, count.most) if isinstance(count, Number) else length(given.first)[1]
    return listed(item_of(given.first), 0, most)


# ---------------------------------------------------------------------------------------- asyncio
def _outcome(value: Value) -> Value:
    return value.outcome if isinstance(value, Pending) else value


def _await_all(given: Arguments, at: Frame) -> None:
    at.check.awaited.update(*map(calls_of, given.every))


def _gathered(given: Arguments, at: Frame) -> Value:
    """``asyncio.gather(a, b)``, ``asyncio.gather(*calls)``."""
    _await_all(given, at)
    outcomes = tuple(map(_outcome, given.positional))
    if given.unknown and outcomes:
        *known, rest = outcomes
        least, most = (bound + len(known) for bound in length(rest))
        element = joined([*known, _outcome(item_of(rest))])
        results = listed(element, least, most)
    else:
        count = len(outcomes)
        results = listed(joined(map(as_item, outcomes)), count, count, outcomes)
    return pending(given.node, "asyncio.gather", results, at)


def _scheduled(given: Arguments, at: Frame) -> Value:
    """The call's own outcome, to be awaited."""
    at.check.awaited.update(calls_of(given.first))
    return pending(given.node, ast.unparse(given.node.func), _outcome(given.first), at)


def _waited(given: Arguments, at: Frame) -> Value:
    """``asyncio.wait(calls)``: (done, pending)."""
    at.check.awaited.update(calls_of(given.first))
    done = listed(item_of(given.first), 0, length(given.first)[1])
    return pending(given.node, "asyncio.wait", listed(done, 2, 2, (done, done)), at)


def _run(given: Arguments, at: Frame) -> Value:
    at.check.awaited.update(calls_of(given.first))
    at.check.report("W305", given.node, "asyncio.run inside a program that already runs")
    return _outcome(given.first)


def _getattr(given: Arguments, at: Frame) -> Value:
    if len(given.positional) < 2 or not isinstance(given.first, Given):
        return _anything(given, at)
    wanted = given.positional[1]
    if not isinstance(wanted, Text) or wanted.constant is None:
        at.check.report("W210", given.node, "getattr with a name that is not written out")
        return RECOVERED
    spelled = ast.Attribute(given.node.args[0], wanted.constant, ast.Load())
    return attribute(given.first, ast.copy_location(spelled, given.node), at)


def _of(*names: str, effect: Effect) -> dict[str, Effect]:
    return dict.fromkeys(names, effect)


EFFECTS: dict[str, Effect] = {
    **_of(*["len"], effect=_length),
    **_of(*["bool", "any", "all", "isinstance", "issubclass", "hash", "id", "callable", "hasattr"], effect=_number),
    **_of(*["int", "float", "abs", "round", "ord", "pow", "complex"], effect=_of_texts(_number)),
    **_of(*["str", "repr", "format", "chr", "ascii", "hex", "bin", "oct"], effect=_text),
    **_of(*["list", "tuple", "set", "frozenset", "sorted", "reversed", "iter"], effect=_copied),
    **_of(*["max", "min", "next"], effect=_picked),
    **_of("sum", effect=_sum),
    **_of("range", effect=_range),
    **_of("dict", effect=_dict),
    **_of("enumerate", effect=_enumerate),
    **_of("zip", effect=_zip),
    **_of("map", effect=_mapped),
    **_of("filter", effect=_filtered),
    **_of("getattr", effect=_getattr),
    **_of("print", effect=lambda given, at: Nothing()),
    **_of("create_llm_instance", effect=lambda given, at: Given("llm")),
    **_of("llm.get_usage_summary", effect=lambda given, at: mapped(Number(0))),
    **_of("itertools.count", "itertools.cycle", effect=_endless),
    **_of("itertools.repeat", effect=_repeat),
    **_of("itertools.chain", effect=_chained),
    **_of("collections.deque", effect=_deque),
    **_of("itertools.islice", "random.sample", "random.choices", effect=_some),
    **_of("random.choice", effect=lambda given, at: item_of(given.first)),
    **_of("copy.copy", "copy.deepcopy", effect=lambda given, at: given.first),
    **_of("json.dumps", "textwrap.dedent", "textwrap.fill", "textwrap.shorten", effect=_text),
    **_of("re.sub", effect=_of_texts(_text)),
    **_of("re.", "math.", "statistics.", effect=_of_texts(_made_object)),
    **_of("asyncio.gather", effect=_gathered),
    **_of("asyncio.create_task", "asyncio.ensure_future", effect=_scheduled),
    **_of("asyncio.wait_for", "asyncio.shield", effect=_scheduled),
    **_of("asyncio.as_completed", effect=lambda given, at: listed(item_of(given.first), *length(given.first))),
    **_of("asyncio.wait", effect=_waited),
    **_of("asyncio.sleep", effect=lambda given, at: Pending(Nothing())),
    **_of("asyncio.run", effect=_run),
}  # fmt: skip
"""Name, or a module's name and a dot -> effect."""

"""Effects of builtins and functions of the allowed modules: a table from name to effect."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TypeAlias

from llm_as_judge.workflow import values as v
from llm_as_judge.workflow.algebra import (
    as_item,
    calls_of,
    computed,
    concatenated,
    item_of,
    joined,
    labeled,
    length,
    listed,
    mapped,
    origin_of,
)
from llm_as_judge.workflow.context import Frame
from llm_as_judge.workflow.lookup import as_key, attribute

Effect: TypeAlias = Callable[[v.Arguments, Frame], v.Value]
_EMPTY = listed(None, 0, 0, ())


def effect_of(name: str) -> Effect:
    """The effect of that name, else that of its module."""
    module, dot, _ = name.partition(".")
    return EFFECTS.get(name) or EFFECTS.get(module + dot) or (_made_object if dot else _anything)


def pending(node: ast.Call, name: str, outcome: v.Value, at: Frame) -> v.Pending:
    """What an un-awaited call gives."""
    at.check.created[id(node)] = node, name
    return v.Pending(outcome, frozenset({id(node)}))


def origin_of_call(given: v.Arguments) -> v.Origin:
    """Of what a function makes of its arguments."""
    made = () if given.made is None else (origin_of(given.made),)
    return computed(*map(origin_of, given.every), *made)


def no_whole_results(given: v.Arguments, where: str, at: Frame) -> None:
    """Notes arguments, or items of them, that are whole results where texts are wanted."""
    for value in given.every:
        if isinstance(value, v.Result) or (
            isinstance(value, v.Listed) and isinstance(value.element, v.Result)
        ):
            detail = f"a whole result in {where}, read one of its keys"
            at.check.report("W208", given.node, detail)


# ------------------------------------------------------------------------------ texts and numbers
def _anything(given: v.Arguments, at: Frame) -> v.Value:
    return v.Unknown(origin_of_call(given), unawaited_items(given))


def _made_object(given: v.Arguments, at: Frame) -> v.Value:
    return v.Unknown(origin_of_call(given), unawaited_items(given), is_object=True)


def unawaited_items(given: v.Arguments) -> v.Value | None:
    """The calls among the arguments, which a function may give back."""
    return joined(item_of(value) for value in given.every if calls_of(value))


def _text(given: v.Arguments, at: Frame) -> v.Value:
    return v.Text(origin_of_call(given))


def _number(given: v.Arguments, at: Frame) -> v.Value:
    return v.Number(origin_of_call(given))


def _of_texts(effect: Effect) -> Effect:
    """Takes texts and numbers, never whole results."""

    def checked(given: v.Arguments, at: Frame) -> v.Value:
        no_whole_results(given, given.name, at)
        return effect(given, at)

    return checked


def _sum(given: v.Arguments, at: Frame) -> v.Value:
    if len(given.positional) > 1:  # of lists: sum(lists, [])
        return v.Unknown(origin_of_call(given), item_of(item_of(given.first)))
    return _number(given, at)


def _picked(given: v.Arguments, at: Frame) -> v.Value:
    """``max``, ``min``, ``next``."""
    origin, first = origin_of_call(given), given.first
    if len(given.positional) == 1 or isinstance(first, v.Listed):
        return labeled(item_of(first), origin)
    numbers = [value for value in given.positional if isinstance(value, v.Number)]
    if not numbers or len(numbers) < len(given.positional):
        return labeled(joined(given.positional) or v.Unknown(), origin)
    pick = min if given.name == "min" else max
    return v.Number(origin, pick(n.least for n in numbers), pick(n.most for n in numbers))


# ------------------------------------------------------------------------------------ containers
def _range(given: v.Arguments, at: Frame) -> v.Value:
    match given.positional:
        case [v.Number() as stop]:
            least, most = stop.least, stop.most
        case [v.Number() as start, v.Number() as stop]:
            least, most = stop.least - start.most, stop.most - start.least
        case [v.Number(exact=int(start)), v.Number(exact=int(stop)), v.Number(exact=int(step))] if (
            step
        ):
            least = most = -((start - stop) // step)
        case _:
            least, most = 0, v.INF
    return listed(v.Number(origin_of_call(given)), max(0, least), max(0, most))


def _copied(given: v.Arguments, at: Frame) -> v.Value:
    """``list``, ``sorted``, ``set`` and the like."""
    name, source = given.name, given.first
    if not given.positional:
        return listed(None, 0, 0, (), "set" in name)
    least, most = length(source)
    if "set" in name:
        return listed(as_key(item_of(source), given.node, at), min(1, least), most, None, True)
    if not isinstance(source, v.Listed):
        return listed(item_of(source), least, most)
    ordered = name in ("list", "tuple", "iter")
    return listed(source.element, least, most, source.items if ordered else None)


def _dict(given: v.Arguments, at: Frame) -> v.Value:
    if not given.positional and not given.unknown:
        return mapped(joined(given.named.values()), dict(given.named), v.OWN)
    if isinstance(given.first, v.Mapped):
        return given.first
    row = item_of(given.first)
    pair = row.items if isinstance(row, v.Listed) and row.items else (row, item_of(row))
    return mapped(as_item(pair[-1]), None, origin_of(pair[0]), *length(given.first))


def _zip(given: v.Arguments, at: Frame) -> v.Value:
    lengths = [length(value) for value in given.positional]
    row = tuple(map(item_of, given.positional))
    least, most = (
        (min(bounds, default=0) for bounds in zip(*lengths, strict=True)) if row else (0, 0)
    )
    return listed(listed(joined(row), len(row), len(row), row), least, most)


def _enumerate(given: v.Arguments, at: Frame) -> v.Value:
    row = (v.Number(v.OWN), item_of(given.first))
    return listed(listed(joined(row), 2, 2, row), *length(given.first))


def _mapped(given: v.Arguments, at: Frame) -> v.Value:
    """``map(function, items)``."""
    source = given.positional[1] if len(given.positional) > 1 else v.Unknown()
    return listed(given.made or v.Unknown(origin_of_call(given)), *length(source))


def _filtered(given: v.Arguments, at: Frame) -> v.Value:
    source = given.positional[-1] if given.positional else v.Unknown()
    return listed(item_of(source), 0, length(source)[1])


def _items(given: v.Arguments, at: Frame) -> v.Value:
    """The same items, of which none is known by its place."""
    return listed(item_of(given.first), *length(given.first))


def _chained(given: v.Arguments, at: Frame) -> v.Value:
    chain = _EMPTY
    for source in given.positional:
        chain = concatenated(chain, source)
    return chain


def _repeat(given: v.Arguments, at: Frame) -> v.Value:
    count = given.positional[1] if len(given.positional) > 1 else v.Number(v.OWN, v.INF, v.INF)
    bounds = (count.least, count.most) if isinstance(count, v.Number) else (0, v.INF)
    return listed(as_item(given.first), *bounds)


def _some(given: v.Arguments, at: Frame) -> v.Value:
    """``random.sample(items, 2)``, ``itertools.islice(items, 2)``."""
    count = given.named.get("k", given.positional[-1] if len(given.positional) > 1 else None)
    most = max(0, count.most) if isinstance(count, v.Number) else length(given.first)[1]
    return listed(item_of(given.first), 0, most)


# ---------------------------------------------------------------------------------------- asyncio
def _outcome(value: v.Value) -> v.Value:
    return value.outcome if isinstance(value, v.Pending) else value


def _gathered(given: v.Arguments, at: Frame) -> v.Value:
    """``asyncio.gather(a, b)``, ``asyncio.gather(*calls)``."""
    at.check.awaited.update(*map(calls_of, given.every))
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


def _scheduled(given: v.Arguments, at: Frame) -> v.Value:
    """The call's own outcome, to be awaited."""
    at.check.awaited.update(calls_of(given.first))
    return pending(given.node, given.name, _outcome(given.first), at)


def _waited(given: v.Arguments, at: Frame) -> v.Value:
    """``asyncio.wait(calls)``: (done, pending)."""
    at.check.awaited.update(calls_of(given.first))
    done = listed(item_of(given.first), 0, length(given.first)[1])
    return pending(given.node, "asyncio.wait", listed(done, 2, 2, (done, done)), at)


def _run(given: v.Arguments, at: Frame) -> v.Value:
    at.check.awaited.update(calls_of(given.first))
    at.check.report("W305", given.node, "asyncio.run inside a program that already runs")
    return _outcome(given.first)


def _getattr(given: v.Arguments, at: Frame) -> v.Value:
    if len(given.positional) < 2 or not isinstance(given.first, v.Given):
        return _anything(given, at)
    wanted = given.positional[1]
    if not isinstance(wanted, v.Text) or wanted.constant is None:
        at.check.report("W210", given.node, "getattr with a name that is not written out")
        return v.RECOVERED
    spelled = ast.Attribute(given.node.args[0], wanted.constant, ast.Load())
    return attribute(given.first, ast.copy_location(spelled, given.node), at)


EFFECTS: dict[str, Effect] = {
    "len": lambda given, at: v.Number(origin_of_call(given), *length(given.first)),
    **dict.fromkeys(
        ["bool", "any", "all", "isinstance", "issubclass", "hash", "id", "callable", "hasattr"],
        _number,
    ),
    **dict.fromkeys(["int", "float", "abs", "round", "ord", "pow", "complex"], _of_texts(_number)),
    **dict.fromkeys(["str", "repr", "format", "chr", "ascii", "hex", "bin", "oct"], _text),
    **dict.fromkeys(["list", "tuple", "set", "frozenset", "sorted", "reversed", "iter"], _copied),
    **dict.fromkeys(("max", "min", "next"), _picked),
    "sum": _sum,
    "range": _range,
    "dict": _dict,
    "enumerate": _enumerate,
    "zip": _zip,
    "map": _mapped,
    "filter": _filtered,
    "getattr": _getattr,
    "print": lambda given, at: v.Nothing(),
    "create_llm_instance": lambda given, at: v.Given("llm"),
    "llm.get_usage_summary": lambda given, at: mapped(v.Number(0)),
    "asyncio.gather": _gathered,
    **dict.fromkeys(("asyncio.create_task", "asyncio.ensure_future"), _scheduled),
    **dict.fromkeys(("asyncio.wait_for", "asyncio.shield"), _scheduled),
    "asyncio.as_completed": _items,
    "asyncio.wait": _waited,
    "asyncio.sleep": lambda given, at: v.Pending(v.Nothing()),
    "asyncio.run": _run,
    "itertools.chain": _chained,
    **dict.fromkeys(
        ("itertools.count", "itertools.cycle"),
        lambda given, at: listed(item_of(given.first), v.INF, v.INF),
    ),
    "itertools.repeat": _repeat,
    **dict.fromkeys(("itertools.islice", "random.sample", "random.choices"), _some),
    "random.choice": lambda given, at: item_of(given.first),
    "collections.deque": lambda given, at: _items(given, at) if given.positional else _EMPTY,
    **dict.fromkeys(("copy.copy", "copy.deepcopy"), lambda given, at: given.first),
    **dict.fromkeys(("json.dumps", "textwrap.dedent", "textwrap.fill"), _text),
    "re.sub": _of_texts(_text),
    **dict.fromkeys(("re.", "math.", "statistics."), _of_texts(_made_object)),
}
"""Name, or a module's name and a dot -> effect."""

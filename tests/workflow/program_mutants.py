"""Programs of the corpus with a few random changes, as a policy under training makes them."""

from __future__ import annotations

import ast
import copy
import random
import textwrap
from collections.abc import Callable, Iterator

from program_corpus import Entry, corpus

__all__ = ["mutants"]


def mutants(seed: int, count: int, changes: int = 3) -> Iterator[tuple[Entry, str]]:
    """``count`` different texts with the entry each was made from, one to ``changes`` changes."""
    rng, entries, seen = random.Random(seed), corpus(), set[str]()
    while len(seen) < count:
        entry = rng.choice(entries)
        try:
            tree = ast.parse(textwrap.dedent(entry.text))
        except SyntaxError:
            continue  # some mistakes of the corpus are no Python
        for _ in range(rng.randint(1, changes)):
            rng.choice(CHANGES)(tree, rng)
        text = ast.unparse(ast.fix_missing_locations(tree))
        if text not in seen:
            seen.add(text)
            yield entry, text


def _other(kind: type[ast.AST], field: str) -> Callable[[ast.Module, random.Random], None]:
    """One node of a kind gets what another one has in this field."""

    def change(tree: ast.Module, rng: random.Random) -> None:
        nodes = [n for n in ast.walk(tree) if isinstance(n, kind) and not _in_text(n, tree)]
        if nodes:
            found = getattr(rng.choice(nodes), field)
            setattr(rng.choice(nodes), field, found)

    return change


def _in_text(node: ast.AST, tree: ast.Module) -> bool:
    """Part of an f-string, where nothing but a text may stand."""
    return any(node in n.values for n in ast.walk(tree) if isinstance(n, ast.JoinedStr))


def _other_attribute(tree: ast.Module, rng: random.Random) -> None:
    attributes = [n for n in ast.walk(tree) if isinstance(n, ast.Attribute)]
    if attributes:
        rng.choice(attributes).attr = rng.choice(attributes).attr


def _drop_statement(tree: ast.Module, rng: random.Random) -> None:
    bodies = [
        value
        for node in ast.walk(tree)
        for _, value in ast.iter_fields(node)
        if isinstance(value, list) and len(value) > 1 and isinstance(value[0], ast.stmt)
    ]
    if bodies:
        body = rng.choice(bodies)
        del body[rng.randrange(len(body))]


def _drop_argument(tree: ast.Module, rng: random.Random) -> None:
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and (n.keywords or n.args)]
    if calls:
        call = rng.choice(calls)
        arguments: list[ast.keyword] | list[ast.expr] = call.keywords or call.args
        del arguments[rng.randrange(len(arguments))]


def _other_expression(tree: ast.Module, rng: random.Random) -> None:
    places = list(_places(tree))
    if places:
        put, _ = rng.choice(places)
        _, found = rng.choice(places)
        put(copy.deepcopy(found))


def _places(tree: ast.Module) -> Iterator[tuple[Callable[[ast.expr], None], ast.expr]]:
    """Where an expression stands that is read, with what stands there."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            continue
        for field, value in ast.iter_fields(node):
            if _is_read(value):
                yield lambda new, n=node, f=field: setattr(n, f, new), value  # type: ignore[misc]
            elif isinstance(value, list):
                for index, item in enumerate(value):
                    if _is_read(item):
                        yield lambda new, v=value, i=index: v.__setitem__(i, new), item  # type: ignore[misc]


def _is_read(value: object) -> bool:
    return isinstance(value, ast.expr) and isinstance(getattr(value, "ctx", ast.Load()), ast.Load)


CHANGES = (
    _other(ast.Name, "id"),
    _other(ast.Constant, "value"),
    _other(ast.Attribute, "attr"),
    _drop_statement,
    _drop_argument,
    _other_expression,
    _other_expression,
)

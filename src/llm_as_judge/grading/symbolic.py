"""The part of mathematical grading that can hang: it runs only in the workers of :mod:`pool`.

:func:`compare_shapes` walks two shapes side by side until scalars are left (:mod:`expressions`) or sets of
real numbers (:mod:`real_sets`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from llm_as_judge.grading.expressions import Given, compare_scalars
from llm_as_judge.grading.progressions import compare_sequences
from llm_as_judge.grading.real_sets import compare_sets
from llm_as_judge.grading.shape import RANGES, Item, Relation, Scalar, Shape, is_range


def compare_shapes(gold: Item, candidate: Item, given: Given) -> Relation:
    """Relation of two shapes; in this process, for as long as it takes."""
    if isinstance(gold, Scalar) and isinstance(candidate, Scalar):
        return compare_scalars(gold, candidate, given)
    if any(isinstance(item, Shape) and item.kind == "family" for item in (gold, candidate)):
        return _families(gold, candidate, given)
    one, other = _as_shape(gold), _as_shape(candidate)
    if one is None or other is None:
        shape = gold if isinstance(gold, Shape) else candidate
        assert isinstance(shape, Shape)
        if shape.kind == "set" and len(shape.items) == 1 and shape is gold:
            return _item(shape.items[0], candidate, given)  # 2 for the set of 2
        restricted = any(map(is_range, shape.items))  # y = x^2, x > 0
        alike = shape.kind == "names" and len(set(shape.items)) == 1  # x = y = 3
        return "unknown" if restricted or alike or shape.kind in {"text", *RANGES} else "different"
    kinds = {one.kind, other.kind}
    if "text" in kinds:
        return "unknown"
    if kinds & RANGES or (one.names and other.names and kinds == {"tuple"}):
        if len({name.casefold() for name in _variables(one) | _variables(other)}) > 1:
            return "unknown"  # n > 4 for m > 4
        relation = compare_sets(one, other, given)
        return relation if relation != "unknown" else _side_by_side(one, other, given)
    if "names" in kinds:
        return _named(one, other, given)
    if kinds == {"sequence"}:
        return compare_sequences(one, other, given, _item)
    if kinds <= {"list", "set"}:
        return _any_order(one.items, other.items, given)
    if kinds == {"list", "tuple"} or kinds == {"set", "tuple"}:  # (1, 2) is not quite 1, 2
        relation = _any_order(one.items, other.items, given)
        signs = r"\pm" in repr(one.items) + repr(other.items)
        return "unknown" if relation == "equal" or signs else relation
    if kinds == {"matrix", "tuple"}:
        return "unknown"  # a vector in a row or in a column
    return _side_by_side(one, other, given)


def _variables(item: Item) -> set[str]:
    """Names in the conditions of a set of numbers."""
    if isinstance(item, Scalar):
        return {item.name} - {""}
    return set(item.names).union(*map(_variables, item.items))


def _as_shape(item: Item) -> Shape | None:
    """``item``; ``a \\pm b`` as a list; None for any other scalar."""
    if isinstance(item, Shape):
        return item
    spread = _spread((item,))
    return Shape("list", spread) if len(spread) > 1 else None


def _item(gold: Item, candidate: Item, given: Given) -> Relation:
    if gold == candidate:
        return "equal"
    return compare_shapes(gold, candidate, replace(given, step=None))


def _all(relations: Sequence[Relation]) -> Relation:
    if "different" in relations:
        return "different"
    return "unknown" if "unknown" in relations else "equal"


def _in_order(gold: Sequence[Item], candidate: Sequence[Item], given: Given) -> Relation:
    if len(gold) != len(candidate):
        return "different"
    return _all([_item(one, other, given) for one, other in zip(gold, candidate, strict=True)])


def _side_by_side(gold: Shape, candidate: Shape, given: Given) -> Relation:
    """Shapes of one kind, item by item."""
    ranges = {gold.kind, candidate.kind} & RANGES
    if gold.kind != candidate.kind or gold.brackets != candidate.brackets:
        return "unknown" if ranges else "different"
    either = _any_order if gold.kind == "union" else _in_order
    relation = either(gold.items, candidate.items, given)
    return "unknown" if ranges and relation == "different" else relation


def _any_order(gold: Sequence[Item], candidate: Sequence[Item], given: Given) -> Relation:
    gold, candidate = _spread(gold), _spread(candidate)
    unsure = any(isinstance(item, Shape) and item.kind in RANGES for item in (*gold, *candidate))
    if len(gold) != len(candidate):
        written = repr(gold) + repr(candidate)
        return "unknown" if unsure or given.integers or r"\pm" in written else "different"
    left = list(candidate)
    unsure = False
    for item in gold:
        relations = [_item(item, other, given) for other in left]
        if "equal" in relations:
            del left[relations.index("equal")]
        elif "unknown" in relations or given.integers:
            unsure = True
        else:
            return "different"
    return "unknown" if unsure or left else "equal"


def _spread(items: Sequence[Item]) -> tuple[Item, ...]:
    """``a \\pm b`` as two items."""
    spread: list[Item] = []
    for item in items:
        if isinstance(item, Scalar) and item.latex.count(r"\pm") == 1:
            for sign in "+-":
                latex = item.latex.replace(r"\pm", sign).strip()
                spread.append(Scalar(latex.removeprefix("+").strip(), item.name))
        else:
            spread.append(item)
    return tuple(spread)


def _families(gold: Item, candidate: Item, given: Given) -> Relation:
    """Values for each integer, which one of the two may have left unsaid."""
    said = [item for item in (gold, candidate) if isinstance(item, Shape) and item.kind == "family"]
    if len({shape.brackets for shape in said}) > 1:
        return "unknown"
    names = [
        item.names[0] if isinstance(item, Shape) and item in said else ""
        for item in (gold, candidate)
    ]
    one, other = (
        item.items[0] if isinstance(item, Shape) and item in said else item
        for item in (gold, candidate)
    )
    return _item(one, other, replace(given, integers=(names[0], names[1], said[0].brackets)))


# ----------------------------------------------------------------------------------- named values
def _named(gold: Shape, candidate: Shape, given: Given) -> Relation:
    """Names with their values against others, or against a point or list without names."""
    if gold.kind == candidate.kind:
        return _same_names(gold, candidate, given)
    named, bare = (gold, candidate) if gold.kind == "names" else (candidate, gold)
    if bare.kind not in {"tuple", "list", "set"} or bare.brackets not in {"", "()"}:
        return "different" if bare.kind in {"tuple", "matrix"} else "unknown"
    any_order = _any_order(gold.items, candidate.items, given)
    if bare.kind == "set" or (bare.kind == "list" and _are_numbered(named)):
        return any_order
    if any(isinstance(item, Scalar) and item.name for item in bare.items):
        return "unknown"  # a = 3 or b = -2
    by_name = sorted(zip(named.names, named.items, strict=True), key=lambda pair: pair[0])
    values = [item for _, item in by_name]
    relation = (
        _in_order(values, bare.items, given)
        if named is gold
        else _in_order(bare.items, values, given)
    )
    if relation == "equal" or any_order == "different":
        return relation
    # 3, 2 says nothing of which is x; and the order of longer names is not that of the alphabet.
    alphabetic = bare.kind == "tuple" and all(len(name) == 1 for name in named.names)
    return relation if alphabetic else "unknown"


def _are_numbered(named: Shape) -> bool:
    """x_1, x_2: roots may be numbered in any order, members of a sequence may not."""
    return len({name.split("_")[0] for name in named.names}) == 1


def _same_names(gold: Shape, candidate: Shape, given: Given) -> Relation:
    values = dict(zip(candidate.names, candidate.items, strict=True))
    if set(gold.names) != set(candidate.names):
        folded = {name.lower(): value for name, value in values.items()}
        if {name.lower() for name in gold.names} != set(folded) or len(folded) < len(values):
            return "different"
        values = {name: folded[name.lower()] for name in gold.names}
    relation = _in_order(gold.items, [values[name] for name in gold.names], given)
    if relation == "different" and _are_numbered(gold):
        any_order = _any_order(gold.items, candidate.items, given)
        return "unknown" if any_order == "equal" else relation
    return relation

"""Facts of data sets, known in one place."""

import ast
from functools import cache
from pathlib import Path
from typing import get_args

import pytest
from pydantic.fields import FieldInfo

from llm_as_judge.config import PRESETS, LossKeys
from llm_as_judge.config.training import Preset
from llm_as_judge.config.tree import Config
from llm_as_judge.training.grpo import LossOptions
from llm_as_judge.types import (
    DATASET_INFO,
    DOMAINS,
    DatasetInfo,
    Domain,
    Problem,
    dataset_info,
    known_domain,
    own_dataset,
)

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "llm_as_judge"
HOME = PACKAGE / "types" / "datasets.py"
ALSO_WORDS = frozenset({"math", "open"})
"""Names of sets that are something else, too: a domain, a word, a package of Python."""


@cache
def read_folder(folder: str) -> list[tuple[Path, str]]:
    paths = sorted((ROOT / folder).rglob("*.py"))
    return [(path, path.read_text(encoding="utf-8")) for path in paths]


@cache
def nodes() -> list[tuple[Path, list[ast.AST]]]:
    """Each file of the package with the nodes of its tree, walked once for all tests."""
    return [(path, list(ast.walk(ast.parse(text)))) for path, text in read_folder("src")]


@cache
def annotated_fields() -> dict[str, list[str]]:
    """Of each annotated name in a class body the files that have it."""
    found: dict[str, list[str]] = {}
    for path, every in nodes():
        for node in every:
            for line in node.body if isinstance(node, ast.ClassDef) else ():
                if isinstance(line, ast.AnnAssign):
                    place = str(path.relative_to(PACKAGE))
                    found.setdefault(ast.unparse(line.target), []).append(place)
    return found


def texts(node: ast.AST | None) -> list[object]:
    """The constants that a tuple, list or set holds, if it holds nothing else."""
    if not isinstance(node, ast.Tuple | ast.List | ast.Set):
        return []
    found: list[object] = [item.value for item in node.elts if isinstance(item, ast.Constant)]
    return found if len(found) == len(node.elts) else []


def places(wanted: frozenset[str], *folders: str) -> list[str]:
    """Where a tuple, list or set (that of a ``Literal``, too) has just these texts.

    Only files that have them all are parsed: that takes seconds otherwise.
    """
    return [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for folder in folders
        for path, text in read_folder(folder)
        if all(f'"{word}"' in text or f"'{word}'" in text for word in wanted)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.expr) and len(texts(node)) > 1 and wanted == frozenset(texts(node))
    ]


# ------------------------------------------------------------------------------ one definition
def test_the_domains_are_listed_once() -> None:
    found = places(frozenset(DOMAINS), "src", "recipes", "benchmarks", "scripts", "tests")
    assert [place.rpartition(":")[0] for place in found] == [str(HOME.relative_to(ROOT))]


def test_code_names_a_set_only_where_its_fields_stand() -> None:
    """Its folder upstream may be called alike: the catalog of files may hold that."""
    names = {n for info in DATASET_INFO.values() for n in (info.name, *info.also_called)}
    names -= ALSO_WORDS
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {node.value!r}"
        for path, every in nodes()
        if path not in (HOME, PACKAGE / "data" / "catalog.py")
        for node in every
        if isinstance(node, ast.Constant) and node.value in names
    ]
    assert not found


def test_nothing_asks_what_set_a_problem_is_of() -> None:
    """A name in a comparison is a behavior that no other set can have."""
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}"
        for path, every in nodes()
        for node in every
        if isinstance(node, ast.Compare)
        and any(
            isinstance(side, ast.Attribute) and side.attr == "dataset"
            for side in (node.left, *node.comparators)
        )
        and any(
            isinstance(side, ast.Constant) or texts(side) for side in (node.left, *node.comparators)
        )
    ]
    assert not found


@pytest.mark.parametrize("key", ["baseline", "advantage_norm", "loss_aggregation", "loss_type"])
def test_the_choices_of_a_key_of_the_loss_are_listed_once(key: str) -> None:
    choices = frozenset(get_args(LossKeys.model_fields[key].annotation))
    assert len(choices) > 1
    assert [p.rpartition(":")[0] for p in places(choices, "src")] == [
        "src/llm_as_judge/config/training.py"
    ]


@pytest.mark.parametrize("key", LossKeys.model_fields)
def test_a_key_of_the_loss_is_one_field_on_which_presets_and_learner_agree(key: str) -> None:
    def told(info: FieldInfo) -> tuple[object, ...]:
        return info.default, info.annotation, tuple(map(str, info.metadata))

    assert annotated_fields()[key] == ["config/training.py"]
    wanted = told(LossKeys.model_fields[key])
    assert told(type(Config().training).model_fields[key]) == wanted
    assert told(LossOptions.model_fields[key]) == wanted
    assert PRESETS["grpo"][key] == wanted[0]


def test_every_preset_that_may_be_named_has_its_loss() -> None:
    assert get_args(Preset) == tuple(PRESETS)


# -------------------------------------------------------------------------------------- fields
@pytest.mark.parametrize("domain", DOMAINS)
def test_an_own_set_behaves_as_sets_of_its_domain_do(domain: Domain) -> None:
    own = Problem("mine/1", "mine", domain, "?").dataset_info
    assert own == own_dataset("mine", domain)
    assert (own.name, own.domain, own.mixed, own.stratum) == ("mine", domain, "never", "")
    assert own.metric == ("pass_at_k" if domain == "code" else "accuracy")
    assert not own.has_text_scores


@pytest.mark.parametrize("name", DATASET_INFO)
def test_a_known_name_with_another_domain_is_an_own_set(name: str) -> None:
    known = DATASET_INFO[name]
    assert dataset_info(name, known.domain) is known
    for domain in set(DOMAINS) - {known.domain}:
        assert dataset_info(name, domain) == own_dataset(name, domain)


@pytest.mark.parametrize("info", DATASET_INFO.values(), ids=list(DATASET_INFO))
def test_the_fields_of_a_known_set_fit_its_domain(info: DatasetInfo) -> None:
    assert (info.metric == "pass_at_k") == (info.domain == "code")
    assert info.domain == "qa" or not (info.has_text_scores or info.unanswerable)
    assert not info.part_of or info.part_of in DATASET_INFO


def test_the_other_name_of_a_set_is_that_set() -> None:
    assert dataset_info("squad_v2", "qa") is dataset_info("squad2", "qa")
    assert Problem("s/1", "squad_v2", "qa", "?").dataset_info.unanswerable


@pytest.mark.parametrize("name", ["", "Math", "squad2", None, 3, ["qa"]])
def test_what_is_no_domain_is_none(name: object) -> None:
    assert known_domain(name) is None

"""All operators: each one a class and a description file, held against each other at load.

A shipped one has its file in ``config/operator_descriptions/``, one of your own (``@operator``) has
it beside its module.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import pkgutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field

from llm_as_judge import operators, plugins
from llm_as_judge.config import config_files
from llm_as_judge.errors import ConfigError
from llm_as_judge.files import file_sha256
from llm_as_judge.operators.base import Argument, Operator, snake_case
from llm_as_judge.operators.prompts import GUIDANCE, OperatorPrompts, placeholders, read_yaml
from llm_as_judge.types import Domain, Json

_DESCRIPTIONS = "operator_descriptions"
EXECUTOR = "executor"
"""Argument of every operator that asks: which of several executors."""


class Description(BaseModel):
    """One description file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(description="Class name.")
    summary: str = Field(description="What it does, for the policy's prompt: one sentence.")
    call: str = Field(description="`answer_generate(input)`, defaults included.")
    arguments: dict[str, str] = Field(description="Argument -> what it holds, in order.")
    returns: dict[str, str] = Field(description="Result key -> what it holds.")
    worst_case_calls: int = Field(ge=0, description="Executor calls of one call at most.")
    domains: tuple[Domain, ...] = Field(description="Where the policy's prompt shows it.")
    example: str = Field(description="One line of a program.")
    prompts: dict[str, str] = Field(description="Prompt name -> template.")


@dataclass(frozen=True, slots=True)
class OperatorEntry:
    """An operator as prompt, check and service see it."""

    operator: type[Operator]
    description: Description
    arguments: tuple[Argument, ...]

    @property
    def name(self) -> str:
        return self.operator.__name__

    @property
    def defined(self) -> type[Operator]:
        return self.operator

    @property
    def call_name(self) -> str:
        return snake_case(self.name)

    @property
    def empty(self) -> Mapping[str, Json]:
        return self.operator.empty

    @property
    def asks(self) -> bool:
        """Whether it asks an executor, and so takes the argument ``executor``."""
        return bool(self.operator.prompt_names)

    @property
    def prompts(self) -> OperatorPrompts:
        return OperatorPrompts(self.name, self.description.prompts)


Registry = Mapping[str, OperatorEntry]
"""Class name -> entry, in the order of the files."""

OWN_OPERATORS: plugins.Registry[OperatorEntry] = plugins.Registry("operator")
AnyOperator = TypeVar("AnyOperator", bound=type[Operator])


def registry() -> Registry:
    """The shipped operators and one's own.

    Raises:
        ConfigError: see :func:`load_registry`.
    """
    return {**_shipped(), **OWN_OPERATORS.all()}


def operator(cls: AnyOperator) -> AnyOperator:
    """Makes a class an operator of programs; ``<Name>.yaml`` beside its module describes it.

    Raises:
        ConfigError: there is no such file, it contradicts the class, or the name is taken.
    """
    OWN_OPERATORS.add(operator_entry(cls))
    return cls


def operator_entry(cls: type[Operator]) -> OperatorEntry:
    """A class of one's own with its description.

    Raises:
        ConfigError: see :func:`operator`.
    """
    if cls.__name__ in _shipped():
        raise ConfigError(f"operator {cls.__name__!r} is a shipped one; give yours another name")
    return _entry(cls, _description_file(cls))


def operator_facts() -> dict[str, str]:
    """SHA-256 of the description of each operator of one's own, by name."""
    return {
        name: file_sha256(_description_file(entry.operator))
        for name, entry in OWN_OPERATORS.all().items()
    }


def _description_file(cls: type[Operator]) -> Path:
    try:
        return Path(inspect.getfile(cls)).with_name(f"{cls.__name__}.yaml")
    except (OSError, TypeError):
        raise ConfigError(
            f"operator {cls.__name__!r} has no source file to stand beside {cls.__name__}.yaml; "
            "put it into a .py file and import it"
        ) from None


@functools.cache
def _shipped() -> Registry:
    modules = [
        importlib.import_module(f"{operators.__name__}.{module.name}")
        for module in pkgutil.iter_modules(operators.__path__)
    ]
    return load_registry(operator_classes(modules))


def operator_classes(modules: Iterable[ModuleType]) -> list[type[Operator]]:
    """Every operator defined in these modules."""
    return [
        value
        for module in modules
        for value in vars(module).values()
        if inspect.isclass(value)
        and issubclass(value, Operator)
        and not inspect.isabstract(value)
        and value.__module__ == module.__name__
    ]


def load_registry(classes: Iterable[type[Operator]], folder: Path | None = None) -> Registry:
    """Classes with their descriptions, one ``<Name>.yaml`` each: of ``folder``, or of the configuration.

    Raises:
        ConfigError: a class without description, a description without class, or a contradiction
            between the two; says which file and what.
    """
    files = folder.glob("*.yaml") if folder else config_files(_DESCRIPTIONS, ".yaml")
    by_name = {cls.__name__: cls for cls in classes}
    described = {path.stem: path for path in files}
    if missing := sorted(set(by_name) - set(described)):
        place = folder or _DESCRIPTIONS
        raise ConfigError(f"{place}: no {missing[0]}.yaml, the operator has no description")
    if stray := sorted(set(described) - set(by_name)):
        raise ConfigError(f"{described[stray[0]]}: there is no operator class {stray[0]}")
    return {name: _entry(by_name[name], described[name]) for name in sorted(by_name)}


def _entry(operator: type[Operator], path: Path) -> OperatorEntry:
    try:
        arguments = operator.arguments()
    except TypeError as error:
        raise ConfigError(str(error)) from None
    if not path.is_file():
        raise ConfigError(
            f"{path}: no such file; it describes the operator {operator.__name__}: write it "
            "(docs/extending.md#an-operator)"
        )
    description = read_yaml(Description, path)
    if any(argument.name == EXECUTOR for argument in arguments):
        raise ConfigError(
            f"{path}: argument {EXECUTOR!r}: every operator that asks has it already "
            "(docs/programs.md); give yours another name"
        )
    _hold_against(operator, arguments, description, path)
    return OperatorEntry(operator, description, arguments)


def _hold_against(
    operator: type[Operator], arguments: tuple[Argument, ...], description: Description, path: Path
) -> None:
    wanted_call = _call_text(operator, arguments)
    facts: list[tuple[str, object, object]] = [
        ("name", description.name, operator.__name__),
        ("call", description.call, wanted_call),
        ("arguments", list(description.arguments), [a.name for a in arguments]),
        ("returns", list(description.returns), list(operator.empty)),
        ("worst_case_calls", description.worst_case_calls, operator.worst_case_calls),
        ("prompts", sorted(description.prompts), sorted(operator.prompt_names)),
    ]
    for key, found, wanted in facts:
        if found != wanted:
            raise ConfigError(f"{path}: {key}: found {found!r}, the class says {wanted!r}")
    known = {a.name for a in arguments} | set(operator.prompt_values) | {GUIDANCE}
    for name, template in description.prompts.items():
        if unknown := sorted(placeholders(template) - known):
            raise ConfigError(
                f"{path}: prompts.{name}: unknown placeholder {{{unknown[0]}}}, "
                f"known are {sorted(known)}"
            )


def _call_text(operator: type[Operator], arguments: tuple[Argument, ...]) -> str:
    parts = [
        a.name if a.default is None else f"{a.name}={json.dumps(a.default)}" for a in arguments
    ]
    return f"{snake_case(operator.__name__)}({', '.join(parts)})"

"""Reader of YAML configuration: a section parsed and checked, one line for each kind of mistake."""

from __future__ import annotations

import copy
import difflib
import functools
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from llm_as_judge.config.credentials import WHERE_KEYS_BELONG, names_a_secret, without_secrets
from llm_as_judge.errors import ConfigError
from llm_as_judge.refused import place_and_reason, wanted_of

OWN_FILE = Path("llm-as-judge.yaml")
"""What ``init`` writes into the working folder: every verb without ``--config`` reads it."""


_OWN = "LLM_AS_JUDGE_CONFIG"
_PACKAGE = Path(__file__).resolve().parents[1]
_OUR_PROJECT = re.compile(r"""(?m)^name\s*=\s*["']llm-as-judge["']""")


def clone_stood_in() -> Path | None:
    """The clone of this project that the working folder is, or is in; None outside of one.

    Its ``config`` and ``workflows`` go before the copies that an installed package has: an edit there would
    else be without effect.
    """
    try:
        place = Path.cwd()
    except FileNotFoundError:  # it has been removed
        return None
    return next((folder for folder in (place, *place.parents) if _is_clone(folder)), None)


def _is_clone(folder: Path) -> bool:
    if not (folder / "config" / "models.yaml").is_file():
        return False
    try:
        return bool(_OUR_PROJECT.search((folder / "pyproject.toml").read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return False


def shipped_dir(name: str = "config") -> Path:
    """The folder of shipped configuration, or of shipped ``workflows``: that of :func:`clone_stood_in`, else
    of the checkout that the package is read from, else the wheel's."""
    for root in (clone_stood_in(), _PACKAGE.parents[1]):
        if root is not None and _is_clone(root) and (root / name).is_dir():
            return root / name
    return _PACKAGE / f"_{name}"


def clone_read() -> Path | None:
    """The clone whose folders are read though the package is another's, or installed."""
    clone = clone_stood_in()
    return None if clone is None or clone.resolve() == _PACKAGE.parents[1] else clone


def config_folders() -> tuple[Path, ...]:
    """``$LLM_AS_JUDGE_CONFIG`` where it is set, and below it the shipped folder: a file of an earlier one
    stands in for that of a later one.

    Raises:
        ConfigError: the variable names no folder.
    """
    own = os.environ.get(_OWN)
    if own and not Path(own).is_dir():
        raise ConfigError(f"{_OWN}={own}: no such folder; make it, or unset the variable")
    return (*((Path(own),) if own else ()), shipped_dir())


def config_file(name: str) -> Path:
    """A file of configuration by its path below the folder, say ``prompts/judge/plain.txt``.

    Returns:
        The shipped place where no folder has it.
    """
    places = [folder / name for folder in config_folders()]
    return next((place for place in places if place.is_file()), places[-1])


def config_files(below: str, suffix: str = "") -> list[Path]:
    """All files below a folder of configuration, in the order of their paths there."""
    found = {
        path.relative_to(folder): path
        for folder in reversed(config_folders())
        for path in (folder / below).rglob(f"*{suffix}")
        if path.is_file()
    }
    return [found[name] for name in sorted(found)]


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)


S = TypeVar("S", bound=Section)
T = TypeVar("T")


def options_of(kind: type[T], *sections: Section, **given: Any) -> T:
    """What ``kind`` is of ``given`` and, for its other fields, of the keys of the same name: a later section goes
    before an earlier one."""
    names: Iterable[str] = getattr(kind, "__dataclass_fields__", ()) or kind.model_fields  # type: ignore[attr-defined]
    found = {n: getattr(one, n) for one in sections for n in names if hasattr(one, n)}
    return kind(**{**found, **given})


# YAML 1.1 reads 5e-6 as a string: numbers are coerced from their text, nothing else is.
def as_number(value: object) -> object:
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


Number = Annotated[float, BeforeValidator(as_number)]


def read_yaml(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file; see config/ for the shipped ones") from None
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: cannot be read as YAML: {error}") from None
    data = parse_yaml(text, str(path))
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise ConfigError(f"{path}: found a {type(data).__name__}, wanted keys and values")
    return data


@functools.lru_cache(maxsize=64)
def _parsed(text: str) -> Any:
    """A command reads the shipped files several times, and PyYAML takes long for each."""
    return yaml.safe_load(text)


def parse_yaml(text: str, where: str) -> Any:
    """The value that ``text`` is.

    Raises:
        ConfigError: says the place and what is wrong there, never the text: it may be a key.
    """
    try:
        return copy.deepcopy(_parsed(text))
    except RecursionError:
        problem = "nested too deeply"
    except yaml.MarkedYAMLError as error:  # where the parser stopped; where it began, if elsewhere
        marks = ((error.problem_mark, error.problem), (error.context_mark, error.context))
        problem = ", ".join(
            f"line {mark.line + 1}, column {mark.column + 1}: {_without_names(said)}"
            for mark, said in marks
            if mark and said
        )
    except yaml.YAMLError as error:
        problem = " ".join(str(error).split())
    except (ArithmeticError, AttributeError, LookupError, ValueError):  # these quote the value
        problem = "a value is not of the kind that its tag (!!int and the like) or its form says"
    raise ConfigError(f"{where}: cannot be read as YAML: {problem}")


_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")


def _without_names(said: str) -> str:
    """Names of anchors and tags are pieces of the text; signs and ``'<stream end>'`` are not."""
    return _QUOTED.sub(
        lambda found: found[0] if len(found[0]) <= 4 or found[0][1] == "<" else "***", said
    )


def validated(
    kind: type[S], data: Mapping[str, Any], where: str, also_known: tuple[str, ...] = ()
) -> S:
    """``data`` as a section.

    Args:
        where: file, flag or layer, for the message.
        also_known: keys beside the fields that a misspelled key may have meant.
    Raises:
        ConfigError: names the key, what was found and the nearest known key.
    """
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        found_all = error.errors()  # a misspelled key before the field that it leaves missing
        first = next((e for e in found_all if e["type"] == "extra_forbidden"), found_all[0])
        key = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            meant = _did_you_mean(key, kind, also_known)
            raise ConfigError(f"{where}: unknown key {key!r}{meant}") from None
        if first["type"] == "missing":
            place, reason = place_and_reason(error)
            above = f"{place}: " if place else ""
            wanted = _description(kind, first["loc"])
            raise ConfigError(f"{where}: {above}{reason}; wanted: {wanted}; add it") from None
        said = wanted_of(first)
        if not key:  # about several keys together, which may hold a secret
            raise ConfigError(f"{where}: {said.removeprefix('; ')}") from None
        shown = without_secrets(repr(first.get("input")))
        found = "a value that is not shown" if names_a_secret(key) else shown
        raise ConfigError(f"{where}: {key}: found {found}{said}") from None


def _description(kind: type[Section], place: tuple[int | str, ...]) -> str:
    """What the field at ``place`` means; parts that are names or numbers of entries lead nowhere."""
    found = ""
    for part in place:
        if info := kind.model_fields.get(str(part)):
            found = (info.description or "").rstrip(".")
            kind = next(_sections_in(info.annotation), kind)
    return found


def _sections_in(annotation: Any) -> Iterator[type[Section]]:
    """A section, or those inside ``dict[str, Section]``, ``Section | None`` and the like."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        yield annotation
    for inner in get_args(annotation):
        yield from _sections_in(inner)


def _did_you_mean(key: str, kind: type[Section], also_known: tuple[str, ...]) -> str:
    known = [*(name for name, _ in iterate_fields(kind)), *also_known]
    if names_a_secret(key):
        secrets = [name for name in known if names_a_secret(name)]
        return f"; did you mean {secrets[0]!r}?" if secrets else f"; {WHERE_KEYS_BELONG}"
    section, _, last = key.rpartition(".")
    # the right name in the wrong section
    near = [name for name in known if name.rpartition(".")[2] == last][:1]
    if not near:  # in that section by the last part alone: a long `evaluation.` must not decide
        own = {n.rpartition(".")[2]: n for n in known if n.rpartition(".")[0] == section}
        # `limt` is nearer to a word of `limit_per_set` than to all of it
        of_word = {word: name for name in own for word in name.split("_")}
        initials = {
            "".join(word[0] for word in name.split("_")): name for name in own if "_" in name
        }
        near_key = [initials[last]] if last in initials else []  # lr
        near_key = near_key or difflib.get_close_matches(last, own, n=1, cutoff=0.7)
        near_word = difflib.get_close_matches(last, of_word, n=1, cutoff=0.7)
        near = [own[n] for n in near_key or [of_word[word] for word in near_word]]
    near = near or difflib.get_close_matches(key, known, n=1, cutoff=0.6)
    return f"; did you mean {near[0]!r}?" if near else f" (known: {', '.join(known[:8])} ...)"


def iterate_fields(kind: type[Section], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """(dotted name, pydantic FieldInfo) of every field of the tree, sections included."""
    for name, info in kind.model_fields.items():
        yield prefix + name, info
        annotation = info.annotation
        if isinstance(annotation, type) and issubclass(annotation, Section):
            yield from iterate_fields(annotation, f"{prefix}{name}.")


def merge(into: dict[str, Any], layer: Mapping[str, Any]) -> None:
    """``layer`` over ``into``, section by section."""
    for key, value in layer.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            merge(into[key], value)
        else:
            into[key] = value

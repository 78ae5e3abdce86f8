"""Selection of the problems to evaluate: the rows of each file of the split, or a stratified sample of them."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from llm_as_judge.data.catalog import CATALOG
from llm_as_judge.data.duplicates import question_text, words
from llm_as_judge.data.files import ProblemFile, how_rows_come, read_problems
from llm_as_judge.data.mix import DOMAIN_SHARES, Draws, prefix_until_used_up
from llm_as_judge.data.process import plugins_of_rows
from llm_as_judge.errors import ConfigError, DataError
from llm_as_judge.types import DATASET_INFO, DOMAINS, Domain, Problem, Split

MIXED = "mixed"
"""Name of the mix among the sets: ``data/mixed/test_mixed.jsonl``, or that of another split."""


@dataclass(frozen=True, slots=True)
class RowOptions:
    """Rows to evaluate."""

    split: Split
    sets: tuple[str, ...] | None
    """By name; None = ``data_sets``, one's own, and the mix of these."""
    limit_per_set: int | None
    data_sets: tuple[str, ...]
    data_dir: Path
    train_file: Path
    seed: int

    def own_sets(self, split: Split | None = None) -> dict[str, Path]:
        """By name the files of the split that are of no set of the catalog."""
        suffix = f"_{split or self.split}.jsonl"
        folder = self.file("any", split).parent
        found = {path.name.removesuffix(suffix): path for path in folder.glob(f"*{suffix}")}
        return {name: found[name] for name in sorted(found) if name not in CATALOG}

    def file(self, name: str, split: Split | None = None) -> Path:
        """Of a set, or of the mix; of ``split`` if none is given."""
        split = split or self.split
        if name == MIXED:
            return self.data_dir / "mixed" / f"{split}_mixed.jsonl"
        return (
            self.data_dir / ("test" if split == "test" else "processed") / f"{name}_{split}.jsonl"
        )


def problem_file(path: Path) -> ProblemFile:
    """A unified JSONL file, checked.

    Raises:
        DataError: missing, empty or broken (``file:line``), or with rows of a plugin's set that is
            not loaded: they would be graded as if it said nothing of them.
    """
    if not path.exists():
        raise DataError(how_rows_come(path))
    file = ProblemFile(path)
    for name, plugin in plugins_of_rows(path).items():
        if name in file.datasets and name not in CATALOG:
            raise DataError(
                f"{path}:{file.datasets.index(name) + 1}: a row of {name!r}, a data set of the plugin "
                f"{plugin}; name it in the configuration, or --set 'plugins=[{plugin}]'"
            )
    return file


@dataclass(frozen=True, slots=True)
class EvaluatedSet:
    """What is evaluated of one file: by default a test file."""

    name: str
    problems: tuple[Problem, ...]
    rows: int
    """Of the file, of which the problems may be a sample."""
    other_domains: int = 0
    """Problems left out because the policy has no program for their domain."""
    chosen_by: str = ""
    """How, if not by a seeded sample of this file's rows."""
    seen_in_training: int | None = None
    """Problems whose question stands in the training mix word for word; None = no mix there."""

    @property
    def sample(self) -> str:
        """How the problems were chosen, in words."""
        if self.chosen_by:
            return f"{len(self.problems)} of {self.rows} rows: {self.chosen_by}"
        if len(self.problems) == self.rows:
            return "all rows"
        if len(self.problems) + self.other_domains == self.rows:
            return f"{len(self.problems)} of {self.rows} rows: those of the policy's domains"
        stratum = _stratum(self.name)
        by = f" stratified by {stratum}" if stratum else ""
        return f"{len(self.problems)} of {self.rows} rows: a seeded sample{by}"


def evaluated_files(options: RowOptions) -> dict[str, ProblemFile]:
    """By name the file of every set of the configuration, of the split that is evaluated; where
    it names none, of ``data.sets`` and one's own sets.

    Raises:
        ConfigError: a set of ``evaluation.sets`` is not known.
        DataError: a file is missing, empty or broken, has a problem twice or
            rows of another set.
    """
    own = options.own_sets()
    asked = options.sets or _default_names(options, own)
    others = [name for name in CATALOG.all() if options.file(name).is_file()]
    known = tuple(dict.fromkeys((*options.data_sets, *own, *others, MIXED)))
    files = {}
    for name in _parts(asked, known, own):
        if name not in known:
            raise ConfigError(f"evaluation.sets: no set {name!r} (known: {', '.join(known)})")
        path = options.file(name)
        if path.is_file() and not path.stat().st_size:
            raise DataError(
                f"{path}: no problems in it: {_FEWER[options.split]}; process more rows, "
                f"or name the sets to evaluate: --set 'evaluation.sets=[...]'"
            )
        if not path.exists():
            there = ",".join(name for name in known if options.file(name).is_file())
            instead = f"; or evaluate what is there: --set 'evaluation.sets=[{there}]'"
            raise DataError(how_rows_come(path) + (instead if there else ""))
        files[name] = problem_file(path)
        _require_each_once(files[name], name)
    return files


def _parts(asked: Iterable[str], known: Collection[str], own: Collection[str]) -> list[str]:
    """The names asked for; that of a file of several types stands for all its sets."""
    names: list[str] = []
    for name in asked:
        parts = [f"{name}_{domain}" for domain in DOMAINS if f"{name}_{domain}" in own]
        names += [name] if name in known or not parts else parts
    return list(dict.fromkeys(names))


_FEWER = {
    "test": "a sixth of a set's rows is test rows, and a single row is for training",
    "val": "data.val_fraction leaves none of so few rows",
    "train": "the set has none",
}
"""Why a file of a split is empty."""


def without_test_rows(options: RowOptions, problems: Iterable[Problem]) -> list[Problem]:
    """Those of one's own rows whose question and passage stand in none of one's own test files.

    One that `init` put into training or validation is taken as it stands there, and once, so that what programs
    do on it can teach: ``training.warm_start``.
    """

    def rows_of(split: Split) -> dict[str, Problem]:
        paths = options.own_sets(split).values()
        return {_key(problem): problem for path in paths for problem in read_problems(path)}

    known, test = {**rows_of("val"), **rows_of("train")}, rows_of("test")
    left = [problem for problem in problems if _key(problem) not in test]
    taken = [known.get(_key(problem), problem) for problem in left]
    return list({problem.id: problem for problem in taken}.values())


def _default_names(options: RowOptions, own: Mapping[str, Path]) -> tuple[str, ...]:
    """``data.sets`` and one's own sets; one's own alone where ``data process`` made no other."""
    made = any(options.file(name).exists() for name in options.data_sets)
    names = tuple(name for name, path in own.items() if path.stat().st_size)
    if names and not made:
        return names
    if not options.data_sets and not names:
        raise ConfigError(
            f"nothing to evaluate: data.sets names no set, and {options.file('NAME')} "
            "is there of no set of your own; run: llm-as-judge data process --custom FILE"
        )
    return (*options.data_sets, *names)


def _require_each_once(file: ProblemFile, name: str) -> None:
    """A problem that is there twice would count twice in every figure; rows of another set would be counted
    and graded as those of this one."""
    first: dict[str, int] = {}
    for number, (id_, dataset) in enumerate(zip(file.ids, file.datasets, strict=True), start=1):
        if name not in (dataset, MIXED):
            raise DataError(
                f"{file.path}:{number}: a row of {dataset!r}, wanted {name!r}; "
                "run: llm-as-judge data process (own rows: data process --custom FILE)"
            )
        if first.setdefault(id_, number) != number:
            raise DataError(
                f"{file.path}:{number}: {id_!r} is on line {first[id_]}, too; remove one of them, "
                "or run: llm-as-judge data process"
            )


def evaluated_sets(
    options: RowOptions, domains: Collection[Domain] = tuple(DOMAIN_SHARES)
) -> list[EvaluatedSet]:
    """The chosen problems of every set of the configuration; where it names none, the test mix
    stands beside them, of problems that are there already.

    Args:
        domains: others are left out, and sets that have none of these.
    Raises:
        ConfigError, DataError: see :func:`evaluated_files`.
    """
    chosen = [
        replace(part, problems=problems, other_domains=len(part.problems) - len(problems))
        for part in _chosen(options)
        if (problems := tuple(p for p in part.problems if p.domain in domains))
    ]
    if options.sets is None and options.split == "test" and len(chosen) > 1:
        chosen.append(_mix(chosen, options))
    return _with_overlap(chosen, options.train_file)


def _mix(chosen: Sequence[EvaluatedSet], options: RowOptions) -> EvaluatedSet:
    """The test mix, of problems that are evaluated with their sets: the rows of its file, if all of them are in
    the sets; if the sets are samples, or the file is of others, one that is drawn from them by the rule that
    made the file."""
    file = options.file(MIXED)
    evaluated = {problem.id: problem for part in chosen for problem in part.problems}
    ids = [problem.id for problem in read_problems(file)] if file.is_file() else []
    if ids and evaluated.keys() >= set(ids):
        return EvaluatedSet(MIXED, tuple(evaluated[id_] for id_ in ids), len(ids))
    rows = {part.name: part.problems for part in chosen}
    draws = {n: Draws(range(len(found)), options.seed, f"{n}/test") for n, found in rows.items()}
    domains = {name: found[0].domain for name, found in rows.items()}
    mixed = tuple(rows[name][row] for name, row in prefix_until_used_up(draws, domains))
    by = "those of the sets above, mixed 4:3:3 by domain"
    return EvaluatedSet(MIXED, mixed, sum(map(len, rows.values())), chosen_by=by)


def evaluated_problems(options: RowOptions) -> list[Problem]:
    """The problems of :func:`evaluated_sets`, without a look at the training mix.

    Raises:
        ConfigError, DataError: see :func:`evaluated_files`.
    """
    return [problem for chosen in _chosen(options) for problem in chosen.problems]


def _chosen(options: RowOptions) -> list[EvaluatedSet]:
    limit, seed = options.limit_per_set, options.seed
    files = evaluated_files(options).items()
    return [EvaluatedSet(n, tuple(limited(n, list(f), limit, seed)), len(f)) for n, f in files]


def _stratum(name: str) -> str:
    """What a limited sample of a set, or of the mix, keeps the proportions of."""
    if name == MIXED:
        return "dataset"
    return DATASET_INFO[name].stratum if name in DATASET_INFO else ""


def _stratum_of(problem: Problem, stratum: str) -> str:
    if stratum == "dataset":
        return problem.dataset
    if stratum == "answerable":
        return "yes" if problem.answers else "no"
    return problem.meta.get(stratum, "")


def limited(name: str, rows: Sequence[Problem], limit: int | None, seed: int) -> list[Problem]:
    """At most ``limit`` rows in file order, each stratum with its share (largest remainders).

    The same name, rows and seed give the same sample.
    """
    if limit is None or limit >= len(rows):
        return list(rows)
    by = _stratum(name)
    strata: dict[str, list[int]] = defaultdict(list)
    for index, row in enumerate(rows):
        strata[_stratum_of(row, by)].append(index)
    picked: list[int] = []
    chance = random.Random(f"evaluation/{seed}/{name}")
    for stratum, count in _shares({k: len(v) for k, v in strata.items()}, limit, chance).items():
        picked += chance.sample(strata[stratum], count)
    return [rows[index] for index in sorted(picked)]


def _shares(sizes: Mapping[str, int], limit: int, chance: random.Random) -> dict[str, int]:
    """``limit`` seats for the strata by size; what rounding leaves goes to the largest
    remainders, among equal ones by lot."""
    total = sum(sizes.values())
    seats = {name: limit * size // total for name, size in sizes.items()}
    order = sorted(sizes, key=lambda name: (-(limit * sizes[name] % total), chance.random()))
    for name in order[: limit - sum(seats.values())]:
        seats[name] += 1
    return {name: seats[name] for name in sorted(seats)}


def _with_overlap(chosen: Sequence[EvaluatedSet], train_file: Path) -> list[EvaluatedSet]:
    if not train_file.is_file():
        return list(chosen)
    trained = {_key(problem) for problem in read_problems(train_file)}
    return [
        replace(s, seen_in_training=sum(_key(p) in trained for p in s.problems)) for s in chosen
    ]


def _key(problem: Problem) -> str:
    # two questions about two passages are two problems, even in the same words
    return " ".join(words(question_text(problem) + "\n" + problem.context))

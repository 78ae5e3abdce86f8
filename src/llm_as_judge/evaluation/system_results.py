"""Systems of a comparison: evaluations read from disk, seeds of one evaluation as one system."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, pstdev

from llm_as_judge.accuracy import Accuracy, Right, accuracy, balanced_accuracy, right_of
from llm_as_judge.data.selection import MIXED
from llm_as_judge.errors import DataError
from llm_as_judge.evaluation.conditions import (
    Conditions,
    all_but_seed,
    conditions_of,
    differing,
)
from llm_as_judge.evaluation.layout import RESULTS_SUFFIX, heading, read_full, run_folder
from llm_as_judge.evaluation.records import EvaluationRecord
from llm_as_judge.grading.version import GRADING_VERSION, older_verdicts
from llm_as_judge.runs.record import OLDER
from llm_as_judge.runs.results import FullResults, ProblemRow
from llm_as_judge.runs.table import RUNS


@dataclass(frozen=True, slots=True)
class SystemResults:
    """One policy or baseline, averaged over its seeds."""

    name: str
    """Unlike those of the others."""
    files: tuple[str, ...]
    """Names of its results, one a seed."""
    policy: str
    model: str
    """The policy's, before training; empty where its files do not say it."""
    executor: str
    checkpoint: str | None
    sampled: bool
    """Its programs were drawn at a temperature above 0; older files say none."""
    seeds: tuple[int, ...]
    seed_accuracies: tuple[float, ...]
    datasets: Mapping[str, str]
    """Data set of each problem, graded or not."""
    domains: Mapping[str, str]
    contents: Mapping[str, str]
    """Digest of each problem that the files have one of."""
    right: Mapping[str, Right]
    """Of each problem that did not fail, over samples and seeds."""
    verdicts: Mapping[str, tuple[bool | None, ...]]
    """Right, wrong or open (None) of each sample of each problem that did not fail, seed after seed."""
    mix: Mapping[str, Right]
    """The same of the mix, which is drawn from the sets and beside them counts in nothing else."""
    open: Mapping[str, int]
    """Open answers, by data set; sets without any are left out."""
    tokens: Mapping[str, float]
    """Executor tokens of each problem, per rollout."""
    costs: Mapping[str, float]
    """The same in written tokens; of problems whose files say it."""
    policy_tokens: float
    """Of the policy's own prompt and program, per rollout."""
    calls: float
    seconds: float | None
    """Of the runs that got every reply anew; None: there is none, or its files do not say it."""
    not_timed: int | None
    """Runs that ``seconds`` leaves out; None: its files, of an earlier version, do not say it of kept replies."""
    cost_usd: float | None
    conditions: Conditions
    unchecked: tuple[str, ...]
    """What its files do not say of themselves: ``settings``, ``rows``."""
    incomplete: tuple[str, ...]
    """Those of ``files`` that rollouts are missing in."""
    failed: str
    """The first failure, of a system that has no other outcome; else empty."""
    grading_version: int
    """Of the rules that graded."""

    def accuracy(self, dataset: str | None = None, domain: str | None = None) -> Accuracy | None:
        """In all, of a set, or of a domain; None where all of it failed."""
        return accuracy(
            [
                right
                for id_, right in self.right.items()
                if dataset in (None, self.datasets[id_]) and domain in (None, self.domains[id_])
            ]
        )

    @property
    def correct(self) -> dict[str, float]:
        """Share of right of each problem of ``right``, open ones not right."""
        return {id_: one.right for id_, one in self.right.items()}

    @property
    def mix_accuracy(self) -> Accuracy | None:
        """Of the mix; None where it was not evaluated."""
        return accuracy(list(self.mix.values()))

    @property
    def balanced_accuracy(self) -> Accuracy | None:
        """Mean accuracy of the sets, however many problems each has; None where all failed."""
        sets: dict[str, list[Right]] = defaultdict(list)
        for id_, right in self.right.items():
            sets[self.datasets[id_]].append(right)
        return balanced_accuracy(sets.values())

    @property
    def mean_tokens(self) -> float:
        return fmean(self.tokens.values()) if self.tokens else 0.0

    @property
    def mean_cost(self) -> float | None:
        """In written tokens; None: not every file says it."""
        known = self.costs.keys() == self.tokens.keys()
        return fmean(self.costs.values()) if self.costs and known else None

    @property
    def seed_deviation(self) -> float | None:
        """Of the accuracy over seeds; None with one seed."""
        return pstdev(self.seed_accuracies) if len(self.seed_accuracies) > 1 else None

    @property
    def right_per_1000_tokens(self) -> float | None:
        whole = self.accuracy()
        return 1000 * whole.value / self.mean_tokens if whole and self.mean_tokens else None


# ---------------------------------------------------------------------------------------- reading
def read_systems(paths: Sequence[Path]) -> list[SystemResults]:
    """In the order of the first file of each.

    Results are seeds of one system where everything but the seed is equal, problems included.

    Raises:
        DataError: a file is missing, no whole evaluation, or given twice; or two have rows of one
            id that are not the same problem.
    """
    names = _names(paths)
    found = [(name, read_full(path)) for name, path in zip(names, paths, strict=True)]
    _require_one_version(found, paths)
    parts: dict[str, list[tuple[str, FullResults]]] = defaultdict(list)
    for name, results in found:
        parts[all_but_seed(results) or f"alone: {name}"].append((name, results))
    systems: list[SystemResults] = []
    for part in parts.values():
        if len({results.seed for _, results in part}) < len(part):  # not told apart by seeds
            systems += [_system(name, [(name, results)]) for name, results in part]
        else:
            policy = part[0][1].policy
            taken = {*names, *(c.name for c in systems)}
            one_name = len(part) == 1 or policy in taken
            systems.append(_system(part[0][0] if one_name else policy, part))
    _check_rows(systems)
    places = dict(zip(names, paths, strict=True))
    return [
        one if one.right else replace(one, failed=_first_failure(places[one.files[0]]))
        for one in systems
    ]


def _first_failure(path: Path) -> str:
    try:
        groups = EvaluationRecord.read(path).groups()
    except DataError as error:
        return f"not known ({error})"
    failures = (rollout.failure for group in groups for rollout in group.rollouts)
    return next((one.message for one in failures if one is not None), "not noted")


def read_trainings(name: str, paths: Sequence[Path]) -> tuple[SystemResults, list[SystemResults]]:
    """Evaluations of what several seeds of one training gave: their mean, in which each training weighs the
    same, and each of them.

    ``read_systems`` cannot tell that: the adapters differ, and their names.

    Raises:
        DataError: fewer than two; one is missing, no whole evaluation or given twice; or two have not
            the same conditions, budget, number of draws and problems, or have one adapter.
    """
    names = _names(paths)
    if len(names) < 2:
        raise DataError(
            f"{len(names)} evaluation given; wanted two or more, one for each seed of the training"
        )
    found = [(one, read_full(path)) for one, path in zip(names, paths, strict=True)]
    _require_one_version(found, paths)
    alike = {
        one: {
            **conditions_of(results),
            "budget": results.budget,
            "draws": results.draws,
            "samples": results.samples,
            "problems": len(results.problems),
        }
        for one, results in found
    }
    apart = differing(alike)
    if apart:
        raise DataError(f"{apart[0]}; seeds of one training are evaluated alike")
    adapters: dict[str, str] = {}
    for one, results in found:
        adapter = results.facts.get("adapter") or f"none: {one}"
        if other := adapters.get(adapter):
            raise DataError(
                f"{other} and {one}: the same adapter; give the evaluation of each seed once"
            )
        adapters[adapter] = one
    each = [_system(one, [(one, results)]) for one, results in found]
    _check_rows(each)
    return _system(name, found), each


def _names(paths: Sequence[Path]) -> list[str]:
    """``NAME`` of NAME_results.json or NAME/HASH; where that is not enough, with its folder."""
    runs = [run_folder(path) for path in paths]
    for place, times in Counter(run.resolve() for run in runs).items():
        if times > 1:
            raise DataError(f"{place}: given {times} times; name each evaluation once")
    files = [path.name.endswith(RESULTS_SUFFIX) for path in paths]
    forms = (
        [
            heading(path) if file else run.resolve().parent.name
            for path, run, file in zip(paths, runs, files, strict=True)
        ],
        [
            f"{path.resolve().parent.name}/{heading(path)}"
            if file
            else "/".join(run.resolve().parts[-2:])
            for path, run, file in zip(paths, runs, files, strict=True)
        ],
        [str(path) for path in paths],
    )
    names = list(forms[0])
    for form in forms[1:]:
        shared = Counter(names)
        names = [
            longer if shared[name] > 1 else name for name, longer in zip(names, form, strict=True)
        ]
    return names


def _system(name: str, found: Sequence[tuple[str, FullResults]]) -> SystemResults:
    runs = [results for _, results in found]
    right: dict[str, list[Right]] = defaultdict(list)
    left: Counter[str] = Counter()
    verdicts: dict[str, list[bool | None]] = defaultdict(list)
    tokens: dict[str, list[float]] = defaultdict(list)
    spent: dict[str, list[float]] = defaultdict(list)
    read = [row for results in runs for row in results.problems]
    of_sets, rows = _of_sets(read), _of_sets(read) or read
    for row in rows:
        outcomes = _runs(row)
        if (of_row := right_of(outcomes)) is not None:
            right[row.id].append(of_row)
            verdicts[row.id] += outcomes
            left[row.dataset] += outcomes.count(None)
        if row.tokens:
            tokens[row.id].append(fmean(row.tokens))
        if row.cost:
            spent[row.id].append(fmean(row.cost))
    mix: dict[str, list[bool | None]] = defaultdict(list)
    for row in read:
        if of_sets and MIXED in row.sets:
            mix[row.id] += _runs(row)
    costs = [results.overall["cost_usd"] for results in runs]
    means = {
        name: fmean(results.overall[name] or 0.0 for results in runs)
        for name in ("policy_tokens", "calls")
    }
    not_timed = [_not_timed(results) for results in runs]
    told = [count for count in not_timed if count is not None]
    seconds = [s for results in runs if (s := results.overall["seconds"]) is not None]
    said = len(told) == len(runs)
    known = [cost for cost in costs if cost is not None]
    unchecked = {
        "settings": not all(results.config and results.facts for results in runs),
        "rows": any(row.content is None for row in rows),
    }
    return SystemResults(
        name=name,
        files=tuple(name for name, _ in found),
        policy=runs[0].policy,
        model=runs[0].model,
        executor=runs[0].executor,
        checkpoint=runs[0].checkpoint,
        sampled=bool(runs[0].config.get("evaluation", {}).get("temperature")),
        seeds=tuple(results.seed for results in runs),
        seed_accuracies=tuple(
            one.value for results in runs if (one := _accuracy_of(results)) is not None
        ),
        datasets={row.id: row.dataset for row in rows},
        domains={row.id: row.domain for row in rows},
        contents={row.id: row.content for row in rows if row.content is not None},
        right={
            id_: Right(fmean(one.right for one in seeds), fmean(one.open for one in seeds))
            for id_, seeds in right.items()
        },
        verdicts={id_: tuple(values) for id_, values in verdicts.items()},
        mix={id_: of_mix for id_, each in mix.items() if (of_mix := right_of(each)) is not None},
        open={name: count for name, count in left.most_common() if count},
        tokens={id_: fmean(values) for id_, values in tokens.items()},
        costs={id_: fmean(values) for id_, values in spent.items()},
        policy_tokens=means["policy_tokens"],
        calls=means["calls"],
        seconds=fmean(seconds) if said and seconds else None,
        not_timed=sum(told) if said else None,
        cost_usd=fmean(known) if len(known) == len(costs) else None,
        conditions=conditions_of(runs[0]),
        unchecked=tuple(what for what, missing in unchecked.items() if missing),
        incomplete=tuple(name for name, results in found if not results.complete),
        failed="",
        grading_version=runs[0].grading_version,
    )


def _of_sets(rows: Sequence[ProblemRow]) -> list[ProblemRow]:
    """The mix is drawn from the sets: beside them it counts in nothing but its own row."""
    return [row for row in rows if row.sets != (MIXED,)]


def _not_timed(results: FullResults) -> int | None:
    """None: kept replies may have answered, and the file does not say whom."""
    mode = results.config.get("calls", {}).get("mode", "off")
    count = results.overall.get("not_timed", 0.0 if mode == "off" else None)
    return None if count is None else int(count)


def _accuracy_of(results: FullResults) -> Accuracy | None:
    rows = _of_sets(results.problems) or results.problems
    return accuracy([one for row in rows if (one := right_of(_runs(row))) is not None])


def _runs(row: ProblemRow) -> list[bool | None]:
    """Right, wrong or open (None) of each run that did not fail: a failed one has no rule."""
    rules = row.rule or ("not said",) * len(row.correct)
    return [one for one, rule in zip(row.correct, rules, strict=True) if one is not None or rule]


def _require_one_version(found: Sequence[tuple[str, FullResults]], paths: Sequence[Path]) -> None:
    """
    Raises:
        DataError: verdicts of different grading rules; says what grades the older ones again.
    """
    newest, latest = max(((r.grading_version, name) for name, r in found), default=(1, ""))
    for (name, results), path in zip(found, paths, strict=True):
        if results.grading_version < newest:
            kept = any((run_folder(path) / name).is_file() for name in (RUNS, *OLDER))
            again = f"llm-as-judge grade {path}" if kept else "it holds no answers: evaluate again"
            raise DataError(
                f"{name} was graded by the rules of version {results.grading_version}, {latest} by those of "
                f"version {newest}: no difference of theirs is one of programs. Grade {name} again: {again}"
            )


def _check_rows(systems: Sequence[SystemResults]) -> None:
    seen: dict[str, tuple[str, str]] = {}
    for system in systems:
        for id_, content in system.contents.items():
            other, first = seen.setdefault(id_, (content, system.name))
            if other != content:
                raise DataError(
                    f"{first} and {system.name}: {id_} is not the same problem in both (question "
                    "or gold answers differ); evaluate both on the same rows"
                )


# ---------------------------------------------------------------------------------------- remarks
def reservations(systems: Sequence[SystemResults]) -> list[str]:
    """What to know before the figures are read: a line for each thing that is not as it should be."""
    lines = [
        f"not the same conditions: {phrase}"
        for phrase in differing({c.name: c.conditions for c in systems})
    ]
    older = [one.name for one in systems if one.grading_version != GRADING_VERSION]
    if older:
        lines.append(older_verdicts(", ".join(older), systems[0].grading_version))
    open_ = [file for c in systems for file in c.incomplete]
    if open_:
        lines.append(f"not complete, rollouts are missing: {', '.join(open_)}")
    for what in ("settings", "rows"):
        silent = [c.name for c in systems if what in c.unchecked]
        if silent and len(systems) > 1:
            lines.append(
                f"cannot be checked: whether the {what} are the same (not said in the older "
                f"results of {', '.join(silent)}; evaluate again)"
            )
    return lines

"""Records of an evaluation, written as it goes so that nothing paid for is lost.

The folder is named by a hash of everything that decides the figures (:mod:`.layout`). The same command again finds its folder and
runs only what is missing or failed by our fault; another configuration gets a folder of its own.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

import llm_as_judge
from llm_as_judge.assembly import judge_fingerprint, library_facts, versions
from llm_as_judge.config import Config, config_files
from llm_as_judge.data.selection import EvaluatedSet
from llm_as_judge.errors import DataError
from llm_as_judge.evaluation.conditions import answer_settings
from llm_as_judge.evaluation.layout import ISOLATION, LEDGER, PLAN, full_file, run_folder
from llm_as_judge.evaluation.systems import EvaluatedSystem
from llm_as_judge.files import output_errors, read_json, write_text
from llm_as_judge.grading.version import GRADING_VERSION
from llm_as_judge.jsonl import JsonLines
from llm_as_judge.llm.billing import Attempt
from llm_as_judge.llm.ledger import Ledger
from llm_as_judge.llm.recorded import model_identity
from llm_as_judge.operators import operator_facts
from llm_as_judge.plugins import plugin_facts
from llm_as_judge.refused import place_and_reason
from llm_as_judge.runs.judges import judges_of
from llm_as_judge.runs.record import OLDER, RunKey, RunRecord
from llm_as_judge.runs.table import RUNS, RunTable
from llm_as_judge.types import Budget, Group, IsolationReport, Problem, Rollout, from_json, to_json

_DECIDES = ("policy", "sampling", "executor", "judge", "workflow", "experience", "evaluation")
_CODE = (
    "data",
    "grading",
    "judge",
    "llm",
    "operators",
    "policy",
    "sandbox",
    "workflow",
    "rollout",
    "workers",
)


@dataclass(frozen=True, slots=True)
class PlannedSet:
    """One set of a plan; its problems are in the rollouts."""

    name: str
    ids: tuple[str, ...]
    rows: int
    sample: str
    seen_in_training: int | None


@dataclass(frozen=True, slots=True)
class Plan:
    """What an evaluation is of."""

    name: str
    policy: str
    """``untrained``, a checkpoint folder, the name of a baseline, or a program file."""
    checkpoint: str | None
    judges: tuple[Mapping[str, Any], ...]
    """That rewarded the checkpoint in training."""
    samples: int
    seed: int
    hash: str
    sets: tuple[PlannedSet, ...]
    versions: Mapping[str, str]
    facts: Mapping[str, str] = field(default_factory=dict)
    """Hashes of what settings do not say: ``adapter`` or ``programs``, ``executor`` (weights),
    ``judge`` (model and rules), ``code``, each ``plugin``; none in plans of before they were kept."""
    budget: Budget | None = None
    """That the policy is told for every problem; None: none."""
    grading_version: int = 1
    """Of the rules that grade, see ``grading/version.py``."""

    @property
    def ids(self) -> tuple[str, ...]:
        """Of all sets, each problem once."""
        return tuple(dict.fromkeys(id_ for planned in self.sets for id_ in planned.ids))


def make_plan(
    config: Config, name: str, system: EvaluatedSystem, sets: Sequence[EvaluatedSet]
) -> Plan:
    """
    Raises:
        UserError: a file of the system is missing, or there is no such executor or judge.
    """
    digest = hashlib.sha256()
    tree = config.model_dump(mode="json")
    decisive = {section: tree[section] for section in _DECIDES}
    if config.executors:
        decisive["executors"] = tree["executors"]
    if answers := answer_settings(tree):
        decisive["answers"] = answers
    budget = config.reward.prompt_budget if system.is_prompted else None
    if budget is not None:
        decisive["budget"] = budget
    decisive["policy"].pop("device")
    decisive["executor"].pop("start_timeout_s")
    for chooses_rows in ("limit_per_set", "sets", "split"):  # the rows themselves are in the hash
        decisive["evaluation"].pop(chooses_rows)
    facts = {
        **system.identity(),
        "executor": model_identity(config.executor.model),
        **{f"executor {name}": model_identity(one.model) for name, one in config.executors.items()},
        "judge": judge_fingerprint(config),
        "code": code_digest(),
        **library_facts(config),
        **{f"plugin {name}": digest for name, digest in plugin_facts().items()},
        **{f"operator {name}": digest for name, digest in operator_facts().items()},
    }
    digest.update(json.dumps([decisive, config.training.seed, facts], sort_keys=True).encode())
    for chosen in sets:
        digest.update(f"\0{chosen.name}\0".encode())
        for problem in chosen.problems:
            digest.update(json.dumps(to_json(problem), sort_keys=True).encode())
    return Plan(
        name,
        system.label,
        str(system.adapter) if system.adapter else None,
        tuple(judges_of(system.adapter)) if system.adapter else (),
        config.evaluation.samples,
        config.training.seed,
        digest.hexdigest()[:12],
        tuple(
            PlannedSet(
                s.name, tuple(p.id for p in s.problems), s.rows, s.sample, s.seen_in_training
            )
            for s in sets
        ),
        versions(),
        facts,
        budget,
        GRADING_VERSION,
    )


def code_digest() -> str:
    """Of the code and the prompts that decide what a rollout is: a changed grader or operator
    must not find the figures of the old one."""
    package = Path(llm_as_judge.__file__).parent
    files = [path for part in _CODE for path in sorted((package / part).rglob("*.py"))]
    files += config_files("prompts") + config_files("operator_descriptions")
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


class EvaluationRecord:
    """The folder of one evaluation: its plan, its table of runs, its bill."""

    def __init__(self, folder: Path, plan: Plan, config: Config, table: RunTable) -> None:
        self.folder = folder
        self.plan = plan
        self.config = config
        self.table = table
        self._problems: dict[str, Problem] = dict(table.problems)

    @classmethod
    def begin(
        cls,
        folder: Path,
        plan: Plan,
        config: Config,
        problems: Iterable[Problem],
        *,
        fresh: bool = False,
    ) -> EvaluationRecord:
        """The record under ``folder``, with what an interrupted run of this plan has finished.

        Args:
            fresh: what is there is put aside under another name, not used.
        Raises:
            DataError: the folder holds something that cannot be read.
            OutputError: it cannot be written.
        """
        with output_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
        for name in (RUNS, *OLDER, LEDGER, ISOLATION) if fresh else ():
            put_aside(folder / name)
        record = cls.there(folder, plan, config, problems)
        record.table.take_over()
        content = {**to_json(plan), "config": config.model_dump(mode="json")}
        write_text(folder / PLAN, json.dumps(content, indent=1) + "\n")
        return record

    @classmethod
    def there(
        cls, folder: Path, plan: Plan, config: Config, problems: Iterable[Problem]
    ) -> EvaluationRecord:
        """What is under ``folder`` of this plan, which may be nothing; writes nothing.

        Raises:
            DataError: the folder holds something that cannot be read.
        """
        record = cls(folder, plan, config, RunTable(folder))
        record._problems |= {problem.id: problem for problem in problems}
        record.isolations()  # torn files are told of before anything is started
        record.ledger()
        return record

    @classmethod
    def read(cls, path: Path) -> EvaluationRecord:
        """A record from its folder, or from the results file that names it.

        Raises:
            DataError: it is not there, or not whole.
        """
        folder = run_folder(path)
        try:
            content = read_json(folder / PLAN)
            given = content.pop("config", None) if isinstance(content, dict) else None
            plan, config = from_json(Plan, content), Config.model_validate(given)
        except FileNotFoundError:
            raise DataError(
                f"{folder}: no {PLAN}; wanted a folder results/evaluation/NAME/HASH"
                f"{' (this one holds figures alone, which are for compare)' * full_file(folder).is_file()}"
            ) from None
        except (OSError, ValueError, TypeError) as error:
            raise DataError(
                f"{folder / PLAN}: not a plan of evaluate: {_reason(error)}; run its evaluate or "
                "grade again: it writes this file anew and keeps the rollouts"
            ) from None
        if not any((folder / name).is_file() for name in (RUNS, *OLDER)):
            raise DataError(
                f"{folder / RUNS}: no such file: no rollout has ended here; run its evaluate"
            )
        return cls(folder, plan, config, RunTable(folder))

    def key(self, problem_id: str, index: int) -> RunKey:
        return RunKey(self.plan.policy, problem_id, index)

    def record_of(self, rollout: Rollout) -> RunRecord:
        """What the table keeps of a rollout; its problem is in the table then.

        Raises:
            OutputError: the folder cannot be written.
        """
        self.table.add_problem(self._problems[rollout.problem_id])
        return RunRecord.of(self.plan.policy, rollout, self.plan.grading_version)

    def add(self, rollout: Rollout) -> None:
        """Keep a finished rollout.

        Raises:
            OutputError: the disk is full, or the folder cannot be written.
        """
        self.table.add(self.record_of(rollout))

    def rollout(self, problem_id: str, index: int) -> Rollout | None:
        """The one here of this problem and number, if it has ended."""
        found = self.table.runs.get(self.key(problem_id, index))
        return found.rollout if found else None

    def saw(self, isolation: IsolationReport) -> None:
        """Keep what holds in the sandbox; one that went on elsewhere may have run in two kinds.

        Raises:
            DataError: what is kept cannot be read.
            OutputError: the folder cannot be written.
        """
        if isolation not in self.isolations():
            JsonLines(self.folder / ISOLATION).append(to_json(isolation))

    def isolations(self) -> list[IsolationReport]:
        """Of all the sandboxes that programs of this evaluation ran in.

        Raises:
            DataError: what is kept cannot be read.
        """
        path = self.folder / ISOLATION
        try:
            rows = JsonLines(path).rows(missing_ok=True)
            return [from_json(IsolationReport, row) for row in rows]
        except DataError as error:  # says the line
            raise DataError(f"{error}; remove this file, it is written anew") from None
        except (KeyError, TypeError) as error:
            raise DataError(
                f"{path}: not a report of evaluate: {error}; remove it, it is written anew"
            ) from None

    def bill(self, attempts: Iterable[Attempt]) -> None:
        """Add requests to the bill of this evaluation.

        Raises:
            DataError: the bill on disk is none.
            OutputError: it cannot be written.
        """
        ledger = self.ledger()
        for attempt in attempts:
            ledger.book(attempt)
        kept = {key: ledger.snapshot()[key] for key in ("total", "by_attempt", "failures")}
        path = self.folder / LEDGER
        write_text(path, json.dumps(kept, indent=1, sort_keys=True) + "\n")

    def ledger(self) -> Ledger:
        """What this evaluation has used so far: its sums, not by role.

        Raises:
            DataError: the bill on disk is none.
        """
        path, ledger = self.folder / LEDGER, Ledger()
        if path.is_file():
            try:
                ledger.restore(read_json(path))
            except (OSError, ValueError, TypeError) as error:
                raise DataError(f"{path}: not a bill of evaluate: {error}; remove it") from None
        return ledger

    def missing(self) -> dict[RunKey, tuple[Problem, int]]:
        """Problem and number of each rollout that is not there, or failed by our fault."""
        return {
            key: (self._problems[key.problem], key.draw)
            for key in self._unfinished()
            if key.problem in self._problems  # a regrade of an interrupted evaluation lacks some
        }

    @property
    def complete(self) -> bool:
        """Whether every rollout of the plan is there."""
        return not self._unfinished()

    def _unfinished(self) -> list[RunKey]:
        keys = (self.key(id_, n) for id_ in self.plan.ids for n in range(self.plan.samples))
        return [key for key in keys if not self.table.holds(key)]

    def groups(self) -> list[Group]:
        """Every problem once, in the order of the plan."""
        return [self._group(id_) for id_ in self.plan.ids if id_ in self._problems]

    def groups_by_set(self) -> dict[str, list[Group]]:
        """Of each set in order its problems with the rollouts that are there."""
        return {
            planned.name: [self._group(id_) for id_ in planned.ids if id_ in self._problems]
            for planned in self.plan.sets
        }

    def _group(self, id_: str) -> Group:
        found = (self.rollout(id_, index) for index in range(self.plan.samples))
        return Group(self._problems[id_], tuple(r for r in found if r is not None))


def _reason(error: Exception) -> str:
    if isinstance(error, ValidationError):
        place, reason = place_and_reason(error)
        return f"{'.'.join(filter(None, ('config', place)))}: {reason}"
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON: {error}"
    return str(error)


def put_aside(path: Path) -> Path:
    """Give a file, if it is there, the first free name ``STEM.oldN.SUFFIX``, which is returned.

    Raises:
        OutputError: the folder cannot be written.
    """
    number = 1
    while (other := path.with_name(f"{path.stem}.old{number}{path.suffix}")).exists():
        number += 1
    if path.is_file():
        with output_errors(other):
            path.replace(other)
    return other

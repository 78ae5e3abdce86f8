"""One data set: upstream files -> unified lines -> train, validation and test files.

Rows are unified into a temporary file while only offsets and group keys stay in memory; then each
line is copied to its side of the split.
"""

from __future__ import annotations

import os
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from llm_as_judge.data.catalog import Dataset, how_rows_look
from llm_as_judge.data.duplicates import Grouping, question_text
from llm_as_judge.data.files import encode_problem
from llm_as_judge.data.mix import named_rng
from llm_as_judge.data.remarks import RowRemarks
from llm_as_judge.data.rows import RawRow, RowError
from llm_as_judge.data.split import GroupedSplit, size_of_test, split_rows
from llm_as_judge.errors import DataError
from llm_as_judge.plugins import error_line
from llm_as_judge.told import told_once
from llm_as_judge.types import Domain, Problem
from llm_as_judge.types.plain import omit_default

Progress = Callable[[str, int, int | None], None]
"""``progress(what, done, total)``; ``total`` is None while it is unknown."""
TestCheck = Callable[[Sequence[Problem]], Sequence[str]]
"""Of each code problem what is wrong with its tests; empty where nothing is."""
_REFUSALS_KEPT = 1000
"""Bad rows after which reading stops, too, where they are not left out."""
_BAD_TOLD = 10


def silent(what: str, done: int, total: int | None) -> None:
    """No progress display."""


def untried(problems: Sequence[Problem]) -> Sequence[str]:
    """No test is tried."""
    return [""] * len(problems)


@dataclass(frozen=True, slots=True)
class Refusal:
    """One upstream row that was left out."""

    where: str
    """``file:line``"""
    reason: str


@dataclass(frozen=True, slots=True)
class SetReport:
    """What became of one data set."""

    dataset: str
    domain: Domain
    files: tuple[str, ...]
    """Upstream files that were read."""
    rows: int
    """Unified rows (after a limit)."""
    train: int
    val: int
    test: int
    test_wanted: int
    """What the 5:1 rule asks for. ``test`` is less where no whole group fits the rest; more where, of
    one's own rows, none fits at all and the smallest is held out."""
    groups: int
    """Groups of rows with a common passage or nearly the same question."""
    largest_group: int
    moved: int
    """Rows that the groups put on another side than a row-by-row split."""
    refused: int = 0
    refusals: tuple[Refusal, ...] = ()
    """The first 1,000 of them."""
    plugin: str = ""
    """Module that must be loaded wherever these rows are read; empty for none."""
    by_question: bool = False
    """Own rows of one passage or two, of which none could be held out: nearly equal questions alone
    are kept on one side."""
    remarks: tuple[str, ...] = omit_default(())
    """Lines on own rows that were taken: solutions read as answers, copies, contradictions."""
    unused: tuple[str, ...] = omit_default(())
    """Columns of own rows that nothing reads."""

    def left_out(self) -> list[str]:
        """A line for each kind of refusal."""
        told = told_once((one.where, one.reason) for one in self.refusals)
        if more := self.refused - len(self.refusals):
            told.append(f"and {more} more rows, not listed")
        return told


@dataclass(frozen=True, slots=True)
class SetPlan:
    """What a worker needs to process one set."""

    dataset: Dataset
    files: tuple[Path, ...]
    work: Path
    seed: int
    val_fraction: float
    limit: int | None
    skip_bad: bool
    check_tests: TestCheck


class BadRowsError(DataError):
    """Rows that are not left out: each kind with its place and reason."""

    def __init__(self, refusals: Sequence[Refusal]) -> None:
        self.refusals = tuple(refusals)
        told = told_once((one.where, one.reason) for one in refusals)
        if len(told) == 1:
            those = "it" if len(refusals) == 1 else "them"
            super().__init__(f"{told[0]}. Mend {those} or pass --skip-bad")
            return
        is_all = len(told) <= _BAD_TOLD and len(refusals) < _REFUSALS_KEPT
        more = "" if is_all else "; there may be more"
        super().__init__(
            "\n".join([*told[:_BAD_TOLD], f"mend these rows or pass --skip-bad{more}"])
        )

    def __reduce__(self) -> tuple[type[BadRowsError], tuple[tuple[Refusal, ...]]]:
        """Comes back whole from another process."""
        return BadRowsError, (self.refusals,)


class NoRowsError(DataError):
    """A set without a row that can be used."""

    def __init__(
        self, file: Path, dataset: Dataset, refusals: Sequence[Refusal], refused: int
    ) -> None:
        self.refusals, self.refused = tuple(refusals), refused
        self._made_of = file, dataset, self.refusals, refused
        if refusals:
            first = refusals[0]
            super().__init__(
                f"{file}: no usable row of {dataset.name} in it (left out {first.where}: {first.reason})"
            )
            return
        do = f"; {how_rows_look(file)}" if dataset.own else ""
        super().__init__(f"{file}: no usable row of {dataset.name} in it{do}")

    def __reduce__(
        self,
    ) -> tuple[type[NoRowsError], tuple[Path, Dataset, tuple[Refusal, ...], int]]:
        """Comes back whole from another process."""
        return NoRowsError, self._made_of


class Lines:
    """Lines of a file by number; only what is asked for is in memory."""

    def __init__(self, path: Path, offsets: Sequence[int]) -> None:
        self._stream, self._offsets = path.open("rb"), offsets

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def __getitem__(self, number: int) -> bytes:
        start, end = self._offsets[number], self._offsets[number + 1]
        return os.pread(self._stream.fileno(), end - start, start)


def process_set(plan: SetPlan, progress: Progress) -> SetReport:
    """Unify and split one set inside the work folder."""
    unsplit = plan.work / "unsplit" / f"{plan.dataset.name}.jsonl"
    unified = _unify(plan, unsplit, progress)
    kept, groups = _limited(unified.grouping.groups(), plan)
    if plan.dataset.train_only:
        split = GroupedSplit(train=range(len(groups)), val=(), test=(), moved=0)
    else:
        split = _split(plan, groups, beside=2 if plan.dataset.own else 0)
    by_question = False
    if not split.test and plan.dataset.own and len(groups) > 1:
        of_passages = groups
        kept, groups = _limited(unified.questions.groups(), plan)
        split = _split(plan, groups, beside=1)
        by_question = list(groups) != list(of_passages)
    name = plan.dataset.name
    sides = {
        f"processed/{name}_train.jsonl": split.train,
        f"processed/{name}_val.jsonl": split.val,
        f"test/{name}_test.jsonl": split.test,
    }
    with Lines(unsplit, unified.offsets) as lines:
        for file, rows in sides.items():
            with (plan.work / file).open("wb", buffering=1 << 20) as stream:
                stream.writelines(lines[kept[row]] for row in rows)
    unsplit.unlink()
    sizes = Counter(groups)
    return SetReport(
        dataset=name,
        domain=plan.dataset.domain,
        files=tuple(str(file) for file in plan.files),
        rows=len(groups),
        train=len(split.train),
        val=len(split.val),
        test=len(split.test),
        test_wanted=0 if plan.dataset.train_only else size_of_test(len(groups)),
        groups=len(sizes),
        largest_group=max(sizes.values()),
        moved=split.moved,
        refused=unified.refused,
        refusals=tuple(unified.refusals),
        plugin=plan.dataset.plugin,
        by_question=by_question,
        remarks=unified.remarks.lines(),
        unused=unified.remarks.unused,
    )


def _split(plan: SetPlan, groups: Sequence[int], beside: int) -> GroupedSplit:
    rng = named_rng(plan.seed, plan.dataset.name, "split")
    return split_rows(groups, plan.val_fraction, rng, whole_beside=beside)


@dataclass(slots=True)
class _Unified:
    offsets: array[int] = field(default_factory=lambda: array("Q", [0]))
    grouping: Grouping = field(default_factory=Grouping)
    questions: Grouping = field(default_factory=Grouping)
    """The same without passages; filled for own rows."""
    refusals: list[Refusal] = field(default_factory=list)
    refused: int = 0
    remarks: RowRemarks = field(default_factory=RowRemarks)
    """On own rows."""

    def refuse(self, where: str, reason: str) -> None:
        self.refused += 1
        if len(self.refusals) < _REFUSALS_KEPT:
            self.refusals.append(Refusal(where, reason))


def _unify(plan: SetPlan, target: Path, progress: Progress) -> _Unified:
    """Upstream rows -> one unified line each."""
    found = _Unified()
    with target.open("wb", buffering=1 << 20) as stream:
        name = plan.dataset.name
        for rows, (_, problem, line) in enumerate(_tried(plan, found), start=1):
            stream.write(line)
            found.offsets.append(found.offsets[-1] + len(line))
            found.grouping.add(problem)
            if plan.dataset.own:
                found.questions.add_texts(question_text(problem), ())
            if rows % 2048 == 0:
                progress(f"{name}: rows", rows, None)
        rows = len(found.offsets) - 1
        progress(f"{name}: rows", rows, rows)
    if len(found.offsets) == 1:
        raise NoRowsError(plan.files[0], plan.dataset, found.refusals, found.refused)
    return found


_Placed = tuple[str, Problem, bytes]
"""A problem with the place of its row before it, and its line behind it."""


def _problems(plan: SetPlan, found: _Unified) -> Iterator[_Placed]:
    seen: set[str] = set()
    rows = plan.dataset.rows(plan.files)
    while True:
        try:
            row = next(rows)
        except StopIteration:
            break
        except DataError as error:
            if not plan.skip_bad:
                raise
            place, _, reason = str(error).partition(": ")
            found.refuse(place, reason)
            break
        try:
            problem = _converted(plan.dataset, row, seen)
            line = encode_problem(problem)
        except RowError as error:
            found.refuse(row.where, str(error))
            if not plan.skip_bad and found.refused == _REFUSALS_KEPT:
                break
            continue
        seen.add(problem.id)
        if plan.dataset.own:
            found.remarks.add(row, problem)
        yield row.where, problem, line


def _tried(plan: SetPlan, found: _Unified) -> Iterator[_Placed]:
    """The problems that are left; of code those whose tests were tried and found without fault.

    Raises:
        BadRowsError: a row is bad, and bad rows are not left out.
    """
    placed = _problems(plan, found)
    if plan.dataset.domain != "code":
        yield from placed
        _require_no_bad_row(plan, found)
        return
    every = list(placed)  # small sets: all tests are tried at once
    if not plan.dataset.own:
        _require_no_bad_row(plan, found)
    faults = plan.check_tests([problem for _, problem, _ in every])
    tried = list(zip(every, faults, strict=True))
    for (where, _, _), fault in tried:
        if fault:
            found.refuse(where, fault)
    if plan.dataset.own:
        _require_no_bad_row(plan, found)
    yield from (one for one, fault in tried if not fault)


def _require_no_bad_row(plan: SetPlan, found: _Unified) -> None:
    if found.refusals and not plan.skip_bad:
        raise BadRowsError(found.refusals)


def _converted(dataset: Dataset, row: RawRow, seen: set[str]) -> Problem:
    if row.fault:
        raise RowError(row.fault)
    try:
        problem = dataset.convert(row, dataset.split)
    except RowError:
        raise
    except Exception as error:
        raise DataError(f"data set {dataset.name!r}: {row.where}: {error_line(error)}") from error
    if not isinstance(problem, Problem):
        raise DataError(f"data set {dataset.name!r}: {row.where}: {problem!r} is no Problem")
    if (problem.dataset, problem.domain) != (dataset.name, dataset.domain):
        raise DataError(
            f"data set {dataset.name!r}: {row.where}: a problem of {problem.dataset!r} in "
            f"{problem.domain}, wanted {dataset.name!r} in {dataset.domain}"
        )
    if problem.id in seen:
        raise RowError(f"duplicated id {problem.id!r}")
    return problem


def _limited(groups: array[int], plan: SetPlan) -> tuple[Sequence[int], Sequence[int]]:
    """(rows kept, their groups): all, or ``limit`` rows drawn at random."""
    if plan.limit is None or plan.limit >= len(groups):
        return range(len(groups)), groups
    rng = named_rng(plan.seed, plan.dataset.name, "limit")
    kept = sorted(rng.sample(range(len(groups)), plan.limit))
    return kept, [groups[row] for row in kept]

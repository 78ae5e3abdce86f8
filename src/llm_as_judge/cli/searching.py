"""search: the best fixed program, over a bank of what programs do on problems."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from statistics import fmean

from llm_as_judge.assembly import open_workbench, program_options
from llm_as_judge.assembly.executor_settings import estimate_of, limits_of, operator_settings
from llm_as_judge.cli.asking import Asked
from llm_as_judge.cli.stopping import stoppable
from llm_as_judge.config import Config, known_model
from llm_as_judge.data.selection import problem_file
from llm_as_judge.errors import ConfigError, DataError, ModelError
from llm_as_judge.evaluation.program_runs import (
    BankRunner,
    all_runs,
    conditions,
    key_of,
    program_runner,
)
from llm_as_judge.evaluation.search.audit import Advice, Vectors, advice, audit_of_search
from llm_as_judge.evaluation.search.choices import SearchResult
from llm_as_judge.evaluation.search.halving import HalvingRound
from llm_as_judge.evaluation.search.programs import Programs, given, shipped, together
from llm_as_judge.evaluation.search.run import (
    LEAST_ROWS,
    Rows,
    SearchOptions,
    check_options,
    enough,
    expected_runs,
    too_few,
    usual_draws,
    write_found,
)
from llm_as_judge.evaluation.search.run import search as fill_and_choose
from llm_as_judge.files import output_errors
from llm_as_judge.llm.ledger import Ledger
from llm_as_judge.llm.weights import installed
from llm_as_judge.runs.record import RunKey, RunRecord
from llm_as_judge.runs.table import Bank, require_conditions
from llm_as_judge.types import DOMAINS, Domain, Problem
from llm_as_judge.views.console import note, say
from llm_as_judge.views.found import show_found
from llm_as_judge.views.live import several
from llm_as_judge.views.progress import Progress


def search(
    asked: Asked,
    *,
    out: Path,
    bank: Path,
    rows: int,
    split: str,
    draws: int | None,
    count: int,
    programs: Path | None,
) -> None:
    settings = asked.settings()
    temperature = operator_settings(settings).temperature
    options = SearchOptions(count, draws or usual_draws(temperature), settings.training.seed)
    check_options(options, temperature)
    problems = _rows(settings, split, rows, bank)
    few, problems = too_few(problems), enough(problems)
    if not problems:
        do = "raise --rows, or take" if rows < LEAST_ROWS else "take"
        other = " --split train, or add rows" if split == "val" else " more rows"
        raise DataError(
            f"{few} of {split}, wanted {LEAST_ROWS} or more of a type to choose a program on; {do}{other}"
        )
    if few:
        note(f"left out: {few} of {split}, wanted {LEAST_ROWS} or more of a type")
    taking = _programs(settings, options, problems, programs)
    say_estimate(settings, problems, taking, options, bank)
    run_search(settings, out, bank, problems, taking, options)


def _programs(
    settings: Config,
    options: SearchOptions,
    problems: Rows,
    folder: Path | None,
) -> Programs:
    """Those of ``folder``, and those that are shipped."""
    known = program_options(settings)
    own = given(folder, known, DOMAINS) if folder is not None else {}
    taking = together(own, shipped(known, tuple(problems)) if options.count else {})
    if without := [domain for domain in problems if not taking.get(domain)]:
        raise ConfigError(
            f"--count 0: --programs has no program of {', '.join(without)}; add one, or give --count 1 for the shipped "
            "ones"
        )
    return taking


def _rows(settings: Config, split: str, rows: int, bank: Path) -> Rows:
    """Of each domain those that the bank knows, then the first of the others, in the order of the mix;
    says where there are fewer."""

    if split not in ("val", "train"):
        raise ConfigError(f"--split {split!r}: wanted val or train; nothing is chosen on test rows")
    path = settings.data.val_file if split == "val" else settings.data.train_file
    file = problem_file(path)
    problems: dict[Domain, list[Problem]] = {}
    in_bank = Bank(bank).problems
    known: set[str] = set()
    for of_bank in (True, False):
        for problem in file:
            chosen = problems.setdefault(problem.domain, [])
            wanted = problem.id not in known and (problem.id in in_bank) is of_bank
            if wanted and len(chosen) < rows:
                known.add(problem.id)
                chosen.append(problem)
            if len(known) == rows * len(set(file.domains)):
                break
    for domain, chosen in problems.items():
        if len(chosen) < rows:
            note(f"{domain}: {several(len(chosen), 'row')}, not {rows}: {path} has no more")
    return problems


# --------------------------------------------------------------------------- the run of a search
def run_search(
    settings: Config,
    out: Path,
    folder: Path,
    problems: Rows,
    programs: Programs,
    options: SearchOptions,
) -> tuple[Advice, bool]:
    """(What to do with these rows, whether any run was right); shows, and writes to ``out``, what was
    found. The bank is in ``folder``."""
    with output_errors(out):  # before anything is spent
        out.mkdir(parents=True, exist_ok=True)
    vectors = vectors_of(settings, [row for rows in problems.values() for row in rows])
    with Bank.writing(folder, conditions(settings)) as bank:
        found = _filled(settings, bank, folder, problems, programs, options)
        room = audit_of_search(found, bank, options.draws, vectors)
        reach = (
            audit_of_search(found, bank, options.draws, vectors, open_right=True)
            if found.not_graded
            else None
        )
        told = advice(found, room, bank, options.draws, settings.reward.one_budget)
        write_found(found, out, settings.reward.one_budget, room)
        any_right = any(cell.right for cell in bank.runs.values())
    say(f"{told.answer}: {told.gain}", "bold")
    for line in filter(None, [told.reason, *(room.lines()[:-1] if room is not None else [])]):
        say(line)
    show_found(found, None if settings.reward.draws_budgets else settings.reward.one_budget)
    if room is not None and reach is not None:
        say(room.if_open_right(reach, "each domain"))
    say(f"programs and report.json in {out}")
    return told, any_right


def _filled(
    settings: Config,
    bank: Bank,
    folder: Path,
    problems: Rows,
    programs: Programs,
    options: SearchOptions,
) -> SearchResult:
    """The choices of a search, which fills ``bank``; a line now and then tells how far it is."""
    # of every part, before the first is filled
    known = _cached_runs(bank, problems, programs, options)
    view = Progress()
    view.part("fixed programs", expected_runs(problems, programs, options), "runs", len(known))

    def counted(cell: RunRecord, now: bool) -> None:
        """Repetitions ask again for what an earlier one ran."""
        if cell.key not in known:
            known.add(cell.key)
            (view.did if now else view.found)()

    async def job() -> SearchResult:
        async with open_workbench(settings) as bench:
            at_once = settings.workflow.concurrency
            runner = BankRunner(bank, program_runner(bench, bank), at_once, counted)
            return await fill_and_choose(
                runner, problems, programs, program_options(settings), options, _show_round
            )

    kept = f"finished runs are kept in {folder}: the same command goes on"
    with stoppable(kept) as work, view, view.at_work():
        return work.run(job())


def _cached_runs(
    bank: Bank, problems: Rows, programs: Programs, options: SearchOptions
) -> set[RunKey]:
    """Runs of these programs that the bank holds and no choice can leave out; where halving chooses, only
    its course tells which are wanted."""
    if options.halving:
        return set()
    return {
        key_of(*run)
        for domain, rows in problems.items()
        for run in all_runs(programs[domain], rows, options.draws)
        if bank.holds(key_of(*run))
    }


def vectors_of(settings: Config, problems: Iterable[Problem]) -> Vectors | None:
    """Embeddings of the problems' texts, before anything is spent. A sentence model (``experience.embedder``)
    that is not here stops nothing, but is told of."""
    unmeasured = "what the text of a problem says is not measured: "
    name = settings.experience.embedder
    weights = installed(known_model(name, "experience.embedder"), settings.output.cache_dir())
    if weights is None:
        note(f"{unmeasured}its sentence model is not here (llm-as-judge models pull {name})")
        return None
    from llm_as_judge.policy.embed import SentenceEmbedder  # torch

    rows = list(problems)
    try:
        texts = SentenceEmbedder(weights, name).embed([problem.question for problem in rows])
    except ModelError as error:
        note(f"{unmeasured}{error}")
        return None
    return {problem.id: vector for problem, vector in zip(rows, texts, strict=True)}


def say_estimate(
    settings: Config, problems: Rows, programs: Programs, options: SearchOptions, folder: Path
) -> None:
    """What the missing runs will ask of the executor; nothing where none is missing.

    Raises:
        DataError: the bank was filled by other conditions.
    """
    require_conditions(folder, conditions(settings))
    kept = len(_cached_runs(Bank(folder), problems, programs, options))
    runs = expected_runs(problems, programs, options) - kept
    if kept:
        note(f"{kept} runs are kept in {folder} and are not made again")
    if not runs:
        return
    rows = [row for found in problems.values() for row in found]
    limits = program_options(settings)
    calls = fmean(
        limits.parse(one.text, one.domain).expected_calls
        for domain in problems
        for one in programs[domain]
    )
    estimate = estimate_of(settings, runs, rows, None, calls_a_run=round(calls, 1))
    for line in estimate.lines_within(limits_of(settings), Ledger().total):
        note(line)
    if options.halving:
        note("runs that are kept are not made again")


def _show_round(domain: Domain, halving_round: HalvingRound) -> None:
    note(
        f"{domain}: {several(halving_round.programs, 'program')} on {several(halving_round.problems, 'problem')}"
        + (f" at {halving_round.draws} draws" if halving_round.draws > 1 else "")
    )

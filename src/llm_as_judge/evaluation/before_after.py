"""Before and after a training run: its own evaluations, found beside it, and what they say in a sentence.

The sentence is over the problems that both have answered, paired, so that a difference is never one of
rows: right before and after, the difference with its interval, p, n, and what a problem costs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from statistics import fmean

from llm_as_judge.dollars import in_dollars
from llm_as_judge.errors import DataError
from llm_as_judge.evaluation.compare import Comparison, compare
from llm_as_judge.evaluation.layout import read_full, read_results, rows_lie_beside, run_folder
from llm_as_judge.evaluation.system_results import SystemResults, read_systems
from llm_as_judge.files import read_json
from llm_as_judge.runs.results import Results
from llm_as_judge.runs.rundir import read_run

BEFORE, AFTER = "before", "after"
LEVEL = 0.01
"""A difference with a smaller p is called shown."""
FEWEST = next(n for n in count(1) if 2 * 0.5**n < LEVEL)
"""Problems, of fewer than which p is never so small: not even if only one of two is right on all of them."""


def too_few(pair: Comparison) -> bool:
    """Whether no verdicts at all on so many problems could show a difference."""
    return pair.problems < FEWEST


def few_words(problems: int) -> str:
    return f"{problems} problems can never show a difference, {FEWEST} or more can"


def is_shown(pair: Comparison) -> bool:
    """Whether the two differ beyond chance, whatever the open answers are."""
    return pair.p_most < LEVEL


def is_better(pair: Comparison) -> bool:
    """Whether the first is shown to be better than what it is compared with."""
    return pair.difference > 0 and is_shown(pair)


# ----------------------------------------------------------------------------------- the sentence
def verdict(before: Path, after: Path, names: tuple[str, str] = (BEFORE, AFTER)) -> str:
    """What two evaluations say of each other, in one line.

    Args:
        before, after: results files.
        names: what the two are called; ``before`` and ``after`` speak of training.
    """
    try:
        if bare := [path for path in (before, after) if not rows_lie_beside(path)]:
            folders = " and ".join(str(run_folder(path)) for path in bare)
            return (
                f"Figures alone: the rows of {' and '.join(map(str, bare))} are not here, so the two are not tested "
                f"against each other. Nothing has to be done; for the test copy {folders} here as well."
            )
        systems = read_systems([before, after])
        if len(systems) < 2:
            return "No verdict: the two are seeds of one evaluation."
        first, second = systems
        return sentence(first, second, names)
    except DataError as error:
        return f"No verdict: {error}"


def sentence(
    first: SystemResults, second: SystemResults, names: tuple[str, str] = (BEFORE, AFTER)
) -> str:
    """As :func:`verdict`, of evaluations that are read.

    Raises:
        DataError: they have no answered problem in common, or rows of one id are not the same problem.
    """
    pair = compare([second, first], first)[0]
    common = first.right.keys() & second.right.keys()
    after_, before_ = (sum(one.right[id_].right for id_ in common) for one in (second, first))
    failed = len(first.right.keys() | second.right.keys()) - len(common)
    counts = (
        f"{_right(before_, pair)} right {_when(names[0])}, {_right(after_, pair)} {_when(names[1])}"
    )
    parts = [
        f"{_head(pair, names)}: {counts}; {pair.figures}.",
        f"{failed} more failed outside of their programs in one of the two." if failed else "",
        _cost(first, second, names),
        _do(pair, names, second.checkpoint),
    ]
    return " ".join(filter(None, parts))


def sentences(systems: Sequence[SystemResults]) -> list[str]:
    """What `compare` says first: the trained policy against the untrained one, then against the most
    accurate of the fixed programs. Empty where there is no trained one.

    After is the policy of the most steps, before the untrained one, neither of them sampled; where that
    names none or several, a line says why no sentence comes, and what gives one. The fixed program is
    the best on the rows that it is compared on, which flatters it.
    """
    trained = [one for one in systems if one.checkpoint]
    untrained = [one for one in systems if one.policy == "untrained"]
    if not trained:
        return []
    last = _last([one for one in trained if not one.sampled])
    if len(last) != 1:
        do = "with --set evaluation.temperature=0"
        return [_no_sentence(last, trained, "the last of training", do)]
    after, found = last[0], []
    start = [one for one in untrained if _same_model(one, after)]
    before = [one for one in start if not one.sampled]
    if len(before) == 1 and before[0].right.keys() & after.right.keys():
        choice = len(trained) > 1 or len(untrained) > 1
        which = f" Before: {before[0].name}, after: {after.name}." if choice else ""
        found.append(sentence(before[0], after) + which)
    elif start and len(before) != 1:
        do = "--untrained --set evaluation.temperature=0 gives the one before"
        found.append(_no_sentence(before, start, "the policy before", do))
    fixed = [one for one in systems if one not in trained + untrained and one.right]
    if fixed:
        best = max(fixed, key=lambda one: fmean(right.right for right in one.right.values()))
        if best.right.keys() & after.right.keys():
            found.append(sentence(best, after, (best.name, after.name)))
    return found


def _last(trained: Sequence[SystemResults]) -> list[SystemResults]:
    """Those of the most steps; all where one of several does not say its step."""
    named = [re.fullmatch(r"step_(\d+)", Path(one.checkpoint or "").name) for one in trained]
    steps = [int(found[1]) for found in named if found]
    if len(trained) < 2 or len(steps) < len(trained):
        return list(trained)
    return [one for one, step in zip(trained, steps, strict=True) if step == max(steps)]


def _same_model(one: SystemResults, other: SystemResults) -> bool:
    return not (one.model and other.model) or one.model == other.model


def _no_sentence(
    found: Sequence[SystemResults], of: Sequence[SystemResults], what: str, do: str
) -> str:
    """Why none of ``of``, or not one alone, is what is wanted, and what to do."""
    names = ", ".join(one.name for one in found or of)
    alike = f" may each be {what}; give compare one of them"
    why = alike if found else f": sampled programs; evaluate {do}"
    return f"No sentence on what training changed: {names}{why}"


def _head(pair: Comparison, names: tuple[str, str]) -> str:
    training = names == (BEFORE, AFTER)
    if not is_shown(pair):
        return "Training made no difference that is shown" if training else "No difference is shown"
    if pair.difference > 0:
        return "Training helped" if training else f"{names[1]} is better than {names[0]}"
    return "Training did harm" if training else f"{names[1]} is worse than {names[0]}"


def _do(pair: Comparison, names: tuple[str, str], checkpoint: str | None) -> str:
    """What follows for a person who trains; of two named systems each can see it."""
    if names != (BEFORE, AFTER):
        return f"{few_words(pair.problems).capitalize()}." if too_few(pair) else ""
    if not is_shown(pair):
        few = f": {few_words(pair.problems)}" if too_few(pair) else ""
        return f"Take more test rows{few}; or more steps."
    if pair.difference > 0:
        return f"Use it: llm-as-judge serve --policy {checkpoint}." if checkpoint else ""
    return "Lower training.learning_rate, or evaluate an earlier step with --checkpoint."


def _when(name: str) -> str:
    return name if name in (BEFORE, AFTER) else f"with {name}"


def _right(right: float, pair: Comparison) -> str:
    """
    Args:
        right: sum over the problems that both have answered.
    """
    if pair.only_other is None:  # shares of several samples
        return f"{right / pair.problems:.0%}"
    return f"{right:.0f} of {pair.problems}"


def _cost(first: SystemResults, second: SystemResults, names: tuple[str, str]) -> str:
    """What a problem costs the executor; empty where the files do not say it."""
    costs = first.mean_cost, second.mean_cost
    if costs[0] is None or costs[1] is None:
        return ""
    dollars = [one.cost_usd for one in (first, second)]
    paid = [f" ({in_dollars(usd, 2)})" if usd else "" for usd in dollars]
    return (
        f"A problem costs {costs[0]:,.0f} written tokens{paid[0]} {_when(names[0])}, "
        f"{costs[1]:,.0f}{paid[1]} {_when(names[1])}."
    )


# ------------------------------------------------------------------------------- which they are
def _kind(path: Path, results: Results) -> tuple[object, ...]:
    """What must be equal for a comparison."""
    try:
        temperature = read_full(path).config.get("evaluation", {}).get("temperature")
    except DataError:  # without rows there is no verdict, which says so
        temperature = None
    return results.model, results.split, results.samples, results.draws, temperature


def evaluations_of(run_dir: Path) -> dict[str, Path]:
    """``before`` and ``after`` of a run among the evaluations beside it; empty if one is missing.

    After: the results of its latest checkpoint. Before: those of the same untrained policy on the same
    split with as many samples.

    Raises:
        DataError: no run there.
    """
    run = read_run(run_dir)
    output = run.config.get("output")
    named = output.get("results") if isinstance(output, dict) else None
    folder = _placed(Path(named if isinstance(named, str) else "results"), run_dir)
    if folder is None:
        return {}
    found = dict(_read(folder / "evaluation"))
    steps = {path: _step_of(results, run_dir) for path, results in found.items()}
    after = max(steps, key=steps.__getitem__, default=None)
    if after is None or not steps[after]:
        return {}
    kind = _kind(after, found[after])
    untrained = (path for path, results in found.items() if results.policy == "untrained")
    before = next((path for path in untrained if _kind(path, found[path]) == kind), None)
    return {BEFORE: before, AFTER: after} if before else {}


def pair_of(results: Mapping[str, Path]) -> tuple[tuple[str, str], tuple[str, str]] | None:
    """(headings of the two that a verdict is over, what it calls them): of an untrained policy and a
    checkpoint, where there is one of each, else of two in their order; None for others."""
    read = {name: read_results(path) for name, path in results.items()}
    trained = [name for name, one in read.items() if one.checkpoint]
    untrained = [name for name, one in read.items() if one.policy == "untrained"]
    if len(trained) == len(untrained) == 1:
        return (untrained[0], trained[0]), (BEFORE, AFTER)
    if len(results) == 2:
        first, second = results
        return (first, second), (first, second)
    return None


def pair_verdict(results: Mapping[str, Path]) -> str:
    """The verdict over the pair of these results; empty where there is none."""
    if (pair := pair_of(results)) is None:
        return ""
    (first, second), names = pair
    return verdict(results[first], results[second], names)


def _read(folder: Path) -> Iterator[tuple[Path, Results]]:
    for path in sorted(folder.glob("*_results.json")):
        try:
            yield path, read_results(path)
        except DataError:  # a foreign or half-written file is no evaluation of this run
            continue


def _step_of(results: Results, run_dir: Path) -> int:
    """Of the checkpoint, if it is the run's; else 0."""
    checkpoint = Path(results.checkpoint or "")
    root = _placed(checkpoint.parent, run_dir) if results.checkpoint else None
    if root is None:
        return 0
    aside = root.glob(f"earlier_*/{checkpoint.name}")  # since a later run began
    for folder in (root / checkpoint.name, *aside):
        try:
            state = read_json(folder / "state.json")
            if Path(state["run_dir"]).name == run_dir.resolve().name:
                return int(state["step"])
        except (OSError, ValueError, KeyError, TypeError):  # an exported adapter, of no known run
            continue
    return 0


def _placed(path: Path, run_dir: Path) -> Path | None:
    """``path`` as the run knew it: from here, or from the folder that holds the run's logs."""
    above = run_dir.resolve().parent.parent
    parts = path.parts
    tails = (above.joinpath(*parts[start:]) for start in range(len(parts)))
    return next((place for place in (path, *tails) if place.is_dir()), None)

"""Training examples for a judge: people's labels, and answers whose label is known because we made them.

A row with a label is an example as it is. A question with its reference alone is enough for free
examples: each writer below makes answers that are surely wrong (another question's gold, one number
or date further, one word of the gold with a word of another, the gold denied, hedged or among others,
named beside another answer, a part of it, every family of the audit's attacks and of families.yaml) or surely right
(the gold restated, another accepted spelling). A mistake of a judge is answered by a family here, never by a
pattern in the rules.
"""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources

import yaml
from pydantic import BaseModel, ConfigDict

from llm_as_judge.audit.attacks import CATEGORIES, Case
from llm_as_judge.audit.seeds import Seed
from llm_as_judge.grading.number import parse_number
from llm_as_judge.grading.squad import normalize_answer
from llm_as_judge.grading.wordlists import MONTHS, tokens
from llm_as_judge.training.judge.changes import changed_golds, crossed_golds, restated_math
from llm_as_judge.types import Problem

_FEW = 3
"""Wrong golds that a question is shown with."""


class Families(BaseModel):
    """families.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    wrong: dict[str, tuple[str, ...]]
    right: dict[str, tuple[str, ...]]
    other_word: tuple[tuple[str, ...], ...]


@functools.cache
def families() -> Families:
    """Wordings of made replies, by family."""
    file = resources.files("llm_as_judge.training.judge") / "families.yaml"
    return Families.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))


@dataclass(frozen=True, slots=True)
class Question:
    """A question with what is known of its answers."""

    problem: Problem
    right: tuple[str, ...] = ()
    """Replies that were labeled right."""
    wrong: tuple[str, ...] = ()
    """Replies that were labeled wrong, and golds of other questions."""
    near: tuple[str, ...] = ()
    """The gold with one word from the gold of another question."""


def questions_of(cases: Sequence[Case], rng: random.Random) -> list[Question]:
    """One question for each different one, with golds of others as wrong answers."""
    groups: dict[str, list[Case]] = {}
    for case in cases:
        if case.problem.domain != "code" and not case.problem.options:
            groups.setdefault(case.problem.question, []).append(case)
    problems = [_single_golds(group[0].problem) for group in groups.values()]
    found = []
    for problem, group in zip(problems, groups.values(), strict=True):
        others = _others(problem, problems, rng)
        near = _near(problem, problems, rng)
        replies = {label: _replies(group, label) for label in (True, False)}
        found.append(Question(problem, replies[True], (*replies[False], *others), near))
    return found


def _single_golds(problem: Problem) -> Problem:
    """Without the text that only lists its other accepted answers between slashes."""
    golds = problem.answers
    known = {gold.strip() for gold in golds}
    single = [g for g in golds if "/" not in g or {part.strip() for part in g.split("/")} - known]
    return replace(problem, answers=tuple(single))


def _replies(group: Sequence[Case], label: bool) -> tuple[str, ...]:
    texts = (case.candidate for case in group if case.correct is label and case.candidate.strip())
    return tuple(dict.fromkeys(texts))


def _others(problem: Problem, problems: Sequence[Problem], rng: random.Random) -> tuple[str, ...]:
    """Golds of other questions that are no gold here; of the same kind where chance finds one."""
    if len(problems) < 2:
        return ()
    own = {normalize_answer(gold) for gold in problem.answers}
    kind = _kind(problem)
    drawn = [rng.choice(problems) for _ in range(60)]
    drawn = [p for p in drawn if p.domain == problem.domain and p.answers]
    drawn.sort(key=lambda p: _kind(p) != kind)
    golds = (rng.choice(p.answers[:3]) for p in drawn)
    apart = [gold for gold in golds if not _overlap(normalize_answer(gold), own)]
    return tuple(dict.fromkeys(apart))[:_FEW]


def _near(problem: Problem, problems: Sequence[Problem], rng: random.Random) -> tuple[str, ...]:
    """The gold crossed with those of other questions, of the same kind where chance finds them."""
    if problem.domain != "qa" or not problem.answers:
        return ()
    own = {normalize_answer(gold) for gold in problem.answers}
    drawn = [rng.choice(problems) for _ in range(120)]
    drawn = [p for p in drawn if p.domain == "qa" and p.answers]
    drawn.sort(key=lambda p: _kind(p) != _kind(problem))
    golds = [p.answers[0] for p in drawn]
    crossed = [text for gold in golds for text in crossed_golds(problem.answers[0], gold)]
    apart = [text for text in crossed if normalize_answer(text) not in own]
    return tuple(dict.fromkeys(apart))[:_FEW]


def _overlap(gold: str, own: set[str]) -> bool:
    return not gold or any(gold in one or one in gold for one in own)


def _kind(problem: Problem) -> str:
    gold = problem.answers[0] if problem.answers else ""
    first = (problem.question.split() or [""])[0].casefold()
    return f"{first if problem.domain == 'qa' else ''} {any(c.isdigit() for c in gold)}"


# ------------------------------------------------------------------------------------- free labels
Writer = Callable[[Question, random.Random], Sequence[str]]


def _as_seed(question: Question) -> Seed | None:
    """The question as the audit's attacks are written for it; None where they cannot be."""
    problem = question.problem
    gold = problem.answers[0] if problem.answers else ""
    wrong = tuple(dict.fromkeys((*changed_golds(problem, gold), *question.wrong)))
    wrong = tuple(text for text in wrong if len(text) <= 80)
    if not wrong:
        return None
    kind = "span" if problem.answers else "unanswerable"
    if normalize_answer(gold) in {"yes", "no"}:
        kind = "yes_no"
    elif problem.domain == "math":
        number = parse_number(gold)
        whole = number is not None and gold.lstrip("-").isdecimal()
        kind = "number" if whole else "math"
    return Seed(replace(problem, answers=(gold,) if gold else ()), kind, wrong)


def _attack(question: Question, rng: random.Random) -> Sequence[str]:
    """One answer of each of three families of attack."""
    seed = _as_seed(question)
    if seed is None:
        return ()
    names = rng.sample(sorted(CATEGORIES), 6)
    written = [CATEGORIES[name](seed, rng) for name in names]
    return [rng.choice(texts) for texts in written if texts][:3]


def _other_gold(question: Question, rng: random.Random) -> Sequence[str]:
    """A right reply with a wrong answer in the gold's place; else the wrong answer alone."""
    problem = question.problem
    golds = sorted(problem.answers, key=len, reverse=True)
    changed = changed_golds(problem, golds[0] if golds else "")
    pool = [*changed, *(text for text in question.wrong if len(text) <= 60)]
    if not pool:
        return ()
    found = [rng.choice(pool)]
    for reply in question.right[:2]:
        gold = next((gold for gold in golds if gold and gold in reply), None)
        if gold is not None:
            found.append(reply.replace(gold, rng.choice(pool)))
    return found


def _near_miss(question: Question, rng: random.Random) -> Sequence[str]:
    """A wrong answer that keeps words of the gold, alone."""
    gold = question.problem.answers[0] if question.problem.answers else ""
    near = [*question.near, *changed_golds(question.problem, gold)]
    return (rng.choice(near),) if near else ()


def _near_reply(question: Question, rng: random.Random) -> Sequence[str]:
    """The same in a right reply, in the place of the gold; else in a sentence of its own."""
    golds = sorted(question.problem.answers, key=len, reverse=True)
    near = [*question.near, *changed_golds(question.problem, golds[0] if golds else "")]
    if not near or question.problem.domain == "math":
        return ()
    for reply in question.right[:3]:
        gold = next((gold for gold in golds if gold and gold in reply), None)
        if gold is not None:
            return (reply.replace(gold, rng.choice(near)),)
    return (f"It is {rng.choice(near)}.",)


def _denied(question: Question, rng: random.Random) -> Sequence[str]:
    """A right reply with its verb denied."""
    for reply in question.right[:3]:
        for verb in (" is ", " was ", " are ", " were "):
            if verb in reply:
                return [reply.replace(verb, f"{verb}not ", 1)]
    return ()


def _joined(question: Question, rng: random.Random) -> Sequence[str]:
    """A right reply that names another answer beside the gold."""
    golds = sorted(question.problem.answers, key=len, reverse=True)
    short = [text for text in question.wrong if len(text) <= 40]
    for reply in question.right[:3]:
        gold = next((gold for gold in golds if gold and gold in reply), None)
        if gold is not None and short:
            joint = rng.choice([" or ", ", ", " or possibly ", ", or else ", " and "])
            parts = [gold, rng.choice(short)]
            rng.shuffle(parts)
            return [reply.replace(gold, joint.join(parts), 1)]
    return ()


def _filled(templates: Sequence[str]) -> Writer:
    """Writes a reply by one template of a family of families.yaml; none where the question has no text for it."""

    def write(question: Question, rng: random.Random) -> Sequence[str]:
        golds = [gold for gold in question.problem.answers if "/" not in gold and len(gold) <= 60]
        short = [text for text in question.wrong if len(text) <= 40]
        if question.problem.domain != "qa" or not golds:
            return ()
        said = [reply.rstrip(" .") for reply in question.right if len(reply) <= 200]
        fits = [one for one in templates if said or "{said}" not in one]
        fits = [one for one in fits if len(short) >= ("{other}" in one) + ("{third}" in one)]
        if not fits:
            return ()
        texts = dict(zip(("other", "third"), rng.sample(short, len(short)), strict=False))
        return [rng.choice(fits).format(gold=golds[0], said=rng.choice(said or [""]), **texts)]

    return write


def _other_word(question: Question, rng: random.Random) -> Sequence[str]:
    """A right reply that answers another question: one of its words, which the question has too, is another."""
    asked = question.problem.question.casefold()
    for reply in question.right[:4]:
        for words in families().other_word:
            for word in words:
                pattern = rf"\b{word}\b"
                if re.search(pattern, asked) and re.search(pattern, reply):
                    other = rng.choice([one for one in words if one != word])
                    return [re.sub(pattern, other, reply, count=1)]
    return ()


_MONTH = "|".join(sorted(MONTHS))
_DATE = re.compile(
    rf"\b(?:\d{{1,2}}(?:st|nd|rd|th)? (?P<one>{_MONTH})|(?P<two>{_MONTH}) \d{{1,2}}(?:st|nd|rd|th)?),? (?P<year>\d{{4}})",
    re.IGNORECASE,
)


def _less_exact(question: Question, rng: random.Random) -> Sequence[str]:
    """A right reply with less of the date than each reference has."""
    if not question.problem.answers or not all(map(_DATE.search, question.problem.answers)):
        return ()

    def coarser(date: re.Match[str]) -> str:
        month, year = date["one"] or date["two"], date["year"]
        decade = int(year) // 10 * 10
        return rng.choice([f"{month} {year}", year, f"the {decade}s", f"the month of {month}"])

    replies = (question.problem.answers[0], *question.right[:4])
    return [_DATE.sub(coarser, reply) for reply in replies if _DATE.search(reply)][:2]


def _part(question: Question, rng: random.Random) -> Sequence[str]:
    """One of the things that every gold names together."""
    golds = question.problem.answers
    joined = golds and all(" and " in gold and "/" not in gold for gold in golds)
    if question.problem.domain != "qa" or not joined:
        return ()
    parts = [part.strip() for part in re.split(r",\s| and ", golds[0]) if part.strip()]
    return [rng.choice(parts)]


def _restated(question: Question, rng: random.Random) -> Sequence[str]:
    problem = question.problem
    if not problem.answers:
        return (rng.choice(["unanswerable", "The passage does not say.", "No answer is given."]),)
    return restated_math(problem.answers[0]) if problem.domain == "math" else ()


def _alias(question: Question, rng: random.Random) -> Sequence[str]:
    """Another accepted spelling; the example then shows the first gold alone."""
    golds = question.problem.answers
    plain = [gold for gold in golds[1:] if "(" not in gold and "/" not in gold]
    first = set(tokens(golds[0])) if golds else set()
    near = [gold for gold in plain if first & set(tokens(gold))]
    return (rng.choice(near),) if near else ()


WRITERS: Mapping[str, tuple[bool, Writer]] = {
    "other gold": (False, _other_gold),
    "near miss": (False, _near_miss),
    "near miss in a reply": (False, _near_reply),
    "verb denied": (False, _denied),
    "joined": (False, _joined),
    "other word": (False, _other_word),
    "less exact": (False, _less_exact),
    "part": (False, _part),
    "attack": (False, _attack),
    "restated": (True, _restated),
    "alias": (True, _alias),
    **{name: (False, _filled(texts)) for name, texts in families().wrong.items()},
    **{name: (True, _filled(texts)) for name, texts in families().right.items()},
}
"""Family -> label, and who writes its answers."""


def free_examples(questions: Sequence[Question], rng: random.Random) -> list[Case]:
    """Answers to these questions whose label is known by how they were made; ``category``: family."""
    found: list[Case] = []
    for question in questions:
        known = {normalize_answer(gold) for gold in question.problem.answers}
        for family, (label, write) in WRITERS.items():
            problem = question.problem
            if family == "alias":
                problem = replace(problem, answers=problem.answers[:1])
            for text in write(question, rng):
                if label is False and normalize_answer(text) in known:
                    continue
                found.append(Case(problem, text, label, "made", family))
    return found

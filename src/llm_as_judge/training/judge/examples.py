"""Training examples for a judge: people's labels, and answers whose label is known because we made them.

A row with a label is an example as it is. A question with its reference alone is enough for free
examples: each writer below makes answers that are surely wrong (another question's gold, one number
or date further, one word of the gold with a word of another, another option of its multiple choice, the gold denied,
hedged or among others, named beside another answer, in another role, a part of it, every family of the audit's attacks
and of families.yaml) or surely right (the gold in another notation, another accepted spelling). A mistake of a judge is answered by a family here, never by a
pattern in the rules.
"""

from __future__ import annotations

import functools
import random
import re
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import resources

import yaml
from pydantic import BaseModel, ConfigDict

from llm_as_judge.audit.attacks import CATEGORIES, Case
from llm_as_judge.audit.seeds import Seed
from llm_as_judge.grading.number import parse_number
from llm_as_judge.grading.squad import normalize_answer
from llm_as_judge.grading.wordlists import MONTHS, tokens
from llm_as_judge.training.judge.changes import changed_golds
from llm_as_judge.training.judge.notation import restated, restated_math
from llm_as_judge.training.judge.questions import Question
from llm_as_judge.training.judge.roles import turned_round


class Families(BaseModel):
    """families.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    wrong: dict[str, tuple[str, ...]]
    right: dict[str, tuple[str, ...]]
    partly: tuple[str, ...]
    other_word: tuple[tuple[str, ...], ...]


@functools.cache
def families() -> Families:
    """Wordings of made replies, by family."""
    file = resources.files("llm_as_judge.training.judge") / "families.yaml"
    return Families.model_validate(yaml.safe_load(file.read_text(encoding="utf-8")))


# ------------------------------------------------------------------------------------- free labels
Writer = Callable[[Question, random.Random], Sequence[str]]


def _as_seed(question: Question) -> Seed | None:
    """The question as the audit's attacks are written for it; None where they cannot be."""
    problem, gold = question.problem, question.gold
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
    changed = changed_golds(question.problem, next(iter(question.longest_first), ""))
    pool = [*changed, *(text for text in question.wrong if len(text) <= 60)]
    if not pool:
        return ()
    replies = (reply.replace(gold, rng.choice(pool)) for reply, gold in question.holding(2))
    return [rng.choice(pool), *replies]


def _near_miss(question: Question, rng: random.Random) -> Sequence[str]:
    """A wrong answer that keeps words of the gold, alone."""
    near = [*question.near, *changed_golds(question.problem, question.gold)]
    return (rng.choice(near),) if near else ()


def _near_reply(question: Question, rng: random.Random) -> Sequence[str]:
    """The same in a right reply, in the place of the gold; else in a sentence of its own."""
    changed = changed_golds(question.problem, next(iter(question.longest_first), ""))
    near = [*question.near, *changed]
    if not near or question.problem.domain == "math":
        return ()
    for reply, gold in question.holding(3):
        return (reply.replace(gold, rng.choice(near)),)
    return (f"It is {rng.choice(near)}.",)


def _denied(question: Question, rng: random.Random) -> Sequence[str]:
    """A right reply with its verb denied."""
    for reply in question.right[:3]:
        for verb in (" is ", " was ", " are ", " were "):
            if verb in reply:
                return [reply.replace(verb, f"{verb}not ", 1)]
    return ()


def _option(question: Question, rng: random.Random) -> Sequence[str]:
    """Other options of the multiple choice, alone and in a sentence."""
    drawn = rng.sample(question.options, min(2, len(question.options)))
    frames = ("{}", "It is {}.", "The answer is {}.", "That would be {}.")
    return [rng.choice(frames).format(text) for text in drawn]


def _partly(question: Question, rng: random.Random) -> Sequence[str]:
    """Neither yes nor no, where yes is wanted."""
    return [rng.choice(families().partly)] if normalize_answer(question.gold) == "yes" else ()


def _joined(question: Question, rng: random.Random) -> Sequence[str]:
    """A right reply that names another answer beside the gold."""
    short = [text for text in question.wrong if len(text) <= 40]
    for reply, gold in question.holding(3 if short else 0):
        joint = rng.choice([" or ", ", ", " or possibly ", ", or else ", " and "])
        parts = [gold, rng.choice(short)]
        rng.shuffle(parts)
        return [reply.replace(gold, joint.join(parts), 1)]
    return ()


def _filled(templates: Sequence[str]) -> Writer:
    """Writes a reply by one template of a family of families.yaml; none where the question has no text for it."""

    def write(question: Question, rng: random.Random) -> Sequence[str]:
        golds = [gold for gold in question.problem.answers if "/" not in gold and len(gold) <= 60]
        short = [text for text in question.wrong if len(text) <= 40 and "/" not in text]
        if question.problem.domain != "qa" or not golds:
            return ()
        texts = _kinds(golds[0])
        texts |= dict(zip(("other", "third"), rng.sample(short, len(short)), strict=False))
        if said := [reply.rstrip(" .") for reply in question.right if len(reply) <= 200]:
            texts["said"] = rng.choice(said)
        fits = [one for one in templates if _places(one) <= texts.keys()]
        return (rng.choice(fits).format_map(texts),) if fits else ()

    return write


def _kinds(gold: str) -> dict[str, str]:
    """The reference by the names that it has in families.yaml."""
    if any(map(str.isdigit, gold)):
        return {"gold": gold, "number": gold}
    return {"gold": gold, "name": gold} if gold[:1].isupper() else {"gold": gold}


@functools.cache
def _places(template: str) -> frozenset[str]:
    """Names of what is filled in."""
    return frozenset(name for _, name, _, _ in string.Formatter().parse(template) if name)


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
    gold = problem.answers[0]
    return restated_math(gold) if problem.domain == "math" else restated(gold)


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
    "option": (False, _option),
    "turned round": (False, turned_round),
    "partly": (False, _partly),
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

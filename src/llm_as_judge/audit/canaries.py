"""A hundred answers with known verdicts: graded again and again, they show a judge that changes.

Half of them are answers that the rules leave open (a test says so), right and wrong ones about the
same question: only a language model can decide those. The other half are attacks and controls.
"""

from __future__ import annotations

import hashlib
import json
import random

from llm_as_judge.audit.attacks import Case, make_attacks, make_controls
from llm_as_judge.types import Problem

_OPEN = (
    ("What do bees make?", "honey", "the sweet food in a honeycomb", "a honeycomb of stone"),
    ("Who painted the Mona Lisa?", "Leonardo da Vinci", "Leonardo, from Vinci", "Leonardo Bruni"),
    ("What did the storm break?", "the northern wall", "the wall on the north side", "the north gate"),
    ("When does the shop open?", "at nine in the morning", "9 a.m., in the morning", "nine at night"),
    ("Why did the boat turn back?", "the fog was thick", "because of thick fog", "the ice was thick"),
    ("What is the lamp made of?", "brass", "brass metal, an alloy", "brass-coloured plastic"),
    ("Where do they meet?", "under the old clock", "below the clock, the old one", "at the old gate"),
    ("What does the farmer grow?", "barley and oats", "oats as well as barley", "barley and rye"),
    ("How did she travel?", "by train", "she took a train there", "by a train of camels"),
    ("What was lost?", "the captain's logbook", "the logbook of the captain", "the captain's compass"),
    ("Who keeps the bridge?", "the miller's son", "the son of the miller", "the miller's brother"),
    ("What is the river's source?", "a glacier", "it comes from a glacier", "a lake below a glacier"),
    ("Which animal is on the flag?", "a red deer", "a deer in red", "a red fox"),
    ("What do the pipes carry?", "hot water", "water that is hot", "cold water"),
    ("What made the noise?", "a falling tree", "a tree that fell", "a falling rock"),
    ("What was the prize?", "a silver cup", "a cup of silver", "a silver coin"),
    ("How many came?", "a few dozen people", "some dozens of people", "a few people"),
    ("What does the key open?", "the cellar door", "the door of the cellar", "the cellar window"),
    ("Who found the cave?", "two shepherds", "a pair of shepherds", "two soldiers"),
    ("What covers the roof?", "slate tiles", "tiles made from slate", "clay tiles"),
    ("Why is the road closed?", "a landslide", "land slid onto it: a landslide, earth and stone", "a landslide test"),
    ("What did the letter announce?", "the queen's visit", "a visit by the queen", "the queen's death"),
    ("What do they export?", "dried fish", "fish that is dried", "fresh fish"),
    ("Where is the archive kept?", "in a salt mine", "inside a mine for salt", "in a coal mine"),
    ("What is the island known for?", "its wild ponies", "ponies living wild", "its wild goats"),
)  # fmt: skip
"""Question, gold, another way to say it, something else that shares a word with it."""


def canaries(seed: int = 0, count: int = 100) -> list[Case]:
    """``count`` cases, half of them wrong; half of them need a model (at most 50)."""
    rng = random.Random(seed)
    questions = rng.sample(_OPEN, min(len(_OPEN), count // 4))
    cases = [case for row in questions for case in _pair(*row)]
    left = count - len(cases)
    attacks, controls = make_attacks(seed, 10), make_controls(seed, 10)
    return [*cases, *rng.sample(attacks, left // 2), *rng.sample(controls, left - left // 2)]


def _pair(question: str, gold: str, right: str, wrong: str) -> tuple[Case, Case]:
    problem = Problem(f"canary/open/{gold}", "open", "qa", question, (gold,))
    return (
        Case(problem, right, True, "canary", "open"),
        Case(problem, wrong, False, "canary", "open"),
    )


def case_key(case: Case) -> str:
    """Names a case whatever its place in a list: for verdicts that are kept in a file."""
    line = [case.problem.id, case.problem.question, case.problem.answers, case.candidate]
    return hashlib.sha256(json.dumps(line).encode()).hexdigest()[:16]

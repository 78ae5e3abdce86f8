"""Saying that there is no answer: right for unanswerable problems, wrong for all others."""

from __future__ import annotations

import re

from llm_as_judge.grading.extract import clean

_SOURCE = r"(?:passages?|texts?|contexts?|articles?|paragraphs?|documents?|information|question|it)"
_CANNOT = r"(?:not|n't|n’t|cannot|can not|unable|insufficient|impossible|no)"
_GIVEN = (
    r"(?:given|stated|mentioned|specified|provided|available|known|answered|determined|answerable)"
)
_WHOLE = re.compile(
    r"(?:unanswerable|not answerable|no ?answer|n/?a|unknown|(?:not enough|insufficient) information"
    rf"|not (?:enough )?{_GIVEN}|(?:i )?(?:do not|dont|don't|don’t) know"
    r"|(?:it )?(?:cannot|can't|can not) (?:be )?(?:answered?|determined?|say|tell)"
    r"|there is no answer|no information(?: (?:is )?(?:given|provided|available))?"
    rf"|(?:the |this )?(?:question|answer) (?:is|cannot be) (?:unanswerable|unknown|(?:not )?{_GIVEN})"
    r"|(?:this|the question|it) is (?:unanswerable|not answerable)(?: (?:from|given|based on)[\w ]+)?)",
    re.IGNORECASE,
)
_SENTENCE = re.compile(
    rf"\b{_SOURCE}\s+(?:(?:above|given|provided)\s+)?(?:does|do|did|is|are|has|have)\s*{_CANNOT}\s+"
    r"(?:\w+\s+){0,2}?(?:say|state|mention|specify|provide|contain|give|indicate|include|discuss"
    r"|tell|answer|address|enough|sufficient|answerable|explain|identify|list|name|describe)"
    r"|\b(?:not|n't|n’t|cannot|unable|impossible|insufficient)\b(?:\s+\w+){0,4}\s+"
    r"(?:information|determined?|answered?|answer|mentioned|stated|specified|provided|given|found)\b"
    r"|\bno\s+(?:\w+\s+)?(?:answer|information|mention)\b",
    re.IGNORECASE,
)
_TURN = re.compile(
    r"\b(?:but|however|although|though|or|probably|likely|maybe|perhaps|i think|so)\b|[/;\n]", re.I
)
_PART = re.compile(
    r"\s*[()\[\]:,\u2013\u2014]\s*|\s+-+\s+|[.!?]\s+|\s+(?:because|since|as)\s+", re.I
)
"""Where one sentence may go on to say something else."""
_LEADING_WORDS = """
based on according to from in within the this that these given provided above short only our your a an
passage passages text texts context article paragraph document documents information content question answer
unfortunately sorry i i'm im am afraid we you it there is are was and by of here final alone
explicitly directly specifically anywhere at all not stated mentioned because since as
do does did can could have has had would
"""
_LEADING = frozenset(_LEADING_WORDS.split())
"""What may stand around an abstention and says nothing of the answer."""
_SUBJECT = re.compile(
    r"(?:the|an?|any|this|that|its|his|her|their|what|who|when|where|which|why|how|whether|if)\b",
    re.I,
)
_COPULA = re.compile(r"\b(?:is|are|was|were)\b", re.IGNORECASE)


def is_abstention(answer: str, question: str = "") -> bool:
    """Does ``answer`` say that there is no answer, and nothing else?

    "green (the passage does not say)" gives an answer beside it. So does a name or a number that
    ``question`` has not.
    """
    text = clean(answer).strip(" .!*\"'\n")
    text = re.sub(r"^(?:the\s+)?(?:final\s+)?answer(?:\s+is|\s*:)\s*", "", text, flags=re.I)
    if _WHOLE.fullmatch(text.strip(" .\"'")):
        return True
    words = text.split()
    if len(words) > 40 or _TURN.search(text):
        return False
    if len(re.findall(r"[.!?](?:\s|$)", text)) > 1:
        return False
    asked = {word.strip(".,?!'\"").casefold() for word in question.split()}
    named = [word.strip(".,!'\"()") for word in words[1:] if re.match(r"\W*[A-Z\d]", word)]
    if not all(word == "I" or word.casefold() in asked for word in named):
        return False
    parts = [part for part in _PART.split(text) if part.strip()]
    known = asked | _LEADING
    abstains = [_abstains(part, known) for part in parts]
    return any(abstains) and all(
        said or _says_only(part, known) for part, said in zip(parts, abstains, strict=True)
    )


def _abstains(part: str, known: set[str] | frozenset[str]) -> bool:
    """Does ``part`` say that there is no answer, of a subject that is none itself?"""
    if _WHOLE.fullmatch(part.strip(" .\"'")):
        return True
    found = _SENTENCE.search(part)
    if found is None:
        return False
    before = part[: found.start()].strip()
    described = _SUBJECT.match(before) is not None and len(_COPULA.findall(before)) <= 1
    return described or _says_only(before, known)


def _says_only(text: str, known: set[str] | frozenset[str]) -> bool:
    words = re.findall(r"[\w'\u2019]+", text.casefold())
    return all({word, re.sub(r"['\u2019]s$", "", word)} & known for word in words)

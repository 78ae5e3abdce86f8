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


def is_abstention(answer: str, question: str = "") -> bool:
    """Does ``answer`` say that there is no answer, and nothing else?

    A sentence with a name or a number that ``question`` has not says something else, too.
    """
    text = clean(answer).strip(" .!*\"'\n")
    text = re.sub(r"^(?:the\s+)?(?:final\s+)?answer(?:\s+is|\s*:)\s*", "", text, flags=re.I)
    if _WHOLE.fullmatch(text.strip(" .\"'")):
        return True
    words = text.split()
    if len(words) > 40 or _TURN.search(text) or not _SENTENCE.search(text):
        return False
    if len(re.findall(r"[.!?](?:\s|$)", text)) > 1:
        return False
    asked = {word.strip(".,?!'\"").casefold() for word in question.split()}
    named = [word.strip(".,!'\"") for word in words[1:] if word[0].isupper() or word[0].isdigit()]
    return all(word == "I" or word.casefold() in asked for word in named)

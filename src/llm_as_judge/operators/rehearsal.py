"""Well-formed replies to the shipped operator prompts, without a model: dry runs and tests.

``ScriptedChat(rehearsed_reply)`` is the executor called ``scripted``: every operator gets a reply
in the form that its prompt asks for, decided by a hash of the request (the draw included), so a run
can be repeated byte for byte. The replies are never right on purpose.
"""

from __future__ import annotations

import hashlib
import re

from llm_as_judge.types import ChatRequest

_LETTERS = re.compile(r"^([A-Z]{1,2})(?: \(given \d+ times\))?: ", re.MULTILINE)
_FUNCTION = re.compile(r"function (\w+)(\(\))?")


def rehearsed_reply(request: ChatRequest, name: str = "") -> str:
    """The reply to the last message, by what its instruction asks for.

    Args:
        name: another one gives other replies.
    """
    asked = request.messages[-1].content
    digest = hashlib.sha256(f"{name}{request.draw}\n{asked}".encode("utf-8", "replace")).digest()
    number = int.from_bytes(digest[:4], "big")
    instruction = asked[-600:]
    if "letter only" in instruction:
        letters = _LETTERS.findall(asked) or ["A"]
        return str(letters[number % len(letters)])
    if "Result: True or False" in instruction:
        return f"Result: {number % 2 == 0}\nFeedback: check step {number % 5 + 1}."
    if "```python block" in instruction:
        return _program(instruction, number % 100)
    if "Answer:" in instruction:
        return f"Thought: step {number % 7 + 1}.\nAnswer: {number % 100}"
    return f"Solution: {number % 100}"


def _program(instruction: str, number: int) -> str:
    names = _FUNCTION.findall(instruction)
    name, without_arguments = names[-1] if names else ("solve", "()")
    parameters = "" if without_arguments else "*args"
    return f"```python\ndef {name}({parameters}):\n    return {number}\n```"

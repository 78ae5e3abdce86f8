"""Several executors behind one: each request goes to the executor that it names."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from llm_as_judge.errors import ModelError
from llm_as_judge.quoting import quoted
from llm_as_judge.types import DEFAULT_EXECUTOR, ChatModel, ChatReply, ChatRequest


def among_known(name: str, others: Collection[str]) -> str:
    """A name that no executor has, beside those that there are: for messages.

    Args:
        others: names of those beside the default one.
    """
    return f"{quoted(repr(name), 42)} (known: {', '.join((DEFAULT_EXECUTOR, *sorted(others)))})"


class Executors:
    """ChatModel of all executors of a run; its name is the default one's.

    Args:
        others: by the names that programs call them.
    """

    def __init__(self, default: ChatModel, others: Mapping[str, ChatModel]) -> None:
        self._default = default
        self._others = others

    @property
    def name(self) -> str:
        return self._default.name

    async def chat(self, request: ChatRequest) -> ChatReply:
        """One reply of the executor that the request names.

        Raises:
            ModelError: there is none of that name.
            EndpointError: from the model.
        """
        if not request.executor:
            return await self._default.chat(request)
        model = self._others.get(request.executor)
        if model is None:
            why = among_known(request.executor, self._others)
            raise ModelError(f"there is no executor {why}; name it under executors")
        return await model.chat(replace(request, executor=""))

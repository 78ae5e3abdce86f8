"""The argument ``executor`` as plain Python, for programs that run in AFlow: nothing here needs this
package. The export copies what stands below into the file of a program that names an executor."""

from typing import Any

EXECUTORS: dict[str, Any] = {}
"""Name -> what makes its model."""


def for_several(kind: Any) -> Any:
    """The operator ``kind``, made anew for each executor that a call names."""

    class Chosen:
        def __init__(self, llm: Any, *args: Any, **kwargs: Any) -> None:
            self.made = {"default": kind(llm, *args, **kwargs)}

        async def __call__(self, *args: Any, executor: str = "default", **kwargs: Any) -> Any:
            if executor not in self.made:
                self.made[executor] = kind(EXECUTORS[executor]())
            return await self.made[executor](*args, **kwargs)

    return Chosen


class OperatorsForSeveral:
    """AFlow's module of operators, each for several executors."""

    def __init__(self, module: Any) -> None:
        self.module = module

    def __getattr__(self, name: str) -> Any:
        return for_several(getattr(self.module, name))

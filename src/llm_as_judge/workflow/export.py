"""A finished program as a file for AFlow, where it runs unchanged."""

from __future__ import annotations

from llm_as_judge.errors import UserError
from llm_as_judge.types import Program

__all__ = ["export_program"]

_DATASETS = {
    "gsm8k": "GSM8K",
    "math": "MATH",
    "hotpotqa": "HotpotQA",
    "humaneval": "HumanEval",
    "mbpp": "MBPP",
    "squad2": "SQuAD2",
}


def export_program(program: Program, dataset: str, operators: str | None = None) -> str:
    """Source of an AFlow ``graph.py``: its imports, then the program.

    Args:
        dataset: our name of the set; AFlow spells it ``GSM8K``, ``HumanEval`` ...
        operators: module to import as ``operator``; None = the set's template in AFlow's
            workspace folder.
    Raises:
        UserError: the program cannot run.
    """
    if not program.runnable:
        found = program.diagnostics[0].message if program.diagnostics else "it is empty"
        raise UserError(f"the program cannot be exported: {found}. See: llm-as-judge check FILE")
    name = _DATASETS.get(dataset, dataset)
    module = operators or f"workspace.{name}.workflows.template.operator"
    used = f"{', '.join(program.operators)}; at most {program.worst_case_calls} model calls"
    header = [
        f"# Workflow {program.hash}, written by LLM-as-Judge for AFlow. {used}.",
        f"import {module} as operator" if module != "operator" else "import operator",
        "from scripts.async_llm import create_llm_instance",
    ]
    return "\n".join(header) + "\n\n\n" + _without_future(program.runnable).strip("\n") + "\n"


def _without_future(source: str) -> str:
    """``from __future__`` must come first in a file, and the program does not need it there."""
    lines = source.splitlines()
    return "\n".join(line for line in lines if not line.startswith("from __future__ import"))

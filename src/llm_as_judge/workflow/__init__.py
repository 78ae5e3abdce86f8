"""Workflow programs: from the policy's text to a checked program, and to what its run gave.

``parse_program`` checks, ``run_program`` runs, ``export_program`` writes a file for AFlow.
"""

from llm_as_judge.workflow.export import export_program
from llm_as_judge.workflow.program import ProgramForm, extract, form_of, parse_program
from llm_as_judge.workflow.run import run_program

__all__ = ["ProgramForm", "export_program", "extract", "form_of", "parse_program", "run_program"]

"""Workflow programs: from the policy's text to a checked program, and to what its run gave."""

from llm_as_judge.workflow.program import ProgramForm, extract, form_of, parse_program
from llm_as_judge.workflow.run import run_program

__all__ = ["ProgramForm", "extract", "form_of", "parse_program", "run_program"]

"""The systems by name: baselines of ``workflows/``, one's own programs, checkpoints.

direct · cot · free_cot · self_consistency · program_of_thought · hand_crafted ·
vote_of_3 · vote_of_5 · until_two_agree · two_ways_else_third ·
until_passed · small_first: workflows/NAME/DOMAIN.py
random                  a random valid workflow for each problem
untrained, CHECKPOINT   the policy without and with its adapter
FILE.py, FOLDER         a program for all domains, or FOLDER/DOMAIN.py

In a folder any.py is the program of the domains that have no file of their own.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from llm_as_judge.config import shipped_dir
from llm_as_judge.errors import ConfigError
from llm_as_judge.evaluation.program_runs import bank_program
from llm_as_judge.evaluation.random_workflow import RandomPrograms, grammar
from llm_as_judge.evaluation.systems import (
    EvaluatedSystem,
    FixedProgram,
    PolicySystem,
    ProgramSystem,
)
from llm_as_judge.runs.table import BankProgram
from llm_as_judge.types import DOMAINS, Domain
from llm_as_judge.workflow.program import ProgramOptions, text_of_file

UNTRAINED, RANDOM = "untrained", "random"


def workflows_dir() -> Path:
    """The folder of shipped workflows (:func:`shipped_dir`)."""
    return shipped_dir("workflows")


def baseline_names() -> list[str]:
    """Every name that ``--policy`` knows beside files and checkpoints."""
    return [*sorted(p.name for p in workflows_dir().iterdir() if p.is_dir()), RANDOM]


def find_system(spec: str, options: ProgramOptions) -> EvaluatedSystem:
    """The system that ``spec`` names.

    Raises:
        ConfigError: there is no such system, or one of its programs does not pass the check.
    """
    if spec == UNTRAINED:
        return PolicySystem(UNTRAINED, None)
    if spec == RANDOM:
        most, executors = options.drawn_calls, options.executors
        samplers = {domain: RandomPrograms(domain, most, executors) for domain in DOMAINS}
        return ProgramSystem(RANDOM, samplers, grammar())
    path = Path(spec)
    if spec in baseline_names():
        return _written(spec, program_files(workflows_dir() / spec), options)
    if path.suffix == ".py":
        return _written(spec, dict.fromkeys(DOMAINS, path), options)
    if (path / "adapter_config.json").is_file() or (path / "state.json").is_file():
        return PolicySystem(spec, path)
    if path.is_dir() and (files := program_files(path)):
        return _written(spec, files, options)
    if "/" in spec or path.exists():
        found = (
            "neither a checkpoint nor programs in it" if path.is_dir() else "no such file or folder"
        )
        if path.is_file():
            found = "not a Python file"
        raise ConfigError(
            f"--policy {spec}: {found}; wanted a checkpoint folder step_N (they lie in checkpoints/MODEL/grpo_mixed), "
            "a program FILE.py, or a folder of math.py, qa.py, code.py, any.py"
        )
    raise ConfigError(
        f"--policy {spec!r}: wanted {UNTRAINED}, {', '.join(baseline_names())}, a checkpoint folder, a program "
        "FILE.py, or a folder of math.py, qa.py, code.py, any.py"
    )


def program_files(folder: Path) -> dict[Domain, Path]:
    """FOLDER/DOMAIN.py, or FOLDER/any.py where a domain has none of its own."""
    own = {domain: folder / f"{domain}.py" for domain in DOMAINS}
    files = {domain: path if path.is_file() else folder / "any.py" for domain, path in own.items()}
    return {domain: path for domain, path in files.items() if path.is_file()}


def program_of(path: Path, domain: Domain, options: ProgramOptions) -> str:
    """The text of a program that passes the check: one with findings would score 0 and look like a weak one.

    Raises:
        DataError: it cannot be read.
        ConfigError: its first finding, with the line.
    """
    text = text_of_file(path)
    program = options.parse(text, domain)
    if program.runnable:
        return text
    finding = program.diagnostics[0]
    at = f"{path}:{finding.line}" if finding.line else str(path)
    raise ConfigError(
        f"{at}: {finding.code} {finding.message} ({finding.hint}); run: llm-as-judge check {path} --domain {domain}"
    )


def _written(label: str, files: Mapping[Domain, Path], options: ProgramOptions) -> ProgramSystem:
    chosen = {domain: program_of(path, domain, options) for domain, path in files.items()}
    contents = "\0".join(f"{domain}\0{text}" for domain, text in sorted(chosen.items()))
    samplers = {domain: FixedProgram(text) for domain, text in chosen.items()}
    return ProgramSystem(label, samplers, contents)


WAYS = ("direct", "cot", "program_of_thought")
"""Names of shipped programs; each is a way in the domains in which it is one operator call."""


def single_call_baselines(
    options: ProgramOptions, names: Sequence[str] = ()
) -> dict[Domain, list[BankProgram]]:
    """By domain its ways; domains without any are left out.

    Args:
        names: ``cot`` asks the default executor, ``cot@small`` the executor ``small``; empty = each way
            of each executor.
    Raises:
        ConfigError: a name is of no way.
    """
    known = [*WAYS, *(f"{way}@{executor}" for executor in options.executors for way in WAYS)]
    found: dict[Domain, list[BankProgram]] = {}
    for name in names or known:
        if name not in known:
            raise ConfigError(f"--way {name!r}: wanted some of {', '.join(known)}")
        for way in _baselines_named(name, options):
            found.setdefault(way.domain, []).append(way)
    return {domain: found[domain] for domain in DOMAINS if domain in found}


def _baselines_named(name: str, options: ProgramOptions) -> Iterator[BankProgram]:
    shipped, _, executor = name.partition("@")
    for domain, path in program_files(workflows_dir() / shipped).items():
        text = program_of(path, domain, options)
        if len(options.parse(text, domain).operators) != 1:
            continue
        if executor:
            text = _asking(text, executor)
        yield bank_program(domain, text, name, "shipped", options)


def _asking(text: str, executor: str) -> str:
    """The program with its one operator call made of this executor."""
    tree = ast.parse(text)
    (call,) = (
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Await) and isinstance(node.value, ast.Call)
    )
    call.keywords.append(ast.keyword("executor", ast.Constant(executor)))
    return ast.unparse(ast.fix_missing_locations(tree))

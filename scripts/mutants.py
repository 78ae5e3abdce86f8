"""Break the package in one place at a time: its tests must then fail.

    python scripts/mutants.py                    # the update, in ways that matter: a few minutes
    python scripts/mutants.py sign               # those whose name contains the word
    python scripts/mutants.py --of grpo ledger   # twelve seeded mutants of each part, or --count N
    python scripts/mutants.py --caught           # caught of tried by part, of all that has been tried so far

Each mutant is one exchanged place in a copy of the package. Those of the update are written by hand, and one that survives means that
tests/training/test_learnable.py cannot see that fault. The seeded ones exchange an operator, a comparison, a constant or a
condition, drawn from all places of a part; of them some change nothing that can be seen. What was found of each is kept in
build/mutants.jsonl until its part or the part's tests change, so that a run that was ended goes on. All runs with low priority.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "llm_as_judge"
TEST = [sys.executable, "-m", "pytest", "-q", "-x", "-m", "not slow", "-p", "no:cacheprovider"]
ALONE = ["--noconftest", *(word for name in ("xdist", "cov") for word in ("-p", f"no:{name}"))]
LEARNABLE = ("tests/training/test_learnable.py",)
ENDLESS_S, STUCK_S = 900, 3600
"""Processor seconds and seconds of the clock: a mutant whose tests run on or stand still has been seen."""
TRIED = ROOT / "build" / "mutants.jsonl"


@dataclass(frozen=True, slots=True)
class Mutant:
    name: str
    file: str
    line: str
    instead: str

    def of(self, text: str) -> str:
        """The file with this fault in it.

        Raises:
            RuntimeError: the line is not there exactly once.
        """
        if (count := text.count(self.line)) != 1:
            raise RuntimeError(f"{self.name}: {count} such lines in {self.file}, wanted 1")
        return text.replace(self.line, self.instead)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A seeded mutant: the bytes from ``start`` to ``stop`` of a file exchanged."""

    file: str
    row: int
    start: int
    stop: int
    was: str
    instead: str

    @property
    def name(self) -> str:
        return f"{self.file}:{self.row}: {self.was}  ->  {self.instead}"

    def of(self, text: str) -> str:
        data = text.encode()
        return (data[: self.start] + self.instead.encode() + data[self.stop :]).decode()


@dataclass(frozen=True, slots=True)
class Part:
    """Files of the package, by pattern, and the tests that defend them."""

    files: tuple[str, ...]
    tests: tuple[str, ...]
    alone: bool = False
    """The tests need no policy: without conftest.py they begin in two seconds in the place of ten."""

    def sources(self) -> list[Path]:
        return sorted(path for pattern in self.files for path in PACKAGE.glob(pattern))

    @property
    def words(self) -> tuple[str, ...]:
        return (*(ALONE if self.alone else ()), *self.tests)

    def digest(self) -> str:
        """SHA-256 of the part and of its tests: what was found of a mutant holds as long as it does."""
        tests = (ROOT / name for name in self.tests)
        read = [
            file for at in tests for file in (sorted(at.rglob("*.py")) if at.is_dir() else [at])
        ]
        found = hashlib.sha256()
        for path in (*self.sources(), *read):
            found.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
        return found.hexdigest()


PARTS = {
    "grading": Part(("grading/*.py",), ("tests/grading",)),
    "grpo": Part(
        ("training/grpo.py",), ("tests/training/test_grpo.py", "tests/training/test_learnable.py")
    ),
    "sandbox": Part(("sandbox/*.py",), ("tests/sandbox", "tests/rollout")),
    "ledger": Part(
        ("llm/ledger.py", "llm/billing.py"),
        tuple(f"tests/llm/test_llm_{name}.py" for name in ("ledger", "billing", "gathered")),
        alone=True,
    ),
    "runs": Part(("runs/*.py",), ("tests/runs",), alone=True),
}
_PAIRS: tuple[tuple[Any, Any], ...] = (
    (ast.Lt, ast.LtE),
    (ast.Gt, ast.GtE),
    (ast.Eq, ast.NotEq),
    (ast.Is, ast.IsNot),
    (ast.In, ast.NotIn),
    (ast.Add, ast.Sub),
    (ast.Mult, ast.Div),
)
_OTHER = {**dict(_PAIRS), **{second: first for first, second in _PAIRS}}
"""An operator of a seeded mutant, and what stands in its place."""


def _exchanged(node: ast.AST) -> ast.expr | None:
    """The node with one fault, if it is of a kind that has one."""
    match node:
        case ast.Compare(left, [op], [other]) if type(op) in _OTHER:
            return ast.Compare(left, [_OTHER[type(op)]()], [other])
        case ast.BinOp(left, op, right) if type(op) in _OTHER:
            return ast.BinOp(left, _OTHER[type(op)](), right)
        case ast.BoolOp(op, values):
            return ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
        case ast.UnaryOp(ast.Not(), operand):
            return operand
        case ast.IfExp(test, body, otherwise):
            return ast.IfExp(test, otherwise, body)
        case ast.Constant(bool(value)):
            return ast.Constant(not value)
        case ast.Constant(int(value)):
            return ast.Constant(value + 1)
    return None


def places(file: Path) -> Iterator[Drawn]:
    """All seeded mutants of a file."""
    data = file.read_bytes()
    begins = [0]
    for line in data.splitlines(keepends=True):
        begins.append(begins[-1] + len(line))
    tree = ast.parse(data)
    unseen = {  # annotations run nowhere, and what decorators are given seldom shows
        part
        for node in ast.walk(tree)
        for unseen in (
            getattr(node, "annotation", None),
            getattr(node, "returns", None),
            *getattr(node, "decorator_list", ()),
        )
        if unseen is not None
        for part in ast.walk(unseen)
    }
    for node in ast.walk(tree):
        instead = _exchanged(node)
        if instead is None or node in unseen:
            continue
        assert isinstance(node, ast.expr)
        start = begins[node.lineno - 1] + node.col_offset
        stop = begins[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
        if (
            b"{" in data[max(0, start - 1) : start]
            and b'f"' in data[begins[node.lineno - 1] : start]
        ):
            continue  # inside an f-string, where older Pythons give no places
        was = " ".join(data[start:stop].decode().split())
        text = f"({ast.unparse(ast.fix_missing_locations(instead))})"
        yield Drawn(str(file.relative_to(PACKAGE)), node.lineno, start, stop, was, text)


def drawn(part: Part, count: int) -> list[Drawn]:
    """Seeded mutants of a part, the same at each call."""
    found = [place for file in part.sources() for place in places(file)]
    return random.Random(0).sample(found, min(count, len(found)))


MUTANTS = (
    Mutant(
        "wrong sign of the loss",
        "training/grpo.py",
        "per_token_T = -_objective(",
        "per_token_T = _objective(",
    ),
    Mutant(
        "ratio upside down",
        "training/grpo.py",
        "log_ratio_T = logprobs_T - old_logprobs_T",
        "log_ratio_T = old_logprobs_T - logprobs_T",
    ),
    Mutant(
        "advantages lose their sign",
        "training/grpo.py",
        "advantages.append([a / divisor for a in group])",
        "advantages.append([abs(a) / divisor for a in group])",
    ),
    Mutant(
        "advantages of other rollouts of the group",
        "training/grpo.py",
        "advantages.append([a / divisor for a in group])",
        "advantages.append([a / divisor for a in [*group[1:], group[0]]])",
    ),
    Mutant(
        "groups mixed up",
        "training/micro_batches.py",
        "trees = list(zip(scored, advantages, strict=True))",
        "trees = list(zip(scored, advantages[::-1], strict=True))",
    ),
    Mutant(
        "mask of a completion dropped: its advantage reaches its neighbor's tokens",
        "training/grpo.py",
        "advantages_T = advantages_S.repeat_interleave(lengths)",
        "advantages_T = advantages_S.repeat_interleave(lengths).roll(9)",
    ),
    Mutant(
        "mask of the prompt dropped: labels begin a token early",
        "training/packing.py",
        "label_at.extend(range(leaf.start, leaf.stop))",
        "label_at.extend(range(leaf.start - 1, leaf.stop - 1))",
    ),
    Mutant(
        "causal mask dropped",
        "policy/attention.py",
        "is_causal=not node.path",
        "is_causal=False",
    ),
    Mutant(
        "completions do not see their prompt",
        "policy/attention.py",
        "return (*self.path, (self.start, self.stop))",
        "return ((self.start, self.stop),)",
    ),
    Mutant(
        "gradient of the last row alone",
        "training/gradients.py",
        "torch.autograd.backward(loss)",
        "self._policy.model.zero_grad(); torch.autograd.backward(loss)",
    ),
    Mutant("no optimizer step", "training/learner.py", "self._optimizer.step()", "pass"),
    Mutant(
        "rows forget what they have written",
        "policy/shared_prompts.py",
        "own.keys.index_copy_(2, self._at, key)\n",
        "own.keys.index_copy_(2, self._at, torch.zeros_like(key))\n",
    ),
    Mutant(
        "draws that ignore the policy",
        "policy/sample.py",
        "tokens = tokens.clamp_(max=logits_B.shape[-1] - 1)",
        "tokens = torch.randint_like(tokens, logits_B.shape[-1])",
    ),
)


def nearest(mutant: Mutant | Drawn | None) -> list[str]:
    """Test files that are named for the mutant's file: they are the first to see it."""
    if not isinstance(mutant, Drawn):
        return []
    place = Path(mutant.file)
    found = (ROOT / "tests" / place.parent).glob(f"test_*{place.stem}*.py")
    return sorted(str(path.relative_to(ROOT)) for path in found)


def passes(mutant: Mutant | Drawn | None, tests: tuple[str, ...]) -> bool:
    """Whether tests pass on a copy of the package with ``mutant`` in it.

    Raises:
        RuntimeError: the line is not there exactly once, or the tests could not be run, or fail without any.
    """
    with tempfile.TemporaryDirectory(prefix="mutant.") as folder:
        package = Path(folder) / "src" / "llm_as_judge"
        shutil.copytree(PACKAGE, package)
        if mutant is not None:
            path = package / mutant.file
            path.write_text(mutant.of(path.read_text(encoding="utf-8")), encoding="utf-8")
        environment = {
            **os.environ,
            "PYTHONPATH": f"{package.parent}{os.pathsep}{ROOT / 'tests'}",
            "LLM_AS_JUDGE_CONFIG": str(ROOT / "config"),
        }
        try:
            done = subprocess.run(
                [*TEST, *nearest(mutant), *tests],
                cwd=ROOT,
                env=environment,
                capture_output=True,
                text=True,
                timeout=None if mutant is None else STUCK_S,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (ENDLESS_S, ENDLESS_S)),
            )
        except subprocess.TimeoutExpired:
            return False
    if mutant is None and done.returncode:
        raise RuntimeError(f"the tests fail without any mutant:\n{done.stdout}{done.stderr}")
    if done.returncode not in (0, 1) and not isinstance(mutant, Drawn):
        raise RuntimeError(f"pytest ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.returncode == 0


def kept(part: str) -> dict[str, bool]:
    """Mutant -> whether it was caught, of all that were tried on the part as it stands."""
    lines = TRIED.read_text(encoding="utf-8").splitlines() if TRIED.exists() else []
    digest = PARTS[part].digest()
    rows = [row for row in map(json.loads, lines) if (row["part"], row["digest"]) == (part, digest)]
    return {row["name"]: row["caught"] for row in rows}


def try_part(name: str, count: int) -> None:
    """Try what has not been tried of a part's seeded mutants; each is kept as it ends.

    Raises:
        RuntimeError: see :func:`passes`.
    """
    part, known = PARTS[name], kept(name)
    missing = [mutant for mutant in drawn(part, count) if mutant.name not in known]
    if missing and not known:
        passes(None, part.words)
    TRIED.parent.mkdir(exist_ok=True)
    for mutant in missing:
        caught = not passes(mutant, part.words)
        row = {"part": name, "digest": part.digest(), "name": mutant.name, "caught": caught}
        with TRIED.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        print(f"{'killed' if caught else 'SURVIVED':9} {mutant.name}", flush=True)


def survived(part: str) -> int:
    """How many of a part's mutants were not caught; caught of tried is printed."""
    found = kept(part)
    missed = [name for name, caught in found.items() if not caught]
    print(f"{part}: {len(found) - len(missed)} caught of {len(found)} tried")
    for name in missed:
        print(f"    survived: {name}")
    return len(missed)


def survivors(mutants: list[Mutant], tests: tuple[str, ...]) -> int:
    """How many of the mutants of the update the tests do not see; a line is printed for each.

    Raises:
        RuntimeError: see :func:`passes`.
    """
    passes(None, tests)
    count = 0
    for mutant in mutants:
        survived = passes(mutant, tests)
        count += survived
        print(f"{'SURVIVED' if survived else 'killed':9} {mutant.name}", flush=True)
    print(f"{len(mutants) - count} of {len(mutants)} mutants killed")
    return count


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("words", nargs="*", help="of the names of the mutants of the update")
    parser.add_argument("--of", nargs="+", choices=PARTS, default=(), help="parts of the package")
    parser.add_argument("--count", type=int, default=12, help="mutants of each part")
    parser.add_argument("--caught", action="store_true", help="try none, say what is kept")
    chosen = parser.parse_args()
    os.nice(19)
    for name in () if chosen.caught else chosen.of:
        try_part(name, chosen.count)
    if chosen.of or chosen.caught:
        return sum(map(survived, chosen.of or PARTS)) > 0
    named = [m for m in MUTANTS if all(word in m.name for word in chosen.words)]
    return survivors(named, LEARNABLE) > 0


if __name__ == "__main__":
    sys.exit(main())

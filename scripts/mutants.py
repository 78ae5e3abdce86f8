"""Break the update in ways that matter, one at a time: the learnable test must then fail.

    python scripts/mutants.py            # all of them, a few minutes
    python scripts/mutants.py sign       # those whose name contains the word

Each mutant is one exchanged line in a copy of the package. A mutant that survives means that
tests/training/test_learnable.py cannot see that fault.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TEST = [sys.executable, "-m", "pytest", "-q", "-x", "-m", "not slow", "-p", "no:cacheprovider"]
TEST_FILE = "tests/training/test_learnable.py"


@dataclass(frozen=True, slots=True)
class Mutant:
    name: str
    file: str
    line: str
    instead: str


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


def passes(mutant: Mutant | None) -> bool:
    """Whether the learnable test passes on a copy of the package with ``mutant`` in it.

    Raises:
        RuntimeError: the line is not there exactly once, or the test could not be run.
    """
    with tempfile.TemporaryDirectory(prefix="mutant.") as folder:
        package = Path(folder) / "src" / "llm_as_judge"
        shutil.copytree(ROOT / "src" / "llm_as_judge", package)
        if mutant is not None:
            path = package / mutant.file
            text = path.read_text(encoding="utf-8")
            if (count := text.count(mutant.line)) != 1:
                raise RuntimeError(f"{mutant.name}: {count} such lines in {mutant.file}, wanted 1")
            path.write_text(text.replace(mutant.line, mutant.instead), encoding="utf-8")
        environment = {
            **os.environ,
            "PYTHONPATH": str(package.parent),
            "LLM_AS_JUDGE_CONFIG": str(ROOT / "config"),
        }
        done = subprocess.run(
            [*TEST, TEST_FILE], cwd=ROOT, env=environment, capture_output=True, text=True
        )
    if done.returncode not in (0, 1):
        raise RuntimeError(f"pytest ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.returncode == 0


def main() -> int:
    chosen = [m for m in MUTANTS if all(word in m.name for word in sys.argv[1:])]
    if not passes(None):
        print("the test fails without any mutant", file=sys.stderr)
        return 1
    survivors = 0
    for mutant in chosen:
        survived = passes(mutant)
        survivors += survived
        print(f"{'SURVIVED' if survived else 'killed':9} {mutant.name}", flush=True)
    print(f"{len(chosen) - survivors} of {len(chosen)} mutants killed")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())

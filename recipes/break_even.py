"""After how many queries the tokens of a training run are saved, against each other policy that was evaluated.

    python recipes/break_even.py logs/train_NAME results/evaluation/*_results.json

A trained policy that needs fewer tokens a query than another pays back what its training spent. Results of a checkpoint
are the trained ones. Policy tokens count as much as executor tokens, though a small policy's are cheaper.
"""

from __future__ import annotations

from pathlib import Path

from llm_as_judge.errors import DataError
from llm_as_judge.evaluation.system_results import SystemResults, read_systems
from llm_as_judge.runs.runlog import ROLLOUTS, read_rollouts
from recipe import parser_of, run


def training_tokens(run_dir: Path) -> int:
    """Tokens that a training run spent: executor calls, prompts and programs of the policy.

    Raises:
        DataError: no rollouts of a run there, or without the policy's tokens.
    """
    wanted = "wanted the folder of a training run, logs/train_MODEL_TIME"
    if not (run_dir / ROLLOUTS).is_file():
        raise DataError(f"{run_dir}: no run there (no {ROLLOUTS}); {wanted}")
    rollouts, total = 0, 0
    for _, _, rollout in read_rollouts(run_dir):
        rollouts += 1
        if rollout.completion.text and not rollout.completion.token_ids:
            raise DataError(
                f"{run_dir / ROLLOUTS}: tokens of the policy are not in it, so what the training "
                "spent is not known: a run that was kept without texts?"
            )
        total += len(rollout.completion.prompt_ids) + len(rollout.completion.token_ids)
        if rollout.execution is not None:
            total += sum(
                call.prompt_tokens + call.completion_tokens for call in rollout.execution.calls
            )
    if not rollouts:
        raise DataError(f"{run_dir / ROLLOUTS}: no rollout in it; {wanted}")
    return total


def break_even(trained: SystemResults, other: SystemResults, training: int) -> float | None:
    """Queries after which training has paid for itself in tokens against ``other``; None = never."""
    saved = other.mean_tokens + other.policy_tokens - trained.mean_tokens - trained.policy_tokens
    return training / saved if saved > 0 else None


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("run", type=Path, help="folder of the training run")
    parser.add_argument("results", type=Path, nargs="+", help="of evaluate")
    arguments = parser.parse_args()
    spent = training_tokens(arguments.run)
    policies = read_systems(arguments.results)
    trained = [c for c in policies if c.checkpoint]
    if not trained:
        raise DataError("none of the results is of a checkpoint")
    print(f"{spent:,} training tokens")
    for one in trained:
        for other in policies:
            if other is not one:
                queries = break_even(one, other, spent)
                after = "never" if queries is None else f"after {queries:,.0f} queries"
                print(f"{one.name} against {other.name}: {after}")


if __name__ == "__main__":
    run(main)

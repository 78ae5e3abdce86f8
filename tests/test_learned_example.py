"""The adapter that is shipped as an example is whole, small, and of the run that its page tells of."""

from __future__ import annotations

from pathlib import Path

import yaml

from llm_as_judge.config import load_config
from llm_as_judge.evaluation.entrants import check_base_model
from llm_as_judge.monitoring.judges import judges_of, unaudited_warning
from llm_as_judge.policy.checkpoint import require_whole

FOLDER = Path(__file__).parent.parent / "examples" / "learned"
ADAPTER = FOLDER / "adapter"
MOST_BYTES = 20_000_000


def test_it_is_whole_small_and_can_be_evaluated() -> None:
    require_whole(ADAPTER)
    check_base_model(ADAPTER, "qwen25-coder-0.5b")
    assert unaudited_warning(judges_of(ADAPTER)) is None
    assert sum(path.stat().st_size for path in ADAPTER.rglob("*")) < MOST_BYTES


def test_it_was_trained_as_run_yaml_says() -> None:
    trained = yaml.safe_load((ADAPTER / "config.yaml").read_text())
    now = load_config(FOLDER / "run.yaml").model_dump(mode="json")
    for section in ("policy", "sampling", "executor", "judge", "workflow", "reward"):
        wanted = {key: now[section][key] for key in trained[section] if key in now[section]}
        assert trained[section] == wanted, section
    losses = ("learning_rate", "centre", "scale", "aggregate", "objective", "max_staleness", "seed")
    sizes = ("problems_per_step", "samples_per_problem", "epochs_per_step")
    for key in (*losses, *sizes):
        assert trained["training"][key] == now["training"][key], key


def test_nothing_of_the_machine_that_made_it_is_told() -> None:
    for path in ADAPTER.iterdir():
        if path.suffix != ".safetensors":
            assert "/root" not in path.read_text()
            assert "/home" not in path.read_text()

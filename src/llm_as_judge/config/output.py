"""Keys of what is written, and where."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from pydantic import Field

from llm_as_judge.config.reading import Section


class TrackingConfig(Section):
    """Trackers beside metrics.jsonl, which is always written."""

    sinks: tuple[Literal["wandb", "otel"], ...] = Field(
        (), description="Trackers to show the run in; each is an extra of the same name."
    )
    project: str | None = Field(
        None, description="Project of the trackers; default: WANDB_PROJECT, else llm-as-judge."
    )
    online: bool = Field(
        False,
        description="Send figures while the run goes on. false: all stays on this machine.\n"
        "W&B needs WANDB_API_KEY. otel sends to OTEL_EXPORTER_OTLP_ENDPOINT.",
    )


class OutputConfig(Section):
    """Where results go."""

    checkpoints: Path = Field(Path("checkpoints"), description="checkpoints/MODEL/grpo_mixed.")
    logs: Path = Field(Path("logs"), description="Run directories and logs.")
    results: Path = Field(Path("results"), description="results/evaluation/MODEL_results.json.")
    cache: Path | None = Field(
        None, description="Weights and downloads; default ~/.cache/llm-as-judge."
    )

    def cache_dir(self) -> Path:
        if self.cache is not None:
            return self.cache
        return Path(os.environ.get("LLM_AS_JUDGE_CACHE", "~/.cache/llm-as-judge")).expanduser()

"""Keys of the policy: its weights, how it writes programs, and the examples it is shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from llm_as_judge.config.names import file_label
from llm_as_judge.config.reading import Number, Section


class PolicyConfig(Section):
    """The model that writes programs, and its adapter."""

    name: str = Field(
        "qwen25-7b",
        description="Base model: an entry of models.yaml, a hub id (`Qwen/Qwen2.5-7B-Instruct`), a folder "
        "or a .gguf file.",
    )
    device: str = Field("auto", description="`cpu`, `cuda:0` ...; `auto` takes CUDA if present.")
    dtype: Literal["auto", "bfloat16", "float32"] = Field(
        "auto",
        description="Type of base weights. `auto`: bfloat16 where the hardware multiplies in it, else "
        "float32.\n"
        "CUDA, AVX512-BF16 and AMX multiply in bfloat16. Elsewhere float32 is several times "
        "faster.",
    )
    lora_rank: int = Field(64, ge=1, description="Rank of the LoRA matrices.")
    lora_alpha: int = Field(64, ge=1, description="LoRA scale; the factor is alpha / rank.")
    lora_targets: tuple[str, ...] = Field(
        ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"),
        description="Linear layers that get an adapter.",
    )
    gradient_checkpointing: bool = Field(
        False, description="Recompute activations in the backward pass: less memory, more time."
    )

    @property
    def label(self) -> str:
        """What files and folders of this policy are called."""
        return file_label(self.name)


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is none
        return False


class SamplingConfig(Section):
    """How candidate programs are drawn."""

    temperature: Number = Field(1.0, ge=0, description="Sampling temperature of training programs.")
    max_new_tokens: int = Field(512, ge=1, description="Maximum tokens of a program.")
    form: Literal["class", "body"] = Field(
        "class",
        description="`class`: the policy writes the whole Workflow class; `body`: only the statements of "
        "__call__.",
    )
    problem_chars: int = Field(
        2000, ge=100, description="Longest problem text in the policy's prompt; cuts are marked."
    )
    max_prompt_tokens: int | None = Field(
        None,
        ge=64,
        description="Maximum tokens of a prompt. Default: the model's context less max_new_tokens.\n"
        "A longer prompt loses examples first, then a part of the problem. Metrics count "
        "both.",
    )
    generation_batch_size: int = Field(64, ge=1, description="Programs decoded together at most.")
    backend: str = Field(
        "hf",
        description="`hf`: the loaded weights write the programs; `vllm`: a server does; or a plugin's "
        "sampler.\n"
        "With `vllm` the server gets the adapter of each update, and writes while the next "
        "one is computed.",
    )
    options: dict[str, Any] = Field({}, description="Options of a plugin's sampler.")
    server: str | None = Field(
        None,
        description="vllm: its address, http://HOST:PORT/v1; docs/TRAINING.md says how to start it.",
    )
    adapters: Path | None = Field(
        None,
        description="vllm: folder that learner and server see under the same path; default "
        "`adapters` beside the cached weights.",
    )
    timeout_s: Number = Field(600.0, gt=0, description="vllm: deadline of one program.")
    outage_s: Number = Field(
        300.0,
        ge=0,
        description="vllm: seconds to wait while the server cannot be connected to; then the run stops and can be "
        "resumed.",
    )
    prompt_style: Literal["full", "short", "calls", "signatures"] = Field(
        "full",
        description="Operator documentation in the prompt: `full`, `short`, `calls` or `signatures`.\n"
        "With `short` each operator has one line.\n"
        "With `calls` it has one statement, to copy.\n"
        "With `signatures` it has arguments and result keys alone; rules and shipped examples are left out.\n"
        "`signatures` is for a policy that learned the rest (training.warm_start).",
    )
    operators: tuple[str, ...] | None = Field(
        None,
        description="Operator classes shown in the prompt, where they fit the domain; null: all.\n"
        "Examples that call other operators are left out. Programs may call any operator.",
    )
    examples: bool = Field(True, description="Show the shipped examples in the prompt.")

    @field_validator("server", mode="before")
    @classmethod
    def _one_address(cls, given: Any) -> Any:
        urls = given if isinstance(given, list | tuple) else [given]  # a list: sampling.replicas
        if not urls or given is None:
            return None
        if len(urls) > 1:
            raise ValueError(
                f"found {len(urls)} addresses, wanted one; start vLLM with --data-parallel-size "
                f"{len(urls)}, which has as many engines behind its address"
            )
        (url,) = map(str, urls)
        if "@" in url:  # the configuration is written into the run's folder
            raise ValueError(
                "this holds a password, which would be written into every run; put such a "
                "server behind one that needs none"
            )
        if not _is_address(url):
            raise ValueError(f"found {url!r}, wanted http://HOST:PORT/v1")
        return url.rstrip("/")


class ExperienceConfig(Section):
    """Memory of good programs, shown to the policy as examples."""

    enabled: bool = Field(
        False, description="Keep good programs, and show retrieved ones in the prompt."
    )
    reward_threshold: Number = Field(8.0, description="Minimum total reward of a kept program.")
    buffer_size: int = Field(100, ge=1, description="Programs kept per domain.")
    top_k: int = Field(
        3, ge=0, description="Examples shown; the problems of a domain in a step share them."
    )
    embedder: str = Field(
        "all-minilm-l6-v2",
        description="The sentence model of the search; named like policy.name.",
    )
    similarity_metric: Literal["cosine"] = Field(
        "cosine", description="Likeness of two problems: the cosine of their sentence vectors."
    )
    folder: Path | None = Field(
        None, description="Where the buffer lies; default DATA_DIR/experience_buffer."
    )
    example_chars: int = Field(
        300, ge=40, description="Longest problem text of a retrieved example; cuts are marked."
    )

"""The configuration tree: a value in one place, every field with its meaning and unit."""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator, model_validator

from llm_as_judge.config.presets import Preset
from llm_as_judge.config.reading import Number, Section
from llm_as_judge.config.workers import WorkersConfig

DATASETS = ("gsm8k", "math", "squad2", "hotpotqa", "humaneval", "mbpp")
EXTRA_DATASETS = ("commonsenseqa", "mmlu", "mbpp_full", "reasoning_gym")
"""Off by default; ``data.sets`` takes them in."""


class PolicyConfig(Section):
    """The model that writes programs, and its adapter."""

    name: str = Field("qwen25-7b", description="Entry of models.yaml: the policy's base model.")
    device: str = Field("auto", description="`cpu`, `cuda:0` ...; `auto` takes CUDA if present.")
    dtype: Literal["auto", "bfloat16", "float32"] = Field(
        "auto",
        description="Type of base weights; `auto`: bfloat16 where the hardware multiplies in it "
        "(CUDA, AVX512-BF16, AMX), else float32, which is then several times faster.",
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


class SamplingConfig(Section):
    """How candidate programs are drawn."""

    temperature: Number = Field(0.3, ge=0, description="Of training rollouts.")
    max_new_tokens: int = Field(512, ge=1, description="Tokens of one program at most.")
    form: Literal["class", "body"] = Field(
        "class",
        description="`class`: the policy writes the whole Workflow class; `body`: only the "
        "statements of __call__, the class around it is given.",
    )
    problem_chars: int = Field(
        2000, ge=100, description="Longest problem text in the policy's prompt; cuts are marked."
    )
    max_prompt_tokens: int | None = Field(
        None,
        ge=64,
        description="Longest prompt: a longer one loses examples, then a part of the problem, both "
        "counted. Default: what the model's context leaves beside max_new_tokens.",
    )
    rows_at_once: int = Field(
        64, ge=1, description="Programs decoded together at most (vllm: by each replica)."
    )
    backend: Literal["hf", "vllm"] = Field(
        "hf",
        description="`hf`: the loaded weights write the programs; `vllm`: the replicas do, with the "
        "adapter of each update, while the next one is computed.",
    )
    replicas: tuple[str, ...] = Field(
        (),
        description="vllm: each server's http://HOST:PORT/v1; TRAINING.md says how to start one.",
    )
    adapters: Path | None = Field(
        None,
        description="vllm: folder that learner and replicas see under the same path; default "
        "`adapters` beside the cached weights.",
    )
    timeout_s: Number = Field(600.0, gt=0, description="vllm: deadline of one program.")
    outage_s: Number = Field(
        300.0,
        ge=0,
        description="vllm: how long work waits for a replica to come back where none may be asked; "
        "then the run ends, to be gone on with.",
    )
    prompt_style: Literal["full", "short", "calls"] = Field(
        "full",
        description="Operator documentation in the prompt: `full`; `short`: one line each; `calls`: "
        "one statement each that can be copied, with the values to read.",
    )
    examples: bool = Field(True, description="Show the shipped examples in the prompt.")
    constrained: bool = Field(
        False,
        description="Decode under a grammar of valid programs (form `body`; plain sequences of at "
        "most four calls). For evaluate, solve and serve: an update cannot learn from it.",
    )

    @model_validator(mode="after")
    def _has_grammar(self) -> SamplingConfig:
        if self.constrained and self.form != "body":
            raise ValueError("constrained: the grammar is of form body; set form to body")
        if self.constrained and self.backend != "hf":
            raise ValueError("constrained: only the backend hf keeps to a grammar")
        return self

    @field_validator("replicas")
    @classmethod
    def _without_passwords(cls, urls: tuple[str, ...]) -> tuple[str, ...]:
        if any("@" in url for url in urls):  # the configuration is written into the run's folder
            raise ValueError(
                "this holds a password, which would be written into every run; put such "
                "servers behind one that needs none"
            )
        return urls

    @model_validator(mode="after")
    def _has_replicas(self) -> SamplingConfig:
        if (self.backend == "vllm") != bool(self.replicas):
            raise ValueError("backend vllm and replicas go together: give both or neither")
        return self


class ExecutorConfig(Section):
    """The frozen model that operators call."""

    model: str = Field(
        "gpt-oss-120b",
        description="Name in aflow_llm.yaml (an endpoint), in models.yaml (GGUF weights, served "
        "by the embedded server), or `scripted`.",
    )
    temperature: Number | None = Field(
        None,
        ge=0,
        description="Of operator calls that want one answer; default: the endpoint's, else 0.",
    )
    top_p: Number | None = Field(
        None, gt=0, le=1, description="Of operator calls; default: the endpoint's, else 1."
    )
    vote_temperature: Number = Field(
        0.7, ge=0, description="Of repeated draws (the second and later equal call of a rollout)."
    )
    max_tokens: int = Field(2048, ge=1, description="Tokens of one operator reply at most.")
    enhance: bool = Field(
        True,
        description="Layer 2: add the lines of config/prompts/operators/enhancements.yaml that fit "
        "operator, domain and executor; the `notes` of each call name them.",
    )
    concurrency: int = Field(
        64,
        ge=1,
        description="Requests in flight at most; to an embedded server never more than its slots.",
    )
    context_tokens: int = Field(4096, ge=256, description="Embedded server: tokens a slot holds.")
    slots: int = Field(8, ge=1, description="Embedded server: requests served at once.")
    timeout_s: Number = Field(120.0, gt=0, description="Deadline of one request.")
    retries: int = Field(3, ge=0, description="Tries after the first, with backoff.")


class JudgeConfig(Section):
    """Who grades what the rules cannot decide."""

    model: str = Field(
        "gpt-oss-120b", description="Like executor.model; `none`: rules only, no LLM judge."
    )
    max_tokens: int = Field(2048, ge=1, description="Tokens of one verdict at most.")
    qa_f1_threshold: Number | None = Field(
        None,
        gt=0,
        le=1,
        description="Rules only: F1 from which an inexact QA answer is correct; null: none is.",
    )
    max_ungraded_share: Number = Field(
        0.5,
        ge=0,
        le=1,
        description="More rollouts of a step than this that ran but could not be graded stop the "
        "run; fewer are left out and counted.",
    )
    max_abstained_share: Number = Field(
        0.05,
        ge=0,
        le=1,
        description="More answers of a step than this (and more than one) for which the judge "
        "model gave no readable verdict pause the run.",
    )
    canaries_every: int = Field(
        50,
        ge=0,
        description="Steps after which 100 answers with known verdicts are graded again, to see "
        "whether the judge model is still the one that was audited; 0: never.",
    )
    second_model: str | None = Field(
        None, description="Like judge.model: grades a share of what was accepted once more."
    )
    second_share: Number = Field(
        0.02, gt=0, le=1, description="Share of accepted answers that judge.second_model sees."
    )


class WorkflowConfig(Section):
    """Running a program on a problem."""

    sandbox: Literal["auto", "jail", "landlock", "subprocess"] = Field(
        "auto",
        description="`auto`: `jail` (namespaces and system-call filter), else `landlock`; "
        "`subprocess`: limits alone. Refuses to start where it does not hold.",
    )
    timeout_s: Number = Field(
        180.0,
        gt=0,
        description="Wall time of one run; waiting for answers to its operator calls is not counted.",
    )
    cpu_s: Number = Field(10.0, gt=0, description="Processor time of one run.")
    memory_mb: int = Field(512, ge=64, description="Address space of one run.")
    code_timeout_s: Number = Field(
        10.0, gt=0, description="Wall time of one run of code that the executor wrote."
    )
    code_cpu_s: Number = Field(5.0, gt=0, description="Processor time of such a run.")
    max_operator_calls: int = Field(32, ge=1, description="Operator calls of one run.")
    max_worst_case_calls: int = Field(
        32, ge=1, description="A program that could make more executor calls is rejected unrun."
    )
    group_draws: Literal["shared", "independent"] = Field(
        "shared",
        description="`shared`: equal executor calls inside a group share one reply, which saves "
        "calls and removes executor noise from the advantage.",
    )
    concurrency: int = Field(8, ge=1, description="Programs in flight at once.")
    rollout_timeout_s: Number | None = Field(
        3600.0,
        gt=0,
        description="From a program's last token to its verdict, waiting for its turn included; a "
        "later one leaves its group as a failure of ours. null: no deadline.",
    )


class RewardConfig(Section):
    """Five parts, each on -10..10; the total is their weighted sum."""

    scheme: Literal["weighted", "gated"] = Field(
        "weighted", description="`gated`: a wrong answer earns nothing for being fast or simple."
    )
    correctness: Number = Field(0.65, ge=0, description="Weight of +10 right / -5 wrong.")
    efficiency: Number = Field(
        0.15, ge=0, description="Weight of tokens against the group and a budget."
    )
    simplicity: Number = Field(0.10, ge=0, description="Weight of few operators and calls.")
    format: Number = Field(0.05, ge=0, description="Weight of a text that runs as written.")
    repetition: Number = Field(
        0.05, ge=0, description="Weight of the penalty for repeated programs."
    )
    token_budget: int = Field(
        4000, ge=1, description="Executor tokens a run may use before efficiency turns negative."
    )


class CallsConfig(Section):
    """Keeping what executor and judge say."""

    mode: Literal["off", "cache", "record", "replay"] = Field(
        "off",
        description="`cache`: a known call is answered from the folder; `record`: also keeps "
        "failures and timeouts, so that `replay` repeats the run without any server.",
    )
    folder: Path = Field(Path("logs/calls"), description="Where replies are kept.")
    max_mb: int | None = Field(
        None, ge=1, description="Mode cache: the oldest replies beyond this are deleted at start."
    )


class BudgetConfig(Section):
    """What a run may use; a call that could pass a limit is not made, and the run stops."""

    usd: Number | None = Field(None, gt=0, description="US dollars; every price must be known.")
    tokens: int | None = Field(None, ge=1, description="Prompt and completion tokens together.")
    calls: int | None = Field(None, ge=1, description="Requests, retries included.")


class ExperienceConfig(Section):
    """Memory of good programs, shown to the policy as examples."""

    enabled: bool = Field(
        False, description="Keep good programs, and show retrieved ones in the prompt."
    )
    reward_threshold: Number = Field(8.0, description="Total reward from which a program is kept.")
    buffer_size: int = Field(100, ge=1, description="Programs kept per domain.")
    top_k: int = Field(3, ge=0, description="Examples shown.")
    retrieval: Literal["fixed_per_step", "per_problem"] = Field(
        "fixed_per_step",
        description="`fixed_per_step`: problems of one domain in a step share their examples, which "
        "are then computed once; `per_problem`: each problem gets its own nearest ones.",
    )
    embedder: str = Field(
        "all-minilm-l6-v2", description="Entry of models.yaml: the sentence model of the search."
    )
    folder: Path | None = Field(
        None, description="Where the buffer lies; default DATA_DIR/experience_buffer."
    )
    example_chars: int = Field(
        300, ge=40, description="Longest problem text of a retrieved example; cuts are marked."
    )


class TrainingConfig(Section):
    """GRPO."""

    steps: int = Field(500, ge=1, description="Updates in the run.")
    problems_per_step: int = Field(4, ge=1, description="Groups in a step.")
    samples_per_problem: int = Field(6, ge=2, description="Programs of one group (K).")
    epochs_per_step: int = Field(1, ge=1, description="Passes over the rollouts of a step.")
    learning_rate: Number = Field(5e-6, gt=0, description="Peak, after warm-up.")
    warmup_steps: int = Field(0, ge=0, description="Steps of linear warm-up.")
    schedule: Literal["constant", "linear", "cosine"] = Field(
        "constant", description="Course of the learning rate after warm-up."
    )
    weight_decay: Number = Field(0.0, ge=0, description="AdamW, on adapter weights only.")
    max_grad_norm: Number = Field(1.0, gt=0, description="Gradients are clipped to this norm.")
    preset: Preset = Field(
        "grpo",
        description="Published loss that sets the keys from centre to kl_weight; a key given "
        "beside it, or in a later file or option, wins.",
    )
    centre: Literal["mean", "leave_one_out"] = Field(
        "mean", description="What is subtracted from a reward: the group's mean, or its siblings'."
    )
    scale: Literal["group", "batch", "none"] = Field(
        "group", description="What advantages are divided by: deviation of the group, or batch."
    )
    aggregate: Literal["sequence", "token", "constant"] = Field(
        "sequence", description="Mean per sequence (GRPO), per token (DAPO), fixed (Dr. GRPO)."
    )
    objective: Literal["ppo_clip", "gspo", "cispo", "truncated_is", "reinforce"] = Field(
        "ppo_clip", description="How the policy ratio enters the loss."
    )
    clip_low: Number = Field(
        0.2, ge=0, lt=1, description="ppo_clip, gspo: a ratio below 1 - this is clipped."
    )
    clip_high: Number = Field(
        0.2, ge=0, description="ppo_clip, gspo: a ratio above 1 + this is clipped."
    )
    is_floor: Number = Field(0.0, ge=0, le=1, description="cispo: floor of the ratio; 0: none.")
    is_cap: Number = Field(2.0, ge=1, description="cispo, truncated_is: cap of the ratio.")
    kl_weight: Number = Field(0.0, ge=0, description="Weight of k3 KL to the adapter-free model.")
    max_logprob_gap: Number | None = Field(
        None,
        description="|log-prob at sampling - at update| before the first update of a batch above "
        "which the run stops: the greatest in float32 (default 1e-4), the mean in bfloat16 (1e-2) "
        "and where vLLM samples (0.05).",
    )
    row_tokens: int = Field(
        32768, ge=64, description="Tokens of one packed row at most; a step is split over rows."
    )
    max_failed_share: Number = Field(
        0.25,
        ge=0,
        le=1,
        description="More rollouts of a step than this lost to endpoint or sandbox stop the run.",
    )
    max_staleness: int = Field(
        1,
        ge=0,
        description="Updates that the weights which write a program may lie behind those it "
        "teaches: programs of that many steps run while another is learned. 0: strictly in turn.",
    )
    save_every: int = Field(50, ge=1, description="Steps between checkpoints.")
    keep_checkpoints: int = Field(3, ge=1, description="Newest checkpoints kept.")
    grace_s: float = Field(
        20.0,
        ge=0,
        description="Seconds that the step in progress may take after SIGTERM; then a checkpoint is "
        "written. Leave the rest of what the cluster gives to the end of the servers.",
    )
    seed: int = Field(0, ge=0, description="Of everything random in the run.")
    rank_timeout_s: Number = Field(
        1800.0,
        gt=60,
        description="Several processes (`accelerate launch`): one that is not heard of for so long "
        "is given up, and with it the run. One that dies is noticed at once.",
    )


class DataConfig(Section):
    """Where problems come from."""

    data_dir: Path = Field(Path("data"), description="Holds raw/, processed/, mixed/, test/.")
    source: Path | None = Field(None, description="Folder of upstream files, instead of the hub.")
    train_file: Path = Field(Path("data/mixed/train_mixed.jsonl"), description="Training problems.")
    val_file: Path = Field(Path("data/mixed/val_mixed.jsonl"), description="Validation problems.")
    sets: tuple[str, ...] = Field(
        DATASETS, description=f"Data sets in the mix; also: {', '.join(EXTRA_DATASETS)}."
    )
    val_fraction: Number = Field(0.02, ge=0, lt=1, description="Share of train held out.")
    mix_size: int | None = Field(None, ge=10, description="Rows of train_mixed; default: all.")
    limit_per_set: int | None = Field(None, ge=6, description="Rows taken of each set at most.")
    seed: int = Field(0, ge=0, description="Of split and mix.")

    @field_validator("sets")
    @classmethod
    def _known(cls, sets: tuple[str, ...]) -> tuple[str, ...]:
        known = (*DATASETS, *EXTRA_DATASETS)
        if unknown := next((name for name in sets if name not in known), None):
            near = difflib.get_close_matches(unknown, known, n=1)
            advice = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}"
            raise ValueError(f"no data set {unknown!r}; {advice} (own rows: --custom FILE)")
        return sets


class EvaluationConfig(Section):
    """Measuring a policy on held-out problems."""

    limit_per_set: int | None = Field(
        None, ge=1, description="Problems of each test set: a seeded, stratified sample."
    )
    sets: tuple[str, ...] | None = Field(
        None, description="Test sets; default: data.sets. `mixed` is the test mix."
    )
    samples: int = Field(1, ge=1, description="Rollouts of each problem, for pass@k.")
    temperature: Number = Field(
        0.0, ge=0, description="Of the policy; 0 = greedy, which wants evaluation.samples = 1."
    )


class TrackingConfig(Section):
    """Trackers beside metrics.jsonl, which is always written."""

    sinks: tuple[Literal["wandb", "trackio"], ...] = Field(
        (), description="Trackers to show the run in; each is an extra of the same name."
    )
    project: str | None = Field(
        None, description="Project of the trackers; default: WANDB_PROJECT, else llm-as-judge."
    )
    online: bool = Field(
        False,
        description="Send as the run goes on: W&B with WANDB_API_KEY, Trackio to "
        "TRACKIO_SPACE_ID. false: all stays on this machine.",
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


class Config(Section):
    """Everything a run needs; written beside every checkpoint."""

    policy: PolicyConfig = PolicyConfig()
    sampling: SamplingConfig = SamplingConfig()
    executor: ExecutorConfig = ExecutorConfig()
    judge: JudgeConfig = JudgeConfig()
    workflow: WorkflowConfig = WorkflowConfig()
    workers: WorkersConfig = WorkersConfig()
    reward: RewardConfig = RewardConfig()
    calls: CallsConfig = CallsConfig()
    budget: BudgetConfig = BudgetConfig()
    experience: ExperienceConfig = ExperienceConfig()
    training: TrainingConfig = TrainingConfig()
    data: DataConfig = DataConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    tracking: TrackingConfig = TrackingConfig()
    output: OutputConfig = OutputConfig()

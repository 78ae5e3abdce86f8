"""The configuration: precedence, coercion, and errors that say what to mend."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from config_files import config_folder, yaml_file

from llm_as_judge.config import (
    DATASETS,
    EXTRA_DATASETS,
    FLAT_KEYS,
    PRESETS,
    Config,
    iterate_fields,
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
    ("text", "unknown", "near"),
    [
        ("training: {lerning_rate: 1}\n", "training.lerning_rate", "training.learning_rate"),
        ("lora_rnk: 8\n", "lora_rnk", "lora_rank"),
        ("policy: {max_new_tokens: 8}\n", "policy.max_new_tokens", "sampling.max_new_tokens"),
        ("trainig: {}\n", "trainig", "training"),
        ("evaluation: {limt: 3}\n", "evaluation.limt", "evaluation.limit_per_set"),
    ],
)
def test_an_unknown_key_is_named_with_the_nearest_known_one(
    tmp_path: Path, text: str, unknown: str, near: str
) -> None:
    path = yaml_file(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert str(path) in str(caught.value)
    assert f"unknown key {unknown!r}" in str(caught.value)
    assert f"did you mean {near!r}?" in str(caught.value)


def test_an_unknown_key_without_a_neighbor_lists_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"unknown key 'zzzzqqqq' \(known: policy"):
        load_config(yaml_file(tmp_path, "zzzzqqqq: 1\n"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("training: {steps: many}\n", "training.steps: found 'many'"),
        ("training: {steps: 0}\n", "training.steps: found 0"),
        ("learning_rate: fast\n", "training.learning_rate: found 'fast'"),
        ("policy: {dtype: float8}\n", "policy.dtype: found 'float8'"),
        ("policy: 7\n", "policy: found 7"),
        ("plugins: mine\n", "plugins: found 'mine'; wanted a list in brackets, e.g. [one]"),
        ("physical_gpus: 0\n", "physical_gpus: found 0, wanted e.g. [0]"),
        ("physical_gpus: [one]\n", "physical_gpus: found ['one'], wanted e.g. [0]"),
        ("executors: {a: {model: m, price: -1}}", "executors.a.price: found -1"),
        ("executors: {a: {model: m, price: 0}}", "executors.a.price: found 0"),
        ("executors: {default: {model: m}}", "executors.default: this is what programs call"),
        ("executors: {'a b': {model: m}}", "executors.a b: wanted a name of letters"),
        ('executors: {a: {model: m, strength: "a\\nb"}}', "one line of plain text"),
        ("executors: {a: {model: m, size: 1}}", "unknown key 'executors.a.size'"),
    ],
)
def test_a_wrong_value_is_named_with_its_key(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(yaml_file(tmp_path, text))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_key_says_what_is_there_and_what_it_means(tmp_path: Path) -> None:
    path = yaml_file(tmp_path, "executors: {small: {price: 0.3}}\n")
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert str(caught.value) == (
        f"{path}: executors.small: no key 'model' (found: price); "
        "wanted: Like executor.model, but another one; add it"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("policy: {name: [\n", "cannot be read as YAML"),
        ("- a\n- b\n", "found a list, wanted keys and values"),
        ("just words\n", "found a str, wanted keys and values"),
    ],
)
def test_broken_yaml_is_one_line_with_the_file(tmp_path: Path, text: str, said: str) -> None:
    path = yaml_file(tmp_path, text)
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
    with pytest.raises(ConfigError, match=r"no profile 'embeded' \(shipped: .*embedded.*training"):
        load_config("embeded")


@pytest.mark.parametrize("text", ["training.steps", "=3", ""])
def test_an_override_needs_a_key_and_a_value(text: str) -> None:
    with pytest.raises(ConfigError, match="wanted key=value"):
        load_config(overrides=[text])


def test_an_override_that_is_no_yaml_is_an_error_of_configuration() -> None:
    with pytest.raises(ConfigError, match=r"--set data\.sets=\["):
        load_config(overrides=["data.sets=["])


def test_an_unknown_override_names_the_override() -> None:
    with pytest.raises(ConfigError, match=r"--set training\.step=3: unknown key 'training\.step'"):
        load_config(overrides=["training.step=3"])


# ------------------------------------------------------------------------------------ flat keys
def test_every_flat_key_points_at_a_field() -> None:
    known = {name for name, _ in iterate_fields(Config)}
    assert set(FLAT_KEYS.values()) <= known


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
    with pytest.raises(ConfigError, match=r"--set physical_gpus=0: physical_gpus: found 0, wanted"):
        load_config(overrides=["physical_gpus=0"])


def test_an_exponent_without_a_point_is_a_number(tmp_path: Path) -> None:
    assert load_config(yaml_file(tmp_path, "learning_rate: 5e-6\n")).training.learning_rate == 5e-6
    assert load_config(overrides=["learning_rate=2e-4"]).training.learning_rate == 2e-4


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


def test_every_field_is_described() -> None:
    sections = set(Config.model_fields)
    bare = [name for name, info in iterate_fields(Config) if not info.description]
    assert set(bare) <= sections


def test_training_is_the_profile_of_no_name() -> None:
    assert load_config() == load_config("training")


def test_a_configuration_survives_its_own_json() -> None:
    config = load_config("embedded")
    assert Config.model_validate(config.model_dump(mode="json")) == config


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


def test_an_unknown_preset_names_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"training\.preset: found 'ppo'.*dr_grpo"):
        load_config(overrides=["training.preset=ppo"])


@pytest.mark.parametrize("url", ["nonsense", "ftp://h/v1", "http://", "h:8010/v1", "http://h:x/v1"])
def test_a_server_that_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match=rf"sampling.server: .*'{url}', wanted http://HOST"):
        load_config(overrides=["sampling.backend=vllm", f"sampling.server={url}"])


def test_a_server_is_named_without_a_slash_at_the_end_also_by_its_older_list() -> None:
    for given in ("sampling.server=http://h:8010/v1/", "sampling.replicas=[http://h:8010/v1/]"):
        config = load_config(overrides=["sampling.backend=vllm", given])
        assert config.sampling.server == "http://h:8010/v1"
    with pytest.raises(ConfigError, match=r"found 2 addresses.*--data-parallel-size 2"):
        load_config(overrides=["sampling.replicas=[http://a/v1,http://b/v1]"])


def test_every_data_set_of_the_catalog_can_be_chosen_and_no_other() -> None:
    assert set(CATALOG) == {*DATASETS, *EXTRA_DATASETS}
    chosen = load_config(overrides=["data.sets=[mbpp_full, mmlu]"]).data.sets
    assert chosen == ("mbpp_full", "mmlu")
    with pytest.raises(ConfigError, match=r"no data set 'gms8k'; did you mean 'gsm8k'\?"):
        load_config(overrides=["data.sets=[gms8k]"])
    for key in ("data.sets", "evaluation.sets"):
        with pytest.raises(ConfigError, match=r"'math' is there 2 times; name each set once"):
            load_config(overrides=[f"{key}=[math, gsm8k, math]"])
    with pytest.raises(ConfigError, match=r"known: gsm8k, .*mmlu"):
        load_config(overrides=["data.sets=[x]"])


@pytest.mark.parametrize(("given", "rows"), [("all", None), ("null", None), ("3", 3), ("'3'", 3)])
def test_the_limit_of_a_profile_can_be_set_and_lifted(given: str, rows: int | None) -> None:
    override = f"evaluation.limit_per_set={given}"
    assert load_config("embedded").evaluation.limit_per_set == 2
    assert load_config("embedded", overrides=[override]).evaluation.limit_per_set == rows


@pytest.mark.parametrize("given", ["0", "-1", "2.5", "true", "every", "[1]"])
def test_a_limit_that_is_none_says_what_is_wanted(given: str) -> None:
    said = "limit_per_set: found .*; wanted how many rows of each set, at least 1, or `all`"
    with pytest.raises(ConfigError, match=said):
        load_config(overrides=[f"evaluation.limit_per_set={given}"])


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
    assert (own.kind, own.model) == ("llm", "none")
    named = load_config(file, overrides=["judge.model=scripted"]).judge
    assert (named.kind, named.model) == ("llm", "scripted")
    shipped = load_config(file, overrides=["judge.kind=scoring"]).judge
    assert (shipped.kind, shipped.model) == ("scoring", "none")


def test_rules_alone_beside_a_model_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text("judge:\n  kind: rules\n  model: scripted\n")
    with pytest.raises(ConfigError) as refused:
        load_config(file)
    assert str(refused.value) == (
        f"{file}: judge.kind: rules asks no model, found judge.model: scripted; set judge.kind: llm"
    )


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("reward.corectness=1", "no reward part 'corectness'; did you mean 'correctness'?"),
        ("reward.weights.corectness=1", "no reward part 'corectness'; did you mean 'correctness'?"),
        ("reward.schem=gated", "unknown key 'reward.schem'; did you mean 'reward.scheme'?"),
        ("reward.token_budget=0", "option 'token_budget' of reward part 'efficiency': found 0"),
        ("reward.format=-1", "reward.weights.format: found -1"),
    ],
)
def test_a_wrong_key_of_the_reward_is_named(override: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load_config(overrides=[override])
    assert said in str(refused.value)

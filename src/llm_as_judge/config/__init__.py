"""The typed configuration of a run."""

from llm_as_judge.config.catalog import (
    HubRecord,
    ModelEntry,
    ModelSource,
    PackageSource,
    load_hub_records,
    load_models,
)
from llm_as_judge.config.credentials import checked_key, environment_key
from llm_as_judge.config.data import DATASETS, EXTRA_DATASETS
from llm_as_judge.config.endpoints import ADDRESS_FORM, Endpoint, entry_to_write, load_endpoints
from llm_as_judge.config.grading import RULES_ALONE
from llm_as_judge.config.loading import FLAT_KEYS, keys_called, load_config
from llm_as_judge.config.names import find_model, hub_base, known_model, published_base
from llm_as_judge.config.reading import (
    OWN_FILE,
    clone_read,
    config_file,
    config_files,
    iterate_fields,
    parse_yaml,
    shipped_dir,
)
from llm_as_judge.config.running import CallsConfig, NamedExecutorConfig
from llm_as_judge.config.training import PRESETS, Baseline, LossKeys
from llm_as_judge.config.tree import Config, OutputConfig

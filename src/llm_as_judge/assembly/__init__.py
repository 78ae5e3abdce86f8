"""Config -> live objects: the only place that chooses classes.

:func:`open_system` starts what a run needs (embedded servers, sandbox, judge, policy) and closes
all of it again, whatever happens in between.
"""

from llm_as_judge.assembly.code_tests import CodeTestCheck
from llm_as_judge.assembly.documents import library_facts
from llm_as_judge.assembly.models import load_policy_of, model_weights
from llm_as_judge.assembly.policy_prompt import policy_prompt
from llm_as_judge.assembly.problems import problem_sampler, program_options, row_options
from llm_as_judge.assembly.system import (
    adapters_folder,
    open_memory,
    open_system,
    require_draws,
    rollout_runner,
    versions,
)
from llm_as_judge.assembly.trained_prompt import PromptRecord, under_trained_prompt
from llm_as_judge.assembly.workbench import (
    Workbench,
    answers_of_sets,
    judge_fingerprint,
    open_judge,
    open_judge_model,
    open_workbench,
    run_limits,
)

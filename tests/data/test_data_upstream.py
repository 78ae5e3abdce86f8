"""Every row of the real upstream files, where they lie next to the checkout."""

import collections
from pathlib import Path

import pytest

from llm_as_judge.data.catalog import CATALOG
from llm_as_judge.data.files import decode_problem, encode_problem
from llm_as_judge.data.process import process
from llm_as_judge.data.rows import RowError

UPSTREAM = Path(__file__).parents[3] / "shared" / "data"
pytestmark = [
    pytest.mark.chaos,
    pytest.mark.skipif(not UPSTREAM.is_dir(), reason="no upstream files"),
]

FILES = {
    # file -> (set, rows converted, rows refused)
    "gsm8k/train.jsonl": ("gsm8k", 7473, 0),
    "gsm8k/test.jsonl": ("gsm8k", 659, 0),
    "math/train.jsonl": ("math", 7500, 0),
    "math/test.jsonl": ("math", 2500, 0),
    "squad_v2/train-v2.0.json": ("squad2", 4719, 0),
    "squad_v2/dev-v2.0.json": ("squad2", 7309, 0),
    "squad_v1.1/train-v1.1.json.gz": ("squad2", 11877, 0),
    "squad_v1.1/dev-v1.1.json.gz": ("squad2", 8158, 0),
    "hotpotqa/hotpot_train_v1.1.json": ("hotpotqa", 300, 0),
    "hotpotqa/hotpot_dev_distractor_v1.json": ("hotpotqa", 613, 0),
    "hotpotqa/hotpot_dev_fullwiki_v1.json": ("hotpotqa", 838, 0),
    "hotpotqa/hotpot_dev_v1_simplified.json": ("hotpotqa", 6997, 0),
    "humaneval/HumanEval.jsonl.gz": ("humaneval", 100, 0),
    "mbpp/sanitized-mbpp.json": ("mbpp", 298, 0),
    "mbpp/mbpp.jsonl": ("mbpp_full", 724, 0),
    "commonsense_qa/train_rand_split.jsonl": ("commonsenseqa", 9741, 0),
    "commonsense_qa/dev_rand_split.jsonl": ("commonsenseqa", 610, 0),
    "commonsense_qa/test_rand_split_no_answers.jsonl": ("commonsenseqa", 0, 1140),
    "mmlu/mmlu.zip": ("mmlu", 8848, 0),
}


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES)
def test_every_row_is_converted_or_refused_with_its_place(file: str) -> None:
    name, converted, refused = FILES[file]
    dataset = CATALOG[name]
    problems, reasons = [], collections.Counter[str]()
    for row in dataset.rows([UPSTREAM / file]):
        assert row.where.startswith(str(UPSTREAM / file))
        try:
            problem = dataset.convert(row, dataset.split)
        except RowError as error:
            reasons[str(error)] += 1
            continue
        assert decode_problem(encode_problem(problem), UPSTREAM / file, 1) == problem
        assert (problem.dataset, problem.domain) == (name, dataset.domain)
        problems.append(problem.id)
    assert (len(problems), sum(reasons.values())) == (converted, refused)
    assert len(set(problems)) == len(problems)


@pytest.mark.slow
def test_real_sets_split_five_to_one_without_leaks(tmp_path: Path) -> None:
    report = process(UPSTREAM, tmp_path, val_fraction=0)
    sizes = {entry.dataset: (entry.train, entry.test) for entry in report.sets}
    assert sizes == {
        "gsm8k": (6228, 1245),
        "math": (6250, 1250),
        "squad2": (3933, 786),
        "hotpotqa": (250, 50),
        "humaneval": (84, 16),
        "mbpp": (249, 49),
    }
    assert report.refused == 0

"""The rows that are evaluated: seeded, stratified, said; overlap with training counted."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llm_as_judge.assembly import row_options
from llm_as_judge.config import Config
from llm_as_judge.data.files import write_problems
from llm_as_judge.data.selection import EvaluatedSet, limited
from llm_as_judge.data.selection import evaluated_sets as sets_of
from llm_as_judge.errors import ConfigError, DataError
from llm_as_judge.types import Problem


def squad(number: int, answerable: bool) -> Problem:
    answers = ("x",) if answerable else ()
    return Problem(f"squad2/test/{number}", "squad2", "qa", f"Who is {number}?", answers)


def evaluated_sets(config: Config) -> list[EvaluatedSet]:
    return sets_of(row_options(config))


def settings(folder: Path, **evaluation: Any) -> Config:
    return Config.model_validate(
        {
            "data": {
                "data_dir": folder,
                "train_file": folder / "mixed" / "train_mixed.jsonl",
                "sets": ["squad2"],
            },
            "evaluation": evaluation,
        }
    )


@pytest.fixture
def place(tmp_path: Path) -> Path:
    rows = [squad(n, answerable=n % 3 != 0) for n in range(30)]
    write_problems(tmp_path / "test" / "squad2_test.jsonl", rows)
    return tmp_path


def test_a_limit_keeps_the_shares_of_the_strata_and_says_so(place: Path) -> None:
    (chosen,) = evaluated_sets(settings(place, limit_per_set=9))
    assert Counter(bool(p.answers) for p in chosen.problems) == {True: 6, False: 3}
    assert chosen.sample == "9 of 30 rows: a seeded sample stratified by answerable"
    assert [p.id for p in chosen.problems] == [
        p.id for p in evaluated_sets(settings(place, limit_per_set=9))[0].problems
    ]


def test_no_limit_is_all_rows_in_their_order(place: Path) -> None:
    for limit in (None, 30, 99):
        (chosen,) = evaluated_sets(settings(place, limit_per_set=limit))
        assert [p.id for p in chosen.problems] == [f"squad2/test/{n}" for n in range(30)]
        assert chosen.sample == "all rows"


def test_another_seed_is_another_sample() -> None:
    rows = [squad(n, True) for n in range(40)]
    assert limited("squad2", rows, 5, seed=0) != limited("squad2", rows, 5, seed=1)


@given(st.lists(st.booleans(), min_size=1, max_size=40), st.integers(1, 40))
def test_a_sample_has_the_wanted_size_and_fair_shares(answerable: list[bool], limit: int) -> None:
    rows = [squad(n, a) for n, a in enumerate(answerable)]
    found = limited("squad2", rows, limit, seed=3)
    size = min(limit, len(rows))
    assert len(found) == len({p.id for p in found}) == size
    fair = size * sum(answerable) / len(rows)
    assert abs(sum(bool(p.answers) for p in found) - fair) < 1


def test_problems_of_the_training_mix_are_counted(place: Path) -> None:
    assert evaluated_sets(settings(place))[0].seen_in_training is None  # there is no mix
    same = Problem("squad2/train/9", "squad2", "qa", "who is  4 ?", ("x",))
    other = Problem("squad2/train/8", "squad2", "qa", "Who is 5?", ("x",), context="Elsewhere.")
    write_problems(place / "mixed" / "train_mixed.jsonl", [same, other])
    assert evaluated_sets(settings(place))[0].seen_in_training == 1


def test_the_test_mix_is_a_set_too(place: Path) -> None:
    write_problems(place / "mixed" / "test_mixed.jsonl", [squad(1, True)])
    found = evaluated_sets(settings(place, sets=["squad2", "mixed"]))
    assert [(s.name, s.rows) for s in found] == [("squad2", 30), ("mixed", 1)]


def own(number: int, name: str = "mine") -> Problem:
    return Problem(f"{name}/custom/{number}", name, "math", f"{number} + 1?", (str(number + 1),))


def test_a_set_of_ones_own_is_evaluated_by_name_and_by_default(place: Path) -> None:
    write_problems(place / "test" / "mine_test.jsonl", [own(1), own(2)])
    (named,) = evaluated_sets(settings(place, sets=["mine"]))
    assert (named.name, named.rows) == ("mine", 2)
    by_default = [s.name for s in evaluated_sets(settings(place))]
    assert by_default == ["squad2", "mine", "mixed"]
    (place / "test" / "squad2_test.jsonl").unlink()  # process made one's own set alone
    assert [s.name for s in evaluated_sets(settings(place))] == ["mine"]


def test_a_set_of_the_catalog_that_is_not_in_the_mix_is_evaluated_where_it_is_named(
    place: Path,
) -> None:
    rows = [own(n, "mbpp") for n in range(2)]
    write_problems(place / "test" / "mbpp_test.jsonl", rows)
    assert "mbpp" not in {found.name for found in evaluated_sets(settings(place))}
    (found,) = evaluated_sets(settings(place, sets=["mbpp"]))
    assert found.problems == tuple(rows)


def test_an_own_set_too_small_for_a_test_row_is_left_out_but_not_where_it_is_named(
    place: Path,
) -> None:
    (place / "test" / "mine_test.jsonl").write_text("")
    assert [s.name for s in evaluated_sets(settings(place))] == ["squad2"]
    with pytest.raises(DataError, match=r"mine_test\.jsonl: no problems in it: a sixth of a set"):
        evaluated_sets(settings(place, sets=["mine"]))


def test_without_any_set_the_line_says_what_to_run(tmp_path: Path) -> None:
    config = Config.model_validate({"data": {"data_dir": tmp_path, "sets": []}})
    with pytest.raises(ConfigError, match=r"nothing to evaluate: .* data process --custom FILE"):
        evaluated_sets(config)


def two_domains(place: Path, mixed: list[Problem], **evaluation: Any) -> Config:
    """30 questions and 40 sums, with this test mix."""
    write_problems(place / "test" / "gsm8k_test.jsonl", [own(n, "gsm8k") for n in range(40)])
    write_problems(place / "mixed" / "test_mixed.jsonl", mixed)
    config = settings(place, **evaluation)
    data = config.data.model_copy(update={"sets": ("squad2", "gsm8k")})
    return config.model_copy(update={"data": data})


def test_the_test_mix_is_evaluated_by_default_of_rows_that_are_evaluated_anyway(
    place: Path,
) -> None:
    config = two_domains(place, [own(3, "gsm8k"), squad(4, True), own(1, "gsm8k")])
    *sets, mix = evaluated_sets(config)
    assert [s.name for s in (*sets, mix)] == ["squad2", "gsm8k", "mixed"]
    assert (mix.sample, mix.rows) == ("all rows", 3)
    assert [p.id for p in mix.problems] == ["gsm8k/custom/3", "squad2/test/4", "gsm8k/custom/1"]
    assert {p.id for p in mix.problems} <= {p.id for s in sets for p in s.problems}


def test_of_a_sample_the_mix_is_drawn_from_its_rows_by_the_shares_of_the_domains(
    place: Path,
) -> None:
    config = two_domains(place, [own(3, "gsm8k"), squad(4, True)], limit_per_set=12)
    *sets, mix = evaluated_sets(config)
    assert Counter(p.domain for p in mix.problems) == {"math": 12, "qa": 9}
    assert {p.id for p in mix.problems} <= {p.id for s in sets for p in s.problems}
    assert mix.sample == "21 of 24 rows: those of the sets above, mixed 4:3:3 by domain"
    assert mix == evaluated_sets(config)[-1]


def test_a_mix_of_other_sets_brings_no_row_that_is_not_evaluated(place: Path) -> None:
    config = two_domains(place, [own(1, "math"), squad(4, True)])
    *sets, mix = evaluated_sets(config)
    assert {p.id for p in mix.problems} <= {p.id for s in sets for p in s.problems}


def test_no_mix_stands_beside_sets_that_are_named_or_of_another_split(place: Path) -> None:
    mixed = [squad(4, True)]
    found = evaluated_sets(two_domains(place, mixed, sets=["squad2", "gsm8k"]))
    assert [s.name for s in found] == ["squad2", "gsm8k"]
    train = two_domains(place, mixed, split="train")
    for name in ("squad2", "gsm8k"):
        (place / "test" / f"{name}_test.jsonl").rename(place / "mixed" / f"{name}_train.jsonl")
    (place / "mixed").rename(place / "processed")
    assert [s.name for s in evaluated_sets(train)] == ["squad2", "gsm8k"]


@pytest.mark.parametrize("split", ["train", "val"])
def test_other_splits_are_read_from_the_processed_files(place: Path, split: str) -> None:
    rows = [squad(n, True) for n in (40, 41)]
    write_problems(place / "processed" / f"squad2_{split}.jsonl", rows)
    write_problems(place / "mixed" / f"{split}_mixed.jsonl", rows[:1])
    found = evaluated_sets(settings(place, sets=["squad2", "mixed"], split=split))
    assert [s.problems for s in found] == [tuple(rows), tuple(rows[:1])]


def test_a_set_that_is_not_known_or_not_there_is_one_clear_line(place: Path) -> None:
    with pytest.raises(ConfigError, match=r"no set 'squad9' \(known: squad2, mixed\)"):
        evaluated_sets(settings(place, sets=["squad9"]))
    there = r"test_mixed\.jsonl: no such file; .* --set 'evaluation\.sets=\[squad2\]'$"
    with pytest.raises(DataError, match=there):
        evaluated_sets(settings(place, sets=["mixed"]))
    (place / "test" / "squad2_test.jsonl").unlink()
    with pytest.raises(
        DataError,
        match=r"squad2_test\.jsonl: no such file; for rows of your own run: .* init .*; for the shipped sets: .* data process",
    ):
        evaluated_sets(settings(place))
    (place / "test" / "squad2_test.jsonl").mkdir()
    with pytest.raises(DataError, match=r"squad2_test\.jsonl: a folder, wanted a file"):
        evaluated_sets(settings(place))


def test_a_problem_that_is_there_twice_is_refused_with_its_lines(place: Path) -> None:
    write_problems(place / "test" / "squad2_test.jsonl", [squad(n, True) for n in (1, 2, 3, 2)])
    with pytest.raises(DataError, match=r"squad2_test\.jsonl:4: 'squad2/test/2' is on line 2, too"):
        evaluated_sets(settings(place))


def test_rows_of_another_set_are_refused_with_their_line(place: Path) -> None:
    rows = [squad(1, True), Problem("gsm8k/test/1", "gsm8k", "math", "1 + 1?", ("2",))]
    write_problems(place / "test" / "squad2_test.jsonl", rows)
    with pytest.raises(DataError, match=r"squad2_test\.jsonl:2: a row of 'gsm8k', wanted 'squad2'"):
        evaluated_sets(settings(place))


def test_no_set_is_not_all_of_them() -> None:
    with pytest.raises(ValueError, match="no set; leave it out"):
        Config.model_validate({"evaluation": {"sets": []}})

"""Plugins: found, imported once, recorded; what is wrong with one is a line that names it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from llm_as_judge import plugins
from llm_as_judge.config import load_config
from llm_as_judge.errors import ConfigError, EndpointError
from llm_as_judge.plugins import Plugin, load_plugins, plugin_facts
from llm_as_judge.reward import REWARD_PARTS
from restored import restored

PART = """
from llm_as_judge.reward import reward_part

@reward_part("{name}", weight=0.25)
def part(rollout, group):
    return 0.0
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder, with no plugin loaded yet."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plugins, "_loaded", {})
    monkeypatch.setattr(sys, "path", list(sys.path))
    known = set(sys.modules)
    with restored(REWARD_PARTS):
        yield tmp_path
    for name in set(sys.modules) - known:
        del sys.modules[name]


def test_a_module_of_the_current_folder_adds_to_what_the_configuration_may_name(
    folder: Path,
) -> None:
    (folder / "my_parts.py").write_text(PART.format(name="mine"))
    config = load_config(overrides=["plugins=[my_parts]", "reward.weights.mine=0.5"])
    assert config.plugins == ("my_parts",)
    assert config.reward.weights["mine"] == 0.5
    assert load_config(overrides=["plugins=[my_parts]"]).reward.weights["mine"] == 0.25
    with pytest.raises(ConfigError, match="no reward part 'other'"):
        load_config(overrides=["plugins=[my_parts]", "reward.other=0.5"])


def test_a_module_is_imported_once(folder: Path) -> None:
    (folder / "counted.py").write_text(
        "from pathlib import Path\nPath('times').write_text('x' + 'x' * Path('times').exists())\n"
    )
    load_plugins(["counted"])
    load_plugins(["counted", "counted"])
    assert (folder / "times").read_text() == "x"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (None, "plugins: broken: no module 'broken'; put it into "),
        ("import not_there_at_all", "ModuleNotFoundError: No module named 'not_there_at_all'"),
        ("x = 1\ny = 1 / 0\n", "ZeroDivisionError: division by zero"),
        ("def f(:\n", "SyntaxError: invalid syntax (broken.py, line 1); mend it"),
        (
            PART.format(name="one").replace(", group", ""),
            "reward part 'one': takes (rollout), wanted (rollout, group)",
        ),
        (PART.format(name="format"), "plugins: broken: reward part 'format' stands in"),
    ],
)
def test_what_is_wrong_with_a_plugin_is_one_line(
    folder: Path, source: str | None, said: str
) -> None:
    if source is not None:
        (folder / "broken.py").write_text(source)
    with pytest.raises(ConfigError) as refused:
        load_plugins(["broken"])
    message = str(refused.value)
    assert message.startswith("plugins: broken: ")
    assert said in message
    assert "\n" not in message


def test_the_place_of_an_error_is_told(folder: Path) -> None:
    (folder / "broken.py").write_text("x = 1\ny = 1 / 0\n")
    with pytest.raises(ConfigError, match=r"broken\.py:2\); mend it, or take it out of `plugins`"):
        load_plugins(["broken"])


def test_the_record_of_a_plugin_follows_its_file_and_what_it_imports_beside_it(
    folder: Path,
) -> None:
    (folder / "helper.py").write_text("LIMIT = 1\n")
    (folder / "bystander.py").write_text("LIMIT = 1\n")
    (folder / "recorded.py").write_text("import helper\n")
    load_plugins(["recorded"])
    first = plugin_facts()
    assert list(first) == ["recorded"]
    (folder / "bystander.py").write_text("LIMIT = 2\n")
    assert plugin_facts() == first
    (folder / "helper.py").write_text("LIMIT = 2\n")
    assert plugin_facts() != first


def test_an_installed_package_is_found_by_its_entry_point(folder: Path) -> None:
    (folder / "packaged.py").write_text(PART.format(name="packaged"))
    metadata = folder / "packaged-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: packaged\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[llm_as_judge.plugins]\nany = packaged\n")
    script = "from llm_as_judge.config import Config; print(Config().reward.weights['packaged'])"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.stdout == "0.25\n", done.stderr
    (folder / "packaged.py").write_text("1 / 0\n")
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=False
    )
    assert "plugin packaged of the installed package packaged: importing it failed" in done.stderr


@dataclass(frozen=True)
class Loud:
    words: int = 1


def test_a_plugin_makes_of_its_place_with_checked_options_and_fails_in_one_line() -> None:
    def make(place: str, options: Loud) -> str:
        if options.words > 2:
            raise EndpointError("http://nowhere: no answer")
        return (place + " ") * (1 // options.words)

    one = Plugin("shout", make, Loud)
    assert one.make("here", {}, "shouting.kind") == "here "
    assert one.default_options() == {"words": 1}
    with pytest.raises(
        ConfigError, match=r"no option 'wrods' of plugin 'shout'; did you mean 'words'"
    ):
        one.make("here", {"wrods": 1}, "shouting.kind")
    with pytest.raises(
        ConfigError, match=r"^shouting\.kind: shout: ZeroDivisionError: .*test_plugins"
    ):
        one.make("here", {"words": 0}, "shouting.kind")
    with pytest.raises(EndpointError):  # not a fault of the plugin
        one.make("here", {"words": 3}, "shouting.kind")
    with pytest.raises(ConfigError, match=r"found 'x', wanted a plugin with hear\(text\)"):
        one.able("x", "hear(text)", "shouting.kind")
    assert one.able("x", "upper()", "shouting.kind") == "x"

"""What the grammar of constrained decoding accepts is valid; what it offers is what there is."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

import pytest

from llm_as_judge.operators import registry
from llm_as_judge.types import DOMAINS, Domain
from llm_as_judge.workflow.grammar import MAX_STEPS, program_grammar
from llm_as_judge.workflow.program import parse_program

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\[\^(?:[^]\\]|\\.)*\]|\{\d+,\d+\}|[\w-]+|[()|?]')


@dataclass
class Derivations:
    """Random texts of a grammar: GBNF as far as ``program_grammar`` uses it."""

    text: str
    random: random.Random

    def __post_init__(self) -> None:
        rules = (line.split(" ::= ", 1) for line in self.text.splitlines() if line)
        self.rules = {name: TOKEN.findall(body) for name, body in rules}

    def draw(self, name: str = "root") -> str:
        said, rest = self._choice(self.rules[name])
        assert not rest
        return said

    def _choice(self, tokens: list[str]) -> tuple[str, list[str]]:
        """One alternative of the choice at the start; the tokens behind it."""
        options: list[list[str]] = [[]]
        depth, i = 0, 0
        while i < len(tokens) and not (tokens[i] == ")" and depth == 0):
            depth += {"(": 1, ")": -1}.get(tokens[i], 0)
            if tokens[i] == "|" and depth == 0:
                options.append([])
            else:
                options[-1].append(tokens[i])
            i += 1
        return self._sequence(self.random.choice(options)), tokens[i:]

    def _sequence(self, tokens: list[str]) -> str:
        said = ""
        while tokens:
            token, tokens = tokens[0], tokens[1:]
            piece, after = [token], tokens
            if token == "(":
                _, closing = self._choice(tokens)
                piece, after = tokens[: len(tokens) - len(closing)], closing[1:]
            low, high = 1, 1
            if after[:1] == ["?"]:
                low, after = 0, after[1:]
            elif after and after[0].startswith("{"):
                low, high = map(int, after[0][1:-1].split(","))
                after = after[1:]
            for _ in range(self.random.randint(low, high)):
                said += self._choice(piece)[0] if token == "(" else self._atom(token)
            tokens = after
        return said

    def _atom(self, token: str) -> str:
        if token.startswith('"'):
            return token[1:-1].encode().decode("unicode_escape")
        if token.startswith("["):
            return self.random.choice("ab é'{}#:")
        return self.draw(token)


@pytest.mark.parametrize("domain", DOMAINS)
def test_whatever_the_grammar_makes_is_strictly_valid(domain: Domain) -> None:
    grammar = Derivations(program_grammar(domain, max_calls=12), random.Random(0))
    used: set[str] = set()
    for _ in range(300):
        text = grammar.draw()
        program = parse_program(f"```python\n{text}", domain, "body", max_calls=12)
        assert program.strictly_valid, (text, program.diagnostics)
        assert text.count("await") <= MAX_STEPS
        used.update(program.operators)
    shown = {e.name for e in registry().values() if domain in e.description.domains}
    assert used == shown - {"UntilAgree", "Choose"}  # functions; the policy answers


def test_a_program_of_the_grammar_may_name_any_executor_that_there_is() -> None:
    executors = ("small", "tiny")
    grammar = Derivations(program_grammar("math", 12, executors), random.Random(0))
    texts = [grammar.draw() for _ in range(100)]
    for text in texts:
        written = f"```python\n{text}"
        program = parse_program(written, "math", "body", max_calls=12, executors=executors)
        assert program.strictly_valid, (text, program.diagnostics)
    assert all(f'executor="{name}")' in "".join(texts) for name in executors)
    assert "executor" not in program_grammar("math", 12)


def test_a_limit_of_calls_leaves_out_what_could_pass_it() -> None:
    grammar = program_grammar("qa", max_calls=4)
    assert "sc_ensemble(" in grammar
    assert "md_ensemble(" not in grammar  # five votes

"""The check before a run: the shape of the class, then every path through it.

It promises that a program without findings does not die of what findings are about: unknown
operators, arguments and keys, calls that are not awaited, names without a value, imports, loops
without a bound; and that its answer is made by operators from the problem.
"""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass

from llm_as_judge.operators.syntax import children
from llm_as_judge.workflow.analysis import CheckOptions, TooComplexError
from llm_as_judge.workflow.findings import Finding, Repair
from llm_as_judge.workflow.frames import Frame, Return, State, join_states, local_names
from llm_as_judge.workflow.given import drop_given_import, given_imports
from llm_as_judge.workflow.repairs import return_pair
from llm_as_judge.workflow.statements import Statements
from llm_as_judge.workflow.values import ANSWER, ANY, LOOSE, MAYBE, PROBLEM, Value

__all__ = ["Checked", "check"]

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_TOP_LEVEL = (
    ast.Import,
    ast.ImportFrom,
    *_FUNCTIONS,
    ast.ClassDef,
    ast.Assign,
    ast.AnnAssign,
    ast.Pass,
)
_INIT_ARGUMENTS = ("name", "llm_config", "dataset")
_DEFINITELY_NO_TUPLE = frozenset({"text", "number", "none", "result", "dict"})


@dataclass(frozen=True, slots=True)
class Checked:
    """What the check says of one tree."""

    findings: tuple[Finding, ...]
    operators: tuple[str, ...] = ()
    worst_case_calls: int = 0
    lone_returns: tuple[ast.Return, ...] = ()
    """Returns of ``__call__`` that give the answer without the second part."""


def check(tree: ast.Module, options: CheckOptions) -> Checked:
    """All findings of a program in class form, in the order of their lines."""
    workflow = next(
        (n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Workflow"), None
    )
    if workflow is None:
        return Checked((Finding("W102", 0, ""),))
    checker = _Checker(options, workflow)
    try:
        calls = checker.check(tree, workflow)
    except TooComplexError:
        return Checked((Finding("W109", 0, "it has too many paths"),))
    findings = sorted(checker.findings.values(), key=lambda f: (f.line, f.code))
    if not findings and (error := _compile_error(tree)) is not None:
        findings = [error]
    lone = tuple(checker.lone_returns)
    return Checked(tuple(findings), tuple(checker.operators), calls, lone)


def _compile_error(tree: ast.Module) -> Finding | None:
    """What only the compiler sees: await outside async, a return that does not fit."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(tree, "<program>", "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError) as error:
        line = getattr(error, "lineno", 0) or 0
        return Finding("W101", line, str(getattr(error, "msg", error)))
    return None


class _Checker(Statements):
    def check(self, tree: ast.Module, workflow: ast.ClassDef) -> int:
        """Follows module, ``__init__`` and ``__call__``; gives the worst-case model calls."""
        self.lone_returns: list[ast.Return] = []
        self._follow_module(tree, workflow)
        for item in workflow.body:
            if isinstance(item, _FUNCTIONS):
                self.annotations(item, self.module)
                for decorator in item.decorator_list:
                    self.value(decorator, self.module)
        self._follow_init(self.methods.get("__init__"))
        call = self.methods.get("__call__")
        if call is None or not isinstance(call, ast.AsyncFunctionDef):
            what = "" if call is None else "it is written without `async`"
            self.report("W103", call or workflow, what)
            return 0
        return self._follow_call(call)

    # -------------------------------------------------------------------------------- the module
    def _follow_module(self, tree: ast.Module, workflow: ast.ClassDef) -> None:
        declared = _declared_global(tree)
        given_names = {"operator", "create_llm_instance"}
        self.module.locals = local_names(tree) | declared | given_names
        self.module.state = State(
            {
                "operator": Value("operators"),
                "create_llm_instance": Value("class", names=frozenset({"create_llm_instance"})),
            }
        )
        given = given_imports(tree)
        for statement in tree.body:
            if statement in given:
                repair = Repair("given_import", drop_given_import(statement))
                self.report("W108", statement, "", repair)
                self.module.state.variables.setdefault("DatasetType", ANY)
            elif statement is workflow:
                self._follow_class(workflow)
            elif not _allowed_at_top_level(statement):
                self.report("W107", statement)
            elif not isinstance(statement, ast.If):
                self.follow([statement], self.module)

    def _follow_class(self, workflow: ast.ClassDef) -> None:
        for base in [*workflow.bases, *workflow.decorator_list]:
            self.value(base, self.module)
        body = Frame(workflow, local_names(workflow), self.module)
        self.follow([s for s in workflow.body if not isinstance(s, _FUNCTIONS)], body)
        assert self.attributes.state is not None
        if body.state is not None:
            self.attributes.state.variables.update(body.state.variables)
        self.assign("Workflow", ANY, self.module)

    # ------------------------------------------------------------------------------ its methods
    def _follow_init(self, init: ast.FunctionDef | ast.AsyncFunctionDef | None) -> None:
        if init is None:
            return
        if isinstance(init, ast.AsyncFunctionDef):
            self.report("W105", init, "it must not be async")
            return
        frame = Frame(init, self.locals_of(init), self.module)
        known = dict.fromkeys(_INIT_ARGUMENTS, ANY)
        if wrong := self._bind_self_and(init, known, frame):
            self.report("W105", init, wrong)
        self.follow(init.body, frame)
        self._check_super(init)

    def _check_super(self, init: ast.FunctionDef) -> None:
        """``super().__init__(name, ...)``: the class of a program has no base that takes any."""
        for node in ast.walk(init):
            if (
                isinstance(node, ast.Call)
                and (node.args or node.keywords)
                and ast.unparse(node.func) == "super().__init__"
            ):
                self.report("W105", node, "super().__init__ takes no arguments here")

    def _follow_call(self, call: ast.AsyncFunctionDef) -> int:
        problem = Value("text", labels=frozenset({PROBLEM}))
        known = {"problem": problem}
        if self.options.domain == "code":
            known |= {"entry_point": Value("text"), "test": Value("text")}
        frame = Frame(call, self.locals_of(call), self.module)
        if wrong := self._bind_self_and(call, known, frame):
            self.report("W104", call, wrong)
        elif "problem" not in {a.arg for a in call.args.args + call.args.kwonlyargs}:
            self.report("W104", call, "there is no argument `problem`")
        self.following.append(call)
        self.follow(call.body, frame)
        self.following.pop()
        # Where something else was found, the call that is missing may be that.
        if not self.operators and not self.findings:
            self.report("W209", call)
        self._check_returns(call, frame)
        self._check_all_awaited()
        ends = [frame.state, *(r.state for r in frame.returns)]
        end = join_states(ends)
        calls = end.cost if end is not None else 0
        if calls > self.options.max_calls:
            detail = f"{calls} in the worst case, at most {self.options.max_calls} are allowed"
            self.report("W603", call, detail)
        return calls

    def _bind_self_and(
        self,
        function: ast.FunctionDef | ast.AsyncFunctionDef,
        known: dict[str, Value],
        frame: Frame,
    ) -> str:
        """Binds the arguments that are given by name; tells what does not fit."""
        arguments = function.args
        every = [*arguments.posonlyargs, *arguments.args]
        if not every or every[0].arg != "self":
            return "the first argument must be self"
        self.assign("self", Value("self"), frame)
        required = len(every) - len(arguments.defaults)
        wrong = ""
        unknown = Value(labels=frozenset({PROBLEM}))
        if len(arguments.posonlyargs) > 1:
            wrong = "arguments are given by name: no `/`"
        for index, argument in enumerate(every[1:], start=1):
            if argument.arg not in known and index < required:
                wrong = f"`{argument.arg}` is not given"
            self.assign(argument.arg, known.get(argument.arg, unknown), frame)
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
            if argument.arg not in known and default is None:
                wrong = f"`{argument.arg}` is not given"
            self.assign(argument.arg, known.get(argument.arg, ANY), frame)
        if arguments.vararg is not None:
            self.assign(arguments.vararg.arg, Value("list", items=(), longest=0), frame)
        if arguments.kwarg is not None:
            rest = Value("dict", labels=frozenset({PROBLEM}), element=unknown)
            self.assign(arguments.kwarg.arg, rest, frame)
        return wrong

    # ------------------------------------------------------------------------------- the answer
    def _check_returns(self, call: ast.AsyncFunctionDef, frame: Frame) -> None:
        if frame.state is not None:
            self.report("W501", call, "the end of __call__ is reached without return")
        answered = [r for r in frame.returns if ANSWER in self._answer(r).labels]
        for returned in frame.returns:
            self._check_return(returned, bool(answered))

    def _answer(self, returned: Return) -> Value:
        value = returned.value
        if _is_pair(value):
            assert value.items is not None
            return value.items[0] if value.items else ANY
        return value

    def _check_return(self, returned: Return, answered: bool) -> None:
        node, value = returned.node, returned.value
        if isinstance(node, ast.Return) and node.value is None:
            self.report("W501", node, "return without a value")
            return
        if value.kind == "pending":
            value = self.plain(value)
        if value.items:
            for item in value.items:
                self.plain(item)
        answer = self._answer(Return(node, value, returned.state, returned.in_handler))
        if answer.kind == "pending":
            answer = answer.element or ANY
        if isinstance(node, ast.Return) and not _is_pair(value) and node not in self.lone_returns:
            self.lone_returns.append(node)
        if (
            self.options.wants_tuple
            and value.kind in _DEFINITELY_NO_TUPLE
            and isinstance(node, ast.Return)
        ):
            self.report("W502", node, "", return_pair(node))
        if answer.kind == "result":
            self.report("W503", node)
        elif answer.kind == "none" and ANSWER not in answer.labels:
            self.report("W501", node, "None is returned")
        elif ANSWER not in answer.labels and not (returned.in_handler and answered):
            # A constant in a handler is what an error leaves; elsewhere it is no answer.
            code = "W405" if MAYBE in answer.labels else "W403"
            self.report("W404" if LOOSE in answer.labels else code, node)

    def _check_all_awaited(self) -> None:
        self.report_unawaited(Value("pending", calls=frozenset(self.created_calls)))


def _declared_global(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Global):
            names.update(node.names)
        elif not isinstance(node, ast.expr):
            todo.extend(children(node))
    return names


def _is_pair(value: Value) -> bool:
    return value.kind == "list" and value.items is not None and len(value.items) > 0


def _allowed_at_top_level(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    if isinstance(statement, ast.If):
        return _is_main_guard(statement.test) and not statement.orelse
    return isinstance(statement, _TOP_LEVEL)


def _is_main_guard(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and ast.unparse(test) in (
        "__name__ == '__main__'",
        "'__main__' == __name__",
    )

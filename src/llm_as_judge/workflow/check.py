"""The check before a run: the shape of the class, then every path through it.

It promises that a program without findings does not die of what findings are about: unknown
operators, arguments and keys, calls that are not awaited, names without a value, imports, loops
without a bound; and that its answer is made by operators from the problem.
"""

from __future__ import annotations

import ast
import warnings
from dataclasses import dataclass

from llm_as_judge.operators.syntax import outside_expressions
from llm_as_judge.workflow import values as v
from llm_as_judge.workflow.algebra import listed, mapped, origin_of
from llm_as_judge.workflow.context import (
    Check,
    CheckOptions,
    Frame,
    Return,
    State,
    TooComplexError,
    local_names,
    meet,
    plain,
    report_unawaited,
)
from llm_as_judge.workflow.expressions import evaluate
from llm_as_judge.workflow.findings import Finding, Repair
from llm_as_judge.workflow.imports import drop_given_import, given_imports
from llm_as_judge.workflow.repairs import return_pair
from llm_as_judge.workflow.statements import define, follow, follow_annotations

_LOOPS = (
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
)

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_TOP_LEVEL = ast.Import | ast.ImportFrom | ast.ClassDef | ast.Assign | ast.AnnAssign | ast.Pass
_INIT_ARGUMENTS = ("name", "llm_config", "dataset")
_NO_TUPLE = v.Text | v.Number | v.Nothing | v.Result | v.Mapped


@dataclass(frozen=True, slots=True)
class Checked:
    """What the check says of one tree."""

    findings: tuple[Finding, ...]
    operators: tuple[str, ...] = ()
    worst_case_calls: int = 0
    expected_calls: float = 0.0
    lone_returns: tuple[ast.Return, ...] = ()
    """Returns of ``__call__`` that give the answer without the second part."""


def check(tree: ast.Module, options: CheckOptions) -> Checked:
    """All findings of a program in class form, in the order of their lines."""
    workflow = next(
        (n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Workflow"), None
    )
    if workflow is None:
        return Checked((Finding("W102", 0, ""),))
    state = Check(options)
    lone: list[ast.Return] = []
    try:
        calls = _follow_program(tree, workflow, state, lone)
    except TooComplexError:
        return Checked((Finding("W109", 0, "it has too many paths"),))
    findings = sorted(state.findings.values(), key=lambda f: (f.line, f.column, f.code))
    if not findings and (error := _compile_error(tree)) is not None:
        findings = [error]
    return Checked(
        tuple(findings),
        tuple(state.operators),
        int(calls.most),
        round(calls.mean, 2),
        tuple(lone),
    )


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


def _follow_program(
    tree: ast.Module, workflow: ast.ClassDef, check: Check, lone: list[ast.Return]
) -> v.Calls:
    """Follows module, ``__init__`` and ``__call__``; gives the model calls of a run."""
    given_names: dict[str, v.Value] = {
        "operator": v.Given("operators"),
        "create_llm_instance": v.Builtin("create_llm_instance"),
    }
    declared = {
        name
        for node in outside_expressions(tree)
        if isinstance(node, ast.Global)
        for name in node.names
    }
    names = local_names(tree) | declared | given_names.keys()
    module = Frame(check, tree, None, names, State(dict(given_names)))
    methods = {item.name: item for item in workflow.body if isinstance(item, _FUNCTIONS)}
    _follow_module(tree, workflow, module)
    for method in methods.values():
        follow_annotations(method, module)
        for decorator in method.decorator_list:
            evaluate(decorator, module)
    if (init := methods.get("__init__")) is not None:
        _follow_init(init, module)
    call = methods.get("__call__")
    if not isinstance(call, ast.AsyncFunctionDef):
        check.report("W103", call or workflow, "it is written without `async`" if call else "")
        return v.Calls()
    return _follow_call(call, module, lone)


# ------------------------------------------------------------------------------------- the module
def _follow_module(tree: ast.Module, workflow: ast.ClassDef, module: Frame) -> None:
    given, check = given_imports(tree), module.check
    for statement in tree.body:
        if statement in given:
            repair = Repair("given_import", drop_given_import(statement))
            check.report("W108", statement, "", repair)
            assert module.state is not None
            module.state.variables.setdefault("DatasetType", v.Unknown())
        elif statement is workflow:
            _follow_class(workflow, module)
        elif not _allowed_at_top_level(statement):
            check.report("W107", statement)
        elif not isinstance(statement, ast.If):
            follow([statement], module)


def _follow_class(workflow: ast.ClassDef, module: Frame) -> None:
    for base in [*workflow.bases, *workflow.decorator_list]:
        evaluate(base, module)
    body, held = Frame(module.check, workflow, module), module.check.attributes
    follow([s for s in workflow.body if not isinstance(s, _FUNCTIONS)], body)
    for item in workflow.body:
        if isinstance(item, _FUNCTIONS):
            held[item.name] = define(item, module, defaults=body, bound=True)
    held.update(body.state.variables if body.state is not None else {})
    module.assign("Workflow", v.Unknown())


# ------------------------------------------------------------------------------------ its methods
def _follow_init(init: ast.FunctionDef | ast.AsyncFunctionDef, module: Frame) -> None:
    check = module.check
    if isinstance(init, ast.AsyncFunctionDef):
        check.report("W105", init, "it must not be async")
        return
    at = Frame(check, init, module)
    if wrong := _bind_self_and(init, dict.fromkeys(_INIT_ARGUMENTS, v.Unknown()), at):
        check.report("W105", init, wrong)
    follow(init.body, at)
    for node in ast.walk(init):
        # The class of a program has no base that takes any.
        if (
            isinstance(node, ast.Call)
            and (node.args or node.keywords)
            and ast.unparse(node.func) == "super().__init__"
        ):
            check.report("W105", node, "super().__init__ takes no arguments here")


def _follow_call(call: ast.AsyncFunctionDef, module: Frame, lone: list[ast.Return]) -> v.Calls:
    check, options = module.check, module.check.options
    known: dict[str, v.Value] = {"problem": v.Text(v.PROBLEM | v.OWN)}
    if options.domain == "code":
        known |= {"entry_point": v.Text(v.OWN), "test": v.Text(v.OWN)}
    at = Frame(check, call, module)
    if wrong := _bind_self_and(call, known, at):
        check.report("W104", call, wrong)
    elif "problem" not in {a.arg for a in call.args.args + call.args.kwonlyargs}:
        check.report("W104", call, "there is no argument `problem`")
    check.following.append(call)
    follow(call.body, at)
    check.following.pop()
    # Where something else was found, the call that is missing may be that.
    if not check.operators and not check.findings:
        check.report("W209", call)
    if at.state is not None:
        check.report("W501", call, "the end of __call__ is reached without return")
    answered = any(origin_of(_answer(r.value)) & v.ANSWER for r in at.returns)
    for returned in at.returns:
        _check_return(returned, answered, lone, at)
    report_unawaited(v.Pending(v.Unknown(), frozenset(check.created)), check)
    end = meet([at.state, *(r.state for r in at.returns)])
    calls = end.cost if end is not None else v.Calls()
    if calls.most > options.max_calls:
        detail = f"{int(calls.most)} in the worst case, at most {options.max_calls} are allowed"
        check.report("W603", _first_loop(call), detail)
    return calls


def _first_loop(call: ast.AsyncFunctionDef) -> ast.AST:
    """The outermost loop that awaits; where there is none, the first statement."""
    loops = (node for node in ast.walk(call) if isinstance(node, _LOOPS))
    awaiting = (n for n in loops if any(isinstance(part, ast.Await) for part in ast.walk(n)))
    return next(awaiting, call.body[0])


def _bind_self_and(
    function: ast.FunctionDef | ast.AsyncFunctionDef, known: dict[str, v.Value], at: Frame
) -> str:
    """Binds the arguments that are given by name; tells what does not fit."""
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args]
    if not every or every[0].arg != "self":
        return "the first argument must be self"
    at.assign("self", v.Given("self"))
    wrong = "arguments are given by name: no `/`" if len(arguments.posonlyargs) > 1 else ""
    unknown = v.Unknown(v.PROBLEM | v.OWN)
    required = every[1 : len(every) - len(arguments.defaults)]
    pairs = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    required += [argument for argument, default in pairs if default is None]
    for argument in (*every[1:], *arguments.kwonlyargs):
        if argument.arg not in known and argument in required:
            wrong = f"`{argument.arg}` is not given"
        at.assign(argument.arg, known.get(argument.arg, unknown))
    if arguments.vararg is not None:
        at.assign(arguments.vararg.arg, listed(None, 0, 0, ()))
    if arguments.kwarg is not None:
        at.assign(arguments.kwarg.arg, mapped(unknown, None, v.OWN))
    return wrong


# ------------------------------------------------------------------------------------- the answer
def _answer(value: v.Value) -> v.Value:
    """The first of the pair that is returned."""
    return value.items[0] if isinstance(value, v.Listed) and value.items else value


def _check_return(returned: Return, answered: bool, lone: list[ast.Return], at: Frame) -> None:
    node, value, report = returned.node, plain(returned.value, at), at.check.report
    if node.value is None:
        report("W501", node, "return without a value")
        return
    pair = isinstance(value, v.Listed) and bool(value.items)
    for item in (value.items or ()) if isinstance(value, v.Listed) else ():
        plain(item, at)
    answer = _answer(value)
    answer = answer.outcome if isinstance(answer, v.Pending) else answer
    if not pair and node not in lone:
        lone.append(node)
    if at.check.options.wants_tuple and isinstance(value, _NO_TUPLE):
        report("W502", node, "", return_pair(node))
    origin = origin_of(answer)
    if isinstance(answer, v.Result):
        report("W503", node)
    elif isinstance(answer, v.Nothing):
        report("W501", node, "None is returned")
    elif (origin & (v.ANSWER | v.OWN)) != v.ANSWER and not (returned.in_handler and answered):
        # A constant in a handler is what an error leaves; elsewhere it is no answer.
        code = "W405" if origin & v.ANSWER else "W404" if origin & v.LOOSE else "W403"
        report(code, node)


def _allowed_at_top_level(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=value):
            return isinstance(value, ast.Constant)
        case ast.If(test=ast.Compare() as test, orelse=[]):
            return ast.unparse(test) in ("__name__ == '__main__'", "'__main__' == __name__")
    return isinstance(statement, _TOP_LEVEL | ast.FunctionDef | ast.AsyncFunctionDef)

"""The two ends of the line between tests and solution.

Values cross as literals (:mod:`.literals`). An object of the solution's own classes stays where it
is, and the tests hold a stand-in (:mod:`.stand_ins`). A function that the tests pass is called back.
An instance of a class that the set-up defines crosses as its attributes: both sides have the class.
"""

from __future__ import annotations

import builtins
import collections
import importlib
from collections.abc import Callable
from typing import Any

from .crossing import (
    COMPARING,
    OPERATIONS,
    Form,
    Given,
    Shared,
    builtin_exception,
    judging_methods,
    made_exception,
    named_form,
    raised_form,
    shared_classes,
)
from .frames import MAX_CALL, Channel, FrameError
from .literals import LiteralError, decode, encode
from .stand_ins import Function, Held, Live, LiveClass, Named, mark_used
from .testing import UncrossableError, Watch


class SolutionEnd:
    """Answers what the tests ask of the solution, and calls the functions that they gave it."""

    def __init__(
        self, channel: Channel, namespace: dict[str, Any], shared: dict[str, type]
    ) -> None:
        self._channel = channel
        self._namespace = namespace
        self._shared = Shared(shared)
        self._given = Given()
        self._callbacks: dict[int, Callable[..., Any]] = {}
        self._callback_numbers: dict[int, int] = {}

    def serve(self) -> None:
        """Answers until the host hangs up."""
        while True:
            self._answer(self._channel.receive())

    def _answer(self, request: Form) -> None:
        self._channel.send({"t": "reply", "id": request["id"], **self._outcome(request)}, MAX_CALL)

    def _outcome(self, request: Form) -> Form:
        operation = request["op"]
        target = None
        try:
            args = [self._decode(form) for form in request["args"]]
            kwargs = {name: self._decode(form) for name, form in request["kwargs"].items()}
            target = self._decode(request["target"])
            value = OPERATIONS[operation](target, *args, **kwargs)
            reply = {"value": self._encode(value)}
            if operation == "change":
                reply["after"] = self._encode([args, kwargs])
        except StopIteration as error:
            return {"stop": True} if operation == "next" else raised_form(error)
        except AttributeError as error:
            return {"missing": True} if operation == "get" else raised_form(error)
        except TypeError as error:  # list(...) asks for a length, and does without
            unsized = operation == "len" and not hasattr(type(target), "__len__")
            return {"missing": True} if unsized else raised_form(error)
        except Exception as error:  # noqa: BLE001 - the tests decide what an exception means
            return raised_form(error)
        return reply

    def _encode(self, value: Any) -> Any:
        return encode(value, self._form)

    def _form(self, value: Any) -> Form:
        if (number := self._callback_numbers.get(id(value))) is not None:
            return {"#": "yours", "id": number}
        if (form := self._shared.form(value, self._encode)) is not None:
            return form
        return {
            "#": "object",
            "id": self._given.number(value),
            "type": type(value).__name__,
            "callable": callable(value),
        }

    def _decode(self, form: Any) -> Any:
        return decode(form, self._known)

    def _known(self, form: Form) -> Any:
        kind = form["#"]
        if kind in ("instance", "member"):
            return self._shared.value(form, self._decode)
        if kind == "named":
            return vars(importlib.import_module(form["m"]))[form["v"]]
        if kind == "callback":
            return self._callback(form["id"])
        return self._namespace[form["name"]] if "name" in form else self._given[form["id"]]

    def _callback(self, number: int) -> Callable[..., Any]:
        if number not in self._callbacks:

            def call(*args: Any, **kwargs: Any) -> Any:
                return self._call_back(number, args, kwargs)

            self._callbacks[number] = call
            self._callback_numbers[id(call)] = number
        return self._callbacks[number]

    def _call_back(self, number: int, args: Any, kwargs: dict[str, Any]) -> Any:
        self._channel.send(
            {
                "t": "invoke",
                "target": number,
                "args": [self._encode(value) for value in args],
                "kwargs": {name: self._encode(value) for name, value in kwargs.items()},
            },
            MAX_CALL,
        )
        while "op" in (reply := self._channel.receive()):
            self._answer(reply)
        if "raised" in reply:
            raise builtin_exception(reply["raised"][0])(reply["message"])
        return self._decode(reply["value"])


class TestsEnd:
    """Asks the solution's process on behalf of one test.

    Args:
        kinds: name of the solution -> ``function``, ``class`` or the builtin exception that it is.
    """

    __test__ = False

    def __init__(self, channel: Channel, watch: Watch, kinds: dict[str, str]) -> None:
        self.watch = watch
        self._channel = channel
        self._kinds = kinds
        self._names: dict[str, Any] = {}
        self._held: dict[int, Held] = {}
        self._given = Given()
        self._shared = Shared({})
        self._compares = False

    def share(self, namespace: dict[str, Any]) -> None:
        """Takes the classes of the set-up, which has run in ``namespace``."""
        self._shared = Shared(shared_classes(namespace))

    def has(self, name: str) -> bool:
        """Whether the solution may define ``name``."""
        return name in self._kinds

    def named(self, name: str) -> Any:
        """What stands for the solution's ``name``."""
        if name not in self._names:
            self._names[name] = self._stand_in(name, self._kinds.get(name, "function"))
        return self._names[name]

    def _stand_in(self, name: str, kind: str) -> Any:
        if kind == "function":
            return Named(self, name)
        if kind == "class":
            return LiveClass(name, (Live,), {"__slots__": (), "_home": self})
        ancestor = vars(builtins).get(kind)
        base = (
            ancestor
            if isinstance(ancestor, type) and issubclass(ancestor, Exception)
            else Exception
        )
        return type(name, (base,), {})

    def ask(self, operation: str, target: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Has ``operation`` done in the solution's process: ``call``, or ``change`` where what it leaves
        of its arguments is wanted, too, or one of :data:`OPERATIONS`.

        Raises:
            Exception: what the solution raised, or that it cannot be asked; the watch knows of it.
        """
        self._compares = operation in COMPARING
        try:
            self._send(operation, self.encoded(target, args, kwargs))
            while (reply := self._channel.receive()).get("t") == "invoke":
                self._channel.send({"t": "reply", **self._called_back(reply)})
            value = self._result(reply, operation)
            if operation == "change":
                _change(args, kwargs, decode(reply["after"], self._known))
        except _EndingError as ending:
            raise ending.error from None
        except Exception as error:  # noqa: BLE001 - the watch decides what becomes of it
            raise self.watch.raised(error) from None
        return value

    def _send(self, operation: str, parts: Form) -> None:
        try:
            self._channel.send({"t": "invoke", "op": operation, **parts})
        except FrameError as error:
            raise UncrossableError(f"the solution is given what cannot be sent: {error}") from None

    def encoded(self, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Form:
        """What is asked, as it is sent.

        Raises:
            UncrossableError: an argument cannot be sent.
        """
        try:
            return {
                "target": self._encode(target),
                "args": [self._encode(value) for value in args],
                "kwargs": {name: self._encode(value) for name, value in kwargs.items()},
            }
        except LiteralError as error:
            raise UncrossableError(f"the solution is given what cannot be sent: {error}") from None

    def truth(self, value: Any) -> bool:
        """The value of an operation that says yes or no."""
        if type(value) is bool:
            return value
        raise self.watch.raised(UncrossableError("the solution said neither True nor False"))

    def _result(self, reply: Form, operation: str) -> Any:
        if operation == "next" and "stop" in reply:
            raise _EndingError(StopIteration())
        if operation == "len" and "missing" in reply:
            raise _EndingError(TypeError("the solution's object has no length"))
        if operation == "get" and "missing" in reply:
            raise _EndingError(AttributeError("the solution's object has no such attribute"))
        if "raised" in reply:
            raise self._exception(reply["raised"], str(reply["message"]))
        return decode(reply["value"], self._known)

    def _exception(self, names: Any, message: str) -> Exception:
        for name in names[1:]:
            kind = self._names.get(name) or self._shared.classes.get(name)
            if isinstance(kind, type) and issubclass(kind, Exception):
                return made_exception(kind, message)
        return builtin_exception(names[0])(message)

    def _called_back(self, call: Form) -> Form:
        try:
            function = self._given[call["target"]]
            args = [decode(form, self._known) for form in call["args"]]
            kwargs = {name: decode(form, self._known) for name, form in call["kwargs"].items()}
            return {"value": self._encode(function(*args, **kwargs))}
        except Exception as error:  # noqa: BLE001 - the solution decides what it means
            self.watch.caught(error)
            if isinstance(error, (AssertionError, UncrossableError)):
                self.watch.raised(error)  # the solution may not swallow it
            return {"raised": raised_form(error)["raised"], "message": ""}  # the text stays here

    def _encode(self, value: Any) -> Any:
        return encode(value, self._form)

    def _form(self, value: Any) -> Form:
        if issubclass(type(value), Held):
            if issubclass(type(value), Live) and not self._compares:
                mark_used(value)
            return {"#": "object", "id": value._remote_number}  # noqa: SLF001 - its end
        if isinstance(value, (Named, LiveClass)):
            return {"#": "object", "name": value.__name__}
        if (form := self._shared.form(value, self._encode) or named_form(value)) is not None:
            return form
        if callable(value) and not isinstance(value, type):
            return {"#": "callback", "id": self._given.number(value)}
        what = "a class" if isinstance(value, type) else "an object"
        name = value.__name__ if isinstance(value, type) else type(value).__name__
        raise UncrossableError(
            f"the solution is given {what} of the tests' own ({name}); define it in the set-up code"
        )

    def _known(self, form: Form) -> Any:
        kind = form["#"]
        if kind in ("instance", "member"):
            return self._shared_value(form)
        if kind == "yours":
            return self._given[form["id"]]
        return self._of_the_solution(form["id"], str(form["type"]), form["callable"] is True)

    def _shared_value(self, form: Form) -> Any:
        name = form["c"]
        if form["#"] == "instance" and (own := judging_methods(self._shared.classes[name])):
            raise UncrossableError(
                f"the solution gives an object of the set-up's class {name}, whose {own[0]} would "
                "decide with attributes that the solution chose"
            )
        return self._shared.value(form, lambda part: decode(part, self._known))

    def _of_the_solution(self, number: int, type_name: str, can_be_called: bool) -> Held:
        if number not in self._held:
            kind = self._names.get(type_name)
            if isinstance(kind, LiveClass):
                held = type.__call__(kind, self, number, type_name)  # past its metaclass
            else:
                held = (Function if can_be_called else Held)(self, number, type_name)
            self._held[number] = held
        return self._held[number]


class _EndingError(Exception):
    """Not a failure of the solution: its own iterator is at its end, an attribute is not there."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error


def _change(args: tuple[Any, ...], kwargs: dict[str, Any], after: Any) -> None:
    """Makes the arguments equal to what the solution left of its copies."""
    changed_args, changed_kwargs = after
    for old, new in zip(args, changed_args, strict=True):
        _changed(old, new)
    for name, old in kwargs.items():
        _changed(old, changed_kwargs[name])


def _changed(old: Any, new: Any) -> Any:
    """``old`` with the content of ``new``, where it can change; else ``new``."""
    if isinstance(old, (list, collections.deque)) and isinstance(new, (list, collections.deque)):
        kept = list(old)
        items = [_changed(kept[i], item) if i < len(kept) else item for i, item in enumerate(new)]
        old.clear()
        old.extend(items)
    elif isinstance(old, dict) and isinstance(new, dict):
        items = [(key, _changed(old[key], v) if key in old else v) for key, v in new.items()]
        old.clear()
        dict.update(old, items)
    elif isinstance(old, set) and isinstance(new, set):
        old.clear()
        old |= new
    elif isinstance(old, bytearray) and isinstance(new, bytearray):
        old[:] = new
    elif type(old) is type(new) and isinstance(getattr(old, "__dict__", None), dict):
        before = dict(vars(old))
        vars(old).clear()
        for name, value in vars(new).items():
            part = _changed(before[name], value) if name in before else value
            object.__setattr__(old, name, part)
    else:
        return new
    return old

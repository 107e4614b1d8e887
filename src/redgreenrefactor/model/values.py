"""Frozen values, as dataclasses are, without what makes those slow to import.

A frozen dataclass compiles six functions from text when its class is made, a millisecond each class, and there are
hundreds of them: a command that only looks would spend most of its time so. Here methods are shared, and the one that
is compiled, `__init__`, is so when the first value is made. Everything in `dataclasses` takes these values, too.
"""

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, NoReturn, TypeVar, dataclass_transform

T = TypeVar("T")
_OWN, _PARTS = "__value_fields__", "__value_parts__"
_REQUIRED = object()


class _Field:
    """What else than a default is said of a field."""

    def __init__(
        self, default_factory: Callable[[], Any] | None, metadata: Mapping[str, Any] | None, *, compare: bool
    ) -> None:
        self.factory, self.metadata, self.compare = default_factory, metadata, compare


def field(
    *,
    default_factory: Callable[[], Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
    compare: bool = True,
) -> Any:
    """Say of a field what the function of this name in `dataclasses` says."""
    return _Field(default_factory, metadata, compare=compare)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """Make a class one of frozen values: made, compared, hashed and shown by what its annotated attributes are."""
    fields: dict[str, Any] = {}
    for base in reversed(cls.__mro__[1:]):
        fields |= base.__dict__.get(_OWN, {})
    for name in cls.__annotations__:  # of this class alone, also where they wait to be asked for (3.14)
        fields[name] = cls.__dict__.get(name, _REQUIRED)
        if isinstance(fields[name], _Field):
            delattr(cls, name)
    compared = [name for name, default in fields.items() if not _is_left_out(default)]
    made = {
        _OWN: fields,
        _PARTS: attrgetter(*compared) if compared else staticmethod(_nothing),
        "__match_args__": tuple(fields),
    }
    for name, found in (made | _SHARED).items():
        if name not in cls.__dict__ or name == "__hash__":  # python takes it away from whoever compares
            setattr(cls, name, found)
    return cls


def _nothing(_: object) -> tuple[()]:
    return ()


def _init(self: Any, *args: Any, **named: Any) -> None:
    """Compile what makes such values, from now on without coming here."""
    owner = next(base for base in type(self).__mro__ if _OWN in base.__dict__)
    fields: dict[str, Any] = owner.__dict__[_OWN]
    rows = [f"def __init__(self, {', '.join(fields)}):", "  pass"]
    known: dict[str, Any] = {"_set": object.__setattr__}
    for name, default in fields.items():
        known[f"_{name}"] = default
        fresh = f"_{name}.factory() if {name} is _{name} else {name}"
        rows.append(f"  _set(self, {name!r}, {fresh if _makes(default) else name})")
    exec("\n".join(rows), known)  # noqa: S102 - names of attributes, as python has taken them
    made: Any = known["__init__"]
    made.__defaults__ = tuple(default for default in fields.values() if not _is_required(default))
    made.__qualname__ = f"{owner.__qualname__}.__init__"
    owner.__init__ = made
    made(self, *args, **named)


def _makes(default: Any) -> bool:
    return isinstance(default, _Field) and default.factory is not None


def _is_required(default: Any) -> bool:
    return default is _REQUIRED or (isinstance(default, _Field) and default.factory is None)


def _is_left_out(default: Any) -> bool:
    return isinstance(default, _Field) and not default.compare


def _eq(self: Any, other: object) -> bool:
    if other.__class__ is not self.__class__:
        return NotImplemented
    parts = self.__value_parts__
    return parts(self) == parts(other)


def _hash(self: Any) -> int:
    return hash(self.__value_parts__(self))


def _repr(self: Any) -> str:
    shown = (f"{name}={getattr(self, name)!r}" for name in self.__value_fields__)
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse(self: Any, name: str, *_: Any) -> NoReturn:
    from dataclasses import FrozenInstanceError  # noqa: PLC0415 - slow to load

    raise FrozenInstanceError(f"{type(self).__qualname__} is frozen: {name} stays what it is")


class _AsDataclass:
    """What `dataclasses` looks for in a class, made when it looks."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, instance: object, owner: type) -> Any:
        import dataclasses  # noqa: PLC0415 - slow to load

        home = next(base for base in owner.__mro__ if _OWN in base.__dict__)
        bases = [base for base in reversed(home.__mro__) if _OWN in base.__dict__]
        kinds = {name: kind for base in bases for name, kind in base.__annotations__.items()}
        body: dict[str, Any] = {"__annotations__": kinds}
        for name, default in home.__dict__[_OWN].items():
            if isinstance(default, _Field):
                more: Any = {"default_factory": default.factory} if default.factory else {}
                body[name] = dataclasses.field(**more, metadata=default.metadata, compare=default.compare)
            elif default is not _REQUIRED:
                body[name] = default
        twin: Any = dataclasses.dataclass(init=False, repr=False, eq=False)(type(home.__name__, (), body))
        twin.__dataclass_params__.frozen = True
        for name in _ASKED:
            setattr(home, name, getattr(twin, name))
        return getattr(twin, self._name)


_ASKED = ("__dataclass_fields__", "__dataclass_params__")
_SHARED: dict[str, Any] = {
    **{name: _AsDataclass(name) for name in _ASKED},
    "__init__": _init,
    "__eq__": _eq,
    "__hash__": _hash,
    "__repr__": _repr,
    **dict.fromkeys(("__setattr__", "__delattr__"), _refuse),
}

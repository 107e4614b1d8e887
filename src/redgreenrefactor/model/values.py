"""Frozen values, as dataclasses are, without what makes those slow to import.

A frozen dataclass compiles six functions from text when its class is made, a millisecond each class, and there are
hundreds of them: a command that only looks would spend most of its time so. Here methods are shared, and the one that
is compiled, `__init__`, is so when the first value is made. Everything in `dataclasses` takes these values, too.
"""

from collections.abc import Callable, Collection, Mapping
from operator import attrgetter
from typing import Any, NoReturn, TypeVar, dataclass_transform

T = TypeVar("T")
_OWN, _PARTS = "__value_attributes__", "__value_parts__"
_NONE = object()


class Attribute:
    """What a class says of one of the attributes of its values."""

    name = ""

    def __init__(
        self,
        default: Any = _NONE,
        default_factory: Callable[[], Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
        *,
        compare: bool = True,
    ) -> None:
        self.default, self.factory, self.metadata, self.compare = default, default_factory, metadata, compare

    @property
    def required(self) -> bool:
        """Whether a value has to be given."""
        return self.default is _NONE and self.factory is None


def field(
    *,
    default_factory: Callable[[], Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
    compare: bool = True,
) -> Any:
    """Say of an attribute what the function of this name in `dataclasses` says."""
    return Attribute(_NONE, default_factory, metadata, compare=compare)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """Make a class one of frozen values: made, compared, hashed and shown by what its annotated attributes are."""
    known: dict[str, Attribute] = {}
    for base in reversed(cls.__mro__[1:]):
        known |= base.__dict__.get(_OWN, {})
    for name in cls.__annotations__:  # of this class alone, also where they wait to be asked for (3.14)
        said = cls.__dict__.get(name, _NONE)
        known[name] = said if isinstance(said, Attribute) else Attribute(said)
        known[name].name = name
        if said is known[name]:
            delattr(cls, name)
    compared = [one.name for one in known.values() if one.compare]
    parts = attrgetter(*compared) if compared else staticmethod(_nothing)
    for name, found in {_OWN: known, _PARTS: parts, "__match_args__": tuple(known), **_SHARED}.items():
        if name not in cls.__dict__ or name == "__hash__":  # python takes it away from whoever compares
            setattr(cls, name, found)
    return cls


def replace(value: T, **changes: Any) -> T:
    """Return a value with some of its attributes changed."""
    known: Mapping[str, Attribute] = getattr(value, _OWN)
    return type(value)(**{name: getattr(value, name) for name in known} | changes)


def attributes(kind: type) -> Collection[Attribute]:
    """Return what a class of frozen values says of their attributes; any other class is a TypeError."""
    if not is_of_values(kind):
        raise TypeError(f"{kind.__name__} is no class of frozen values")
    return kind.__dict__[_OWN].values()


def is_of_values(kind: Any) -> bool:
    """Tell whether something is a class of frozen values."""
    return isinstance(kind, type) and _OWN in kind.__dict__


def _nothing(_: object) -> tuple[()]:
    return ()


def _init(self: Any, *args: Any, **named: Any) -> None:
    """Compile what makes such values, from now on without coming here."""
    owner = next(base for base in type(self).__mro__ if _OWN in base.__dict__)
    known: dict[str, Attribute] = owner.__dict__[_OWN]
    rows = [f"def __init__(self, {', '.join(known)}):", "  pass"]
    for name, one in known.items():
        made = f"_known[{name!r}].factory() if {name} is _none else {name}" if one.factory else name
        rows.append(f"  _set(self, {name!r}, {made})")
    space: dict[str, Any] = {"_set": object.__setattr__, "_known": known, "_none": _NONE}
    exec("\n".join(rows), space)  # noqa: S102 - names of attributes, as python has taken them
    made: Any = space["__init__"]
    made.__defaults__ = tuple(one.default for one in known.values() if not one.required)
    made.__qualname__ = f"{owner.__qualname__}.__init__"
    owner.__init__ = made
    made(self, *args, **named)


def _eq(self: Any, other: object) -> bool:
    if other.__class__ is not self.__class__:
        return NotImplemented
    parts = self.__value_parts__
    return parts(self) == parts(other)


def _hash(self: Any) -> int:
    return hash(self.__value_parts__(self))


def _repr(self: Any) -> str:
    shown = (f"{name}={getattr(self, name)!r}" for name in getattr(self, _OWN))
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
        kinds = {
            name: kind
            for base in reversed(home.__mro__)
            if _OWN in base.__dict__
            for name, kind in base.__annotations__.items()
        }
        body: dict[str, Any] = {"__annotations__": kinds}
        for name, one in home.__dict__[_OWN].items():
            more: Any = {} if one.default is _NONE else {"default": one.default}
            more |= {"default_factory": one.factory} if one.factory else {}
            body[name] = dataclasses.field(**more, metadata=one.metadata, compare=one.compare)
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

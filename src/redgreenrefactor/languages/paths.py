"""What a path is: a test, the runner's configuration, or code."""

import configparser
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, cast

from redgreenrefactor.languages import python
from redgreenrefactor.languages.assertions import knows_tests
from redgreenrefactor.languages.manifests import decisive
from redgreenrefactor.model.evidence import Change
from redgreenrefactor.model.goal import LIST, Case
from redgreenrefactor.model.workflow import PhaseName

TEST_FOLDERS = frozenset(
    {"test", "tests", "testing", "spec", "specs", "__tests__", "__snapshots__", "testdata"}
)
DATA_FOLDERS = frozenset(
    {"fixtures", "golden", "goldens", "snapshots", "cassettes", "test_data", "test-data", "testdata"}
)
AMBIGUOUS = frozenset({"spec", "specs", "testing"})  # folders that may hold code as well
DATA = re.compile(
    r"\.(json|ya?ml|toml|txt|md|csv|xml|html?|snap|lock|ini|cfg|png|jpe?g|gif|svg|gz|zip|bin|dat)$"
)
CODE = frozenset(
    {".py", ".js", ".ts", ".jsx", ".tsx", ".java", ".kt", ".go", ".rs", ".c", ".cpp", ".rb", ".sql", ".html"}
)
TEST_NAMES = (
    re.compile(r"^test_.*\.py$|^.*_test\.py$|^tests?\.py$|^conftest\.py$"),
    re.compile(r"^.*[._-](test|spec)s?\.[cm]?[jt]sx?$|^.*\.snap$"),
    re.compile(r"^.*_test\.go$"),
    re.compile(r"^.*(Test|Tests|TestCase|IT|Spec)\.(java|kt|groovy|scala)$|^Test[A-Z].*\.(java|kt)$"),
)
RUNNERS = (("pytest",), ("_pytest",), ("pluggy",), ("unittest",))
CONFIGURATION = (
    re.compile(r"^\.?pytest\.(ini|toml)$|^\.coveragerc$|^noxfile\.py$"),
    re.compile(
        r"^(jest|vitest|karma|ava|cypress|playwright|wdio)\.conf(ig)?\.[cm]?[jt]s(on)?$|^\.(mocha|jest|nyc|c8|tap)rc(\..*)?$"
        r"|^vitest\.workspace\..*$|^jasmine\.m?js(on)?$|^\.rspec$|^phpunit(\.dist)?\.xml(\.dist)?$"
    ),
    re.compile(r"^(sitecustomize|usercustomize)\.py$"),
)
CONFIGURING_FOLDERS = (".cargo", ".mvn", ".config/nextest.toml")
# In these files only some sections configure the tests; the rest is anybody's.
SECTIONS = {
    "pyproject.toml": ("tool.pytest", "tool.coverage", "tool.tox", "tool.hatch.envs"),
    "setup.cfg": ("tool:pytest", "coverage"),
    "tox.ini": ("pytest", "tox", "testenv", "coverage"),
}
PROSE = re.compile(
    r"\.(md|markdown|rst|adoc)$|(^|/)(README|CHANGELOG|CHANGES|CONTRIBUTING|LICENSE|NOTICE|AUTHORS)(\.txt)?$",
    re.IGNORECASE,
)
ROOTS = ("", "src/", "lib/", "tests/", "test/")  # where imports start from


class CaseContext(Protocol):
    """What tells a test from code: where the project lies in its repository, and the case that is worked on."""

    @property
    def prefix(self) -> str:
        """Its folder, with a slash, or nothing."""
        ...

    @property
    def case(self) -> Case | None:
        """The case, if there is one."""
        ...

    @property
    def roles(self) -> Mapping[str, bool]:
        """Files whose names do not tell whose they are: whether they are the tests'."""
        ...


class ProjectFolder(NamedTuple):
    """A project's folder in its repository, with a slash or nothing, and the case that is worked on."""

    prefix: str
    case: Case | None
    roles: Mapping[str, bool] = MappingProxyType({})


def inside(project: CaseContext, path: str) -> str | None:
    """Return a repository path as the project names it, None where it lies outside."""
    return path.removeprefix(project.prefix) if path.startswith(project.prefix) else None


def is_test(project: CaseContext, path: str) -> bool:
    """Tell whether a path holds tests, or fixtures, helpers and data of theirs."""
    local = inside(project, path)
    return _looks_like_a_test(path, project.case) if local is None else is_tests_own(project, local)


def is_tests_own(project: CaseContext, file: str) -> bool:
    """Tell the same of a file as the project names it."""
    case = project.case
    if case and file in (case.test_file, case.impl_file):
        return file == case.test_file
    return project.roles[file] if file in project.roles else _looks_like_a_test(file, case)


def _looks_like_a_test(path: str, case: Case | None = None) -> bool:
    """Tell by its name whether a path holds tests or something of theirs; a folder planned for code alone holds none."""
    pure = PurePosixPath(path)
    planned, tested = (
        PurePosixPath(file).parent for file in ((case.impl_file, case.test_file) if case else ("", ""))
    )
    beside = planned.parts and pure.is_relative_to(planned)
    code_alone = set(planned.parts) - set(tested.parts) if beside else set[str]()
    folders = set(pure.parts[:-1]) - code_alone
    if TEST_FOLDERS & folders or (DATA_FOLDERS & folders and pure.suffix not in CODE):
        return True
    return is_test_file(path)


def may_be_code(path: str) -> bool:
    """Tell whether a Python file called like a test may be none: `spec` is a word for other things, and so is a t test."""
    pure = PurePosixPath(path)
    return (
        pure.suffix == ".py"
        and pure.name != "conftest.py"
        and TEST_FOLDERS & set(pure.parts[:-1]) <= AMBIGUOUS
    )


def is_locked(project: CaseContext, path: str, read: Callable[[str], str | None]) -> bool:
    """Tell whether GREEN's session is kept from a path: a test by its name, unless its text leaves it to the gates."""
    planned = project.case is not None and inside(project, path) == project.case.test_file
    return is_test(project, path) and (planned or not may_be_code(path) or knows_tests(read(path)))


def is_sample(path: str) -> bool:
    """Tell whether a file is data by its name."""
    return PurePosixPath(path).suffix not in {*CODE, "", ".sh"}


def is_prose(path: str) -> bool:
    """Tell whether a file is for people alone, by its name."""
    return bool(PROSE.search(path))


def is_test_file(path: str) -> bool:
    """Tell whether a file's own name is that of a test."""
    return any(pattern.match(PurePosixPath(path).name) for pattern in TEST_NAMES)


def is_runners(path: str) -> bool:
    """Tell whether a file is the test runner's own by its name, or would be imported in its place."""
    parts = PurePosixPath(path).with_suffix("").parts
    outermost = parts[parts[:1] == ("src",) :][:1]
    return PurePosixPath(path).name == "conftest.py" or _configures(path) or outermost in RUNNERS


def _configures(path: str) -> bool:
    return any(pattern.match(PurePosixPath(path).name) for pattern in CONFIGURATION)


def holds_tests(path: str, text: str) -> bool:
    """Tell whether a file that is there looks like one of tests, and has some where its language is read."""
    return is_test_file(path) and (not path.endswith(".py") or bool(python.tests_in(text)))


def is_plain_code(path: str, text: str) -> bool:
    """Tell whether a source does something, and has nothing to do with tests; only Python is read so closely."""
    tree = python.parsed(text) if path.endswith(".py") and not _looks_like_a_test(path) else None
    return tree is not None and bool(tree.body) and not python.tests_in(text)


def kept_from(
    phase: PhaseName, paths: Iterable[str], project: CaseContext, read: Callable[[str], str | None]
) -> Iterator[str]:
    """Yield what a session of this phase may not touch: files, and whole folders of tests; the gates judge the rest."""
    shut = ("tdd.properties",) if phase is PhaseName.PLAN else ("tdd.properties", LIST)
    for path in paths:
        if inside(project, path) in shut or _configures(path):
            yield path
        elif phase is PhaseName.GREEN and is_locked(project, path, read):
            yield _topmost(path, inside(project, path), project.case)


def _topmost(path: str, local: str | None, case: Case | None) -> str:
    """Return the folder of tests that a test lies in, unless the planned code lies there, too."""
    parts = PurePosixPath(local or path).parts
    for depth, name in enumerate(parts[:-1], 1):
        folder = "/".join(parts[:depth]) + "/"
        if name in TEST_FOLDERS and not (case and case.impl_file.startswith(folder)):
            return path.removesuffix(local or path) + folder.rstrip("/")
    return path


def reconfigures(change: Change, command: str = "") -> str | None:
    """Return what a change does to the way this command finds and runs the tests, if it does anything."""
    pure = PurePosixPath(change.path)
    name = pure.name
    if _configures(name) or _is_runners_own(pure):
        return "it configures the test runner"
    if key := decisive(change.path, change.old_text, change.new_text, command):
        return f"its setting {key!r} decides how tests are run"
    if name in SECTIONS:
        old, new = sections(name, change.old_text), sections(name, change.new_text)
        if old != new:
            changed = sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))
            return f"its section [{changed[0]}] configures the tests"
    return None


def _is_runners_own(path: PurePosixPath) -> bool:
    """Tell whether a file lies where build tools look for their own settings."""
    return any(f"/{folder}/" in f"/{path}/" for folder in CONFIGURING_FOLDERS)


def sections(name: str, text: str | None) -> Mapping[str, Any]:
    """Return the parts of a file that configure tests; one that does not parse is a part of its own."""
    if text is None:
        return {}
    try:
        found = _toml(text) if name.endswith(".toml") else _ini(text)
    except (ValueError, RecursionError, configparser.Error):
        return {"unreadable": text}
    wanted = SECTIONS[name]
    return {key: value for key, value in found.items() if key.startswith(wanted)}


def _toml(text: str) -> Mapping[str, Any]:
    tool: Any = tomllib.loads(text).get("tool", {})
    found: dict[str, Any] = {}
    if isinstance(tool, dict):
        for key, value in cast("dict[str, Any]", tool).items():
            found[f"tool.{key}"] = value
            if key == "hatch" and isinstance(value, dict):
                found["tool.hatch.envs"] = cast("dict[str, Any]", value).get("envs")
    return found


def _ini(text: str) -> Mapping[str, Any]:
    parser = configparser.RawConfigParser(strict=False)
    parser.read_string(text)
    return {name: dict(parser.items(name)) for name in parser.sections()}


def module_files(module: str) -> Iterator[str]:
    """Yield where the file of a module may be, as the project names it."""
    path = module.replace(".", "/")
    for root in ROOTS:
        yield from (f"{root}{path}.py", f"{root}{path}/__init__.py")

"""What in a project's manifest decides how its tests are run, in other languages than Python."""

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from redgreenrefactor.model.codec import json_list, json_object

Settings = Mapping[str, object]
Read = Callable[[str, str], dict[str, object]]  # a file's text, the test command → what decides

RUNNER_KEYS = ("jest", "vitest", "mocha", "c8", "nyc", "ava", "tap", "jasmine", "karma", "wireit", "bun")
MANAGERS = frozenset({"npm", "pnpm", "yarn", "bun", "npx", "composer", "deno"})
RUNS_SCRIPT = re.compile(
    r"\b(?:npm|pnpm|yarn|bun|composer|deno)\s+(?:(?:--?[\w=./-]+)\s+)*(?:run(?:-script)?\s+|task\s+)?(?:--?[\w=./-]+\s+)*([\w:.@/*-]+)"
    r"|\b(?:npm-run-all2?|run-s|run-p|wireit|node\s+--run)\s+([\w:.*\s-]+)"
)
STARTED = re.compile(
    r"(?:^|[;&|(]\s*|\b(?:node|sh|bash|zsh|python3?|tsx|ts-node|bun|deno|ruby|php|env)\s+(?:--?[\w=:./-]+\s+)*)"
    r"((?:\./)?[\w./-]+\.\w+)(?=\s|$|[;&|)])"
)
NPMRC = re.compile(r"^\s*(script-shell|ignore-scripts|node-options|if-present)\s*=", re.MULTILINE)
PLUGIN = re.compile(r"<plugin>(.*?)</plugin>", re.DOTALL)
TESTS_IN_MAVEN = re.compile(r"<artifactId>\s*maven-(surefire|failsafe)-plugin\s*</artifactId>")
HARMLESS_IN_PLUGIN = re.compile(
    r"<(groupId|artifactId|version)>.*?</\1>|\s+|<configuration>\s*</configuration>", re.DOTALL
)
MAVEN_PROPERTY = re.compile(
    r"<((?:[\w.-]*(?:skip[\w.-]*test|skipIT|test\.skip|test\.failure)[\w.-]*|surefire\.(?!version)[\w.-]+"
    r"|failsafe\.(?!version)[\w.-]+|testSourceDirectory|testFailureIgnore|groups|excludedGroups))>(.*?)</\1>",
    re.DOTALL | re.IGNORECASE,
)
MODULE = re.compile(r"<module>\s*(.*?)\s*</module>")
GRADLE_BLOCK = re.compile(
    r"^[^\n{]*(?:\btest\b|\bwithType\s*[<(]\s*Test\b|<Test>|\btesting\b|integrationTest\b)[^\n{]*\{",
    re.MULTILINE,
)
GRADLE_LINE = re.compile(
    r"^[^\n]*(?:\btasks?\.test\b|\btest\.\w+\s*[=(]|excludedTaskNames|taskGraph|withType\s*[<(]\s*Test\b)[^\n]*$",
    re.MULTILINE,
)
VITE_BLOCK = re.compile(r"\btest\s*:\s*\{")
CMAKE_LINE = re.compile(
    r"^\s*(?:add_test|enable_testing|\w+_discover_tests|set_tests_properties|add_subdirectory\s*\(\s*tests?)\b.*$",
    re.MULTILINE | re.IGNORECASE,
)
COMMENTS = re.compile(r"<!--.*?-->|/\*.*?\*/|(?<![:\"'\w])//[^\n]*", re.DOTALL)
DEVELOPING = {
    "package.json": ("devDependencies",),
    "composer.json": ("require-dev",),
    "Cargo.toml": ("dev-dependencies",),
    "pyproject.toml": ("dependency-groups",),
}
GRADLE_FOR_TESTS = re.compile(r"^\s*test(?:Implementation|RuntimeOnly|CompileOnly)\b[^\n{]*$", re.MULTILINE)
FOR_TESTS = {
    "pom.xml": re.compile(
        r"<dependency>(?:(?!</dependency>).)*<scope>\s*test\s*</scope>(?:(?!</dependency>).)*</dependency>"
        r"|</?dependencies>",
        re.DOTALL,
    ),
    "build.gradle": GRADLE_FOR_TESTS,
    "build.gradle.kts": GRADLE_FOR_TESTS,
    "go.mod": re.compile(r"^(?:require\b.*|\s+\S+ v\d\S*.*|\))$", re.MULTILINE),
}
MAY_GROW = "in it"  # settings that list what is tested: more is no harm


def decisive(path: str, before: str | None, after: str | None, command: str) -> str | None:
    """Return which setting of a manifest that a change touches decides how tests are run, None where none does."""
    read = _reader(path)
    if read is None:
        return None
    old, new = (read(text, command) if text is not None else {} for text in (before, after))
    unused = not _manages(command) and "scripts.test" not in old  # a script that nothing has called so far
    changed = [
        key
        for key in sorted({*old, *new})
        if not _same(key, old, new) and not (unused and key.startswith("scripts."))
    ]
    return changed[0] if changed else None


def _same(key: str, old: Settings, new: Settings) -> bool:
    if key.startswith(MAY_GROW):
        return key in new or key not in old
    return old.get(key) == new.get(key)


def _reader(path: str) -> Read | None:
    pure = PurePosixPath(path)
    if re.fullmatch(r"build\.gradle(\.kts)?", pure.name):
        return _gradle
    if re.fullmatch(r"vite\.config\.[cm]?[jt]s", pure.name):
        return _vite
    return _READERS.get(pure.name)


def _loaded(text: str, load: Callable[[str], Any] = json.loads) -> Any:
    """Return what a text says; None where it says nothing that can be understood."""
    try:
        return load(text)
    except (ValueError, RecursionError):
        return None


# --- scripts


def _package(text: str, command: str) -> dict[str, object]:
    """Return the scripts that the test command comes to, and the runners' own keys."""
    loaded = _loaded(text)
    if loaded is None:
        return {"unreadable": text}
    whole = json_object(loaded)
    found: dict[str, object] = {key: whole[key] for key in RUNNER_KEYS if key in whole}
    return {**found, **{f"scripts.{name}": code for name, code in scripts(text, command).items()}}


def scripts(text: str | None, command: str) -> dict[str, str]:
    """Return the scripts of a package that run when its tests do, with all that they call."""
    whole = json_object(_loaded(text or "{}"))
    known = json_object(whole.get("scripts") or whole.get("tasks"))
    found: dict[str, str] = {}
    waiting = list(_called(command, known)) if _manages(command) else ["test"]
    while waiting:
        name = waiting.pop()
        for each in (f"pre{name}", name, f"post{name}"):
            if each in known and each not in found:
                found[each] = json.dumps(known[each])
                waiting += _called(found[each], known)
    return found


def _manages(command: str) -> bool:
    return any(PurePosixPath(word).name in MANAGERS for word in command.split())


def _called(code: str, known: Mapping[str, object]) -> Iterator[str]:
    """Yield the scripts that a command line calls."""
    for match in RUNS_SCRIPT.finditer(code):
        for word in (match[1] or match[2]).split():
            name = {"t": "test", "tst": "test"}.get(word, word)
            pattern = re.escape(name).replace(r"\*", ".*")
            yield from (script for script in known if re.fullmatch(pattern, script))


def files_run(text: str | None, command: str) -> frozenset[str]:
    """Return the files that the scripts start when the tests are run."""
    codes = (json.loads(code) for code in scripts(text, command).values())
    lines = (code for code in codes if isinstance(code, str))
    return frozenset(name.removeprefix("./") for line in lines for name in STARTED.findall(line))


def adds_for_tests(name: str, before: str, after: str) -> bool:
    """Tell whether a manifest differs in nothing but dependencies that tests alone may have."""
    if name in FOR_TESTS:
        old, new = (_squeezed(FOR_TESTS[name].sub("", text)) for text in (before, after))
        return old == new
    if name not in DEVELOPING:
        return False
    sides = [
        _loaded(text, json.loads if name.endswith(".json") else tomllib.loads) for text in (before, after)
    ]
    if not all(isinstance(side, dict) for side in sides):
        return False
    keys = DEVELOPING[name]
    return all(sides[0].get(key) == sides[1].get(key) for key in {*sides[0], *sides[1]} if key not in keys)


# --- one reader a manifest


def _npmrc(text: str, _command: str) -> dict[str, object]:
    lines = [line.strip() for line in text.splitlines() if NPMRC.match(line)]
    return {line.partition("=")[0].strip(): line for line in lines}


def _pom(text: str, _command: str) -> dict[str, object]:
    plain = COMMENTS.sub("", text)
    plugins = [HARMLESS_IN_PLUGIN.sub("", p) for p in PLUGIN.findall(plain) if TESTS_IN_MAVEN.search(p)]
    found: dict[str, object] = {f"plugin {n}": p for n, p in enumerate(p for p in plugins if p)}
    found |= {name: " ".join(value.split()) for name, value in MAVEN_PROPERTY.findall(plain)}
    found |= {f"{MAY_GROW}: module {name}": True for name in MODULE.findall(plain)}
    return {**found, **({"packaging": "pom"} if re.search(r"<packaging>\s*pom\s*<", plain) else {})}


def _gradle(text: str, _command: str) -> dict[str, object]:
    plain = COMMENTS.sub("", text)
    blocks = [_squeezed(block) for block in _blocks(plain, GRADLE_BLOCK)]
    lines = [_squeezed(line) for line in GRADLE_LINE.findall(plain) if "{" not in line]
    return {**({"test": blocks} if blocks else {}), **({"tasks.test": lines} if lines else {})}


def _vite(text: str, _command: str) -> dict[str, object]:
    blocks = [_squeezed(block) for block in _blocks(COMMENTS.sub("", text), VITE_BLOCK)]
    return {"test": blocks} if blocks else {}


def _blocks(text: str, opening: re.Pattern[str]) -> Iterator[str]:
    """Yield what stands between braces after such an opening, the opening included."""
    for match in opening.finditer(text):
        depth, end = 1, match.end()
        while depth and end < len(text):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        yield text[match.start() : end]


def _squeezed(text: str) -> str:
    return " ".join(text.split())


def _cmake(text: str, _command: str) -> dict[str, object]:
    lines = (_squeezed(line) for line in CMAKE_LINE.findall(text))
    return {f"{MAY_GROW}: {line}": True for line in lines}


def _cargo(text: str, _command: str) -> dict[str, object]:
    whole = _loaded(text, tomllib.loads)
    if whole is None:
        return {"unreadable": text}
    found: dict[str, object] = {}
    for kind in ("test", "bin", "example", "bench"):
        for table in map(json_object, json_list(whole.get(kind))):
            found |= _target(f"{kind} {table.get('name')}", table)
            if kind == "test":
                found[f"{MAY_GROW}: [[test]] {table.get('name')}"] = True
    for name in ("lib", "package"):
        found |= _target(name, json_object(whole.get(name)))
    return {**found, **_workspace(whole.get("workspace"))}


def _target(name: str, table: Mapping[str, Any]) -> dict[str, object]:
    """Return what a target says about tests, where it is not what would be without saying."""
    switches = {"test": True, "harness": True, "doctest": True, "autotests": True}
    found: dict[str, object] = {
        f"{name}.{key}": table[key] for key, usual in switches.items() if table.get(key, usual) != usual
    }
    needs = table.get("required-features")
    return {**found, **({f"{name}.required-features": needs} if needs else {})}


def _workspace(table: Any) -> dict[str, object]:
    known = json_object(table)
    found: dict[str, object] = {key: known[key] for key in ("exclude", "default-members") if key in known}
    return {**found, **{f"{MAY_GROW}: member {name}": True for name in json_list(known.get("members"))}}


_READERS: Mapping[str, Read] = {
    "package.json": _package,
    "composer.json": _package,
    "deno.json": _package,
    "deno.jsonc": _package,
    ".npmrc": _npmrc,
    "pom.xml": _pom,
    "Cargo.toml": _cargo,
    "CMakeLists.txt": _cmake,
}

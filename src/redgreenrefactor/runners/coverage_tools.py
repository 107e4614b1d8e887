"""How much of the code a test command reaches, measured by the coverage tool that the project has.

Every measurement is a run of its own whose report goes to a fresh folder of ours: a report that lies about in
the project is never read.
"""

import glob
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.filesystem import below, text_of
from redgreenrefactor.model.codec import json_in, json_list, json_object
from redgreenrefactor.model.evidence import Coverage
from redgreenrefactor.model.values import frozen
from redgreenrefactor.runners import pytest_suite
from redgreenrefactor.runners.command_line import last_invocation
from redgreenrefactor.runners.detect import is_python_only
from redgreenrefactor.runners.probed import PROBES
from redgreenrefactor.runners.suite_context import SuiteContext
from redgreenrefactor.sandbox import process

CoverageMeter = Callable[[Path], Coverage]  # a checkout of the project → what its tests reach
LineCounts = Mapping[str, tuple[int, int]]
NO_TOOL = Coverage(why="no coverage tool was found for the test command")

_LARGEST = 256 << 20  # bytes of a report
_RCFILE = """\
[run]
branch = False
parallel = True
sigterm = True
data_file = {place}/data
source = {folder}
omit =
    {folder}/.venv/*
    {folder}/venv/*
    {folder}/node_modules/*
[report]
ignore_errors = True
exclude_lines =
    if TYPE_CHECKING:
    if __name__ == .__main__.:
    @(typing\\.)?overload
    ^\\s*\\.\\.\\.$
"""
_GRADLE = """\
allprojects {{ tasks.withType(JacocoReport).configureEach {{ reports {{ xml.required = true
    xml.outputLocation = new File('{place}', "jacoco-" + project.name + ".xml") }} }} }}
"""


@frozen
class _Asked:
    """One measurement: what to run where, and a folder of our own for what comes of it."""

    command: str
    folder: Path
    place: Path
    where: SuiteContext

    def run(self, line: str, **added: str) -> process.Finished:
        env = {**self.where.prepared(self.folder), **added}
        return self.where.run(line, self.folder, env=env, drop=self.place)


def meter_for(command: str, where: SuiteContext, setup: str | None = None) -> CoverageMeter:
    """Return what measures how much of a checkout this test command reaches, once the setup has made it runnable."""
    where = where.using(command)

    def measure(folder: Path) -> Coverage:
        with where.drop() as place:
            asked = _Asked(command, folder.resolve(), place, where)
            if setup and asked.run(where.anchored(setup)).exit_code:
                return Coverage(why=f"setup.command {setup!r} failed")
            found = (tool(asked) for tool in (_python, _go, _node, _maven, _gradle))
            return next((coverage for coverage in found if coverage is not None), NO_TOOL)

    return measure


def _reported(tool: str, files: LineCounts | None) -> Coverage:
    if not files:
        return Coverage(why=f"{tool} left no report of the test command")
    return Coverage(tool, files)


# --- Python: coverage.py, started with every interpreter


def _python(asked: _Asked) -> Coverage | None:
    known = last_invocation(asked.command)
    if known is None and not is_python_only(asked.where.project):
        return None
    rcfile = asked.place / "rcfile"
    rcfile.write_text(_RCFILE.format(place=asked.place, folder=asked.folder), encoding="utf-8")
    path = filter(None, [str(PROBES / "covering"), asked.where.prepared(asked.folder).get("PYTHONPATH")])
    asked.run(
        _python_line(asked),
        PYTHONPATH=":".join(path),
        RGR_COVERAGE=str(asked.place),
        COVERAGE_PROCESS_START=str(rcfile),
        COVERAGE_FILE=str(asked.place / "data"),  # where a `--cov` of the project's own puts its findings
    )
    interpreter = _text(asked.place / "interpreter")
    if not interpreter:
        return NO_TOOL
    report = asked.place / "report.json"
    for words in (["combine", "--append"], ["json", "-o", str(report)]):
        asked.run(shlex.join([interpreter, "-m", "coverage", *words, f"--rcfile={rcfile}"]))
    return _reported("coverage.py", _coverage_py(json_in(_text(report)), asked.folder))


def _python_line(asked: _Asked) -> str:
    try:
        suite = pytest_suite.recognise(asked.command, asked.where)
    except NotReadyError:
        suite = None
    return suite.probing.line if suite else asked.where.anchored(asked.command)


def _coverage_py(report: Any, folder: Path) -> LineCounts:
    """Return what coverage.py's JSON tells; a file measured twice counts once."""
    reached: dict[str, set[int]] = {}
    lines: dict[str, set[int]] = {}
    for name, found in json_object(json_object(report).get("files")).items():
        file = _local(name, folder)
        executed, missing = (
            {line for line in json_list(json_object(found).get(key)) if isinstance(line, int)}
            for key in ("executed_lines", "missing_lines")
        )
        reached.setdefault(file, set()).update(executed)
        lines.setdefault(file, set()).update(executed | missing)
    return {file: (len(reached[file]), len(lines[file])) for file in lines if lines[file]}


# --- Go: `go test -coverprofile`


_GO_TEST = re.compile(r"(?<![\w./-])((?:\S*/)?go\s+test)(?=\s|$)")
_GO_BLOCK = re.compile(r"(.+):\d+\.\d+,\d+\.\d+ (\d{1,18}) (\d{1,18})")


def _go(asked: _Asked) -> Coverage | None:
    if not _GO_TEST.search(asked.command):
        return None
    profile = asked.place / "profile"
    line = re.sub(r"\s-coverprofile[= ]\S+", "", asked.command)
    line = _GO_TEST.sub(lambda found: f"{found[1]} -coverprofile={shlex.quote(str(profile))}", line)
    asked.run(asked.where.anchored(line))
    module = re.search(r"^module\s+(\S+)", _text(asked.folder / "go.mod"), re.MULTILINE)
    return _reported("go test -cover", _go_profile(_text(profile), module[1] if module else ""))


def _go_profile(text: str, module: str) -> LineCounts:
    files: dict[str, tuple[int, int]] = {}
    for line in text.splitlines():
        if found := _GO_BLOCK.fullmatch(line):
            file = found[1].removeprefix(f"{module}/")
            reached, all_of_it = files.get(file, (0, 0))
            count = int(found[2])
            files[file] = (reached + (count if int(found[3]) else 0), all_of_it + count)
    return files


# --- Node: jest, vitest, c8


_NODE = re.compile(r"(?:^|[\s/;&|])(npm|npx|yarn|pnpm|node|jest|vitest|mocha|ava|tap)(?=\s|$)")


def _node(asked: _Asked) -> Coverage | None:
    if not _NODE.search(asked.command) or not (asked.folder / "package.json").is_file():
        return None
    script = f"{asked.command} {_script(asked.folder)}"
    place = shlex.quote(str(asked.place))
    modules = asked.folder / "node_modules"
    if re.search(r"\bvitest\b", script) and any(modules.glob("@vitest/coverage-*")):
        tool, more = "vitest", f"--coverage --coverage.reporter=json --coverage.reportsDirectory={place}"
        line = _with_words(asked.command, more)
    elif re.search(r"\bjest\b", script):
        tool, more = "jest", f"--coverage --coverageReporters=json --coverageDirectory={place}"
        line = _with_words(asked.command, more)
    elif (modules / ".bin" / "c8").exists():
        quoted = shlex.quote(asked.command)
        tool, line = "c8", f"node_modules/.bin/c8 --reporter=json --reports-dir={place} sh -c {quoted}"
    else:
        return NO_TOOL
    asked.run(line)
    return _reported(tool, _istanbul(json_in(_text(asked.place / "coverage-final.json")), asked.folder))


def _script(folder: Path) -> str:
    """Return what `npm test` runs."""
    return str(
        json_object(json_object(json_in(_text(folder / "package.json"))).get("scripts")).get("test") or ""
    )


def _with_words(command: str, words: str) -> str:
    """Return the command with more words for the runner; npm passes on only what stands after two dashes."""
    through_npm = re.search(r"\bnpm\s+(?:run\s+|test|t\b)", command) and " -- " not in command
    return f"{command} -- {words}" if through_npm else f"{command} {words}"


def _istanbul(report: Any, folder: Path) -> LineCounts:
    files: dict[str, tuple[int, int]] = {}
    for name, found in json_object(report).items():
        counts = [
            count for count in json_object(json_object(found).get("s")).values() if isinstance(count, int)
        ]
        if counts:
            files[_local(name, folder)] = (sum(count > 0 for count in counts), len(counts))
    return files


# --- Java: JaCoCo


def _maven(asked: _Asked) -> Coverage | None:
    if not re.search(r"\bmvnw?\b", asked.command):
        return None
    if "jacoco" not in _text(asked.folder / "pom.xml"):
        return NO_TOOL
    for old in _matching(asked.folder, "target/site/jacoco*/jacoco.xml"):
        old.unlink(missing_ok=True)
    asked.run(f"{asked.command} org.jacoco:jacoco-maven-plugin:report")
    return _reported(
        "JaCoCo", _jacoco(asked.folder, _matching(asked.folder, "target/site/jacoco*/jacoco.xml"))
    )


def _gradle(asked: _Asked) -> Coverage | None:
    if not re.search(r"\bgradlew?\b", asked.command):
        return None
    if not any("jacoco" in _text(file) for file in _matching(asked.folder, "build.gradle*")):
        return NO_TOOL
    script = asked.place / "report.gradle"
    script.write_text(_GRADLE.format(place=asked.place), encoding="utf-8")
    asked.run(f"{asked.command} jacocoTestReport -I {shlex.quote(str(script))}")
    return _reported("JaCoCo", _jacoco(asked.folder, asked.place.glob("jacoco-*.xml")))


def _jacoco(folder: Path, reports: Iterator[Path]) -> LineCounts:
    from xml.etree import ElementTree as ET  # noqa: PLC0415

    files: dict[str, tuple[int, int]] = {}
    for report in reports:
        try:
            root = ET.fromstring(_text(report))  # noqa: S314 - written by a run of ours
        except (ET.ParseError, ValueError):
            continue
        for package in root.iter("package"):
            for source in package.iter("sourcefile"):
                name = f"{package.get('name')}/{source.get('name')}"
                for counter in source.findall("counter[@type='LINE']"):
                    missed, covered = (_count(counter.get(key)) for key in ("missed", "covered"))
                    files[_source(folder, name)] = (covered, covered + missed)
    return files


def _count(text: str | None) -> int:
    return int(text) if text and re.fullmatch(r"[0-9]{1,18}", text) else 0


def _source(folder: Path, name: str) -> str:
    """Return where in the project a source lies that a report names by its package."""
    found = next(iter(sorted(_matching(folder, f"src/*/*/{glob.escape(name)}"))), None)
    return found.relative_to(folder).as_posix() if found else name


# --- reading


def _matching(folder: Path, pattern: str) -> Iterator[Path]:
    """Yield the files below a folder whose path ends like a pattern."""
    return (path for entry in below(folder) if (path := Path(entry.path)).match(pattern))


def _local(name: str, folder: Path) -> str:
    """Return a path as the project names it."""
    path = Path(name)
    if path.is_absolute() and path.is_relative_to(folder):
        return path.relative_to(folder).as_posix()
    return path.as_posix()


def _text(file: Path) -> str:
    return text_of(file, _LARGEST)

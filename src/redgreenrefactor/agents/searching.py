"""Glob and Grep: files by name, newest first, and by content, with ripgrep where it is there."""

import os
import re
import shlex
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from typing import Protocol

from redgreenrefactor.agents import grep as own
from redgreenrefactor.agents.clipping import clipped, shortened
from redgreenrefactor.agents.files import Files, RefusedError
from redgreenrefactor.agents.globs import alternatives, any_matches, globs
from redgreenrefactor.agents.schemas import MODES, Arguments
from redgreenrefactor.sandbox.process import Finished, Interrupt, run

NAMES = 200  # files a Glob lists
LINES = 250  # a Grep answers with, unless it is asked for another number
MOST = 30_000  # lines that could be shown at all
KEPT = 2000  # bytes of a search's complaint
_NO_MATCH, _TROUBLE, _NO_PROGRAM = 1, 2, (126, 127)
_DIGITS = 19  # that a count has at most
_BETWEEN = re.compile(r"[\s,]+(?![^{]*\})")

TYPES = {
    "c": ("*.c", "*.h"),
    "cpp": ("*.cpp", "*.cc", "*.cxx", "*.hpp", "*.hh", "*.hxx", "*.h", "*.inl"),
    "cs": ("*.cs",),
    "css": ("*.css", "*.scss"),
    "csv": ("*.csv",),
    "go": ("*.go",),
    "groovy": ("*.groovy", "*.gradle"),
    "html": ("*.htm", "*.html", "*.ejs"),
    "java": ("*.java", "*.jsp", "*.jspx", "*.properties"),
    "js": ("*.js", "*.jsx", "*.vue", "*.cjs", "*.mjs"),
    "json": ("*.json", "composer.lock"),
    "kotlin": ("*.kt", "*.kts"),
    "lua": ("*.lua",),
    "make": ("[Gg][Nn][Uu]makefile", "[Mm]akefile", "*.mk", "*.mak"),
    "md": ("*.markdown", "*.md", "*.mdown", "*.mkdn"),
    "php": ("*.php",),
    "py": ("*.py", "*.pyi"),
    "ruby": ("*.rb", "*.gemspec", "Gemfile", "Rakefile"),
    "rust": ("*.rs",),
    "scala": ("*.scala", "*.sbt"),
    "sh": ("*.sh", "*.bash", "*.zsh", "*.ksh"),
    "sql": ("*.sql", "*.psql"),
    "swift": ("*.swift",),
    "toml": ("*.toml", "Cargo.lock"),
    "ts": ("*.ts", "*.tsx", "*.cts", "*.mts"),
    "txt": ("*.txt",),
    "xml": ("*.xml", "*.xsd", "*.xsl", "*.xslt"),
    "yaml": ("*.yaml", "*.yml"),
}


class Shell(Protocol):
    """Runs a line of shell in the workspace, held as the Bash tool is."""

    def __call__(
        self, command: str, *, timeout: float | None, keep: int, tell: Callable[[str], None] | None = None
    ) -> Finished:
        """Run it to its end, with all it starts; keep so many bytes of what it prints, tell every line as it comes."""
        ...


def glob(files: Files, arguments: Arguments) -> str:
    """Return the files whose paths match, newest first."""
    asked, path = arguments.text("pattern"), arguments.text("path", ".")
    pattern = asked
    if asked.startswith("/"):
        pattern, path = f"/{files.relative(asked)}", "."  # the slash: there, and not below
    require_folder(files, path)
    top = files.where(path)
    wanted = globs(pattern)
    newest = sorted(
        (-seen.changed, seen.path)
        for seen in own.listed(files, top)
        if any_matches(wanted, seen.path if top == "." else seen.path.removeprefix(f"{top}/"))
    )
    if not newest:
        return f"No files match {asked}."
    more = [f"[{len(newest) - NAMES} more; narrow the pattern]"] if len(newest) > NAMES else []
    return clipped("\n".join([*(path for _, path in newest[:NAMES]), *more]))


def require_folder(files: Files, path: str) -> None:
    """Refuse what is no folder."""
    kind = files.kind(path)
    if kind != "folder":
        raise RefusedError(f"{path} {'is not a folder' if kind else 'does not exist'}")


@dataclass(frozen=True, slots=True)
class Searching:
    """Grep, with ripgrep in the shell that Bash has, or else on our own in a process that can be ended."""

    files: Files
    shell: Shell
    _: KW_ONLY
    timeout: float | None
    ripgrep: bool
    interrupt: Interrupt | None = None

    def grep(self, arguments: Arguments) -> str:
        """Return what was found, in the form that was asked for."""
        query, told = self._query(arguments), _Told.asked(arguments)
        heard = _Told(0, None) if query.mode == MODES[0] else told  # to be sorted first
        finished = self._ripgrep(query, arguments.text("type"), heard) if self.ripgrep else None
        if finished is None or finished.exit_code in _NO_PROGRAM:
            finished = self._own(query, heard)
        complaint = finished.stderr.decode("utf-8", "replace").strip()
        if finished.timed_out:
            raise RefusedError(f"the search ran past its limit of {self.timeout:g} s; narrow it down")
        if finished.exit_code not in (0, _NO_MATCH) and not heard.total:
            raise RefusedError(
                clipped(complaint, KEPT) or f"the search ended with exit code {finished.exit_code}"
            )
        if heard is not told:
            for path in sorted(heard.lines, key=lambda path: (-self._changed(path), path)):
                told.hear(path)
        return told.answer(query.mode)

    def _query(self, arguments: Arguments) -> own.Query:
        path, kind = arguments.text("path", "."), arguments.text("type")
        if not self.files.kind(path):
            raise RefusedError(f"{path} does not exist")
        if kind and kind not in TYPES and not self.ripgrep:
            raise RefusedError(f"there is no type {kind!r:.80}; known are {', '.join(TYPES)}")
        wanted = [one for one in _BETWEEN.split(arguments.text("glob")) if one]
        only = arguments.flag("-o")  # then there is nothing around
        around = arguments.count("-C", arguments.count("context", 0))
        before, after = ((0 if only else arguments.count(name, around)) for name in ("-B", "-A"))
        return own.Query(
            pattern=arguments.text("pattern"),
            path=self.files.where(path),
            globs=tuple(each for one in wanted for each in alternatives(one)),
            names=TYPES.get(kind, ()),
            mode=arguments.text("output_mode", "files_with_matches"),
            ignore_case=arguments.flag("-i"),
            numbers=arguments.flag("-n", default=True),
            before=min(before, LINES),
            after=min(after, LINES),
            only=only,
            multiline=arguments.flag("multiline"),
        )

    def _ripgrep(self, query: own.Query, kind: str, heard: "_Told") -> Finished:
        return self.shell(shlex.join(_words(query, kind)), timeout=self.timeout, keep=KEPT, tell=heard.hear)

    def _own(self, query: own.Query, heard: "_Told") -> Finished:
        """Search in another process, from which files are opened as safely as from this one."""
        paths = [path for path in sys.path if os.path.isabs(path)]  # noqa: PTH117
        return run(
            [sys.executable, "-I", "-S", "-c", own.PROGRAM, *paths],
            cwd=self.files.root,
            env={},
            stdin=own.asked(self.files, query),
            timeout=self.timeout,
            interrupt=self.interrupt,
            keep=KEPT,
            on_stdout=heard.hear,
        )

    def _changed(self, path: str) -> int:
        with suppress(OSError, ValueError):
            return os.lstat(self.files.root / path).st_mtime_ns
        return 0


def _words(query: own.Query, kind: str) -> list[str]:
    """Return the query as ripgrep is asked."""
    mode = {
        "files_with_matches": ["--files-with-matches"],
        "count": ["--count"],
        "content": ["--with-filename"],
    }
    words = ["rg", "--no-config", "--no-messages", "--color=never", "--no-heading", "--hidden", "--crlf"]
    words += [
        "--no-require-git",
        "--no-ignore-global",
        "--no-ignore-exclude",
        "--with-filename",
        "--sort=path",
    ]
    words += [f"--max-columns={own.COLUMNS}", "--max-columns-preview", *mode[query.mode]]
    words += ["--line-number" if query.numbers else "--no-line-number"]
    words += [f"--before-context={query.before}", f"--after-context={query.after}"] * (
        query.mode == "content"
    )
    words += ["--only-matching"] * (query.only and query.mode == "content")
    words += ["--ignore-case"] * query.ignore_case
    words += ["--multiline", "--multiline-dotall"] * query.multiline
    words += [f"--glob={glob}" for glob in query.globs]
    words += [f"--type={kind}"] if kind else []
    path = "./" if query.path == "." else f"./{query.path}"
    return [*words, "--glob=!.git", f"--regexp={query.pattern}", "--", path]


@dataclass(slots=True)
class _Told:
    """The lines of an answer as they come: some are kept to be shown, all are counted."""

    first: int  # so many are skipped
    most: int | None  # so many are kept; None: all
    total: int = 0
    matches: int = 0  # where lines end in counts
    lines: list[str] = field(default_factory=list[str])

    @classmethod
    def asked(cls, arguments: Arguments) -> "_Told":
        """Return it for what a call wants to see."""
        return cls(arguments.count("offset", 0), min(arguments.count("head_limit", LINES) or MOST, MOST))

    def hear(self, line: str) -> None:
        """Take in a line, without what ripgrep puts before each."""
        if self.total >= self.first and (self.most is None or len(self.lines) < self.most):
            self.lines.append(line.removeprefix("./"))
        count = line.rpartition(":")[2]
        self.matches += int(count) if count.isdecimal() and len(count) < _DIGITS else 0
        self.total += 1

    def answer(self, mode: str) -> str:
        """Return the lines, shortened, with a word about what they are and what is missing."""
        if not self.total:
            return "No matches." if mode != MODES[0] else "No files match."
        if self.first >= self.total:
            return f"There are only {self.total} lines; offset {self.first} is past the last."
        last = self.first + len(self.lines)
        more = f"[{self.total - last} more lines; go on with offset={last}, narrow the search or raise head_limit]"
        summed = f"{self.matches} in {self.total} files"
        said = [more] * (last < self.total) + [summed] * (mode == "count")
        return clipped("\n".join([*map(shortened, self.lines), *said]))

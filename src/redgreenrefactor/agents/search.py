"""Glob and Grep: files by name, newest first, and by content; git lists, and searches where ripgrep is not there."""

import os
import re
import shlex
import stat
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass, field
from typing import Protocol

from redgreenrefactor.agents.file_tools import clipped, shortened
from redgreenrefactor.agents.files import Files, RefusedError
from redgreenrefactor.agents.schemas import MODES, Arguments
from redgreenrefactor.sandbox.process import Finished

NAMES = 200  # files a Glob lists
LISTING = 50_000_000  # bytes of file names that are looked at
LINES = 250  # a Grep answers with, unless it is asked for another number
MOST = 30_000  # lines that could be shown at all
COLUMNS = 20_000  # of a line that is told: a longer one would not come through as one
KEPT = 2000  # bytes of a search's complaint
ALTERNATIVES = 200  # what braces may multiply to
_NO_MATCH, _NO_PROGRAM = 1, (126, 127)
_DIGITS = 19  # that a count has at most
_BETWEEN = re.compile(r"[\s,]+(?![^{]*\})")
_BRACES = re.compile(r"\{([^{}]*)\}")

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


@dataclass(frozen=True, slots=True)
class Query:
    """What is looked for, where, and how it is told."""

    pattern: str
    path: str
    globs: tuple[str, ...]  # braces resolved; with a leading `!`: not these
    kind: str  # of files, by ripgrep's name; empty: any
    mode: str
    ignore_case: bool
    numbers: bool
    before: int
    after: int
    only: bool  # what matched, without the rest of its line
    multiline: bool


@dataclass(frozen=True, slots=True)
class Search:
    """Glob and Grep, done by git and ripgrep in the shell that Bash has."""

    files: Files
    shell: Shell
    _: KW_ONLY
    timeout: float | None
    ripgrep: bool

    def glob(self, arguments: Arguments) -> str:
        """Return the files whose paths match, newest first."""
        asked, path = arguments.text("pattern"), arguments.text("path", ".")
        pattern = asked
        if asked.startswith("/"):
            pattern, path = f"/{self.files.relative(asked)}", "."  # the slash: there, and not below
        if (kind := self.files.kind(path)) != "folder":
            raise RefusedError(f"{path} {'is not a folder' if kind else 'does not exist'}")
        top = self.files.where(path)
        listed = self._done(_listing(top, pattern), keep=LISTING)
        names = {os.fsdecode(name) for name in listed.stdout.split(b"\0")}
        if listed.exit_code and not any(names):
            raise RefusedError(clipped(_complaint(listed), KEPT))
        paths = [name if top == "." else f"{top}/{name}" for name in names if not name.startswith("../")]
        newest = sorted((-changed, path) for path in paths if (changed := self._changed(path)) is not None)
        if not newest:
            return f"No files match {asked}."
        more = [f"[{len(newest) - NAMES} more; narrow the pattern]"] if len(newest) > NAMES else []
        return clipped("\n".join([*(path for _, path in newest[:NAMES]), *more]))

    def grep(self, arguments: Arguments) -> str:
        """Return what was found, in the form that was asked for."""
        query, told = self._query(arguments), _Told.asked(arguments)
        heard = _Told(0, None) if query.mode == MODES[0] else told  # to be sorted first
        finished = self._done(_ripgrep(query), tell=heard.hear) if self.ripgrep else None
        if finished is None or finished.exit_code in _NO_PROGRAM:
            finished = self._done(_git_grep(query), tell=heard.hear)
        complaint = clipped(_complaint(finished), KEPT)
        if not heard.total and (complaint or finished.exit_code not in (0, _NO_MATCH)):
            raise RefusedError(complaint or f"the search ended with exit code {finished.exit_code}")
        if heard is not told:
            for path in sorted(heard.lines, key=lambda path: (-(self._changed(path) or 0), path)):
                told.hear(path)
        return told.answer(query.mode)

    def _done(self, command: str, *, keep: int = KEPT, tell: Callable[[str], None] | None = None) -> Finished:
        """Return what became of a search; one that takes too long is refused."""
        finished = self.shell(command, timeout=self.timeout, keep=keep, tell=tell)
        if finished.timed_out:
            raise RefusedError(f"the search ran past its limit of {self.timeout:g} s; narrow it down")
        return finished

    def _query(self, arguments: Arguments) -> Query:
        path = arguments.text("path", ".")
        if not self.files.kind(path):
            raise RefusedError(f"{path} does not exist")
        wanted = [one for one in _BETWEEN.split(arguments.text("glob")) if one]
        only = arguments.flag("-o")  # then there is nothing around
        around = arguments.count("-C", arguments.count("context", 0))
        before, after = ((0 if only else arguments.count(name, around)) for name in ("-B", "-A"))
        return Query(
            pattern=arguments.text("pattern"),
            path=self.files.where(path),
            globs=tuple(each for one in wanted for each in alternatives(one)),
            kind=arguments.text("type"),
            mode=arguments.text("output_mode", MODES[0]),
            ignore_case=arguments.flag("-i"),
            numbers=arguments.flag("-n", default=True),
            before=min(before, LINES),
            after=min(after, LINES),
            only=only,
            multiline=arguments.flag("multiline"),
        )

    def _changed(self, path: str) -> int | None:
        """Return when a regular file was changed, in nanoseconds; None for anything else."""
        try:
            status = os.lstat(self.files.root / path)
        except (OSError, ValueError):
            return None
        return status.st_mtime_ns if stat.S_ISREG(status.st_mode) else None


def _complaint(finished: Finished) -> str:
    return finished.stderr.decode("utf-8", "replace").strip()


def _from_here(path: str) -> str:
    """Return a path that no program takes for an option."""
    return "./" if path == "." else f"./{path}"


def _listing(top: str, pattern: str) -> str:
    """Return what lists the files below a folder that match, without those git ignores unless all of it is."""
    specs = shlex.join(f":(glob){_anywhere(one)}" for one in alternatives(pattern))
    return f"""cd {shlex.quote(_from_here(top))} || exit
git check-ignore -q . && ignored= || ignored=--exclude-standard
git ls-files -z --cached --recurse-submodules -- {specs} && git ls-files -z --others $ignored -- {specs}"""


def _anywhere(pattern: str) -> str:
    """Return a pattern as git takes it: one without a slash inside means names at any depth, others begin at the top."""
    free = "/" not in pattern.rstrip("/")
    return "**/" * free + pattern.removeprefix("./").lstrip("/")


def alternatives(pattern: str) -> list[str]:
    """Return what a pattern with braces stands for; beyond a bound braces are letters like others."""
    done: list[str] = []
    todo = [pattern]
    while todo:
        one = todo.pop()
        braces = _BRACES.search(one)
        if braces is None or len(todo) + len(done) > ALTERNATIVES:
            done.append(one)
        else:
            before, after = one[: braces.start()], one[braces.end() :]
            todo += [before + choice + after for choice in reversed(braces[1].split(","))]
    return done


def _ripgrep(query: Query) -> str:
    """Return the query as ripgrep is asked."""
    mode = {
        "files_with_matches": ["--files-with-matches"],
        "count": ["--count"],
        "content": [f"--before-context={query.before}", f"--after-context={query.after}"],
    }
    words = ["rg", "--no-config", "--no-messages", "--color=never", "--no-heading", "--hidden", "--crlf"]
    words += ["--no-require-git", "--with-filename", "--sort=path", *mode[query.mode]]
    words += [f"--max-columns={COLUMNS}", "--max-columns-preview"]
    words += ["--line-number" if query.numbers else "--no-line-number"]
    words += ["--only-matching"] * (query.only and query.mode == "content")
    words += ["--ignore-case"] * query.ignore_case
    words += ["--multiline", "--multiline-dotall"] * query.multiline
    words += [f"--glob={glob}" for glob in query.globs]
    words += [f"--type={query.kind}"] * bool(query.kind)
    return shlex.join([*words, "--glob=!.git", f"--regexp={query.pattern}", "--", _from_here(query.path)])


def _git_grep(query: Query) -> str:
    """Return the query as git is asked: line by line, and what git ignores is searched only if it is named itself."""
    if query.multiline:
        raise RefusedError("matches over several lines need ripgrep, which is not here; search line by line")
    mode = {
        "files_with_matches": ["--files-with-matches"],
        "count": ["--count"],
        "content": [f"-B{query.before}", f"-A{query.after}"],
    }
    words = ["git", "-c", "core.quotePath=false", "grep", "--untracked"]
    words += ["--no-color", "--no-column", "--no-full-name", "-I", "-P", *mode[query.mode]]
    words += ["--line-number" if query.numbers else "--no-line-number"]
    words += ["--only-matching"] * (query.only and query.mode == "content")
    words += ["--ignore-case"] * query.ignore_case
    what = shlex.join(["-e", f"(*ANYCRLF){query.pattern}", "--", *_pathspecs(query)])
    return (
        f"git check-ignore -q -- {shlex.quote(_from_here(query.path))} && ignored=--no-exclude-standard || ignored=\n"
        f"{shlex.join(words)} $ignored {what} | cut -b 1-{COLUMNS}"
    )


def _pathspecs(query: Query) -> Iterable[str]:
    """Yield which files are searched, as git takes it."""
    top = "" if query.path == "." else f"{query.path}/"
    if query.kind and query.kind not in TYPES:
        raise RefusedError(f"there is no type {query.kind!r:.80}; known are {', '.join(TYPES)}")
    wanted = [glob for glob in query.globs if not glob.startswith("!")]
    if wanted and query.kind:
        raise RefusedError("glob and type together need ripgrep, which is not here; give one of them")
    for glob in (*wanted, *TYPES.get(query.kind, ())):
        yield f":(glob){glob if top and glob.startswith(top) else top + _anywhere(glob)}"
    if not wanted and not query.kind:
        yield f":(literal){query.path}"
    for glob in query.globs:
        if glob.startswith("!"):
            yield f":(glob,exclude){_anywhere(glob[1:])}"


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
        """Take in a line, without what ripgrep puts before each and without a carriage return."""
        if self.total >= self.first and (self.most is None or len(self.lines) < self.most):
            self.lines.append(line.removeprefix("./").removesuffix("\r"))
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

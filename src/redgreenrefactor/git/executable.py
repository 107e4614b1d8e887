"""The git program on one repository: the only speller of git."""

import io
import os
import re
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import cast

from redgreenrefactor.errors import GitError, NotReadyError
from redgreenrefactor.git.programs import safe_path
from redgreenrefactor.model.values import frozen
from redgreenrefactor.sandbox import process
from redgreenrefactor.sandbox.secrets import without_secrets

OLDEST = (2, 30)
CHUNK = 1 << 17  # bytes of a long output that are looked at in one go
NAP = 0.002  # seconds until the next look at it: waiting awake, we would be woken for every few bytes
KEPT_VARIABLES = frozenset(
    {
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_SYSTEM",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_AUTHOR_NAME",
        "GIT_AUTHOR_EMAIL",
        "GIT_COMMITTER_NAME",
        "GIT_COMMITTER_EMAIL",
        "GIT_EXEC_PATH",
    },
)
# An agent may have written to the git folder: nothing it put there may run or lie when we look.
SAFE = (
    "--no-replace-objects",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.quotePath=false",
    "-c",
    "gc.auto=0",
    "-c",
    "advice.detachedHead=false",
)


def scrubbed(environ: Mapping[str, str], root: Path) -> dict[str, str]:
    """Return the environment without credentials, what points git at another repository, and programs of the project."""
    ours = {"LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0", "GIT_OPTIONAL_LOCKS": "0"}
    kept = dict(_kept(tuple(environ.items())))
    return kept | ours | {"PATH": safe_path(environ.get("PATH", os.defpath), root)}


@lru_cache(4)  # it is the same for every git of an invocation
def _kept(variables: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    harmless = without_secrets(dict(variables)).items()
    return tuple(pair for pair in harmless if not pair[0].startswith("GIT_") or pair[0] in KEPT_VARIABLES)


@frozen
class Git:
    """Git in one folder, with a clean environment and no hooks."""

    folder: Path
    env: Mapping[str, str]
    options: tuple[str, ...] = ()
    overruled: Callable[[], tuple[str, ...]] = (
        tuple  # what is said instead of settings that lead into the project
    )

    def argv(self, *args: str) -> tuple[str, ...]:
        """Return the whole command line for these arguments."""
        return ("git", *SAFE, *self.overruled(), *self.options, *args)

    def attempt(
        self, *args: str, stdin: bytes = b"", env: Mapping[str, str] | None = None
    ) -> process.Finished:
        """Run git and return how it ended, whatever that was."""
        try:
            return process.call(
                self.argv(*args), cwd=self.folder, env={**self.env, **(env or {})}, stdin=stdin
            )
        except FileNotFoundError as error:
            if not self.folder.is_dir():
                raise NotReadyError(
                    f"there is no folder {self.folder}", hint="Name an existing one: --project DIR."
                ) from error
            raise NotReadyError(
                "git is not installed outside the project", hint="Install git 2.30 or newer, then try again."
            ) from error

    def raw(self, *args: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> bytes:
        """Run git and return what it printed; a failure is a GitError with git's own words."""
        finished = self.attempt(*args, stdin=stdin, env=env)
        if finished.exit_code != 0:
            raise GitError(f"git {args[0]} failed: {said(finished)}", hint=advice(said(finished)))
        return finished.stdout

    def text(self, *args: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> str:
        """Run git and return its output as text, without the last line break."""
        return decoded(self.raw(*args, stdin=stdin, env=env)).removesuffix("\n")

    def is_ancestor(self, ancestor: str, tip: str) -> bool:
        """Tell whether one commit is, or comes after, another."""
        return tip == ancestor or self.attempt("merge-base", "--is-ancestor", ancestor, tip).exit_code == 0

    def fields(self, *args: str) -> Iterator[str]:
        """Run git with NUL-separated output and yield its fields."""
        return (decoded(field) for field in self.raw(*args).split(b"\0") if field)

    def records(self, *args: str) -> Iterator[bytes]:
        """Run git and yield what stands after each NUL of its output while it comes in."""
        env = {**self.env, "GIT_FLUSH": "0"}
        with process.start(self.argv(*args), cwd=self.folder, env=env) as partner:
            output = cast("io.BufferedReader", partner.stdout)
            rest = b""
            while chunk := output.read1(CHUNK):
                *whole, rest = (rest + chunk).split(b"\0")
                yield from filter(None, whole)
                if len(chunk) < CHUNK:
                    time.sleep(NAP)
            if rest:
                yield rest
            if partner.wait() != 0:
                raise GitError(
                    f"git {args[0]} failed: exit code {partner.returncode}", hint="See 'git fsck'."
                )


def decoded(raw: bytes) -> str:
    """Return bytes as text that `encoded` turns into the same bytes again."""
    return raw.decode("utf-8", "surrogateescape")


def encoded(text: str) -> bytes:
    """Return the bytes a text of `decoded` came from."""
    return text.encode("utf-8", "surrogateescape")


def nul_terminated(paths: Iterable[str]) -> bytes:
    """Return paths as git reads them with `-z --stdin`."""
    return encoded("".join(f"{path}\0" for path in paths))


@contextmanager
def temporary_index() -> Generator[Mapping[str, str]]:
    """Provide the variable that gives git an empty index of its own, gone afterwards."""
    import tempfile  # noqa: PLC0415 - slow to load

    with tempfile.TemporaryDirectory(prefix="rgr-") as folder:
        yield {"GIT_INDEX_FILE": f"{folder}/index"}


def said(finished: process.Finished) -> str:
    """Return git's complaint in one line."""
    lines = decoded(finished.stderr or finished.stdout).strip().splitlines()
    return " ".join(line.strip() for line in lines[:4]) or f"exit code {finished.exit_code}"


def advice(complaint: str, otherwise: str = "See 'git status'; nothing of yours was lost.") -> str:
    """Return what to type after a complaint of git's that a person can mend."""
    if "No space left" in complaint:
        return "Free some disk space, then type 'rgr resume'."
    if ".lock'" in complaint and "exists" in complaint:
        return "Another git is at work here, or one died: see that none runs, remove the lock file it names."
    if taken := re.search(r"'(refs/\S+)' exists; cannot create", complaint):
        return f"Give {taken[1]} another name, or type 'git update-ref -d {taken[1]}', then try again."
    if unseen := re.search(r"Entry '(.+)' not uptodate", complaint):
        import shlex  # noqa: PLC0415

        look = [
            ["git", "update-index", f"--no-{mark}", unseen[1]]
            for mark in ("skip-worktree", "assume-unchanged")
        ]
        typed = " && ".join(map(shlex.join, look))
        return f"Git was told not to look at a file that differs: type '{typed}', then the same again."
    if "dubious ownership" in complaint:
        return "Type the 'git config --global --add safe.directory …' line that git names."
    if "Permission denied" in complaint or "Read-only" in complaint:
        return "Make the repository writable for this user, then try again."
    return otherwise


def check_version(git: Git) -> None:
    """Make sure that git is new enough."""
    version = git.text("version")
    found = re.search(r"(\d+)\.(\d+)", version)
    if found is None or (int(found[1]), int(found[2])) < OLDEST:
        raise NotReadyError(f"{version} is too old", hint="Install git 2.30 or newer, then try again.")

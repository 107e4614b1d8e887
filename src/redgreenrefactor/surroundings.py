"""Where and how one invocation works, and whose word counts: settings, approved where they execute or loosen something."""

import hashlib
import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from redgreenrefactor.config import DEFAULT, Flags, Line, Settings, load
from redgreenrefactor.config.keys import KEYS
from redgreenrefactor.errors import NotReadyError, UsageError
from redgreenrefactor.filesystem import LARGEST, below, head_of
from redgreenrefactor.git.guard import SETTINGS as PROPERTIES
from redgreenrefactor.git.nested import changed_environments
from redgreenrefactor.git.programs import RUNNERS
from redgreenrefactor.git.repository import Repository
from redgreenrefactor.model.events import Emit
from redgreenrefactor.model.values import frozen
from redgreenrefactor.sandbox.permissions import tools_of
from redgreenrefactor.sandbox.process import Interrupt
from redgreenrefactor.sandbox.secrets import words
from redgreenrefactor.sandbox.toolchains import environments
from redgreenrefactor.trust import ONCE, Approval, Approvals, approvals_of, not_trusted, once

UNHEARD = frozenset(
    key.name for key in KEYS if key.harmless and key.name not in ("test.command", "setup.command")
)
_HERE = re.compile(r"\$\{?PWD\}?|\$\(pwd\)|`pwd`")
_APART = re.compile(r"[\s;&|()<>=`'\"$]+")  # what lies between names in a line of shell
_RUN_BY = words(
    "Makefile makefile GNUmakefile package.json justfile Justfile Rakefile Taskfile.yml tox.ini noxfile.py pyproject.toml "
    "Cargo.toml build.gradle build.gradle.kts pom.xml"
)
_LARGEST_PROGRAM = 256 << 20  # bytes


@frozen
class Surroundings:
    """Where and how one invocation works."""

    project: Path
    environ: Mapping[str, str]
    flags: Flags
    emit: Emit
    interrupt: Interrupt
    edit: Callable[[Path], None] | None = None  # opens a file for a person; None: nobody is there
    ask: Callable[[Sequence[str]], bool] | None = None  # has a person approve of lines; None: nobody is there
    may_lack_sandbox: bool = False  # everything that is run is ours


def settings_of(repository: Repository, around: Surroundings, commit: str = "HEAD") -> Settings:
    """Return the settings as the commit the invocation starts from has them; from disk where git has none.

    What they execute or loosen is approved by the user, or a NotReadyError; a person who is there is asked.
    """
    return trusted(load(properties(repository, commit), around.environ, around.flags), repository, around)


def judging_settings_of(repository: Repository, around: Surroundings, commit: str) -> Settings:
    """Return the settings that turns made from a commit are judged by again.

    Of what loosens or executes, the repository has a say only in how tests are run, if the user approves.
    """
    settings = load(
        properties(repository, commit), around.environ, around.flags, unheard=lambda name: name in UNHEARD
    )
    return trusted(settings, repository, around, commit)


def trusted(
    settings: Settings, repository: Repository, around: Surroundings, commit: str = "HEAD"
) -> Settings:
    """Return the settings, if the user approves of what they execute or loosen because the repository says so."""
    loosening = loosening_of(settings, repository)
    wanted = approval_of(loosening, repository)
    if not wanted.lines or once(around.environ):
        return settings
    approvals = approvals_for(repository, around.environ)
    if approvals.has(wanted):
        return settings
    lines = [line.shown for line in loosening]
    if around.ask is None or not around.ask(lines):
        raise not_trusted(lines, "rgr trust" if commit == "HEAD" else f"rgr trust --at {commit[:10]}")
    approvals.add(wanted)
    return settings


def as_before(
    settings: Settings, repository: Repository, around: Surroundings, agent: str | None
) -> Settings:
    """Return the settings with the agent that notes of a run tell of, in the roles for which nobody names one.

    Notes may be a stranger's: an agent that this user has not chosen here counts once it is approved.
    """
    unset = [role for role in settings.agents if settings.source(f"agent.{role}") == DEFAULT]
    if agent is None or all(settings.agent_for(role) == agent for role in unset):
        return settings
    choice = _choice_of(agent, repository)
    if not once(around.environ) and not approvals_for(repository, around.environ).has(choice):
        if around.ask is None or not around.ask([f"the notes of this run: agent={agent}"]):
            raise NotReadyError(
                f"{agent} worked at this run, as its notes tell, and you have not chosen it here",
                hint=f"Type the same with --agent {shlex.quote(agent)} if you want that, or name another one.",
                type="NotTrusted",
            )
        approvals_for(repository, around.environ).add(choice)
    return replace(settings, agents={**settings.agents, **dict.fromkeys(unset, agent)})


def remember_agent(settings: Settings, repository: Repository, around: Surroundings) -> str | None:
    """Return the agent that a flag or a variable has chosen, which the run may be gone on with unasked from now on."""
    if settings.source("agent") not in ("--agent", "TDD_AGENT"):
        return None
    if not once(around.environ):
        with suppress(NotReadyError):  # then it is asked for
            approvals_for(repository, around.environ).add(_choice_of(settings.agent, repository))
    return settings.agent


def _choice_of(agent: str, repository: Repository) -> Approval:
    """Return what a user approves by naming an agent: it, and what it would run of the repository, as that is now."""
    line = Line("", "go on with agent", agent)
    return approval_of([line, *(each for _, each in _files_of(line, repository))], repository)


def approvals_for(repository: Repository, environ: Mapping[str, str]) -> Approvals:
    """Return what this user has approved; a folder inside the repository, where sessions write, is a NotReadyError."""
    found = approvals_of(environ)
    if found.folder.resolve().is_relative_to(repository.root):
        raise NotReadyError(
            f"approvals would lie inside the repository, where sessions could write them: {found.folder}",
            hint=f"Set XDG_DATA_HOME to a folder elsewhere, or {ONCE}=1 for this once.",
            type="NotTrusted",
        )
    return found


def loosening_of(settings: Settings, repository: Repository) -> tuple[Line, ...]:
    """Return what counts only if the user approves.

    That is lines of the settings, the files of the repository that these have us run or read outside the sandbox, as
    they are, folders outside the project that would be shown inside, and environments that are a session's work.
    """
    files = files_run(settings, repository)
    return (*settings.loosening, *files, *_shown(settings, repository), *_changed(repository))


def files_run(settings: Settings, repository: Repository) -> tuple[Line, ...]:
    """Return the files of the repository that its settings have us run or read outside the sandbox, as they are now."""
    found = {name: line for line in settings.loosening for name, line in _files_of(line, repository)}
    return tuple(found.values())


def _changed(repository: Repository) -> Iterator[Line]:
    """Yield the virtual environments that tests would be run with and that a session has made, or made another."""
    used = set(environments(repository.root, repository.project, repository.environ))
    for name, stamp in changed_environments(repository.cache).items():
        if repository.root / name in used:
            yield Line(name, "changed by a session at", stamp)


def _shown(settings: Settings, repository: Repository) -> tuple[Line, ...]:
    if settings.sandbox == "off":
        return ()
    root = repository.root
    leads = tools_of(root, repository.project, repository.environ).leads
    found = {lead.folder: lead.file for lead in leads}
    return tuple(Line(str(file.relative_to(root)), "shows", str(folder)) for folder, file in found.items())


def _files_of(line: Line, repository: Repository) -> Iterator[tuple[str, Line]]:
    """Yield what a line has us run or read that a session could write: it counts as it was approved."""
    _, command, rest = line.value.partition("command:")
    if line.name == "prompts.dir":
        places = [Path(entry.path) for entry in below(repository.project / line.value)]
    elif line.name == "on.finish" or command:
        places = list(_named(rest if command else line.value, repository.project))
    else:
        return  # suites and what they need are held
    root = repository.root.resolve()
    for place in (Path(os.path.normpath(place)) for place in places if os.path.isfile(place)):  # noqa: PTH113 - odd names raise nothing
        file = place.resolve()
        name = str(file.relative_to(root) if file.is_relative_to(root) else place)
        if file.is_relative_to(root) or place.is_relative_to(repository.root):  # a link may lead elsewhere
            yield name, Line(name, f"content of {name}", _digest(file))


def _named(command: str, project: Path) -> Iterator[Path]:
    """Yield what a command may run by its name, whatever it is quoted in: files, modules, what runners are set up by."""
    named = _APART.split(_HERE.sub(".", command))
    with suppress(ValueError):
        named += shlex.split(command, comments=True)
    folders = [project, *(project / name for name in named if os.path.isdir(project / name))]  # noqa: PTH112
    modules = [f"{name.replace('.', '/')}{end}" for name in named for end in (".py", "/__main__.py")]
    runs = any(re.fullmatch(RUNNERS, name.rpartition("/")[2]) for name in named)
    for folder in folders:
        yield from (folder / name for name in (*named, *modules, *(_RUN_BY if runs else ())))


def _digest(file: Path) -> str:
    with suppress(OSError):
        return hashlib.sha256(head_of(file, _LARGEST_PROGRAM)).hexdigest()[:12]
    return "unreadable"


def approval_of(lines: Sequence[Line], repository: Repository) -> Approval:
    """Return what a user would have to approve; all checkouts of a repository are one."""
    where = repository.main_project or repository.common_dir / repository.prefix
    return Approval(str(where), tuple(sorted(line.text for line in lines)))


def properties(repository: Repository, commit: str) -> tuple[str, str] | None:
    """Return name and text of the file of settings at a commit, from disk where git has none."""
    raw, tracked = (_stored(repository, name) for name in (commit, "HEAD"))
    if raw is None and tracked is not None:
        return None  # it came later: it says nothing about what was there before
    if raw is None:
        try:
            raw = head_of(repository.project / PROPERTIES, LARGEST)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise UsageError(f"{PROPERTIES} cannot be read: {error.strerror}") from error
    try:
        return PROPERTIES, raw.decode()
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{PROPERTIES} is not UTF-8 text (byte {error.start})", hint="Save it as UTF-8, then try again."
        ) from error


def _stored(repository: Repository, commit: str) -> bytes | None:
    found = repository.objects.get(f"{commit}:{repository.prefix}{PROPERTIES}")
    return found[2] if found and found[1] == "blob" else None

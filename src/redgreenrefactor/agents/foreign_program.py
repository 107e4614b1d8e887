"""Programs of the user's that are agents: where they are, how old they are, and whether somebody is signed in."""

import os
import re
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path

from redgreenrefactor.agents.account_file import AccountFile, HomePlace
from redgreenrefactor.agents.session_environment import environment
from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.filesystem import remove
from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.verdict import Finding, FindingType
from redgreenrefactor.prompts.quote import in_line, plain
from redgreenrefactor.sandbox.policy import Mount, MountMode
from redgreenrefactor.sandbox.process import Finished, Interrupt, run

PATIENCE = 30.0  # seconds for a program to say who it is; the first start of one may take a while
_PASSED_ON = "name the variable that holds its key in agent.env"  # of which we know no key, it gets none
_WORDS = 500  # characters of what it says about a failure
HOPELESS = (400, 401, 403, 404)  # statuses that no waiting mends, and that programs retry all the same
_VERSION = re.compile(r"\d+(?:\.\d+)+")


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignProgram:
    """What is known of a program before it is looked for."""

    title: str  # what people call it
    command: str
    oldest: str = ""  # version that works as we need it; nothing: it is not asked
    calls_itself: str = ""  # a word of what it answers to --version
    install: str = ""  # what to type; nothing: that is not known
    signed_in: tuple[str, ...] = ()  # arguments to which it answers with 0 where somebody is signed in
    account: AccountFile | None = None  # by which somebody is signed in
    keeps: tuple[HomePlace, ...] = ()  # folders in which it writes; where it is held, it has others
    settings: tuple[HomePlace, ...] = ()  # what says how the user wants it, for sessions that inherit that
    sign_in: str = ""  # what to type; nothing: that is not known
    keys: tuple[str, ...] = ()  # variables that sign it in where nobody else is
    provider: str = ""  # whose models it thinks with, as names of models begin; nothing: anybody's
    telling: Mapping[str, str] = field(default_factory=dict[str, str])  # that it calls nobody but its model

    def own_places(
        self, env: Mapping[str, str], home: Path, folder: Path, *, inherit: bool
    ) -> Iterator[Mount]:
        """Yield folders of ours in the place of its own, the user's settings where they count, and a copy of the sign-in."""
        for kept in self.keeps:
            ours = home / kept.folder / kept.name
            ours.mkdir(parents=True, exist_ok=True)
            yield Mount(kept.of(env), MountMode.WRITE, ours)
        wanted = (setting.of(env) for setting in self.settings if inherit)
        yield from (Mount(path, MountMode.READ) for path in wanted if path.exists())
        if self.account:
            yield from self.account.lent(env, folder)

    def forget(self, home: Path, known: Collection[str] = ()) -> None:
        """Take out of a home of ours what steers sessions and was left there by one, but for what is known."""
        for setting in self.settings:
            if setting.name not in known:
                remove(home / setting.name)


@frozen
class InstalledProgram:
    """A program that is there."""

    program: ForeignProgram
    path: str
    version: str

    def has_account(self, env: Mapping[str, str], interrupt: Interrupt | None = None) -> bool | None:
        """Tell whether somebody is signed in, by its own word or by the files it keeps; None where nothing tells."""
        if self.program.signed_in:
            asked = [self.path, *self.program.signed_in]
            return answer_of(asked, {**env, **self.program.telling}, interrupt).exit_code == 0
        account = self.program.account
        return account.place.of(env).is_file() if account and account.needed else None

    def inside(self, env: Mapping[str, str], home: Path, folder: Path, *, inherit: bool) -> Iterator[Mount]:
        """Yield what it finds of its own where it is held: itself, folders of ours as its own, a sign-in it cannot renew."""
        place, real = Path(self.path).parent, Path(os.path.realpath(self.path))
        modules = next((path for path in real.parents if path.name == "node_modules"), real)
        shown = (modules,) if Path(env.get("HOME", "/")).is_relative_to(place) else (place, modules)
        yield from (Mount(path, MountMode.READ) for path in shown)
        yield from self.program.own_places(env, home, folder, inherit=inherit)


def place_of(command: str, wanted: str | None, project: Path, env: Mapping[str, str]) -> str | None:
    """Return where a program lies: at the path that is set, a folder or the program itself, else on PATH.

    One that the project brings along is only taken where the path that is set leads to it.
    """
    if wanted:
        place = project / Path(wanted).expanduser()
        return shutil.which(str(place / command if place.is_dir() else place))
    found = shutil.which(command, path=env.get("PATH", os.defpath))
    inside = found and Path(os.path.realpath(found)).is_relative_to(os.path.realpath(project))
    return None if inside else found


def installed(
    program: ForeignProgram,
    *,
    wanted: str | None,
    project: Path,
    env: Mapping[str, str],
    interrupt: Interrupt | None = None,
) -> InstalledProgram:
    """Return the program as it is here; one that is missing, another, or too old is a NotReadyError."""
    path = place_of(program.command, wanted, project, env)
    if path is None:
        where = f"at {wanted} (agent.path)" if wanted else "on PATH"
        how = f"Type '{program.install}'" if program.install else "Install it"
        raise NotReadyError(
            f"{program.title} is not installed: there is no program {program.command!r} {where}",
            hint=f"{how}, or name where it lies with agent.path=… in tdd.properties.",
            type="AgentMissing",
        )
    if not program.oldest:
        return InstalledProgram(program, path, "")
    said = version_line(path, {**environment(env), **program.telling}, interrupt)
    number = _VERSION.search(said)
    if number is None or program.calls_itself not in said:
        raise NotReadyError(
            f"{path} is not {program.title}: to --version it says {said!r}",
            hint=f"Type '{program.install}', or set agent.path to where {program.title} lies.",
            type="AgentMissing",
        )
    if _parts(number[0]) < _parts(program.oldest):
        raise NotReadyError(
            f"{program.title} {number[0]} at {path} is too old: {program.oldest} or newer is needed",
            hint=f"Type '{program.install}'.",
            type="AgentOutdated",
        )
    return InstalledProgram(program, path, number[0])


def version_line(path: str, env: Mapping[str, str], interrupt: Interrupt | None = None) -> str:
    """Return the first line a program answers to --version."""
    done = answer_of([path, "--version"], env, interrupt)
    words = plain((done.stdout or done.stderr).decode("utf-8", "replace")).strip().split("\n")[0]
    return in_line(words, 80) or f"exit code {done.exit_code}"


def answer_of(argv: list[str], env: Mapping[str, str], interrupt: Interrupt | None) -> Finished:
    """Return what a program answers to a question about itself."""
    return run(argv, cwd=Path("/"), env=env, timeout=PATIENCE, interrupt=interrupt)


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def signed_in_by(
    found: InstalledProgram, env: Mapping[str, str], passed_on: tuple[str, ...], interrupt: Interrupt | None
) -> tuple[str, ...]:
    """Return the variables it needs to be signed in: none where an account is; if none helps, that is a NotReadyError."""
    program = found.program
    known = found.has_account(environment(env, passed_on), interrupt)
    if known:
        return passed_on
    there = tuple(name for name in program.keys if env.get(name))
    if there or known is None:
        return (*passed_on, *there)
    keys = " or ".join(program.keys)
    raise NotReadyError(
        f"nobody is signed in to {program.title}",
        hint=f"Type '{program.sign_in}', or set {keys}; then type the same command again.",
        type="CredentialsMissing",
    )


def link_account(link: Path, users: Path) -> None:
    """Have a sign-in of the user's found in another home, if there is one; the program may renew it."""
    with suppress(OSError):
        if not link.is_symlink() or link.readlink() != users:
            link.unlink(missing_ok=True)
            if users.exists():
                link.symlink_to(users)


def refused_by_server(program: ForeignProgram, words: str, status: int | None) -> Finding:
    """Return what it means that a model's server answered a program so; without a status it is the program's failure."""
    said = in_line(f"{program.title}: {words}", _WORDS)
    match status:
        case HTTPStatus.UNAUTHORIZED | HTTPStatus.FORBIDDEN:
            how = f"Type '{program.sign_in}'" if program.sign_in else "Sign in to it as its maker says"
            passed = "mend the key it is given" if program.keys else _PASSED_ON
            return Finding(FindingType.MODEL_UNAVAILABLE, said, hint=f"{how}, or {passed}.")
        case HTTPStatus.PAYMENT_REQUIRED:
            return Finding(FindingType.MODEL_UNAVAILABLE, said, hint="Add credit to the account.")
        case HTTPStatus.NOT_FOUND:
            # One that has models of many makers knows none of a maker to whom nobody is signed in.
            makers = (
                ""
                if program.provider or not program.sign_in
                else f", or sign in to its maker: '{program.sign_in}'"
            )
            hint = f"Check the name in --model, TDD_MODEL or tdd.properties{makers}."
            return Finding(FindingType.MODEL_UNAVAILABLE, said, hint=hint)
        case HTTPStatus.TOO_MANY_REQUESTS | 529:  # overloaded
            return Finding(FindingType.RATE_LIMITED, said, hint="Wait a while, then type 'rgr resume'.")
        case int() if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return Finding(FindingType.NETWORK_ERROR, said, hint="Check the network, then type 'rgr resume'.")
        case _:
            return Finding(FindingType.AGENT_FAILURE, said)

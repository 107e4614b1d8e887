"""A program that speaks the Agent Client Protocol as an agent: one that is known by name, or any command."""

import json
import os
import re
import select
import shlex
import socket
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path
from queue import SimpleQueue
from string import Template
from threading import Thread
from typing import Any, Self

from redgreenrefactor.agents.acp_conversation import AcpConversation
from redgreenrefactor.agents.acp_presets import PRESETS, AcpPreset, StartingKit
from redgreenrefactor.agents.foreign_program import ForeignProgram, link_account
from redgreenrefactor.agents.program_agent import ProgramAgent, ProgramStart, SessionOrder, program_agent
from redgreenrefactor.agents.providers import base_url
from redgreenrefactor.agents.table import AgentSetup
from redgreenrefactor.errors import UsageError
from redgreenrefactor.filesystem import put
from redgreenrefactor.model.values import frozen
from redgreenrefactor.sandbox.cage import temporary_folder
from redgreenrefactor.sandbox.policy import readable, writable

_FAREWELL = 5.0  # seconds for a program to write down what it keeps of a session
_MINUTE = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d")
_ATTEMPTS = 5  # at a request, of programs that can be told how many


def build(argument: str, setup: AgentSetup) -> ProgramAgent:
    """Return the agent that is this program, by its name here or by its command; a NotReadyError where it is missing."""
    preset, name = PRESETS.get(argument), argument
    if preset is None:
        preset, name = _any(argument), f"acp:{argument}"
    if setup.url and not preset.with_url:
        raise UsageError(
            f"agent.url is set, and {preset.program.title} cannot be told where its model is",
            hint="Take agent.url out of tdd.properties, and set the server in the program's own settings.",
        )
    return program_agent(name, AcpProgram(argument, preset), setup, preset.strategies)


def _any(command: str) -> AcpPreset:
    """Return what is known of a program of which only the command is: nothing is kept out, nothing replaced."""
    try:
        first, *rest = shlex.split(command)
    except ValueError as error:
        raise UsageError(
            f"the command of --agent acp:{command} cannot be read: {error}",
            hint="Name a program and its arguments, as in 'acp:goose acp'.",
        ) from error
    program = ForeignProgram(title=first, command=first)
    return AcpPreset(program=program, always=StartingKit(arguments=tuple(rest)), tried=False)


@frozen
class AcpProgram:
    """How such a program is started, and what it is told."""

    name: str
    preset: AcpPreset

    @property
    def program(self) -> ForeignProgram:
        """What is known of it."""
        return self.preset.program

    @contextmanager
    def prepare(self, order: SessionOrder) -> Generator[ProgramStart]:
        """Provide how it is started: a home of its own, the role in a file, and a pipe to talk through."""
        home = order.setup.home / self.program.command.replace("/", "_")
        home.mkdir(parents=True, exist_ok=True)
        with temporary_folder(order.setup.home) as folder, _Line() as line:
            role = folder / "role.md"
            role.write_text(order.instructions, "utf-8")
            values = {"home": str(home), "role": str(role), **dict(self._values(order))}
            equipment = [_filled(each, values) for each in self._equipment(order)]
            self.program.forget(home, [place for each in equipment for place in each.files])
            for place, text in (file for each in equipment for file in each.files.items()):
                (home / place).parent.mkdir(parents=True, exist_ok=True)
                put(home / place, text.encode())
            self._link_account(order, home)
            if self.preset.replaces and not order.setup.inherit:
                _link_others(home, self.preset.replaces.of(order.env), self.program.command)
            _set_apart(
                home, Template(self.preset.sessions).substitute(id=re.sub(r"\W", "", order.parent[:8]))
            )
            conversation = AcpConversation(order, self.preset, self._prompt(order), line.send, home)
            conversation.begin()
            yield ProgramStart(
                [argument for each in equipment for argument in each.arguments],
                line.theirs,
                conversation,
                env={
                    **(self._author(order) if self.preset.hides_git else {}),
                    **{name: value for each in equipment for name, value in each.env.items()},
                },
                places=(*readable(folder), *writable(home)),
                farewell=line.end,
            )

    def _author(self, order: SessionOrder) -> dict[str, str]:
        """Return who commits, as far as the environment does not say it."""
        return {name: value for name, value in order.setup.author.items() if name not in order.env}

    def _link_account(self, order: SessionOrder, home: Path) -> None:
        """Have a home of its own lead to the user's sign-in."""
        account = self.program.account
        if account and not account.place.folder and not order.setup.inherit:
            link_account(home / account.place.name, account.place.of(order.env))

    def _prompt(self, order: SessionOrder) -> str:
        task = order.brief.task
        return task if self.preset.own_role else f"{order.instructions.rstrip()}\n\n{task}"

    def _values(self, order: SessionOrder) -> Iterator[tuple[str, str]]:
        preset, env = self.preset, order.env
        key = next((name for name in preset.auth if name and env.get(name)), "")
        yield "folder", os.path.realpath(order.folder)
        yield "auth", preset.auth.get(key, "")
        yield "attempts", str(_ATTEMPTS if order.setup.retry_backoff else 1)
        yield "model", order.model
        yield "provider", order.model.partition("/")[0]
        yield "url", base_url(self.program.provider, order.setup.url) if order.setup.url else ""

    def _equipment(self, order: SessionOrder) -> Iterator[StartingKit]:
        preset = self.preset
        yield preset.always
        if not order.setup.inherit:
            yield preset.apart
        if order.model and preset.with_model:
            yield preset.with_model
        if order.setup.url and preset.with_url:
            yield preset.with_url


def _link_others(home: Path, users: Path, own: str) -> None:
    """Have what other programs keep in a folder of the user's found in the home that stands in its place."""
    for link in filter(Path.is_symlink, home.iterdir()):
        link.unlink()
    with suppress(OSError):
        for theirs in users.iterdir():
            if theirs.name != own and not (home / theirs.name).exists():
                (home / theirs.name).symlink_to(theirs)


def _set_apart(home: Path, pattern: str) -> None:
    """Give the file of a session the name of a minute that does not come again, in which it is still found."""
    for file in home.glob(pattern) if pattern else ():
        place = file.with_name(_MINUTE.sub("2000-01-01T00-00", file.name))
        if not place.exists():
            file.rename(place)


def _filled(equipment: StartingKit, values: Mapping[str, str]) -> StartingKit:
    """Return it with the values in place of their names."""
    return StartingKit(
        arguments=tuple(_text(each, values) for each in equipment.arguments),
        env={name: _text(text, values) for name, text in equipment.env.items()},
        files={place: _text(text, values) for place, text in equipment.files.items()},
    )


def _text(text: str, values: Mapping[str, str]) -> str:
    if text.startswith("{"):  # JSON
        values = {name: json.dumps(value)[1:-1] for name, value in values.items()}
    return Template(text).safe_substitute(values)


class _Line:
    """What a program reads from: messages are written without ever waiting for it, and it is told when there are no more."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        self.theirs, self._ours = FileIO(theirs.detach(), "rb"), ours
        self._messages: SimpleQueue[Mapping[str, Any] | None] = SimpleQueue()
        self._writer = Thread(target=self._write, daemon=True)

    def __enter__(self) -> Self:
        self._writer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.theirs.close()
        self._messages.put(None)
        self._writer.join()  # nobody reads any more: it cannot be kept waiting
        self._ours.close()

    def send(self, message: Mapping[str, Any]) -> None:
        """Have a message written."""
        self._messages.put(message)

    def end(self) -> None:
        """Say that there is nothing more; return when the program has gone, or does not go."""
        self.theirs.close()
        self._messages.put(None)
        gone = select.poll()
        gone.register(self._ours, select.POLLHUP)
        gone.poll(_FAREWELL * 1000)

    def _write(self) -> None:
        with suppress(OSError):  # it does not read any more
            while (message := self._messages.get()) is not None:
                self._ours.sendall(json.dumps(message).encode() + b"\n")
            self._ours.shutdown(socket.SHUT_WR)

"""Whole runs with their suites held, as they are for people."""

import os
import socket
import threading
from collections.abc import Generator
from contextlib import suppress

import pytest
from stage import CODE, GREENFIELD, PLAIN, PLAIN_SETTINGS, TEST, Stage, calculator

from cages import BUBBLEWRAP, means, needs_bubblewrap
from repos import MakeRepo

AUTO = {"TDD_SANDBOX": "auto"}


@pytest.fixture
def listener() -> Generator[int]:
    """A server outside, on loopback."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            with suppress(OSError):
                while True:
                    server.accept()[0].close()

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join(5)


@pytest.mark.long
@pytest.mark.parametrize("level", [BUBBLEWRAP, "landlock"])
def test_a_run_with_pytest_goes_through_and_its_notes_say_what_held_it(
    level: str, make_repo: MakeRepo
) -> None:
    means(level)
    stage = Stage(make_repo(files=GREENFIELD), calculator(1), env={"TDD_SANDBOX": level})
    done = stage.run("--json")
    assert done.code == 0, done
    assert {entry["sandbox"] for entry in stage.rgr("history", "--json").json} == {level}
    assert f"sandbox: {level}" in done.err
    verified = stage.rgr("verify", "--json")
    assert (verified.code, verified.json["ok"]) == (0, True)


@needs_bubblewrap
def test_tests_see_neither_keys_nor_the_outside(make_repo: MakeRepo) -> None:
    means("bubblewrap")
    repo = make_repo(files=PLAIN)
    key = os.path.join(repo.env["HOME"], ".ssh", "id")  # noqa: PTH118
    os.makedirs(os.path.dirname(key))  # noqa: PTH103, PTH120
    with open(key, "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write("secret")
    parts = calculator(1)
    spy = f"import os\nassert not os.path.exists({key!r})\nassert os.getppid() < 100\n"
    parts["RED-1"]["files"][TEST] = spy + parts["RED-1"]["files"][TEST]
    stage = Stage(repo, parts, env=AUTO)
    done = stage.run("--json")
    assert done.code == 0, done
    assert {entry["sandbox"] for entry in stage.rgr("history", "--json").json} == {"bubblewrap"}
    assert "sandbox: bubblewrap" in done.err


@needs_bubblewrap
@pytest.mark.long
def test_a_suite_that_needs_the_network_gets_it_and_everybody_is_told(
    make_repo: MakeRepo, listener: int
) -> None:
    means("bubblewrap")
    test = f"import socket\n\n\ndef test_net() -> None:\n    socket.create_connection(('127.0.0.1', {listener})).close()\n"
    stage = Stage(make_repo(files={**PLAIN, "tests/test_net.py": test}), calculator(1), env=AUTO)
    done = stage.run("--json", "--max-cycles", "1")
    assert "suites are run with the network" in done.err, done
    assert {entry.get("suiteNetwork") for entry in stage.rgr("history", "--json").json} == {True}


@pytest.mark.long
@needs_bubblewrap
def test_a_suite_that_does_without_the_network_does_not_get_it(make_repo: MakeRepo, listener: int) -> None:
    means("bubblewrap")
    reach = f"import socket\ntry:\n    socket.create_connection(('127.0.0.1', {listener}), 2)\nexcept OSError:\n    pass\nelse:\n    raise SystemExit(1)\n"
    parts = calculator(1)
    parts["GREEN-1"]["files"][CODE] = reach + parts["GREEN-1"]["files"][CODE]
    done = Stage(make_repo(files=PLAIN), parts, env=AUTO).run()
    assert done.code == 0, done


def test_a_sandbox_that_is_not_there_is_refused_with_what_to_type(make_repo: MakeRepo) -> None:
    settings = f"{PLAIN_SETTINGS}sandbox=bubblewrap\n"
    stage = Stage(make_repo(files={**PLAIN, "tdd.properties": settings}))
    path = str(stage.repo.path.parent / "bin")
    os.makedirs(path)  # noqa: PTH103
    for name in ("git", "python3", "sh"):
        found = next(
            place
            for folder in os.environ["PATH"].split(":")
            if os.access(place := f"{folder}/{name}", os.X_OK)
        )
        os.symlink(found, f"{path}/{name}")  # noqa: PTH211
    env = {"PATH": path, "TDD_SANDBOX": ""}
    done = stage.rgr("run", "A calculator", "--agent", "command:true", "--json", env=env)
    assert done.code == 3, done
    assert done.json["errorDetails"]["type"] == "SandboxMissing"
    assert "apt install bubblewrap" in done.json["hint"]

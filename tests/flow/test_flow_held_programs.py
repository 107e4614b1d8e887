"""The real programs that are agents inside the sandbox: what is their own is there, and nothing else."""

import json
from pathlib import Path

import pytest
from real_programs import environ, theatre, written
from stage import PLAIN, calculator, subjects

from cages import means
from program_rows import PROGRAMS, RENEWS, THOROUGH
from redgreenrefactor import RunStatus
from repos import MakeRepo, Repo

pytestmark = [pytest.mark.programs, pytest.mark.needs("bwrap")]

TRIES = """\
import os

refused = 0
for attempt in (
    lambda: print(open({secret!r}).read()),
    lambda: open({sign_in!r}, "a").write("x"),
    lambda: os.remove({sign_in!r}),
):
    try:
        attempt()
    except OSError:
        refused += 1
print(open({sign_in!r}).read(), "tries were made: 3, refused:", refused)
"""


@pytest.mark.parametrize(("level", "how"), [("bubblewrap", "on"), ("landlock", "auto")])
@pytest.mark.parametrize("agent", THOROUGH)
def test_a_held_program_works_with_a_sign_in_that_it_cannot_change_and_sees_nothing_beside(
    agent: str, level: str, how: str, make_repo: MakeRepo, tmp_path: Path
) -> None:
    means(level)
    home, secret = tmp_path / "home", tmp_path / "neighbour" / "notes.txt"
    secret.parent.mkdir()
    secret.write_text("the neighbour's plans")
    row = PROGRAMS[agent]
    name, said = row.sign_in
    sign_in = home / name
    sign_in.parent.mkdir(parents=True)
    sign_in.write_text(json.dumps(said))
    with theatre(agent, make_repo(files=PLAIN), home, calculator(1)) as played:
        text = (played.repo.path / "tdd.properties").read_text() + f"sandbox.agents={how}\n"
        if not row.account:
            text += f"agent.env={row.key}\n"
        played.repo.commit("chore: held", {"tdd.properties": text})
        script = TRIES.format(secret=str(secret), sign_in=str(sign_in))
        played.parts["RED-1"]["first"] = [written("tries.py", script), "python3 tries.py; rm tries.py"]
        env = {**environ(agent, played.repo, home), "TDD_SANDBOX": level}
        if row.account:
            del env[row.key]

        result = played.run(environ=env)

        assert result.status is RunStatus.COMPLETE, (result.error, played.said)
        assert played.repo.subjects()[3:] == subjects(1)
        heard = "".join(text for asked in played.server.asked for text in asked.results)
    assert "tries were made: 3" in heard, heard
    assert secret.read_text() not in heard
    assert RENEWS not in heard
    assert json.loads(sign_in.read_text()) == said
    assert _held(played.repo) == {True}


def _held(repo: Repo) -> set[object]:
    """Return what the notes of turns say of where the program was."""
    commits = repo.git("log", "--format=%H").splitlines()[:-3]
    notes = [json.loads(repo.git("notes", "--ref=tdd-handoffs", "show", commit)) for commit in commits]
    return {note.get("agentHeld") for note in notes}

"""The real programs that are agents inside the sandbox: what is their own is there, and nothing else."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from real_programs import KEYS, environ, theatre, written
from stage import PLAIN, calculator, subjects

from cages import means
from model_server import KEY
from redgreenrefactor import RunStatus
from repos import MakeRepo, Repo

pytestmark = [pytest.mark.programs, pytest.mark.needs("bwrap")]

LATER = int(time.time() + 100_000) * 1000
RENEWS = "what-renews-the-sign-in"
SIGN_INS: dict[str, tuple[str, Any]] = {
    "claude-code": (
        ".claude/.credentials.json",
        {
            "claudeAiOauth": {
                "accessToken": KEY,
                "refreshToken": RENEWS,
                "expiresAt": LATER,
                "scopes": ["user:inference"],
            }
        },
    ),
    "codex": (
        ".codex/auth.json",
        {
            "auth_mode": "chatgpt",
            "OPENAI_API_KEY": None,
            "tokens": {
                "id_token": "e30.e30.x",
                "access_token": KEY,
                "refresh_token": RENEWS,
                "account_id": "a",
            },
            "last_refresh": "2020-01-01T00:00:00Z",
        },
    ),
    "gemini": (".gemini/oauth_creds.json", {"access_token": "a", "refresh_token": "b", "expiry_date": LATER}),
    "opencode": (
        ".local/share/opencode/auth.json",
        {
            "anthropic": {"type": "api", "key": KEY},
            "openai": {"type": "oauth", "access": "a", "refresh": RENEWS, "expires": LATER},
        },
    ),
}
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


@pytest.mark.parametrize("how", ["on", "auto"])
@pytest.mark.parametrize("agent", sorted(KEYS))
def test_a_held_program_works_with_a_sign_in_that_it_cannot_change_and_sees_nothing_beside(
    agent: str, how: str, make_repo: MakeRepo, tmp_path: Path
) -> None:
    if how == "auto" and agent != "claude-code":
        pytest.skip("what auto decides is the same for all of them")
    means("bubblewrap")
    home, secret = tmp_path / "home", tmp_path / "neighbour" / "notes.txt"
    secret.parent.mkdir()
    secret.write_text("the neighbour's plans")
    name, said = SIGN_INS[agent]
    sign_in = home / name
    sign_in.parent.mkdir(parents=True)
    sign_in.write_text(json.dumps(said))
    with theatre(agent, make_repo(files=PLAIN), home, calculator(1)) as played:
        text = (played.repo.path / "tdd.properties").read_text() + f"sandbox.agents={how}\n"
        if agent == "gemini":  # whose account only works with its maker
            text += f"agent.env={KEYS[agent]}\n"
        played.repo.commit("chore: held", {"tdd.properties": text})
        script = TRIES.format(secret=str(secret), sign_in=str(sign_in))
        played.parts["RED-1"]["first"] = [written("tries.py", script), "python3 tries.py; rm tries.py"]
        env = {**environ(agent, played.repo, home), "TDD_SANDBOX": "bubblewrap"}
        if agent != "gemini":
            del env[KEYS[agent]]

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

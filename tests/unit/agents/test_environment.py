import os
import subprocess

import pytest

from redgreenrefactor.agents.session_environment import environment, of_a_program, without_git
from repos import Repo


@pytest.mark.parametrize(
    "name",
    ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_CONFIG_COUNT", "GIT_PREFIX"],
)
def test_what_turns_git_to_another_repository_is_taken_out(name: str) -> None:
    assert without_git({name: "x"}) == {}


@pytest.mark.parametrize(
    "name", ["GIT_AUTHOR_NAME", "GIT_CONFIG_GLOBAL", "GIT_SSL_CAINFO", "GITHUB_REPOSITORY", "HOME"]
)
def test_what_is_the_users_own_choice_stays(name: str) -> None:
    assert without_git({name: "x"}) == {name: "x"}


def test_a_given_identity_wins() -> None:
    env = {"GIT_AUTHOR_NAME": "me", "PATH": "/bin"}

    assert environment(env, identity={"GIT_AUTHOR_NAME": "rgr"})["GIT_AUTHOR_NAME"] == "rgr"
    assert environment(env)["GIT_AUTHOR_NAME"] == "me"


def test_only_named_credentials_are_passed_on() -> None:
    env = {"A_API_KEY": "1", "B_API_KEY": "2"}

    found = environment(env, passed_on=["B_API_KEY"])
    assert {name for name in found if name in env} == {"B_API_KEY"}


WAYS: tuple[str, ...] = (
    "SSH_AUTH_SOCK",
    "SSH_ASKPASS",
    "GIT_ASKPASS",
    "GIT_SSH_COMMAND",
    "GITHUB_TOKEN",
    "GH_TOKEN",
)


@pytest.mark.parametrize("name", WAYS)
def test_what_git_pushes_with_is_passed_on_only_where_it_is_named(name: str) -> None:
    env = dict.fromkeys(WAYS, "x")

    assert not set(WAYS) & set(environment(env))
    assert set(WAYS) & set(environment(env, passed_on=[name])) == {name}


def test_git_asks_no_credential_helper_unless_it_may_ask(repo: Repo) -> None:
    asked = repo.path.parent / "asked"
    for key in ("credential.helper", "credential.https://git.example.helper"):
        repo.git("config", key, f"!f() {{ touch {asked}; echo username=me; echo password=x; }}; f")
    wanted = "protocol=https\nhost=git.example\n\n"

    def fill(*passed_on: str) -> bool:
        env = environment({**os.environ, **repo.env}, passed_on=passed_on)
        subprocess.run(
            ["git", "credential", "fill"],
            input=wanted,
            text=True,
            cwd=repo.path,
            env=env,
            check=False,
            timeout=60,
        )
        return asked.exists()

    assert not fill()
    assert fill("GIT_ASKPASS")


def test_a_program_that_asks_a_model_itself_is_told_where_but_no_password() -> None:
    env = {"ANTHROPIC_BASE_URL": "http://gateway", "OPENAI_BASE_URL": "http://me:pa55word@gateway"}

    assert not set(env) & set(environment(env))
    assert set(env) & set(of_a_program(env)) == {"ANTHROPIC_BASE_URL"}
    assert env.items() <= of_a_program(env, passed_on=["OPENAI_BASE_URL"]).items()

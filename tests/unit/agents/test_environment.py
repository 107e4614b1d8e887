import pytest

from redgreenrefactor.agents.environment import environment, of_a_program, without_git


@pytest.mark.parametrize(
    "name",
    ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_CONFIG_COUNT", "GIT_PREFIX"],
)
def test_what_turns_git_to_another_repository_is_taken_out(name: str) -> None:
    assert without_git({name: "x"}) == {}


@pytest.mark.parametrize(
    "name", ["GIT_AUTHOR_NAME", "GIT_CONFIG_GLOBAL", "GIT_SSH_COMMAND", "GITHUB_REPOSITORY", "HOME"]
)
def test_what_is_the_users_own_choice_stays(name: str) -> None:
    assert without_git({name: "x"}) == {name: "x"}


def test_a_given_identity_wins() -> None:
    env = {"GIT_AUTHOR_NAME": "me", "PATH": "/bin"}

    assert environment(env, identity={"GIT_AUTHOR_NAME": "rgr"}) == {"GIT_AUTHOR_NAME": "rgr", "PATH": "/bin"}
    assert environment(env) == env


def test_only_named_credentials_are_passed_on() -> None:
    env = {"A_API_KEY": "1", "B_API_KEY": "2"}

    assert environment(env, passed_on=["B_API_KEY"]) == {"B_API_KEY": "2"}


def test_a_program_that_asks_a_model_itself_is_told_where_but_no_password() -> None:
    env = {"ANTHROPIC_BASE_URL": "http://gateway", "OPENAI_BASE_URL": "http://me:pa55word@gateway"}

    assert environment(env) == {}
    assert of_a_program(env) == {"ANTHROPIC_BASE_URL": "http://gateway"}
    assert of_a_program(env, passed_on=["OPENAI_BASE_URL"]) == env

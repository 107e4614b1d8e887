import pytest

from redgreenrefactor.sandbox.secrets import is_secret, without_secrets


@pytest.mark.parametrize(
    "name",
    [
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "ANTHROPIC_CUSTOM_HEADERS",
        "anthropic_api_key",
        "OPENAI_API_KEY_2",
        "GITHUB_TOKEN",
        "GH_TOKEN",
        "GITHUB_PAT",
        "TOKEN",
        "NODE_AUTH_TOKEN",
        "NPM_CONFIG__AUTH",
        "NPM_CONFIG__AUTHTOKEN",
        "DOCKER_AUTH_CONFIG",
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "AWS_PROFILE",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "CLIENT_SECRET",
        "CLIENT_SECRET_ID",
        "SECRET_KEY",
        "PGPASSWORD",
        "DB_PASSWORD",
        "MYSQL_PWD",
        "GPG_PASSPHRASE",
        "SSH_PRIVATE_KEY",
    ],
)
def test_a_credential_is_recognised_by_its_name(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize(
    "name",
    [
        "PATH",
        "HOME",
        "PWD",
        "OLDPWD",
        "LANG",
        "TOKENIZERS_PARALLELISM",
        "MAX_OUTPUT_TOKENS",
        "KEYBOARD",
        "AUTHOR",
        "AWS_REGION",
        "SSH_AUTH_SOCK",
        "XAUTHORITY",
        "PYTHONPATH",
        "GIT_AUTHOR_NAME",
        "TDD_MODEL",
    ],
)
def test_an_ordinary_variable_is_no_credential(name: str) -> None:
    assert not is_secret(name)


def test_credentials_are_taken_out_and_everything_else_stays() -> None:
    env = {"PATH": "/bin", "OPENAI_API_KEY": "sk-1", "github_token": "t"}

    assert without_secrets(env) == {"PATH": "/bin"}


def test_a_credential_that_was_named_stays() -> None:
    env = {"OPENAI_API_KEY": "sk-1", "GITHUB_TOKEN": "t"}

    assert without_secrets(env, ["OPENAI_API_KEY"]) == {"OPENAI_API_KEY": "sk-1"}


def test_the_given_environment_is_left_as_it_was() -> None:
    env = {"GITHUB_TOKEN": "t"}

    without_secrets(env)

    assert env == {"GITHUB_TOKEN": "t"}

import pytest

from redgreenrefactor.sandbox.secrets import is_secret, without_secret_lines, without_secrets, words

# What the most common services have their users put into the environment.
OF_SERVICES = words(
    """
ANTHROPIC_API_KEY OPENAI_API_KEY OPENAI_KEY AZURE_OPENAI_KEY GEMINI_API_KEY GOOGLE_API_KEY MISTRAL_API_KEY COHERE_API_KEY
GROQ_API_KEY HF_TOKEN HUGGING_FACE_HUB_TOKEN REPLICATE_API_TOKEN OPENROUTER_API_KEY PERPLEXITYAI_API_KEY LANGSMITH_API_KEY
WANDB_API_KEY GITHUB_TOKEN GITHUB_TOKEN_RO GH_ENTERPRISE_TOKEN GITLAB_TOKEN CI_JOB_TOKEN BITBUCKET_APP_PASSWORD
CIRCLECI_TOKEN BUILDKITE_AGENT_ACCESS_TOKEN TRAVIS_API_TOKEN NPM_TOKEN NODE_AUTH_TOKEN TWINE_PASSWORD PYPI_API_TOKEN
UV_PUBLISH_TOKEN POETRY_PYPI_TOKEN_PYPI CARGO_REGISTRY_TOKEN GEM_HOST_API_KEY NUGET_API_KEY MAVEN_GPG_PASSPHRASE
ORG_GRADLE_PROJECT_signingPassword DOCKER_PASSWORD DOCKER_AUTH_CONFIG AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
AWS_SESSION_TOKEN AWS_WEB_IDENTITY_TOKEN_FILE GOOGLE_APPLICATION_CREDENTIALS GCP_SA_KEY AZURE_CLIENT_SECRET AZURE_STORAGE_KEY
AZURE_STORAGE_CONNECTION_STRING ARM_CLIENT_SECRET DIGITALOCEAN_ACCESS_TOKEN LINODE_CLI_TOKEN HCLOUD_TOKEN CLOUDFLARE_API_TOKEN
CF_API_KEY FASTLY_API_TOKEN HEROKU_API_KEY VERCEL_TOKEN NETLIFY_AUTH_TOKEN FLY_API_TOKEN RAILWAY_TOKEN SUPABASE_SERVICE_ROLE_KEY
FIREBASE_TOKEN STRIPE_SECRET_KEY STRIPE_API_KEY PAYPAL_CLIENT_SECRET TWILIO_AUTH_TOKEN SENDGRID_API_KEY MAILGUN_API_KEY
POSTMARK_SERVER_TOKEN SLACK_BOT_TOKEN SLACK_WEBHOOK_URL SLACK_SIGNING_SECRET DISCORD_TOKEN DISCORD_WEBHOOK_URL TELEGRAM_BOT_TOKEN
SENTRY_AUTH_TOKEN SENTRY_DSN DD_API_KEY DATADOG_APP_KEY NEW_RELIC_LICENSE_KEY HONEYCOMB_API_KEY PAGERDUTY_TOKEN
SNYK_TOKEN SONAR_TOKEN CODECOV_TOKEN COVERALLS_REPO_TOKEN VAULT_TOKEN SOPS_AGE_KEY OP_SERVICE_ACCOUNT_TOKEN DOPPLER_TOKEN
ANSIBLE_VAULT_PASSWORD RAILS_MASTER_KEY SECRET_KEY_BASE DJANGO_SECRET_KEY LARAVEL_APP_KEY APP_KEY JWT_SECRET NEXTAUTH_SECRET
AUTH0_CLIENT_SECRET OKTA_API_TOKEN PGPASSWORD MYSQL_PWD MYSQL_ROOT_PASSWORD MONGO_INITDB_ROOT_PASSWORD REDIS_PASSWORD
SMTP_PASS SSHPASS SNOWFLAKE_PASSWORD DATABRICKS_TOKEN CONFLUENT_CLOUD_API_SECRET ALGOLIA_ADMIN_KEY PINECONE_API_KEY
NOTION_TOKEN LINEAR_API_KEY JIRA_API_TOKEN ATLASSIAN_TOKEN ZENDESK_API_TOKEN SHOPIFY_API_SECRET TF_TOKEN_app_terraform_io
PULUMI_ACCESS_TOKEN KUBE_TOKEN TAILSCALE_AUTHKEY
"""
)


@pytest.mark.parametrize("name", OF_SERVICES)
def test_the_variables_of_common_services_are_credentials(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize(
    ("name", "value", "left"),
    [
        ("DATABASE_URL", "postgres://app:hunter2@db/app", "postgres://db/app"),
        (
            "MONGODB_URI",
            "mongodb+srv://u:p@cluster.example/x?ssl=true",
            "mongodb+srv://cluster.example/x?ssl=true",
        ),
        ("HTTPS_PROXY", "http://me:pw@proxy:3128", "http://proxy:3128"),
        ("PIP_INDEX_URL", "https://me:pw@packages.example/simple", "https://packages.example/simple"),
        ("GIT_REMOTE", "ssh://git@host/x.git", "ssh://git@host/x.git"),
        ("HTTP_PROXY", "http://proxy:3128", "http://proxy:3128"),
        ("MIRROR", f"https://ghp_{'a' * 36}@github.com/x", "https://github.com/x"),
        ("NOTES", f"sk-ant-{'a' * 30}", None),
        ("STORE", "postgres://app@db/app?password=hunter2hunter2", None),
        ("STORAGE", "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=aGVsbG8gd29ybGQ=", None),
        ("INDEX", "https://0123456789abcdef@packages.example/simple", "https://packages.example/simple"),
        ("TELL", "https://hooks.slack.com/services/T0001/B0002/abcdefghijkl", None),
        ("PS1", r"\\u@\\h:\\w$ ", r"\\u@\\h:\\w$ "),
    ],
)
def test_a_credential_is_recognised_by_its_shape(name: str, value: str, left: str | None) -> None:
    assert without_secrets({name: value}) == ({} if left is None else {name: left})
    assert without_secrets({name: value}, [name]) == {name: value}


@pytest.mark.parametrize(
    "line",
    [
        "//registry.example/:_authToken=x",
        "_auth = x",
        "signing.password=x",
        'token = "x"',
        "index = https://me:pw@host/",
        f"other={'ghp_' + 'a' * 36}",
    ],
)
def test_lines_with_credentials_are_taken_out(line: str) -> None:
    assert without_secret_lines(f"registry=https://host/\n{line}\nauthor=Ada\n") == (
        "registry=https://host/\nauthor=Ada\n"
    )


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
        "OPENAI_API_KEYS",
        "RAILS_MASTERKEY",
        "REFRESHTOKEN",
        "ACCESS_TOKENS",
        "SLACK_OAUTH",
        "X_BEARER",
        "WALLET_MNEMONIC",
        "WALLET_SEED_PHRASE",
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
        "MONKEY_PATCH",
        "MAX_TOKENS",
        "RANDOM_SEED",
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

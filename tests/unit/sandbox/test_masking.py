import pytest

from redgreenrefactor.sandbox.secrets import masking


def test_values_of_credentials_are_replaced_by_their_names() -> None:
    mask = masking(
        {"OPENAI_API_KEY": "abcdefghij", "DB_PASSWORD": "abcdefghij-longer", "HOME": "/home/somebody"}
    )

    assert mask("x=abcdefghij, y=abcdefghij-longer in /home/somebody") == (
        "x=[masked OPENAI_API_KEY], y=[masked DB_PASSWORD] in /home/somebody"
    )


def test_short_values_are_words_and_stay() -> None:
    assert (
        masking({"MY_TOKEN": "test", "OTHER_TOKEN": "   "})("a test, quite   usual")
        == "a test, quite   usual"
    )


@pytest.mark.parametrize(
    "secret",
    [
        "sk-ant-api03-AAAABBBBCCCCDDDD-1234",
        "sk-proj-AAAABBBBCCCCDDDD1234",
        "ghp_AAAABBBBCCCCDDDDEEEEFFFF",
        "github_pat_11AAAABBBBCCCCDDDD_EEEE",
        "glpat-AAAABBBBCCCCDDDDEE",
        "AKIAABCDEFGHIJKLMNOP",
        "AIzaSyA-AAAABBBBCCCCDDDDEEEEFFFFGGGGHH",
        "xoxb-1234567890-abcdef",
        "npm_AAAABBBBCCCCDDDDEEEEFFFFGGGGHHHH",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc-DEF_123",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_tokens_of_known_shapes_are_masked(secret: str) -> None:
    assert masking({})(f"before {secret} after") == "before [masked] after"


def test_what_stands_in_an_address_or_a_header_is_masked() -> None:
    assert masking({})("https://me:pa55word@host/x") == "https://[masked]@host/x"
    assert masking({})("Authorization: Bearer abcdefgh12345678") == "Authorization: Bearer [masked]"


@pytest.mark.parametrize(
    "text",
    [
        "task-oriented-and-quite-long-names",
        "a risk-averse approach",
        "https://example.org:8080/a@b",
        "the bearer of news",
        "def test_sk_learn_is_imported(): ...",
        "c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert masking({})(text) == text

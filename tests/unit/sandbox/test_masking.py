import re
from dataclasses import dataclass, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redgreenrefactor.model.events import Judged, SuiteEnded
from redgreenrefactor.model.verdict import Finding, FindingType, rule
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.sandbox import secrets
from redgreenrefactor.sandbox.secrets import masked, masked_in, masking, without_secrets

TOKEN = "ghp_AAAABBBBCCCCDDDDEEEEFFFF"


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
        "sk_live_51HAAAABBBBCCCCDDDD1234",
        "whsec_AAAABBBBCCCCDDDD12345678",
        "gsk_AAAABBBBCCCCDDDDEEEEFFFF1234",
        "xai-AAAABBBBCCCCDDDDEEEEFFFF12345678",
        "hvs.AAAABBBBCCCCDDDDEEEEFFFF",
        "ya29.a0AfAAAABBBBCCCCDDDDEEEE",
        "dop_v1_0123456789abcdef0123456789abcdef",
        "dapi0123456789abcdef0123456789abcdef",
        "AGE-SECRET-KEY-1QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
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
        "r8_is_a_register_and_this_is_a_long_name",
        "/api/webhooks/ and /api/webhooks/12/events",
        "f(a)?password=short",
        "https://example.org:8080/a@b",
        "the bearer of news",
        "def test_sk_learn_is_imported(): ...",
        "c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert masking({})(text) == text


SHAPES = [*secrets.TOKENS.values(), secrets.PRIVATE_KEY]


@pytest.mark.parametrize("shape", SHAPES)
@given(st.data())
def test_no_token_escapes_because_its_text_seemed_to_hold_none(shape: str, data: st.DataObject) -> None:
    token = data.draw(st.from_regex(re.compile(shape, re.DOTALL), fullmatch=True))
    assert token not in masked(f"before {token} after")


@given(st.lists(st.sampled_from(secrets.SIGNS) | st.text("aZ09_-.:/ =@\n", max_size=40), max_size=6))
def test_the_quick_way_masks_what_the_slow_way_does(parts: list[str]) -> None:
    text = "".join(parts)
    slow = secrets.ANNOUNCED.sub(
        "[masked]", secrets.SHAPES.sub("[masked]", secrets.IN_ADDRESS.sub("[masked]", text))
    )
    assert masked(text) == slow


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://user:tok@host/x.git", "https://[masked]@host/x.git"),
        (
            "fatal: 'https://tok@h/x' and http://a:b@c@d/",
            "fatal: 'https://[masked]@h/x' and http://[masked]@d/",
        ),
        ("ssh://git:pw@host/x", "ssh://[masked]@host/x"),
        ("http://me:p%40ss@127.0.0.1:8080/v1 failed", "http://[masked]@127.0.0.1:8080/v1 failed"),
        ("ssh://git@host/x", "ssh://git@host/x"),
        ("git@host:x.git /a/b@c", "git@host:x.git /a/b@c"),
        ("https://host?mail=me@there", "https://host?mail=me@there"),
        ("see git@github.com:a/b", "see git@github.com:a/b"),
    ],
)
def test_user_and_password_of_every_address_are_masked(text: str, shown: str) -> None:
    assert masked(text) == shown


@dataclass(frozen=True)
class Found:
    words: tuple[str, ...]


def test_every_text_of_an_event_is_masked_and_the_rest_is_as_it_was() -> None:
    event = Judged(
        PhaseName.GREEN,
        1,
        2,
        rule(Finding(FindingType.TEST_FAILURE, f"it says {TOKEN}")),
        "c0ffee",
        TOKEN,
        1.5,
    )
    told = masked_in(event, masked)
    assert told.subject == "[masked]"
    assert told.verdict.findings[0].message == "it says [masked]"
    assert told.verdict.findings[0].type is FindingType.TEST_FAILURE
    assert replace(told, subject=TOKEN, verdict=event.verdict) == event

    assert masked_in(Found((TOKEN, "a")), masked) == Found(("[masked]", "a"))
    harmless = SuiteEnded("baseline", 1, 0, 1, 0.5, per_test=True, exit_code=0)
    assert masked_in(harmless, masked) is harmless


def test_where_nothing_is_masked_nothing_is_made_anew() -> None:
    harmless = (["a", ("b", 1)], Found(("c",)))
    assert masked_in(harmless, masked) is harmless


def test_what_is_spared_stays_wherever_it_stands() -> None:
    body = {"error": TOKEN, "tests": [TOKEN], "previous": {"tests": (TOKEN,), TOKEN: [TOKEN, 3, None]}}
    assert masked_in(body, masked, ("tests",)) == {
        "error": "[masked]",
        "tests": [TOKEN],
        "previous": {"tests": (TOKEN,), "[masked]": ["[masked]", 3, None]},
    }


@pytest.mark.parametrize(
    "name",
    ["ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "GOOGLE_GEMINI_BASE_URL", "OLLAMA_BASE_URL", "OLLAMA_HOST"],
)
def test_where_models_are_reached_is_not_passed_on(name: str) -> None:
    assert without_secrets({name: "http://gateway", "PATH": "/bin"}) == {"PATH": "/bin"}
    assert without_secrets({name: "http://gateway"}, [name]) == {name: "http://gateway"}


@pytest.mark.parametrize("name", ["APP_BASE_URL", "BASE_URL", "DATABASE_URL", "GOOGLE_MAPS_URL"])
def test_addresses_of_the_project_are(name: str) -> None:
    assert without_secrets({name: "http://here"}) == {name: "http://here"}

"""The profile for macOS, as text: it has not been tried on a Mac."""

from pathlib import Path

from redgreenrefactor.sandbox.policy import Access, Place, Policy, hidden, readable, writable
from redgreenrefactor.sandbox.seatbelt import profile

ROOT = Path("/Users/ada/project")


def test_everything_is_denied_that_is_not_allowed() -> None:
    assert profile(Policy()).splitlines()[:2] == ["(version 1)", "(deny default)"]


def test_deeper_places_come_later_because_the_last_rule_counts() -> None:
    text = profile(Policy((*hidden(ROOT / ".git"), *readable(ROOT / "tests"), *writable(ROOT))))
    lines = [line for line in text.splitlines() if str(ROOT) in line]
    assert lines == [
        f'(allow file-read* file-write* (subpath "{ROOT}"))',
        f'(deny file-read* file-write* (subpath "{ROOT}/.git"))',
        f'(allow file-read* (subpath "{ROOT}/tests"))',
        f'(deny file-write* (subpath "{ROOT}/tests"))',
    ]


def test_without_network_only_loopback_is_allowed() -> None:
    assert "(allow network*)\n" not in profile(Policy())
    assert 'network-outbound (remote ip "localhost:*")' in profile(Policy())
    assert "(allow network*)\n" in profile(Policy(network=True))


def test_paths_cannot_break_out_of_their_quotes() -> None:
    evil = Path('/tmp/a") (allow default) ("')
    assert '(subpath "/tmp/a\\") (allow default) (\\"")' in profile(Policy(writable(evil)))


def test_what_is_shown_elsewhere_is_allowed_where_it_lies() -> None:
    assert '(subpath "/b")' in profile(Policy((Place(Path("/a"), Access.WRITE, Path("/b")),)))

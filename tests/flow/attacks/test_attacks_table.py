"""The docs say of each level what the attacks say, word for word."""

from pathlib import Path

from attempts import GROUPS, OF_SESSIONS, OF_SUITES, table

ROOT = Path(__file__).parents[3]


def test_what_each_level_holds_is_said_as_the_attacks_have_it() -> None:
    text = (ROOT / "docs/sandbox.md").read_text("utf-8")
    assert table() in text, (
        "python tests/flow/attacks/attempts.py --table prints what belongs into docs/sandbox.md"
    )


def test_every_attack_is_counted_once() -> None:
    counted = [attack.name for _, attacks in GROUPS for attack in attacks]
    listed = {attack.name for attack in (*OF_SESSIONS, *OF_SUITES) if not attack.name.startswith("works: ")}
    assert (set(counted), len(counted)) == (listed, len(listed))

from pathlib import Path

import pytest

from redgreenrefactor.agents.replay import load_script
from redgreenrefactor.agents.script import Scene, Script, bash, edit, katas, parse, write
from redgreenrefactor.errors import UsageError
from redgreenrefactor.model.session import Usage
from redgreenrefactor.model.workflow import PhaseName

WHOLE = """
name = "tale"
feature = "Tell a tale."

[files]
"README.md" = "A tale."
"src/empty.txt" = ""

[[turn]]
phase = "GREEN"
cycle = 2
attempt = 3
message = "Told."

[[turn.call]]
tool = "Write"
file_path = "a.txt"
content = "x"

[[turn.call]]
tool = "Edit"
file_path = "a.txt"
old_string = "x"
new_string = "y"
replace_all = true

[[turn.call]]
tool = "Bash"
command = "false"
may_fail = true

[turn.usage]
input_tokens = 1
output_tokens = 2
cache_read_tokens = 3
cache_write_tokens = 4
cost_usd = 1
"""


def problem(text: str) -> str:
    with pytest.raises(UsageError) as caught:
        parse(text, "tale.toml")
    assert caught.value.exit_code == 2
    assert caught.value.hint
    assert "tale.toml" in caught.value.message
    return caught.value.message


def turn(rest: str) -> str:
    return f'name = "tale"\n[[turn]]\nphase = "RED"\ncycle = 1\n{rest}'


def test_a_whole_script_becomes_a_value() -> None:
    calls = (write("a.txt", "x"), edit("a.txt", "x", "y", replace_all=True), bash("false", may_fail=True))
    scene = Scene(PhaseName.GREEN, 2, 3, calls, "Told.", Usage(1, 2, 3, 4, 1.0))

    assert parse(WHOLE, "tale.toml") == Script(
        "tale", "Tell a tale.", {"README.md": "A tale.", "src/empty.txt": ""}, (scene,), "tale.toml"
    )


def test_what_may_be_left_out_has_defaults() -> None:
    script = parse('name = "tale"\n[[turn]]\nphase = "RED"\ncycle = 1\n', "tale.toml")

    assert script == Script("tale", scenes=(Scene(PhaseName.RED, 1),), source="tale.toml")
    assert script.scenes[0].usage is None


def test_usage_that_tells_no_cost_has_none() -> None:
    script = parse(turn("[turn.usage]\ninput_tokens = 5"), "tale.toml")

    assert script.scenes[0].usage == Usage(input_tokens=5)


def test_a_name_without_path_and_suffix_is_a_bundled_kata() -> None:
    assert "roman" in katas()
    assert load_script("roman").name == "roman"
    assert load_script("roman").source == "roman"


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="'greek'") as caught:
        load_script("greek")
    assert "roman" in caught.value.hint


@pytest.mark.parametrize("name", ["tale.toml", "./tale", "sub/tale"])
def test_anything_else_is_a_file_seen_from_the_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / name).write_text(WHOLE)

    assert load_script(name, tmp_path).name == "tale"


def test_an_absolute_path_is_a_file_too(tmp_path: Path) -> None:
    (tmp_path / "tale.toml").write_text(WHOLE)

    assert load_script(str(tmp_path / "tale.toml")).name == "tale"


def test_a_file_that_cannot_be_read_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")

    for name in ("none.toml", "binary.toml"):
        with pytest.raises(UsageError, match="cannot be read") as caught:
            load_script(name, tmp_path)
        assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name = ", "not TOML"),
        ("name = 'x'\nturn = " + "[" * 5000 + "]" * 5000, "not TOML"),
        ("feature = 'x'", "the key 'name' is missing"),
        ("name = 3", "'name' is not a text"),
        ("name = 'x'\ntitle = 'y'", "there is no key 'title'"),
        ("name = 'x'\nturn = 3", "'turn' is not a list of tables"),
        ("name = 'x'\nfiles = 3", "'files' is not a table"),
        ("name = 'x'\n[files]\n'a.txt' = 3", "[files]: 'a.txt' is not a text"),
        ("name = 'x'\n[files]\n'../a.txt' = 'x'", "[files]: the path '../a.txt' is not inside"),
        ("name = 'x'\n[[turn]]\ncycle = 1", "turn 1: the key 'phase' is missing"),
        ("name = 'x'\n[[turn]]\nphase = 'BLUE'\ncycle = 1", "turn 1: there is no phase 'BLUE'"),
        ("name = 'x'\n[[turn]]\nphase = 'COMPLETE'\ncycle = 1", "turn 1: there is no phase 'COMPLETE'"),
        ("name = 'x'\n[[turn]]\nphase = 'RED'", "turn 1: the key 'cycle' is missing"),
        ("name = 'x'\n[[turn]]\nphase = 'RED'\ncycle = true", "turn 1: 'cycle' is not a whole number"),
        ("name = 'x'\n[[turn]]\nphase = 'RED'\ncycle = 0", "turn 1: 'cycle' is 0"),
        (turn("cylce = 1"), "turn 1: there is no key 'cylce'"),
        (turn("attempt = -1"), "turn 1: 'attempt' is -1"),
        (turn("[[turn]]\nphase = 'RED'\ncycle = 1"), "2 turns for RED in cycle 1, attempt 1"),
        (turn("[turn.usage]\ntokens = 3"), "turn 1, [usage]: there is no key 'tokens'"),
        (turn("[turn.usage]\ncost_usd = 'much'"), "turn 1, [usage]: 'cost_usd' is not a number"),
        (turn("[[turn.call]]\ncommand = 'ls'"), "turn 1, call 1: the key 'tool' is missing"),
        (turn("[[turn.call]]\ntool = 'Fetch'"), "turn 1, call 1: there is no tool 'Fetch'"),
        (turn("[[turn.call]]\ntool = 'Bash'"), "turn 1, call 1: the key 'command' is missing"),
        (
            turn("[[turn.call]]\ntool = 'Bash'\ncommand = 'ls'\nmay_fail = 1"),
            "'may_fail' is not true or false",
        ),
        (turn("[[turn.call]]\ntool = 'Bash'\ncommand = 'ls'\npath = 'x'"), "call 1: there is no key 'path'"),
        (turn("[[turn.call]]\ntool = 'Write'\nfile_path = 'a'"), "call 1: the key 'content' is missing"),
        (
            turn("[[turn.call]]\ntool = 'Write'\nfile_path = '/a'\ncontent = ''"),
            "the path '/a' is not inside",
        ),
        (turn("[[turn.call]]\ntool = 'Write'\nfile_path = ''\ncontent = ''"), "the path '' is not inside"),
        (turn("[[turn.call]]\ntool = 'Edit'\nfile_path = 'a/../../b'\nold_string = 'x'"), "is not inside"),
        (turn("[[turn.call]]\ntool = 'Edit'\nfile_path = 'a'\nold_string = 'x'"), "'new_string' is missing"),
    ],
)
def test_a_bad_script_is_refused_with_its_place(text: str, expected: str) -> None:
    assert expected in problem(text)

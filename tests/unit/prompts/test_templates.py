from pathlib import Path

import pytest

from redgreenrefactor.errors import UsageError
from redgreenrefactor.model.workflow import RoleName
from redgreenrefactor.prompts.templates import PLACEHOLDERS, fill, load

VALUES = dict.fromkeys(PLACEHOLDERS, "filled")


def refused(folder: Path) -> str:
    with pytest.raises(UsageError) as caught:
        load(folder)
    assert caught.value.exit_code == 2
    assert caught.value.hint
    return caught.value.message


def test_the_bundled_templates_can_be_filled() -> None:
    prompts = load()

    for name in RoleName:
        for template in (prompts.texts[name], prompts.tasks[name]):
            assert "$" not in fill(template, VALUES)


def test_all_roles_of_a_cycle_share_the_beginning() -> None:
    apart = (RoleName.CODER, RoleName.REVIEWER)
    texts = [text for name, text in load().texts.items() if name not in apart]
    common = texts[0][: texts[0].index("# Your phase")]

    assert len(common) > 1000
    assert all(text.startswith(common) for text in texts)
    assert not any(load().texts[name].startswith(common) for name in apart)


def test_bundled_role_texts_hold_nothing_that_changes_within_a_run() -> None:
    steady = ("feature", "test_command", "project")
    values = {name: f"the {name}" if name in steady else "volatile" for name in PLACEHOLDERS}
    for text in load().texts.values():
        assert "volatile" not in fill(text, values)


def test_a_users_template_takes_the_place_of_the_bundled_one(tmp_path: Path) -> None:
    (tmp_path / "test.md").write_text("You test things.\n\n## Task\n\nTest: $description\n")

    prompts = load(tmp_path)

    assert prompts.texts[RoleName.TEST].endswith("\n\nYou test things.\n")
    assert prompts.texts[RoleName.TEST].startswith(load().texts[RoleName.TEST][:500])
    assert prompts.tasks[RoleName.TEST] == "## Task\n\nTest: $description"
    assert prompts.texts[RoleName.REFACTOR] == load().texts[RoleName.REFACTOR]


def test_a_users_common_text_goes_to_every_role(tmp_path: Path) -> None:
    (tmp_path / "common.md").write_text("\ufeffBe brief.\n", encoding="utf-8")

    for text in load(tmp_path).texts.values():
        assert text.startswith("Be brief.\n\nThe feature that the whole list is for:\n\n$feature\n")


def test_a_users_common_text_that_tells_the_feature_is_all_that_is_shared(tmp_path: Path) -> None:
    (tmp_path / "common.md").write_text("Build $feature.\n")

    assert load(tmp_path).shared == "Build $feature."


def test_a_template_without_a_task_gets_the_bundled_one(tmp_path: Path) -> None:
    (tmp_path / "test.md").write_text("You test things.")

    assert load(tmp_path).tasks == load().tasks


def test_placeholders_may_stand_anywhere_in_a_users_template(tmp_path: Path) -> None:
    text = " ".join(f"${{{name}}}" for name in PLACEHOLDERS) + " costs $$5"
    (tmp_path / "implementing.md").write_text(text)

    filled = fill(load(tmp_path).texts[RoleName.IMPLEMENTING], VALUES)

    assert filled.endswith("filled " * len(PLACEHOLDERS) + "costs $5")


@pytest.mark.parametrize("placeholder", ["$nonsense", "${nonsense}", "$FEATURE", "$features"])
def test_an_unknown_placeholder_is_refused_with_file_and_line(tmp_path: Path, placeholder: str) -> None:
    (tmp_path / "refactor.md").write_text(f"You refactor $feature.\n\nAnd {placeholder}.")

    message = refused(tmp_path)

    assert str(tmp_path / "refactor.md") in message
    assert "line 3" in message
    assert placeholder.strip("${}") in message


@pytest.mark.parametrize("text", ["It costs $5.", "It costs 5 $", "${", "${feature", "${not a name}"])
def test_a_dollar_sign_that_begins_nothing_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "common.md").write_text(text)

    message = refused(tmp_path)

    assert str(tmp_path / "common.md") in message
    assert "line 1" in message


def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    assert str(tmp_path / "none") in refused(tmp_path / "none")


def test_an_unreadable_template_is_refused(tmp_path: Path) -> None:
    (tmp_path / "test.md").write_bytes(b"\xff\xfe")

    assert str(tmp_path / "test.md") in refused(tmp_path)


def test_a_folder_in_the_place_of_a_template_is_refused(tmp_path: Path) -> None:
    (tmp_path / "test-list.md").mkdir()

    assert str(tmp_path / "test-list.md") in refused(tmp_path)


def test_an_empty_folder_and_other_files_change_nothing(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("costs $5")

    assert load(tmp_path) == load()


def test_a_line_of_nothing_but_an_empty_placeholder_is_gone() -> None:
    template = "one\n\n$project\n\n${next}\n\ntwo: $next\n\n$feature\n"

    assert (
        fill(template, {"project": "", "next": "", "feature": "a\n\n\n\nb"}) == "one\n\ntwo: \n\na\n\n\n\nb"
    )


def test_what_is_filled_in_is_never_filled_again() -> None:
    assert fill("$feature", {"feature": "$project $5", "project": ""}) == "$project $5"

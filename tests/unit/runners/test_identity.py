"""Whether two runs of a command could have given other results."""

from pathlib import Path

from redgreenrefactor.runners.suite_context import identity

ENV = {"PATH": "/usr/bin:/bin", "TZ": "UTC", "TERM": "xterm"}


def test_it_is_the_same_for_the_same_tests_in_another_terminal(tmp_path: Path) -> None:
    assert identity("sh", tmp_path, ENV) == identity("sh", tmp_path, {**ENV, "TERM": "dumb", "PWD": "/"})


def test_command_variables_programs_and_packages_count(tmp_path: Path) -> None:
    plain = identity("sh run", tmp_path, ENV)
    assert identity("sh run -x", tmp_path, ENV) != plain
    assert identity("sh run", tmp_path, {**ENV, "TZ": "CET"}) != plain
    program = tmp_path / "bin/run"
    program.parent.mkdir()
    program.write_text("")
    program.chmod(0o755)
    there = {**ENV, "PATH": f"{program.parent}:{ENV['PATH']}"}
    with_program = identity("sh run", tmp_path, there)
    (tmp_path / "lib/python3.11/site-packages/thing-1.0.dist-info").mkdir(parents=True)
    assert identity("sh run", tmp_path, there) != with_program
    (tmp_path / "venv").mkdir()
    before = identity("sh run", tmp_path, there)
    (tmp_path / "venv/lib/python3.11/site-packages/thing-2.0.dist-info").mkdir(parents=True)
    assert identity("sh run", tmp_path, there) == before
    (tmp_path / "venv/pyvenv.cfg").write_text("")
    assert identity("sh run", tmp_path, there) != before


def test_a_package_that_is_gone_in_between_is_no_trouble(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    place = tmp_path / "lib/python3.11/site-packages"
    place.mkdir(parents=True)
    (place / "gone-1.dist-info").symlink_to(tmp_path / "nowhere")
    assert identity("sh", tmp_path, {**ENV, "VIRTUAL_ENV": str(tmp_path)})

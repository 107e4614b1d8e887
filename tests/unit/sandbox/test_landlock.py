"""A policy as Landlock's rules."""

from pathlib import Path

from redgreenrefactor.sandbox.landlock import rules
from redgreenrefactor.sandbox.policy import Policy, hidden, readable, writable

VERSION = 6


def allowed(policy: Policy) -> set[str]:
    return {line.split(" ", 2)[2] for line in rules(policy, VERSION) if line.startswith("allow ")}


def test_what_a_link_in_a_writable_folder_leads_to_is_not_allowed(tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir()
    (tmp_path / "work" / "real").mkdir(parents=True)
    (tmp_path / "work" / "link").symlink_to(tmp_path / "keys")
    work = tmp_path / "work"
    found = allowed(Policy((*writable(work, work / "link", work / "real"),)))
    assert {str(work), str(work / "real")} <= found
    assert str(work / "link") not in found


def test_beside_what_is_hidden_links_are_not_followed_and_everything_else_is_there(tmp_path: Path) -> None:
    for name in ("project/.git", "project/src", "keys"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "project/file").touch()
    (tmp_path / "project/link").symlink_to(tmp_path / "keys")
    project = tmp_path / "project"
    found = allowed(Policy((*readable(project), *hidden(project / ".git"))))
    assert {str(project / "src"), str(project / "file")} <= found
    assert found.isdisjoint({str(project), str(project / ".git"), str(project / "link")})

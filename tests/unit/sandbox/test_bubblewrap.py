"""A policy as bubblewrap's arguments."""

import os
from pathlib import Path

import pytest

from redgreenrefactor.sandbox.bubblewrap import Bubblewrap
from redgreenrefactor.sandbox.cage import Cage, Means
from redgreenrefactor.sandbox.policy import Level, Mount, MountMode, Policy, hidden, readable, writable


def arguments(version: str, policy: Policy, *, as_root: bool = False) -> list[str]:
    tool = Bubblewrap.of_version("bwrap", version, as_root=as_root)
    return list(tool.arguments(policy, Path("/"), None))


@pytest.mark.parametrize(
    ("version", "sizes", "seals"),
    [("bubblewrap 0.6.1", False, False), ("bubblewrap 0.8.0", True, True), ("nonsense", False, False)],
)
def test_an_older_version_is_asked_for_what_it_can(version: str, sizes: bool, seals: bool) -> None:
    found = arguments(version, Policy((Mount(Path("/home"), MountMode.SCRATCH),)))
    assert ("--size" in found, "--disable-userns" in found) == (sizes, seals)


def test_parents_are_mounted_before_what_lies_in_them(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    found = arguments("0.8.0", Policy((*readable(inner), *writable(tmp_path))))
    assert found.index(str(tmp_path)) < found.index(str(inner))


def test_of_two_rules_for_one_path_the_later_counts(tmp_path: Path) -> None:
    found = arguments("0.8.0", Policy((*writable(tmp_path), *readable(tmp_path))))
    assert found[found.index(str(tmp_path)) - 1] == "--ro-bind"
    assert found.count(str(tmp_path)) == 2


def test_what_is_not_there_is_not_mounted(tmp_path: Path) -> None:
    assert str(tmp_path / "no") not in arguments("0.8.0", Policy(writable(tmp_path / "no")))


def test_the_network_is_cut_unless_it_is_granted() -> None:
    assert "--unshare-net" in arguments("0.8.0", Policy())
    assert "--unshare-net" not in arguments("0.8.0", Policy(network=True))


def test_root_keeps_what_concerns_files_and_its_own_processes_only() -> None:
    found = arguments("0.8.0", Policy(), as_root=True)
    kept = {found[index + 1] for index, word in enumerate(found) if word == "--cap-add"}
    assert kept.isdisjoint(
        {"CAP_SYS_ADMIN", "CAP_DAC_READ_SEARCH", "CAP_SYS_PTRACE", "CAP_NET_ADMIN", "CAP_MKNOD"}
    )
    assert "--unshare-user" not in found
    assert "--unshare-user" in arguments("0.8.0", Policy())


def test_what_a_link_in_a_writable_folder_leads_to_is_not_mounted(tmp_path: Path) -> None:
    (tmp_path / "work" / "real").mkdir(parents=True)
    (tmp_path / "keys").mkdir()
    (tmp_path / "work" / "link").symlink_to(tmp_path / "keys")
    work = tmp_path / "work"
    found = arguments("0.8.0", Policy((*writable(work), *readable(work / "link", work / "real"))))
    assert str(work / "real") in found
    assert str(work / "link") not in found


def held(policy: Policy) -> Cage:
    return Cage(Means(Level.BUBBLEWRAP, Bubblewrap.of_version("/opt/bwrap", "0.8.0", as_root=False)), policy)


def said(descriptor: int) -> list[str]:
    return os.read(descriptor, 1 << 20).decode().split("\0")


def test_the_program_is_started_through_it_with_arguments_that_nobody_sees(tmp_path: Path) -> None:
    cage = held(Policy(writable(tmp_path), temporary=tmp_path))
    with cage.hold(["make", "test"], tmp_path, {"SSH_AUTH_SOCK": "/agent", "MINE": "kept"}) as line:
        assert (line.argv[0], line.argv[1], *line.argv[3:]) == ("/opt/bwrap", "--args", "--", "make", "test")
        assert line.env == {"MINE": "kept"}
        arguments = said(int(line.argv[2]))
        assert int(line.argv[2]) in line.descriptors
        assert line.rules is not None
        assert said(line.rules)[0].startswith("rlimit")
        own = next(
            Path(arguments[at - 1])
            for at, word in enumerate(arguments)
            if word == "/tmp" and arguments[at - 2] == "--bind"
        )
        assert own.parent == tmp_path
    assert arguments[arguments.index(str(tmp_path)) - 1] == "--bind"
    assert not own.exists()


def test_a_signal_that_ended_the_program_is_told_apart_from_an_exit_code() -> None:
    cage = held(Policy())
    assert [cage.exit_code(code) for code in (0, 1, 128 + 11, 127)] == [0, 1, -11, 127]


def test_what_is_hidden_is_closed_after_what_lies_in_it_is_shown(tmp_path: Path) -> None:
    (tmp_path / "home" / "project").mkdir(parents=True)
    (tmp_path / "token").touch()
    home, token = tmp_path / "home", tmp_path / "token"
    found = arguments("0.8.0", Policy((*hidden(home, token), *writable(home / "project"))))
    assert found[found.index(str(token)) - 1] == "/dev/null"
    closed = [
        index for index, word in enumerate(found) if word == str(home) and found[index - 1] == "--remount-ro"
    ]
    assert closed[0] > found.index(str(home / "project"))

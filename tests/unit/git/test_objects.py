"""Objects are read as git reads them, however odd they are."""

import hashlib
from collections.abc import Generator, Mapping
from contextlib import closing

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redgreenrefactor.errors import GitError
from redgreenrefactor.git.executable import Git, encoded, scrubbed
from redgreenrefactor.git.objects import SUBMODULE, TREE, Node, Objects
from repos import MakeRepo, Repo

NAMES = [
    "a",
    "b.py",
    "with space",
    "new\nline",
    'quo"te',
    "tab\t",
    "ümläut",
    "-dash",
    "a.b",
    "\udcff",
    "*",
    "a\\b",
]
MODES = ["100644", "100755", "120000", SUBMODULE]

# A folder is a mapping; a file is its mode and one of a few contents.
files = st.tuples(st.sampled_from(MODES), st.integers(0, 2))
Folder = Mapping[str, "Folder | tuple[str, int]"]
folders: st.SearchStrategy[Folder] = st.recursive(
    st.dictionaries(st.sampled_from(NAMES), files, max_size=4),
    lambda inner: st.dictionaries(st.sampled_from(NAMES), files | inner, max_size=5),
    max_leaves=12,
)


@pytest.fixture
def objects(repo: Repo) -> Generator[Objects]:
    made = Objects(Git(repo.path, scrubbed(repo.env, repo.path)))
    yield made
    made.close()


class Pen:
    """Writes trees into a repository."""

    def __init__(self, repo: Repo) -> None:
        self.repo = repo
        self.git = Git(repo.path, scrubbed(repo.env, repo.path))
        self.blobs = [self.git.text("hash-object", "-w", "--stdin", stdin=b"%d" % n) for n in range(3)]

    def tree(self, folder: Folder) -> str:
        rows = b"".join(encoded(f"{self._row(entry)}\t{name}\0") for name, entry in folder.items())
        return self.git.text("mktree", "-z", "--missing", stdin=rows)

    def _row(self, entry: "Folder | tuple[str, int]") -> str:
        if isinstance(entry, Mapping):
            return f"040000 tree {self.tree(entry)}"
        mode, number = entry
        return (
            f"{SUBMODULE} commit {f'{number + 1}' * 40}"
            if mode == SUBMODULE
            else f"{mode} blob {self.blobs[number]}"
        )

    def diff(self, one: str, two: str) -> dict[str, tuple[str, str, str, str]]:
        fields = list(self.git.fields("diff-tree", "-r", "-z", "--raw", "--no-renames", one, two))
        told: dict[str, tuple[str, str, str, str]] = {}
        for row, path in zip(fields[::2], fields[1::2], strict=True):
            before, after, old, new, status = row.removeprefix(":").split(" ")
            key = f"{path}#{status}" if path in told else path  # a file that became a submodule, and back
            told[key] = (before, after, old, new)
        return told


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(folders, folders)
def test_trees_differ_as_git_says(repo: Repo, one: Folder, two: Folder) -> None:
    pen = Pen(repo)
    trees = pen.tree(one), pen.tree(two)
    with closing(Objects(pen.git)) as objects:
        ours = {
            path: (_mode(before), _mode(after), _oid(before), _oid(after))
            for path, before, after in objects.differences(*trees)
        }
        listed = sorted(path for path, _ in objects.files(trees[0]))
    assert ours == pen.diff(*trees)
    assert listed == sorted(pen.git.fields("ls-tree", "-r", "-z", "--name-only", trees[0]))


def _mode(node: Node | None) -> str:
    return node.mode if node else "000000"


def _oid(node: Node | None) -> str:
    return node.oid if node else "0" * 40


def test_a_file_that_becomes_a_folder_differs_as_both(repo: Repo, objects: Objects) -> None:
    pen = Pen(repo)
    file, folder = pen.tree({"a": ("100644", 0)}), pen.tree({"a": {"b": ("100644", 1)}})
    assert [path for path, _, _ in objects.differences(file, folder)] == ["a/b", "a"]
    assert [path for path, _, _ in objects.differences(folder, file)] == ["a/b", "a"]
    assert list(objects.differences(file, file)) == []


def test_nodes_are_found_by_path(repo: Repo, objects: Objects) -> None:
    pen = Pen(repo)
    inner: Folder = {"b c": ("100755", 0)}
    tree = pen.tree({"a": inner, "d": (SUBMODULE, 1)})
    assert objects.node(tree, "a/b c") == Node("100755", pen.blobs[0])
    assert objects.node(tree, "a") == Node(TREE, pen.tree(inner))
    for path in ("a/nothing", "nothing/at/all", "d/x", "a/b c/d", ""):
        assert objects.node(tree, path) is None


def test_a_name_without_one_path_does_not_depend_on_it(repo: Repo, objects: Objects) -> None:
    pen = Pen(repo)

    def name(folder: Folder, path: str) -> str:
        return objects.without(pen.tree(folder), path)

    list_a: Folder = {"list": ("100644", 0), "x": ("100644", 0)}
    list_b: Folder = {"list": ("100644", 1), "x": ("100644", 0)}
    other: Folder = {"list": ("100644", 0), "x": ("100755", 0)}
    bare: Folder = {"x": ("100644", 0)}
    assert name(list_a, "list") == name(list_b, "list") == name(bare, "list") != name(other, "list")
    assert name({"sub": list_a}, "sub/list") == name({"sub": list_b}, "sub/list")
    assert name({"sub": list_a}, "sub/list") != name({"sub": other}, "sub/list")
    assert name({"sub": list_a}, "list") != name({"sub": list_b}, "list")
    assert name({"sub": ("100644", 0)}, "sub/list") != name({"sub": ("100644", 1)}, "sub/list")


@pytest.mark.parametrize(
    "name",
    [
        "",
        "nothing",
        "with space",
        "HEAD:nothing",
        "1" * 40,
        "line\nbreak",
        "-x",
        "HEAD^9",
        "x 3 4",
        "HEAD:sub",
    ],
)
def test_what_is_not_there_is_none(objects: Objects, name: str) -> None:
    assert (objects.get(name), objects.resolve(name), objects.commit(name)) == (None, None, None)
    assert objects.resolve("HEAD") is not None


def test_a_short_name_of_several_objects_is_none(repo: Repo, objects: Objects) -> None:
    seen: dict[str, str] = {}
    short, text = "", "0"
    while short not in seen:
        seen[short] = text
        text = str(len(seen))
        short = hashlib.sha1(f"blob {len(text)}\0{text}".encode()).hexdigest()[:4]
    for each in (text, seen[short]):
        assert repo.git("hash-object", "-w", "--stdin", stdin=each).startswith(short)
    assert objects.get(short) is None


def test_a_commit_is_read_whatever_its_headers_hold(repo: Repo, objects: Objects) -> None:
    tree = repo.git("rev-parse", "HEAD^{tree}")
    first = repo.git("rev-parse", "HEAD")
    raw = (
        f"tree {tree}\nparent {first}\nauthor A\u2028B \x0c <a@x> 5 +0100\ncommitter C <c@x> 6 +0000\n"
        "gpgsig -----BEGIN-----\n \n parent nonsense\n -----END-----\n\n\n  Subject \u2028 here  \n\nBody\n\nMore\n"
    )
    oid = repo.git("hash-object", "-t", "commit", "-w", "--stdin", "--literally", stdin=raw)
    commit = objects.commit(oid)
    assert commit is not None
    assert (commit.oid, commit.tree, commit.parents) == (oid, tree, (first,))
    assert commit.author == "A\u2028B \x0c <a@x> 5 +0100"
    assert commit.subject == "Subject \u2028 here"
    assert commit.message.endswith("Body\n\nMore\n")


def test_a_commit_without_headers_is_read_as_far_as_it_goes(repo: Repo, objects: Objects) -> None:
    oid = repo.git(
        "hash-object", "-t", "commit", "-w", "--stdin", "--literally", stdin="nothing known\n\nmessage\n"
    )
    commit = objects.commit(oid)
    assert commit is not None
    assert (commit.tree, commit.parents, commit.author, commit.message) == ("", (), "", "message\n")


def test_what_is_no_commit_or_no_tree_is_not_taken_for_one(repo: Repo, objects: Objects) -> None:
    blob = repo.git("rev-parse", "HEAD:README.md")
    assert objects.commit(blob) is None
    assert objects.tree(blob) == {}
    assert objects.tree("1" * 40) == {}


def test_a_reader_whose_git_is_gone_starts_another(repo: Repo, objects: Objects) -> None:
    assert objects.resolve("HEAD")
    partner = objects._partner  # pyright: ignore[reportPrivateUsage]
    assert partner is not None
    partner.kill()
    partner.wait()
    assert objects.resolve("HEAD") == repo.git("rev-parse", "HEAD")


@pytest.mark.parametrize("left", [0.0, 0.5])
@pytest.mark.parametrize("name", ["HEAD", "HEAD^{tree}", "HEAD:README.md"])
def test_a_damaged_object_is_not_there_and_the_others_are(
    repo: Repo, objects: Objects, name: str, left: float
) -> None:
    repo.commit("chore: more", {"README.md": "some longer text\n" * 100, "other": "other\n"})
    oid = repo.git("rev-parse", name)
    file = repo.path / ".git" / "objects" / oid[:2] / oid[2:]
    content = file.read_bytes()
    file.chmod(0o644)
    file.write_bytes(content[: int(len(content) * left)])
    whole = repo.git("hash-object", "other")
    for _ in range(2):
        assert objects.get(oid) is None
        assert objects.resolve(whole) == whole


def test_a_reader_whose_git_cannot_read_says_so(repo: Repo) -> None:
    program = repo.path.parent / "git"
    program.write_text("#!/bin/sh\nread question\nexit 1\n")
    program.chmod(0o755)
    git = Git(repo.path, {"PATH": f"{program.parent}:{repo.env['PATH']}"})
    with closing(Objects(git)) as objects, pytest.raises(GitError, match="ended early") as refusal:
        objects.get("HEAD")
    assert "git fsck" in refusal.value.hint


def test_another_object_format_is_read(make_repo: MakeRepo, env: dict[str, str]) -> None:
    repo = make_repo(born=False)
    (repo.path / ".git").rename(repo.path.parent / "gone")
    repo.git("init", "-q", "-b", "main", "--object-format=sha256")
    repo.git("config", "user.name", "Ada")
    repo.git("config", "user.email", "ada@localhost")
    repo.commit("chore: start", {"a/b.py": "1\n", "c.py": "2\n"})
    with closing(Objects(Git(repo.path, scrubbed(env, repo.path)))) as objects:
        commit = objects.commit("HEAD")
        assert commit is not None
        assert len(commit.oid) == 64
        assert sorted(path for path, _ in objects.files(commit.tree)) == ["a/b.py", "c.py"]

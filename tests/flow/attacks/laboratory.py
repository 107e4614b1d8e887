"""A user with secrets, sockets and a repository, for held commands to attack."""

import json
import os
import socket
import subprocess
import threading
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path

from redgreenrefactor.config import Flags, load
from redgreenrefactor.confinement import Confinement, confinement_of
from redgreenrefactor.git import mark
from redgreenrefactor.git.repository import Repository, open_repository
from redgreenrefactor.git.workspace import GitWorkspace
from redgreenrefactor.model.session import Brief, Role
from redgreenrefactor.model.workflow import PhaseName, RoleName
from redgreenrefactor.sandbox import process
from redgreenrefactor.sandbox.cage import Cage
from redgreenrefactor.sandbox.permissions import BYTECODE

SECRET = "S3CRETKEY"
KINDS = ("ordinary", "linked", "clone")


class Lab:
    """A user with secrets, sockets and a repository; the checkout is its own, a linked worktree, or a clone's."""

    def __init__(self, folder: Path, level: str, kind: str) -> None:
        self.folder, self.home = folder, folder / "home"
        self.home.mkdir(parents=True)
        self.main = self.home / "work" / "repo"
        self.env = {
            "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
            "HOME": str(self.home),
            "XDG_CACHE_HOME": str(self.home / ".cache"),
            "ANTHROPIC_API_KEY": SECRET,
            "TDD_SANDBOX": level,
            "GIT_CONFIG_NOSYSTEM": "1",
            "TDD_TRUST": "1",
        }
        self._keep_secrets()
        self.root = self.owner = self.main
        self._make_repository()
        if kind != "ordinary":
            self.root = self.home / "work" / kind
            self._check_out(kind)
        self.install()
        self.repository: Repository = open_repository(self.root, self.env)
        self.workspace = GitWorkspace(self.repository)
        self.hits: list[str] = []
        self._listen()
        self.refs, self.pointers = self._all_refs(), self._pointers()
        settings = load(None, self.env, Flags())
        self.cages: Confinement = confinement_of(
            self.repository, settings, lambda _: None, self.workspace.compiled, workspace=self.workspace
        )

    def _keep_secrets(self) -> None:
        for name in (
            ".ssh/id",
            ".aws/credentials",
            ".config/gh/hosts.yml",
            ".netrc",
            ".gnupg/key",
            ".npmrc",
            ".pypirc",
            ".pgpass",
            ".claude/.credentials.json",
            "Documents/diary",
        ):
            file = self.home / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"token = {SECRET}\n")
        (self.home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@localhost\n")
        (self.home / ".m2").mkdir()
        (self.home / ".m2" / "settings.xml").write_text(f"<servers><password>{SECRET}</password></servers>")

    def _make_repository(self) -> None:
        self.main.mkdir(parents=True)
        self.git("init", "-q", "-b", "main")
        self._set_credentials()
        files = {
            "code.py": "x = 1\n",
            "tests/test_a.py": "def test_a(): pass\n",
            "src/deep/tests/test_b.py": "def test_b(): pass\n",
            "pytest.ini": "[pytest]\n",
            "tdd.properties": "\n",
            "test-list.md": "- [ ] a\n",
            ".gitignore": ".venv\nnode_modules\n",
        }
        put(self.main, files)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "chore: start")
        self._add_module()
        self.git("branch", "other")
        self.git("notes", "--ref=tdd-handoffs", "add", "-m", "{}", "HEAD")

    def _add_module(self) -> None:
        library = self.home / "work" / "library"
        put(library, {"a.txt": "a\n"})
        at, allow = ("-C", str(library)), ("-c", "protocol.file.allow=always")
        self.git(*at, "init", "-q", "-b", "main")
        self.git(*at, "add", "-A")
        self.git(*at, "commit", "-q", "-m", "a")
        self.git(*allow, "submodule", "--quiet", "add", str(library), "lib")
        self.git("commit", "-q", "-m", "chore: a library")

    def _set_credentials(self) -> None:
        self.git("config", "remote.origin.url", f"https://me:{SECRET}@example.invalid/x.git")
        self.git("config", "http.extraheader", f"Authorization: {SECRET}")

    def _check_out(self, kind: str) -> None:
        if kind == "linked":
            self.git("worktree", "add", "-q", "-b", "tdd/x", str(self.root))
            self._fill_module()
            return
        self.git("clone", "-q", "--shared", str(self.main), str(self.root))
        self.owner = self.root
        self.git("fetch", "-q", "origin", "refs/notes/*:refs/notes/*")
        self.git("branch", "other")
        self._fill_module()
        self._set_credentials()

    def _fill_module(self) -> None:
        self.git(
            "-C",
            str(self.root),
            "-c",
            "protocol.file.allow=always",
            "submodule",
            "--quiet",
            "update",
            "--init",
        )

    def install(self) -> None:
        """Put dependencies into the checkout, and what other programs of the user share."""
        put(
            self.root,
            {
                ".venv/pyvenv.cfg": "home = /usr/bin\n",
                ".venv/lib/python3/site-packages/x.py": "x = 1\n",
                "node_modules/x/index.js": "1\n",
            },
        )
        self.shared = Path(f"/dev/shm/rgr-attack-{os.getpid()}-{self.folder.name}")
        self.shared.write_text(SECRET)

    def close(self) -> None:
        """Leave nothing outside the lab's folder."""
        self.repository.close()
        Path(self.temporary_socket).unlink(missing_ok=True)
        for left in Path("/dev/shm").glob(f"rgr-attack-*{os.getpid()}*"):
            left.unlink()

    def _listen(self) -> None:
        tcp = socket.create_server(("127.0.0.1", 0))
        self.port: int = tcp.getsockname()[1]
        self.socket = self.home / "agent.sock"
        self.temporary_socket = f"/tmp/rgr-attack-{os.getpid()}-{self.folder.name}.sock"
        self.abstract = f"rgr-attack-{os.getpid()}-{self.folder.name}"
        listeners = [tcp]
        for name in (str(self.socket), self.temporary_socket, f"\0{self.abstract}"):
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(name)
            listener.listen(5)
            listeners.append(listener)
        for listener in listeners:
            threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            self.hits.append(str(listener.accept()[0].getsockname()))

    def git(self, *args: str) -> str:
        done = subprocess.run(
            ["git", *args], cwd=self.owner, env=self.env, capture_output=True, text=True, check=True
        )
        return done.stdout

    def _all_refs(self) -> str:
        return "".join(
            self.git("-C", str(place), "for-each-ref") for place in dict.fromkeys((self.main, self.owner))
        )

    def brief(self, phase: str) -> Brief:
        case = {"currentTest": {"description": "a", "testFile": "tests/test_a.py", "implFile": "code.py"}}
        role = Role(RoleName.TEST, "", "")
        return Brief(role, PhaseName(phase), 1, 1, "run", "", json.dumps(case))

    def suite(self) -> Cage:
        """Return the cage of a suite in a clean checkout."""
        cage = self.cages.suite(self.checkout)
        assert cage is not None
        return cage

    @cached_property
    def checkout(self) -> Path:
        (self.workspace.compiled / BYTECODE).mkdir(parents=True, exist_ok=True)
        return self.workspace.checkout(self.workspace.head(), {})

    def cage(self, phase: str) -> Cage:
        """Begin a session and return its cage."""
        self.workspace.begin("run", self.workspace.head())
        cage = self.cages.session(self.brief(phase))
        assert cage is not None
        return cage

    @property
    def counts(self) -> bool:
        """Whether processes are counted: root is bound by control groups only."""
        return os.getuid() != 0 or bool(self.cages.means.group)

    def facts(self) -> Mapping[str, object]:
        return {
            "home": self.home,
            "root": self.root,
            "main": self.main,
            "port": self.port,
            "socket": self.socket,
            "tmp_socket": self.temporary_socket,
            "abstract": self.abstract,
            "pid": os.getpid(),
            "cache": self.repository.cache,
            "compiled": self.workspace.compiled,
            "git_dir": self.repository.git_dir,
            "probes": Path(process.__file__).parents[1] / "runners" / "probes",
        }

    def lent(self) -> list[Path]:
        """Return the programs that lend root's group to everybody."""
        places = [self.root / name / "lent" for name in (".", "node_modules", "lib")]
        return [
            path for path in places if os.getuid() == 0 and path.exists() and path.stat().st_mode & 0o2000
        ]

    def unharmed(self) -> str:
        """Return what an attack has left behind where it should not have been able to."""
        wrong: list[str] = []
        if self._all_refs() != self.refs:
            wrong.append("refs moved")
        names = ("pwned", "HEAD", "refs", "exclude", ".bashrc", ".profile", ".config/autostart/x.desktop")
        for name in names:
            if (self.home / name).exists():
                wrong.append(f"wrote ~/{name}")
                subprocess.run(["rm", "-rf", str(self.home / name)], check=True)
        if self._pointers() != self.pointers:
            wrong.append("git's folder was swapped")
        for place in dict.fromkeys((self.main, self.owner)):
            wrong.extend(self._steered(place / ".git"))
        if self.git("-C", str(self.main), "fsck", "--connectivity-only", "--no-dangling").strip():
            wrong.append("objects are missing")
        if self.hits:
            wrong.append(f"reached {self.hits}")
            self.hits.clear()
        if Path("/etc/pwned").exists() or Path("/usr/pwned").exists():
            wrong.append("wrote to the system")
        return ", ".join(wrong)

    def _pointers(self) -> list[str]:
        """Return what leads from the checkout to its git folder and back."""
        git = self.repository.git_dir
        files = (self.root / ".git", git / "commondir", git / "gitdir", git / "objects/info/alternates")
        return [file.read_text() for file in files if file.is_file()]

    def mark_is_ours(self) -> bool:
        """Whether what the session began from is remembered as we wrote it."""
        found = mark.read(self.repository.mark, mark.Mark)
        return found is not None and found.run_id == "run" and found.base == self.workspace.head()

    def _steered(self, git: Path) -> Iterator[str]:
        """Yield what an attack has left in a git folder that would steer the user's git."""
        config = (git / "config").read_text()
        if "evil" in config or "pwned" in config or SECRET not in config:
            yield "git's settings changed"
        if any(hook.suffix != ".sample" for hook in (git / "hooks").iterdir()):
            yield "a hook was left"
        if (git / "commondir").exists() or (git / "config.worktree").exists():
            yield "git was steered away"
        if "pwned" in (git / "info/attributes").read_text() if (git / "info/attributes").exists() else False:
            yield "attributes were set"


def put(folder: Path, files: Mapping[str, str]) -> None:
    """Write files below a folder."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)

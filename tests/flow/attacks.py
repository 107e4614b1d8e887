"""What held commands try, and how to tell that they did not get it. Also a script that tries all of it.

As a script: `attacks.py LEVEL FOLDER` prints one JSON object: how many were tried in which checkout, and what is
wrong with those that got somewhere. Each of them is harmless to the machine even where it succeeds.
"""

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from redgreenrefactor.cages import Cages, cages_of
from redgreenrefactor.config import Flags, load
from redgreenrefactor.model.session import Brief, Role
from redgreenrefactor.model.workflow import PhaseName, RoleName
from redgreenrefactor.repository import mark
from redgreenrefactor.repository.repository import Repository, open_repository
from redgreenrefactor.repository.workspace import GitWorkspace
from redgreenrefactor.sandbox import process
from redgreenrefactor.sandbox.cage import Cage
from redgreenrefactor.sandbox.policies import BYTECODE
from redgreenrefactor.sandbox.policy import Limits
from redgreenrefactor.sandbox.process import Finished
from redgreenrefactor.workflows.tdd import TDD

SECRET = "S3CRETKEY"
STRONG = ("bubblewrap",)
BOTH = ("bubblewrap", "landlock")
ONLY_REDUCED = ("landlock",)
UNLESS_IN_PLACE = (
    "bubblewrap",
    "landlock linked",
)  # Landlock cannot take back what lies inside a writable folder
KINDS = ("ordinary", "linked", "clone")
PHASES = {phase.name: phase for phase in TDD.phases}


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
        self.cages: Cages = cages_of(
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
        self.shared.unlink(missing_ok=True)

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
        return os.getuid() != 0 or self.cages.means.group is not None

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
        found = mark.read(self.repository.mark)
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


Held = Callable[[Lab, Finished], bool]


@dataclass(frozen=True)
class Attack:
    """A command, and whether what came of it shows that it was held."""

    name: str
    command: str
    held: Held = lambda lab, done: SECRET.encode() not in done.stdout + done.stderr
    levels: tuple[str, ...] = BOTH
    phase: str = "RED"
    timeout: float = 30.0
    limits: Limits | None = None
    keep: int = 4_000_000
    then: str = ""  # a second command of the same session, after which it is looked

    def fits(self, level: str, kind: str) -> bool:
        """Whether this is held at a level in a kind of checkout."""
        return level in self.levels or f"{level} {kind}" in self.levels


def fails(lab: Lab, done: Finished) -> bool:
    return done.exit_code != 0


def works(lab: Lab, done: Finished) -> bool:
    return done.exit_code == 0


def says(text: str) -> Held:
    return lambda lab, done: text.encode() in done.stdout


def silent(text: str) -> Held:
    return lambda lab, done: text.encode() not in done.stdout


def none_left(line: str) -> Held:
    """Return whether no process with this command line is running."""

    def check(lab: Lab, done: Finished) -> bool:
        wanted = line.format(**lab.facts()).encode().replace(b" ", b"\0") + b"\0"
        found = (_cmdline(folder) for folder in Path("/proc").iterdir() if folder.name.isdigit())
        return wanted not in found

    return check


def _cmdline(folder: Path) -> bytes:
    try:
        return (folder / "cmdline").read_bytes()
    except OSError:
        return b""


def untouched(path: str, text: str) -> Held:
    return lambda lab, done: (lab.root / path).read_text() == text


CONNECT = "python3 -c \"import socket; s = socket.socket({family}); s.settimeout(3); s.connect({address}); print('REACHED')\""
# Python lines; every brace is doubled.
LINES = "python3 - <<'END'\n{}\nEND"
CALL = (
    'python3 -c "import ctypes; l = ctypes.CDLL(None, use_errno=True); print(l.{call}, ctypes.get_errno())"'
)

# keyctl by the door of 32-bit programs: machine code that makes the call `int 0x80`.
BITS32 = LINES.format(
    """import ctypes, mmap
code = bytes.fromhex('5331c931d2b820010000bb00000000b9fdffffffcd805bc3')
page = mmap.mmap(-1, 4096, prot=7)
page.write(code)
address = ctypes.addressof(ctypes.c_char.from_buffer(page))
answer = ctypes.CFUNCTYPE(ctypes.c_int)(address)()
print('LET' if answer != -1 else 'refused', answer)"""
)

HONEST = (
    Attack("works: files", "echo x > w && cat w && rm w && id -u && python3 -c 'print(1)' && git status --short", works),
    Attack("works: commit", "echo y > b && git add -A && git commit -qm 'test: x' && git log --oneline | grep -q 'test: x'", works),
    Attack("works: amend, branch, reset", "echo n > n && git add n && git commit -qm a && git commit -q --amend -m b && git branch tdd/side && git reset -q --soft HEAD~1", works),
    Attack("works: stash", "echo z >> code.py && git stash -q && git stash pop -q && git checkout -q code.py", works),
    Attack("works: notes can be read", "git notes --ref=tdd-handoffs show HEAD", works),
    Attack("works: loopback", "python3 -c \"import socket; s = socket.create_server(('127.0.0.1', 0)); socket.create_connection(s.getsockname()); print('OK')\"", says("OK")),
    Attack("works: shared memory and processes", 'python3 -c "import multiprocessing as m; p = m.Pool(2); print(p.map(abs, [-1])); l = m.Lock()"', works),
    Attack("works: terminals", "python3 -c 'import pty; print(pty.spawn([\"true\"]))' < /dev/null", works),
)  # fmt: skip

# What commands of sessions and suites try alike.
COMMON = (
    # --- writing elsewhere
    Attack("write home", "echo pwn > {home}/pwned; echo pwn > ~/.bashrc; echo pwn > ~/.profile; mkdir -p ~/.config/autostart && echo x > ~/.config/autostart/x.desktop; true", works),
    Attack("write system", "echo pwn > /etc/pwned; echo pwn > /usr/pwned; echo pwn > /usr/bin/pwned", fails),
    Attack("write main checkout", "echo pwn > {main}/code.py; [ {main} != {root} ]", lambda lab, done: lab.main == lab.root or (lab.main / "code.py").read_text() == "x = 1\n"),
    Attack("fill the root in memory", "for d in / /dev /run /var /home; do head -c 1M /dev/zero > $d/big && echo WROTE $d; done; echo x > /dev/null && echo fine", lambda lab, done: b"WROTE" not in done.stdout and b"fine" in done.stdout),
    Attack("hard link out", "ln /etc/hostname hl || ln {home}/.netrc hl2", fails),
    Attack("symbolic link out", "ln -s {home}/.netrc link; cat link; echo x > link; rm link"),
    # --- reading what is secret
    Attack("read keys", "cat {home}/.ssh/id {home}/.aws/credentials {home}/.config/gh/hosts.yml {home}/.netrc {home}/.gnupg/key {home}/.npmrc {home}/.pypirc ~/.ssh/* ~/.m2/settings.xml"),
    Attack("read shadow", "cat /etc/shadow /etc/gshadow /etc/sudoers", silent("root")),
    Attack("read git's credentials", "cat {main}/.git/config {git_dir}/config .git/config; git config --list; git remote -v", levels=STRONG),
    Attack("environment", "env; cat /proc/*/environ /proc/self/task/*/environ 2>/dev/null | tr '\\0' '\\n'; true"),
    Attack("temporary files of others", "ls -A /tmp", lambda lab, done: b".sock" not in done.stdout, STRONG),
    Attack("roots of other processes", "cat /proc/[0-9]*/root{home}/.netrc /proc/[0-9]*/cwd/../../.netrc 2>/dev/null; ls /proc/1/root{home}/.ssh; true"),
    Attack("descriptors of other processes", "for f in /proc/[0-9]*/fd/*; do readlink $f; done 2>/dev/null | grep -v -E 'pipe:|/dev/null|/proc|socket:|anon_inode|/dev/pts|memfd' | sort -u", lambda lab, done: str(lab.home).encode() not in done.stdout, STRONG),
    Attack("memory of other processes", "cat /proc/{pid}/mem /proc/{pid}/maps /proc/{pid}/environ | head -c 100", silent("home")),
    # --- network and sockets
    Attack("connect outside", CONNECT.format(family="", address="('127.0.0.1', {port})"), silent("REACHED")),
    Attack("connect a socket in the home folder", CONNECT.format(family="socket.AF_UNIX", address="'{socket}'"), silent("REACHED"), STRONG),
    Attack("connect a socket in /tmp", CONNECT.format(family="socket.AF_UNIX", address="'{tmp_socket}'"), silent("REACHED"), STRONG),
    Attack("connect an abstract socket", CONNECT.format(family="socket.AF_UNIX", address="chr(0) + '{abstract}'"), silent("REACHED")),
    Attack("well-known sockets", "ls /run/docker.sock /var/run/docker.sock /run/dbus /run/user /tmp/.X11-unix /run/systemd 2>/dev/null; env | grep -E 'DISPLAY|DBUS|SSH_AUTH|XDG_RUNTIME'", lambda lab, done: done.stdout == b"", STRONG),
    Attack("send a datagram", "python3 -c \"import socket; s = socket.socket(type=socket.SOCK_DGRAM); s.sendto(b'x', ('192.0.2.1', 53)); print('SENT')\"", silent("SENT")),
    Attack("raw sockets", "python3 -c \"import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1); print('RAW')\"; python3 -c \"import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW); print('RAW')\"", silent("RAW")),
    # --- processes
    Attack("daemon", "(setsid nohup sleep 471101.{pid} > /dev/null 2>&1 &); echo started", none_left("sleep 471101.{pid}")),
    Attack("job that holds the pipe", "sleep 471102.{pid} & echo done", lambda lab, done: done.seconds < 20 and none_left("sleep 471102.{pid}")(lab, done)),
    Attack("time is up", "(setsid sleep 471103.{pid} &); sleep 471103.{pid}", lambda lab, done: done.timed_out and none_left("sleep 471103.{pid}")(lab, done), timeout=1),
    Attack("deaf to signals", "trap '' TERM INT HUP; while :; do sleep 1; done", lambda lab, done: done.timed_out and done.seconds < 20, timeout=1),
    Attack("kill the orchestrator", "kill -9 {pid}; kill -TERM {pid}; kill -STOP {pid}", fails),
    Attack("kill the keeper", "kill -9 $PPID; kill -9 1; sleep 0.2; sleep 471104.{pid} & echo on", none_left("sleep 471104.{pid}")),
    Attack("kill everybody", "kill -9 -1; true", lambda lab, done: True, STRONG),
    Attack("trace the orchestrator", CALL.format(call="ptrace(16, {pid}, 0, 0)"), says("-1")),
    Attack("see the orchestrator", "ls /proc/{pid}", fails, STRONG),
    # --- privileges
    Attack("mount", "mount -t tmpfs x /mnt || mount -o remount,rw /usr || umount /proc", fails),
    Attack("namespaces", "unshare -Urm true || unshare -n true || bwrap --ro-bind / / true", fails),
    Attack("namespaces by clone", CALL.format(call="syscall(56, 0x10000011, 0, 0, 0, 0)"), says("-1")),
    Attack("become root", "su -c id < /dev/null; mknod d c 1 3 || chroot / true", lambda lab, done: done.exit_code != 0 and (os.getuid() == 0 or b"uid=0" not in done.stdout)),
    Attack("leaving a set-uid program", LINES.format("import os, ctypes\nl = ctypes.CDLL(None, use_errno=True)\nos.umask(0)\ndef new():\n    os.close(os.open('s', os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o755))\nways = (lambda: (new(), os.chmod('s', 0o4755)), lambda: (new(), os.fchmod(os.open('s', os.O_RDONLY), 0o4755)), lambda: os.open('s', os.O_WRONLY | os.O_CREAT, 0o4755), lambda: os.mknod('s', 0o104755), lambda: l.syscall(437, -100, b's', (ctypes.c_uint64 * 3)(0o101, 0o4755, 0), 24), lambda: (new(), l.syscall(452, -100, b's', 0o4755, 0)))\nfor way in ways:\n    try:\n        way()\n    except OSError:\n        pass\n    if os.path.exists('s'):\n        print('LEFT' if os.stat('s').st_mode & 0o4000 else 'plain')\n        os.unlink('s')"), silent("LEFT")),
    Attack("set-uid programs", "cp /usr/bin/id ./id2 && chmod u+s ./id2 && ./id2 -u; rm -f id2", lambda lab, done: done.stdout.strip() in (b"", str(os.getuid()).encode())),
    Attack("capabilities", "grep CapEff /proc/self/status", lambda lab, done: int(done.stdout.split()[-1], 16) & ~0x4FB == 0),
    Attack("no new privileges", "grep -E 'NoNewPrivs|Seccomp:' /proc/self/status", lambda lab, done: done.stdout.split()[1::2] == [b"1", b"2"]),
    Attack("kernel settings", "cat /proc/sys/kernel/core_pattern > p; cat p > /proc/sys/kernel/core_pattern || cat /proc/sys/kernel/sysrq > /proc/sys/kernel/sysrq || cat /sys/kernel/mm/ksm/run > /sys/kernel/mm/ksm/run", fails),
    Attack("kernel calls", CALL.format(call="syscall(321, 0, 0, 0), l.syscall(298, 0, 0, 0, 0, 0), l.syscall(323, 0), l.syscall(425, 1, 0), l.syscall(250, 0, 0)"), lambda lab, done: done.stdout.startswith(b"-1 -1 -1 -1 -1 1")),
    Attack("open by handle", CALL.format(call="syscall(304, -100, 0, 0)"), says("-1 1")),
    Attack("type into the terminal", "python3 -c \"import fcntl; fcntl.ioctl(0, 0x5412, b'x'); print('TYPED')\"; echo hi > /dev/tty", lambda lab, done: b"TYPED" not in done.stdout and done.exit_code != 0),
    # --- by other doors
    Attack("a program in memory", LINES.format("import os\nfile = os.memfd_create('x', 0)\nos.write(file, b'#!/bin/sh\\ncat {home}/.netrc; echo x > {home}/pwned\\n')\nos.execv(f'/proc/self/fd/{{file}}', ['x'])")),
    Attack("descriptors that were left open", LINES.format("import os\nprint(sorted(map(int, os.listdir('/proc/self/fd'))))"), says("[0, 1, 2, 3]")),
    Attack("shared memory of others", "cat /dev/shm/rgr-attack*; ls /dev/mqueue; ipcs -m", levels=STRONG),
    Attack("the orchestrator's memory by calls", LINES.format("import ctypes\nl = ctypes.CDLL(None, use_errno=True)\nhere = ctypes.create_string_buffer(8)\nvector = (ctypes.c_uint64 * 2)(ctypes.addressof(here), 8)\nfor call in (310, 311):\n    print(l.syscall(call, {pid}, vector, 1, vector, 1, 0), ctypes.get_errno() in (1, 3))\nprint(l.syscall(312, 1, {pid}, 0, 0, 0), True)"), lambda lab, done: done.stdout == b"-1 True\n" * 3),
    Attack("the orchestrator's descriptors", LINES.format("import ctypes, os\nl = ctypes.CDLL(None)\nfile = l.syscall(434, {pid}, 0)\nfound = [l.syscall(438, file, number, 0) for number in range(40)]\nprint('STOLEN' if max(found) >= 0 else 'nothing')\nfor number in range(40):\n    try:\n        print('STOLEN', os.readlink(f'/proc/{pid}/fd/{{number}}'))\n    except OSError:\n        pass"), silent("STOLEN")),
    Attack("the keeper", LINES.format("import os\nkeeper = os.getppid()\nwith open(f'/proc/{{keeper}}/status') as lines:\n    keeper = int(next(line for line in lines if line.startswith('PPid')).split()[1])\nfor name in ('mem', 'environ', 'cwd', 'root', 'ns/net', *(f'fd/{{number}}' for number in range(20))):\n    for reach in (os.readlink, lambda path: open(path, 'rb', buffering=0).read(1), lambda path: os.close(os.open(path, os.O_WRONLY))):\n        try:\n            reach(f'/proc/{{keeper}}/{{name}}')\n            print('REACHED', name)\n        except OSError:\n            pass\ntry:\n    os.kill(keeper, 0)\n    print('REACHED')\nexcept OSError:\n    pass"), silent("REACHED"), ONLY_REDUCED),
    Attack("namespaces of other processes", LINES.format("import ctypes, os\nl = ctypes.CDLL(None)\nfor name in os.listdir('/proc/1/ns'):\n    try:\n        file = os.open(f'/proc/1/ns/{{name}}', os.O_RDONLY)\n    except OSError:\n        continue\n    if l.setns(file, 0) == 0:\n        print('ENTERED', name)"), silent("ENTERED")),
    Attack("mounting the new way", CALL.format(call="syscall(428, -100, b'/', 1), l.syscall(429, -1, b'', -1, b'', 0), l.syscall(430, b'tmpfs', 0), l.syscall(431, -1, 0, 0, 0, 0), l.syscall(432, -1, 0, 0), l.syscall(433, -100, b'/', 0), l.syscall(442, -100, b'/', 0, 0, 0)"), says("-1 -1 -1 -1 -1 -1 -1 1")),
    Attack("namespaces by clone3", LINES.format("import ctypes\nl = ctypes.CDLL(None, use_errno=True)\nprint(l.syscall(435, (ctypes.c_uint64 * 8)(0x10000000), 64), ctypes.get_errno())"), says("-1 38")),
    Attack("by 32-bit calls", BITS32, lambda lab, done: b"LET" not in done.stdout),
    Attack("by x32 calls", CALL.format(call="syscall(0x40000000 + 39)"), says("-1")),
    Attack("sockets to whatever runs this machine", "python3 -c \"import socket; socket.socket(40, socket.SOCK_STREAM); print('OPENED')\"", silent("OPENED")),
    Attack("devices", LINES.format("import os\nnames = ['mem', 'kmem', 'port', 'kmsg', 'fuse', 'kvm', 'loop-control', 'vsock', 'net/tun', 'mapper/control', 'uinput']\nwith open('/proc/partitions') as lines:\n    names += [line.split()[3] for line in lines if len(line.split()) == 4][1:]\nfor name in names:\n    try:\n        os.close(os.open(f'/dev/{{name}}', os.O_RDONLY | os.O_NONBLOCK))\n        print('OPENED', name)\n    except OSError:\n        pass"), silent("OPENED")),
    Attack("own device files", LINES.format("import os, stat\nfor kind, number in ((stat.S_IFBLK, os.makedev(254, 0)), (stat.S_IFCHR, os.makedev(1, 1))):\n    try:\n        os.mknod('device', kind | 0o600, number)\n        print('MADE')\n        os.unlink('device')\n    except OSError:\n        pass"), silent("MADE")),
    Attack("control groups", "for f in /sys/fs/cgroup /sys/fs/cgroup/*; do mkdir $f/pwned && rmdir $f/pwned && echo MADE; echo $$ > $f/cgroup.procs && echo MOVED; [ -e $f/release_agent ] && cat $f/release_agent > $f/release_agent && echo STEERED; done; true", lambda lab, done: not any(word in done.stdout for word in (b"MADE", b"MOVED", b"STEERED"))),
    Attack("priorities of others", LINES.format("import os\nfor call in (lambda: os.setpriority(os.PRIO_PROCESS, {pid}, 5), lambda: os.sched_setaffinity({pid}, os.sched_getaffinity({pid}))):\n    try:\n        call()\n        print('SET')\n    except (OSError, PermissionError):\n        pass"), silent("SET"), STRONG),
    Attack("limits of others", LINES.format("import resource\ntry:\n    resource.prlimit({pid}, resource.RLIMIT_CORE, (0, 0))\n    print('SET')\nexcept (OSError, PermissionError, ValueError):\n    pass"), silent("SET"), STRONG),
    Attack("being spared when memory runs out", "echo -900 > /proc/self/oom_score_adj && echo SPARED", silent("SPARED")),
    Attack("higher limits", LINES.format("import resource\nfor number, most in ((resource.RLIMIT_NPROC, 1 << 20), (resource.RLIMIT_FSIZE, 1 << 50)):\n    try:\n        resource.setrlimit(number, (most, most))\n        print('RAISED')\n    except (OSError, ValueError):\n        pass"), silent("RAISED")),
    Attack("the clock and the name of the machine", LINES.format("import socket, time\nfor call in (lambda: time.clock_settime(time.CLOCK_REALTIME, time.time()), lambda: socket.sethostname(socket.gethostname())):\n    try:\n        call()\n        print('SET')\n    except OSError:\n        pass"), silent("SET")),
    Attack("links of the kernel", "cat /proc/self/root{home}/.netrc /proc/thread-self/root{home}/.ssh/id /proc/self/cwd/../../.netrc /dev/fd/../root{home}/.netrc; true"),
    Attack("folders kept open", LINES.format("import os\nfor place in ('/', '/home', '/proc/self/root', '/tmp'):\n    try:\n        folder = os.open(place, os.O_PATH)\n        print(open(os.open('.' + '{home}/.netrc', os.O_RDONLY, dir_fd=folder)).read())\n    except OSError:\n        pass")),
    Attack("handles of files", LINES.format("import ctypes, os\nl = ctypes.CDLL(None, use_errno=True)\nhandle, mount = ctypes.create_string_buffer(200), ctypes.c_int()\nhandle[0:4] = (128).to_bytes(4, 'little')\nl.name_to_handle_at(-100, b'.', handle, ctypes.byref(mount), 0)\nprint('OPENED' if l.open_by_handle_at(os.open('.', os.O_RDONLY), handle, os.O_RDONLY) >= 0 else 'no')"), silent("OPENED")),
    Attack("programs that run as root", "find / -xdev -perm -4000 -type f 2>/dev/null | head -3; for p in sudo pkexec mount fusermount newuidmap; do $p --help 2>&1 | grep -q setuid; done; unshare -Ur id -u; true", lambda lab, done: os.getuid() == 0 or b"\n0\n" not in done.stdout),
    # --- using too much
    Attack("giant output", "yes | head -c 200000000", lambda lab, done: len(done.stdout) < 5_000_000, keep=1_000_000),
    Attack("reads standard input", "cat; read x; echo $?", says("1")),
    Attack("invalid text", "printf '\\377\\376abc'", says("abc")),
    Attack("giant file", "head -c 300M /dev/zero > big; s=$(stat -c %s big); rm -f big; echo $s; [ $s -le 104857600 ]", works, limits=Limits(file_size=100 << 20)),
    Attack("many files", "for n in 1 2 3 4 5; do head -c 60M /dev/zero > big$n; done; sleep 25", lambda lab, done: b"ended by the sandbox: it has written more than" in done.stderr and not done.timed_out, limits=Limits(disk=100 << 20, free=0)),
    Attack("home in memory", "head -c 200M /dev/zero > ~/big; [ $(stat -c %s ~/big) -lt 200000000 ]", works, STRONG, limits=Limits(home_size=64 << 20)),
    Attack("fork bomb", "python3 -c \"\nimport os, time\nfor n in range(400):\n    try:\n        os.fork() or time.sleep(9)\n    except OSError:\n        print('HELD'); break\n\"", lambda lab, done: b"HELD" in done.stdout or not lab.counts, limits=Limits(processes=150)),
    Attack("memory", "python3 -c 'x = bytearray(600 << 20); print(\"GOT\")'", lambda lab, done: b"GOT" not in done.stdout or lab.cages.means.group is None, limits=Limits(memory=300 << 20)),
)  # fmt: skip

OF_SESSIONS = (
    # --- git
    Attack("hooks", "echo evil > {main}/.git/hooks/pre-commit; echo evil > $(git rev-parse --git-path hooks)/pre-commit; echo evil > {git_dir}/hooks/post-commit; true"),
    Attack("settings", "git config core.fsmonitor evil; git config --worktree core.hooksPath evil; echo '[core]fsmonitor=evil' >> {main}/.git/config; true"),
    Attack("settings that include others", "git config include.path /tmp/evil; git config core.worktree /; git config filter.x.smudge 'touch {home}/pwned'; git config filter.x.clean 'touch {home}/pwned'; git config diff.x.textconv 'touch {home}/pwned'; printf '* filter=x diff=x\\n' > .gitattributes; git add -A; git commit -qm 'test: filters'; true"),
    Attack("steer git away", "echo /tmp/evil > {git_dir}/commondir; echo evil > {git_dir}/config.worktree; mv .git .git2; rm -rf .git; echo 'gitdir: /tmp/evil' > .git; true"),
    Attack("notes", "git notes --ref=tdd-handoffs add -f -m forged HEAD; git update-ref -d refs/notes/tdd-handoffs; true"),
    Attack("other branches", "git update-ref refs/heads/other HEAD~0; git branch -f main HEAD; git branch -D other; git push . HEAD:main; git pack-refs --all; true"),
    Attack("objects", "rm -rf {main}/.git/objects/*; rm -rf .git/shared-objects/*; rm -rf {git_dir}/shared-objects/*; git gc --prune=now; true"),
    Attack("borrowed objects", "mv $(git rev-parse --git-dir)/objects o2; mkdir -p $(git rev-parse --git-dir)/objects/info; echo {home}/.ssh > $(git rev-parse --git-dir)/objects/info/alternates; ln -s {home}/.ssh $(git rev-parse --git-dir)/objects/ab; true"),
    Attack("objects of another repository", "g=$(git rev-parse --git-dir); for o in $g/objects {main}/.git/objects {git_dir}/objects; do mkdir -p $o/info; echo {home}/.ssh > $o/info/alternates; echo x > $o/info/http-alternates; done; true"),
    Attack("a link in place of the git folder", "mv .git moved || mv {git_dir} moved; ln -s {home}/.ssh .git; ln -s {home}/.ssh {git_dir}; true", then="echo x > .git/pwned; true"),
    Attack("a file in place of the git folder", "mv .git moved; echo 'gitdir: {home}/work/library/.git' > .git; true"),
    Attack("the mark of the session", "for f in {cache}/../sessions/* .git/rgr-session.json {git_dir}/rgr-session.json; do echo '{{\"runId\": \"x\", \"base\": \"x\", \"branch\": null, \"steering\": {{\"{home}/pwned\": \"x\"}}}}' > $f; done; ls {cache}/../sessions && echo SEEN; true", lambda lab, done: b"SEEN" not in done.stdout and lab.mark_is_ours()),
    Attack("the locks of ours", "rm -f .git/rgr.lock; ln -s {home}/pwned .git/rgr.lock; ln -s {home}/pwned {git_dir}/rgr.lock; true"),
    Attack("HEAD as a link", "cd $(git rev-parse --git-dir) && rm HEAD && ln -s {home}/.ssh/id HEAD && rm -rf refs && ln -s {home} refs; true"),
    Attack("HEAD as a pipe", "cd $(git rev-parse --git-dir) && rm HEAD packed-refs && mkfifo HEAD packed-refs && mkfifo refs/heads/x; true"),
    Attack("variables", "GIT_DIR={main}/.git GIT_WORK_TREE=/ git config core.fsmonitor evil; GIT_OBJECT_DIRECTORY={main}/.git/objects git hash-object -w code.py; GIT_INDEX_FILE={main}/.git/index git add code.py; true"),
    Attack("forged trees", "b=$(echo evil | git hash-object -w --stdin); t=$(printf '100644 blob %s\\t.git\\n' $b | git mktree 2>/dev/null || true); c=$(git commit-tree ${{t:-HEAD^{{tree}}}} -p HEAD -m 'test: evil'); git update-ref HEAD $c; true"),
    Attack("another worktree", "git worktree add -q {home}/pwned HEAD; true"),
    Attack("a repository in the repository", "git init -q sub && cd sub && git config user.name x && git config user.email x@x && echo a > a && printf '* filter=x diff=x\\n' > .gitattributes && git add -A && git commit -qm a && git config core.fsmonitor 'touch {home}/pwned; false' && git config filter.x.clean 'touch {home}/pwned; cat' && git config filter.x.smudge 'touch {home}/pwned; cat' && git config diff.external 'touch {home}/pwned' && git config core.hooksPath . && printf '#!/bin/sh\\ntouch {home}/pwned\\n' > post-checkout && chmod +x post-checkout && echo b > a && cd .. && git add sub && git commit -qm 'test: sub'; true"),
    Attack("a repository in the repository, and something left over", "git init -q sub && cd sub && git config user.name x && git config user.email x@x && echo a > a && printf '* filter=x\\n' > .gitattributes && git add -A && git commit -qm a && git config filter.x.clean 'touch {home}/pwned; cat' && git config core.fsmonitor 'touch {home}/pwned; false' && echo b > a && cd .. && git add sub && git commit -qm 'test: sub'; git add sub; echo 'y = 9' >> code.py; true"),
    Attack("the user's own submodule", "cd lib && rm -rf .git && git init -q && git config user.name x && git config user.email x@x && printf '* filter=x\\n' > .gitattributes && git add -A && git commit -qm x && git config filter.x.clean 'touch {home}/pwned; cat' && git config filter.x.smudge 'touch {home}/pwned; cat' && git config core.fsmonitor 'touch {home}/pwned; false' && echo b > a.txt; cd ..; echo 'y = 9' >> code.py; true"),
    Attack("the settings of the user's submodule", "for d in lib/.git {main}/.git/modules/lib {git_dir}/modules/lib; do git config -f $d/config filter.x.smudge 'touch {home}/pwned; cat'; git config -f $d/config filter.x.clean 'touch {home}/pwned; cat'; mkdir -p $d/info; printf '* filter=x\\n' > $d/info/attributes; done; git -C lib commit -q --allow-empty -m x; touch lib/a.txt; echo b > lib/a.txt; echo 'y = 9' >> code.py; true"),
    Attack("a link in place of what steers git", "g=$(git rev-parse --git-dir); rm -rf $g/info $g/config.worktree; ln -s {home} $g/info; ln -sf {home}/pwned $g/config.worktree; mv $g/config $g/c2; ln -s {home}/pwned $g/config; mv $g/logs $g/l2; ln -s {home} $g/logs; true", then="echo x > $(git rev-parse --git-dir 2> /dev/null || echo .git)/logs/pwned; cat .git/logs/.netrc; true"),
    Attack("a link in place of copied settings", "for d in {cache}/tools-session {cache}/settings-tools-session; do rm -rf $d/settings $d/cache; mkdir -p $d/settings; for n in home-.npmrc .m2-settings.xml home-.gitconfig; do ln -sf {home}/pwned $d/settings/$n; ln -sf {home}/pwned $d/$n; done; ln -s {home}/nowhere $d/cache; ln -s {home}/pwned $d/gradle; done; true", lambda lab, done: lab.cages.session(lab.brief("RED")) is not None),
    Attack("a repository that was only laid there", "git init -q sub && cd sub && git config user.name x && git config user.email x@x && echo a > a && printf '* filter=x\\n' > .gitattributes && git add -A && git commit -qm a && git config core.fsmonitor 'touch {home}/pwned; false' && git config filter.x.clean 'touch {home}/pwned; cat' && echo b > a; true"),
    Attack("a bare repository in a folder", "git init -q --bare deep/bare && git -C deep/bare config core.fsmonitor 'touch {home}/pwned' && git -C deep/bare config core.worktree .. && git add -A && git commit -qm 'test: bare'; true"),
    Attack("modules", "git init -q sub && git -C sub -c user.name=x -c user.email=x@x commit -q --allow-empty -m a && printf '[submodule \"s\"]\\n\\tpath = sub\\n\\turl = ext::sh -c touch% {home}/pwned\\n\\tupdate = !touch {home}/pwned\\n[submodule \"../../x\"]\\n\\tpath = y\\n\\turl = -u./z\\n' > .gitmodules && git add -A && git commit -qm 'test: modules'; true"),
    Attack("attributes", "printf '* filter=pwned merge=pwned\\n' > $(git rev-parse --git-path info/attributes); git config filter.pwned.clean 'touch {home}/pwned; cat'; git config filter.pwned.process 'touch {home}/pwned'; git config filter.pwned.required true; touch code.py; true"),
    Attack("programs that git asks", "for key in core.sshCommand core.askPass core.editor core.pager core.gitProxy sequence.editor gpg.program gpg.ssh.program diff.external merge.x.driver uploadpack.packObjectsHook credential.helper interactive.diffFilter core.alternateRefsCommand trailer.x.command; do git config $key 'touch {home}/pwned'; done; git config commit.gpgSign true; git config alias.status '!touch {home}/pwned'; echo 'y = 2' >> code.py; true"),
    Attack("another git folder", "cp -r $(git rev-parse --git-dir) ../g2; GIT_DIR={home}/pwned git init -q; git init -q --separate-git-dir={home}/pwned .; true"),
    Attack("grafts and replaced objects", "git replace HEAD $(git commit-tree -m x HEAD^{{tree}}); echo $(git rev-parse HEAD) > $(git rev-parse --git-path info/grafts); git rev-parse HEAD > $(git rev-parse --git-path shallow); true"),
    Attack("a locked index", "touch $(git rev-parse --git-dir)/index.lock $(git rev-parse --git-dir)/HEAD.lock $(git rev-parse --git-dir)/packed-refs.lock; echo 'y = 3' >> code.py; true"),
    Attack("a broken index", "head -c 100 /dev/urandom > $(git rev-parse --git-path index); echo 'y = 3' >> code.py; true"),
    Attack("names that git reads as options", "touch -- --upload-pack=x -c ':(exclude)*' && mkdir -p ':(attr:x)' && git branch -- -x 2>/dev/null; git add -A && git commit -qm 'test: names'; true"),
    Attack("links in the way of what is bound", "rm -rf src tests && ln -s {home}/.ssh src && ln -s {home} tests && mkdir -p deep && ln -s {home} deep/tests; true", then="ls -A src/ tests/ deep/tests/ src/deep 2>&1; cat src/id tests/.netrc; echo x > tests/pwned; true", levels=BOTH),
    Attack("a link in place of the dependencies", "rm -rf node_modules; mv .venv v2; ln -s {home} .venv; ln -s {home}/.ssh node_modules; true", then="cat node_modules/id .venv/.netrc; echo x > .venv/pwned; true"),
    Attack("a link in place of the checkout's folders for tools", "rm -rf {cache}/tools-session/*; ln -s {home} {cache}/tools-session/cache; ln -s {home} {cache}/tools-session/npm; true", then="cat ~/.cache/.netrc {cache}/tools-session/cache/.netrc; echo x > {cache}/tools-session/npm/pwned; true"),
    Attack("a link in place of /tmp", "rm -rf /tmp/* ; ln -s {home} /tmp/x; true", then="cat /tmp/x/.netrc; echo x > /tmp/x/pwned; true"),
    # --- what judges
    Attack("the suites' folders", "mkdir -p {cache}/checkout/.git {compiled} && echo evil > {cache}/checkout/.git/config; echo evil > {compiled}/x; ls {cache} {compiled}; true", lambda lab, done: not (lab.repository.cache / "checkout").exists() and not (lab.workspace.compiled / "x").exists(), STRONG),
    Attack("the probes", ": >> {probes}/rgr_pytest_probe.py || : > {probes}/evil", fails),
    Attack("tests in GREEN", "echo > tests/test_a.py; rm -rf tests; mv tests t; echo > tests/new.py; echo > src/deep/tests/test_b.py", untouched("tests/test_a.py", "def test_a(): pass\n"), phase="GREEN"),
    Attack("code in GREEN", "echo 'y = 2' >> code.py && git commit -qam 'feat: y'", works, phase="GREEN"),
    Attack("configuration", "echo > pytest.ini; rm pytest.ini; mv tdd.properties x; echo > test-list.md", untouched("pytest.ini", "[pytest]\n")),
    Attack("dependencies", "echo evil > .venv/lib/python3/site-packages/x.py || echo evil > node_modules/x/index.js", fails),
    Attack("dependencies by a link in the way", "mv src s2 && ln -s {home}/.ssh src; ls src; cat src/id", phase="GREEN"),
)  # fmt: skip


OF_SUITES = (
    Attack("works: a suite", "echo x > made && python3 -c 'import code' && ls tests && git log -1 > /dev/null && rm made", works),
    Attack("byte code of other runs", "mkdir -p {compiled}/bytecode; echo evil > {compiled}/bytecode/x", lambda lab, done: not (lab.workspace.compiled / "bytecode/x").exists()),
    Attack("the project", "echo pwn > {root}/code.py; rm -rf {root}/tests {root}/node_modules; echo x > {root}/pwned; echo x > {root}/.venv/pwned", lambda lab, done: fails(lab, done) and (lab.root / "code.py").read_text() == "x = 1\n" and (lab.root / "tests/test_a.py").exists() and (lab.root / "node_modules/x").exists()),
    Attack("the project's git folder", "cat {main}/.git/config {git_dir}/config; echo evil > {main}/.git/hooks/pre-commit; echo x > {git_dir}/pwned; rm -rf {main}/.git/refs {main}/.git/objects {git_dir}/HEAD"),
    Attack("the checkout's git folder", "git config core.fsmonitor evil; echo evil > .git; echo evil > .git/config; mv .git g; rm -rf .git", lambda lab, done: fails(lab, done) and "evil" not in (lab.checkout / ".git" / "config").read_text() if (lab.checkout / ".git").is_dir() else True),
    Attack("links in the way of what is laid out", "rm -rf tests src code.py pwned node_modules; ln -s {home} tests; ln -s {home}/.netrc code.py; ln -s {home}/pwned pwned; ln -s {home} src; ln -s {home} {compiled}/runs/x; ln -s {home} made; true"),
    Attack("settings of the clean checkout", "for f in config config.worktree commondir info/attributes; do ln -sf {home}/pwned .git/$f; rm -rf .git/$f; ln -s {home}/pwned .git/$f; done; mv .git g2; ln -s {home} .git; rm -rf code.py; true"),
    Attack("the session's folders", "ls {cache}/stand-in {cache}/tools-session && echo SEEN; echo x > {cache}/pwned", lambda lab, done: b"SEEN" not in done.stdout and not (lab.repository.cache / "pwned").exists()),
)  # fmt: skip

ATTACKS = (*HONEST, *COMMON, *OF_SESSIONS)
AGAINST_SUITES = (*COMMON, *OF_SUITES)


def tried(lab: Lab, attack: Attack) -> str:
    """Return what is wrong after a session has attacked; nothing if it was held."""
    base = lab.workspace.head()
    done = run(lab, attack, lab.cage(attack.phase), lab.root)
    wrong = [] if attack.held(lab, done) else [f"not held: {done}"[:800]]
    began = time.monotonic()
    lab.workspace.seal(base, PHASES[PhaseName(attack.phase)], attack.name, empty=False)
    lab.workspace.rewind(base)
    lab.workspace.end()
    subprocess.run(
        ["git", "-c", "core.fsmonitor=false", "clean", "-ffdq"], cwd=lab.root, env=lab.env, check=False
    )
    lab.git("update-ref", "-d", "refs/stash")
    for ref in lab.git("for-each-ref", "--format=%(refname)", "refs/tdd/kept").split():
        lab.git("update-ref", "-d", ref)
    if time.monotonic() - began > 30:
        wrong.append("sealing hung")
    left = lab.unharmed()
    lab.install()
    return "; ".join([*wrong, *([left] if left else [])])


def tried_by_suite(lab: Lab, attack: Attack) -> str:
    """Return what is wrong after a suite has attacked; nothing if it was held."""
    done = run(lab, attack, lab.suite(), lab.checkout)
    wrong = [] if attack.held(lab, done) else [f"not held: {done}"[:800]]
    folder = lab.workspace.checkout(lab.workspace.head(), {"tests/pwned": "x", "pwned": "y", "code.py": "z"})
    if (folder / "tests/pwned").read_text() != "x" or (lab.root / "code.py").read_text() != "x = 1\n":
        wrong.append("the clean checkout is not what it should be")
    lab.workspace.checkout(lab.workspace.head(), {})
    left = lab.unharmed()
    return "; ".join([*wrong, *([left] if left else [])])


def run(lab: Lab, attack: Attack, cage: Cage, folder: Path) -> Finished:
    """Run what an attack consists of; return how the last of it ended, with all that was printed."""
    if attack.limits:
        cage = replace(cage, policy=replace(cage.policy, limits=attack.limits))
    env = {name: value for name, value in lab.env.items() if name != "ANTHROPIC_API_KEY"}
    printed = b""
    for command in filter(None, (attack.command, attack.then)):
        done = process.shell(
            command.format(**lab.facts()),
            cwd=folder,
            env=env,
            timeout=attack.timeout,
            grace=0.2,
            keep=attack.keep,
            cage=cage,
        )
        printed += done.stdout
    return replace(done, stdout=printed)  # pyright: ignore[reportPossiblyUnboundVariable]


def main() -> None:
    level, folder = sys.argv[1], Path(sys.argv[2])
    wanted = sys.argv[3] if len(sys.argv) > 3 else ""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    found: dict[str, str] = {}
    counts: dict[str, int] = {}
    for kind in KINDS:
        lab = Lab(folder / kind, level, kind)
        for who, attacks, attempt in (
            ("session", ATTACKS, tried),
            ("suite", AGAINST_SUITES, tried_by_suite),
        ):
            fit = [attack for attack in attacks if attack.fits(level, kind) and wanted in attack.name]
            counts[f"{kind} {who}"] = len(fit)
            for attack in fit:
                if wrong := attempt(lab, attack):
                    print(f"{attack.name} ({kind} {who})", wrong, file=sys.stderr)
                    found[f"{attack.name} ({kind} {who})"] = wrong
        lab.close()
    print(json.dumps({"tried": counts, "wrong": found}, indent=1))


if __name__ == "__main__":
    main()

"""What held commands try, and how to tell that they did not get it. Also a script that tries all of it.

As a script: `attacks.py LEVEL FOLDER` prints, as one JSON object, what is wrong with the attacks that got somewhere.
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
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from redgreenrefactor.cages import Cages, cages_of
from redgreenrefactor.config import Flags, load
from redgreenrefactor.model.session import Brief, Role
from redgreenrefactor.model.workflow import PhaseName, RoleName
from redgreenrefactor.repository.repository import Repository, open_repository
from redgreenrefactor.repository.workspace import GitWorkspace
from redgreenrefactor.sandbox import process
from redgreenrefactor.sandbox.cage import Cage
from redgreenrefactor.sandbox.policy import Limits
from redgreenrefactor.sandbox.process import Finished
from redgreenrefactor.workflows.tdd import TDD

SECRET = "S3CRETKEY"
STRONG = ("bubblewrap",)
BOTH = ("bubblewrap", "landlock")
PHASES = {phase.name: phase for phase in TDD.phases}


class Lab:
    """A user with secrets, sockets and a repository, whose checkout is a linked worktree or an ordinary one."""

    def __init__(self, folder: Path, level: str, *, linked: bool) -> None:
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
        }
        self._keep_secrets()
        self._make_repository()
        self.root = self.main
        if linked:
            self.root = self.home / "work" / "linked"
            self.git("worktree", "add", "-q", "-b", "tdd/x", str(self.root))
        self.repository: Repository = open_repository(self.root, self.env)
        self.workspace = GitWorkspace(self.repository)
        self.hits: list[str] = []
        self._listen()
        self.refs = self.git("for-each-ref")
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
        self.git("config", "remote.origin.url", f"https://me:{SECRET}@example.invalid/x.git")
        self.git("config", "http.extraheader", f"Authorization: {SECRET}")
        files = {
            "code.py": "x = 1\n",
            "tests/test_a.py": "def test_a(): pass\n",
            "src/deep/tests/test_b.py": "def test_b(): pass\n",
            "pytest.ini": "[pytest]\n",
            "tdd.properties": "\n",
            "test-list.md": "- [ ] a\n",
            ".gitignore": ".venv\nnode_modules\n",
            ".venv/pyvenv.cfg": "home = /usr/bin\n",
            ".venv/lib/python3/site-packages/x.py": "x = 1\n",
            "node_modules/x/index.js": "1\n",
        }
        for name, text in files.items():
            (self.main / name).parent.mkdir(parents=True, exist_ok=True)
            (self.main / name).write_text(text)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "chore: start")
        self.git("branch", "other")
        self.git("notes", "--ref=tdd-handoffs", "add", "-m", "{}", "HEAD")

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
            ["git", *args], cwd=self.main, env=self.env, capture_output=True, text=True, check=True
        )
        return done.stdout

    def brief(self, phase: str) -> Brief:
        case = {"currentTest": {"description": "a", "testFile": "tests/test_a.py", "implFile": "code.py"}}
        role = Role(RoleName.TEST, "", "")
        return Brief(role, PhaseName(phase), 1, 1, "run", "", json.dumps(case))

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
        if self.git("for-each-ref") != self.refs:
            wrong.append("refs moved")
        names = ("pwned", ".bashrc", ".profile", ".config/autostart/x.desktop")
        wrong.extend(f"wrote ~/{name}" for name in names if (self.home / name).exists())
        config = (self.main / ".git/config").read_text()
        if "evil" in config or SECRET not in config:
            wrong.append("git's settings changed")
        hooks = self.main / ".git/hooks"
        if any(hook.suffix != ".sample" for hook in hooks.iterdir()):
            wrong.append("a hook was left")
        if (self.main / ".git/commondir").exists() or (self.main / ".git/config.worktree").exists():
            wrong.append("git was steered away")
        if self.git("fsck", "--connectivity-only", "--no-dangling").strip():
            wrong.append("objects are missing")
        if self.hits:
            wrong.append(f"reached {self.hits}")
            self.hits.clear()
        if Path("/etc/pwned").exists() or Path("/usr/pwned").exists():
            wrong.append("wrote to the system")
        return ", ".join(wrong)


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
        wanted = line.encode().replace(b" ", b"\0") + b"\0"
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
CALL = (
    'python3 -c "import ctypes; l = ctypes.CDLL(None, use_errno=True); print(l.{call}, ctypes.get_errno())"'
)

ATTACKS = (
    # --- honest work goes on
    Attack("works: files", "echo x > w && cat w && rm w && id -u && python3 -c 'print(1)' && git status --short", works),
    Attack("works: commit", "echo y > b && git add -A && git commit -qm 'test: x' && git log --oneline | grep -q 'test: x'", works),
    Attack("works: amend, branch, reset", "echo n > n && git add n && git commit -qm a && git commit -q --amend -m b && git branch tdd/side && git reset -q --soft HEAD~1", works, STRONG),
    Attack("works: stash", "echo z >> code.py && git stash -q && git stash pop -q && git checkout -q code.py", works, STRONG),
    Attack("works: notes can be read", "git notes --ref=tdd-handoffs show HEAD", works),
    Attack("works: loopback", "python3 -c \"import socket; s = socket.create_server(('127.0.0.1', 0)); socket.create_connection(s.getsockname()); print('OK')\"", says("OK")),
    Attack("works: shared memory and processes", 'python3 -c "import multiprocessing as m; p = m.Pool(2); print(p.map(abs, [-1])); l = m.Lock()"', works),
    Attack("works: terminals", "python3 -c 'import pty; print(pty.spawn([\"true\"]))' < /dev/null", works),
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
    Attack("daemon", "(setsid nohup sleep 471101 > /dev/null 2>&1 &); echo started", none_left("sleep 471101")),
    Attack("job that holds the pipe", "sleep 471102 & echo done", lambda lab, done: done.seconds < 20 and none_left("sleep 471102")(lab, done)),
    Attack("time is up", "(setsid sleep 471103 &); sleep 471103", lambda lab, done: done.timed_out and none_left("sleep 471103")(lab, done), timeout=1),
    Attack("deaf to signals", "trap '' TERM INT HUP; while :; do sleep 1; done", lambda lab, done: done.timed_out and done.seconds < 20, timeout=1),
    Attack("kill the orchestrator", "kill -9 {pid}; kill -TERM {pid}; kill -STOP {pid}", fails),
    Attack("kill the keeper", "kill -9 $PPID; kill -9 1; sleep 0.2; sleep 471104 & echo on", none_left("sleep 471104")),
    Attack("kill everybody", "kill -9 -1; true", lambda lab, done: True, STRONG),
    Attack("trace the orchestrator", CALL.format(call="ptrace(16, {pid}, 0, 0)"), says("-1")),
    Attack("see the orchestrator", "ls /proc/{pid}", fails, STRONG),
    # --- privileges
    Attack("mount", "mount -t tmpfs x /mnt || mount -o remount,rw /usr || umount /proc", fails),
    Attack("namespaces", "unshare -Urm true || unshare -n true || bwrap --ro-bind / / true", fails),
    Attack("namespaces by clone", CALL.format(call="syscall(56, 0x10000011, 0, 0, 0, 0)"), says("-1")),
    Attack("become root", "su -c id < /dev/null; mknod d c 1 3 || chroot / true", lambda lab, done: done.exit_code != 0 and (os.getuid() == 0 or b"uid=0" not in done.stdout)),
    Attack("set-uid programs", "cp /usr/bin/id ./id2 && chmod u+s ./id2 && ./id2 -u; rm -f id2", lambda lab, done: done.stdout.strip() in (b"", str(os.getuid()).encode())),
    Attack("capabilities", "grep CapEff /proc/self/status", lambda lab, done: int(done.stdout.split()[-1], 16) & ~0x4FB == 0),
    Attack("no new privileges", "grep -E 'NoNewPrivs|Seccomp:' /proc/self/status", lambda lab, done: done.stdout.split()[1::2] == [b"1", b"2"]),
    Attack("kernel settings", "cat /proc/sys/kernel/core_pattern > p; cat p > /proc/sys/kernel/core_pattern || cat /proc/sys/kernel/sysrq > /proc/sys/kernel/sysrq || cat /sys/kernel/mm/ksm/run > /sys/kernel/mm/ksm/run", fails),
    Attack("kernel calls", CALL.format(call="syscall(321, 0, 0, 0), l.syscall(298, 0, 0, 0, 0, 0), l.syscall(323, 0), l.syscall(425, 1, 0), l.syscall(250, 0, 0)"), lambda lab, done: done.stdout.startswith(b"-1 -1 -1 -1 -1 1")),
    Attack("open by handle", CALL.format(call="syscall(304, -100, 0, 0)"), says("-1 1")),
    Attack("type into the terminal", "python3 -c \"import fcntl; fcntl.ioctl(0, 0x5412, b'x'); print('TYPED')\"; echo hi > /dev/tty", lambda lab, done: b"TYPED" not in done.stdout and done.exit_code != 0),
    # --- git
    Attack("hooks", "echo evil > {main}/.git/hooks/pre-commit; echo evil > $(git rev-parse --git-path hooks)/pre-commit; echo evil > {git_dir}/hooks/post-commit; true", levels=STRONG),
    Attack("settings", "git config core.fsmonitor evil; git config --worktree core.hooksPath evil; echo '[core]fsmonitor=evil' >> {main}/.git/config; true", levels=STRONG),
    Attack("settings that include others", "git config include.path /tmp/evil; git config core.worktree /; git config filter.x.smudge 'touch {home}/pwned'; git config filter.x.clean 'touch {home}/pwned'; git config diff.x.textconv 'touch {home}/pwned'; printf '* filter=x diff=x\\n' > .gitattributes; git add -A; git commit -qm 'test: filters'; true", levels=STRONG),
    Attack("steer git away", "echo /tmp/evil > {git_dir}/commondir; echo evil > {git_dir}/config.worktree; mv .git .git2; rm -rf .git; echo 'gitdir: /tmp/evil' > .git; true", levels=STRONG),
    Attack("notes", "git notes --ref=tdd-handoffs add -f -m forged HEAD; git update-ref -d refs/notes/tdd-handoffs; true", levels=STRONG),
    Attack("other branches", "git update-ref refs/heads/other HEAD~0; git branch -f main HEAD; git branch -D other; git push . HEAD:main; git pack-refs --all; true", levels=STRONG),
    Attack("objects", "rm -rf {main}/.git/objects/*; rm -rf .git/shared-objects/*; rm -rf {git_dir}/shared-objects/*; git gc --prune=now; true", levels=STRONG),
    Attack("borrowed objects", "mv $(git rev-parse --git-dir)/objects o2; mkdir -p $(git rev-parse --git-dir)/objects/info; echo {home}/.ssh > $(git rev-parse --git-dir)/objects/info/alternates; ln -s {home}/.ssh $(git rev-parse --git-dir)/objects/ab; true", levels=STRONG),
    Attack("HEAD as a link", "cd $(git rev-parse --git-dir) && rm HEAD && ln -s {home}/.ssh/id HEAD && rm -rf refs && ln -s {home} refs; true", levels=STRONG),
    Attack("HEAD as a pipe", "cd $(git rev-parse --git-dir) && rm HEAD packed-refs && mkfifo HEAD packed-refs && mkfifo refs/heads/x; true", levels=STRONG),
    Attack("variables", "GIT_DIR={main}/.git GIT_WORK_TREE=/ git config core.fsmonitor evil; GIT_OBJECT_DIRECTORY={main}/.git/objects git hash-object -w code.py; GIT_INDEX_FILE={main}/.git/index git add code.py; true", levels=STRONG),
    Attack("forged trees", "b=$(echo evil | git hash-object -w --stdin); t=$(printf '100644 blob %s\\t.git\\n' $b | git mktree 2>/dev/null || true); c=$(git commit-tree ${{t:-HEAD^{{tree}}}} -p HEAD -m 'test: evil'); git update-ref HEAD $c; true", levels=STRONG),
    Attack("another worktree", "git worktree add -q {home}/pwned HEAD; true", levels=STRONG),
    # --- what judges
    Attack("the suites' folders", "mkdir -p {cache}/checkout/.git {compiled} && echo evil > {cache}/checkout/.git/config; echo evil > {compiled}/x; ls {cache} {compiled}; true", lambda lab, done: not (lab.repository.cache / "checkout").exists() and not (lab.workspace.compiled / "x").exists(), STRONG),
    Attack("the probes", ": >> {probes}/rgr_pytest_probe.py || : > {probes}/evil", fails),
    Attack("tests in GREEN", "echo > tests/test_a.py; rm -rf tests; mv tests t; echo > tests/new.py; echo > src/deep/tests/test_b.py", untouched("tests/test_a.py", "def test_a(): pass\n"), STRONG, phase="GREEN"),
    Attack("code in GREEN", "echo 'y = 2' >> code.py && git commit -qam 'feat: y'", works, phase="GREEN"),
    Attack("configuration", "echo > pytest.ini; rm pytest.ini; mv tdd.properties x; echo > test-list.md", untouched("pytest.ini", "[pytest]\n"), STRONG),
    Attack("dependencies", "echo evil > .venv/lib/python3/site-packages/x.py || echo evil > node_modules/x/index.js", fails, STRONG),
    Attack("dependencies by a link in the way", "mv src s2 && ln -s {home}/.ssh src; ls src; cat src/id", levels=STRONG, phase="GREEN"),
    # --- using too much
    Attack("giant output", "yes | head -c 200000000", lambda lab, done: len(done.stdout) < 5_000_000, keep=1_000_000),
    Attack("reads standard input", "cat; read x; echo $?", says("1")),
    Attack("invalid text", "printf '\\377\\376abc'", says("abc")),
    Attack("giant file", "head -c 300M /dev/zero > big; s=$(stat -c %s big); rm -f big; echo $s; [ $s -le 104857600 ]", works, limits=Limits(file_size=100 << 20)),
    Attack("home in memory", "head -c 200M /dev/zero > ~/big; [ $(stat -c %s ~/big) -lt 200000000 ]", works, STRONG, limits=Limits(home_size=64 << 20)),
    Attack("fork bomb", "python3 -c \"\nimport os, time\nfor n in range(400):\n    try:\n        os.fork() or time.sleep(9)\n    except OSError:\n        print('HELD'); break\n\"", lambda lab, done: b"HELD" in done.stdout or not lab.counts, limits=Limits(processes=150)),
    Attack("memory", "python3 -c 'x = bytearray(600 << 20); print(\"GOT\")'", lambda lab, done: b"GOT" not in done.stdout or lab.cages.means.group is None, limits=Limits(memory=300 << 20)),
)  # fmt: skip


def tried(lab: Lab, attack: Attack) -> str:
    """Return what is wrong after an attack; nothing if it was held."""
    base = lab.workspace.head()
    cage = lab.cage(attack.phase)
    if attack.limits:
        cage = replace(cage, policy=replace(cage.policy, limits=attack.limits))
    env = {name: value for name, value in lab.env.items() if name != "ANTHROPIC_API_KEY"}
    command = attack.command.format(**lab.facts())
    done = process.shell(
        command, cwd=lab.root, env=env, timeout=attack.timeout, grace=0.2, keep=attack.keep, cage=cage
    )
    wrong = [] if attack.held(lab, done) else [f"not held: {done}"[:800]]
    began = time.monotonic()
    lab.workspace.seal(base, PHASES[PhaseName(attack.phase)], attack.name, empty=False)
    lab.workspace.rewind(base)
    lab.workspace.end()
    subprocess.run(["git", "clean", "-ffdq"], cwd=lab.root, env=env, check=False)
    lab.git("update-ref", "-d", "refs/stash")
    for ref in lab.git("for-each-ref", "--format=%(refname)", "refs/tdd/kept").split():
        lab.git("update-ref", "-d", ref)
    if time.monotonic() - began > 30:
        wrong.append("sealing hung")
    left = lab.unharmed()
    return "; ".join([*wrong, *([left] if left else [])])


def main() -> None:
    level, folder = sys.argv[1], Path(sys.argv[2])
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    found: dict[str, str] = {}
    for linked in (False, True):
        lab = Lab(folder / ("linked" if linked else "ordinary"), level, linked=linked)
        for attack in ATTACKS:
            if level in attack.levels and (wrong := tried(lab, attack)):
                print(attack.name, wrong, file=sys.stderr)
                found[f"{attack.name} ({'linked' if linked else 'ordinary'})"] = wrong
        lab.repository.close()
        Path(lab.temporary_socket).unlink(missing_ok=True)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()

"""What held commands try, and how to tell that they did not get it. Also a script that tries all of it.

As a script: `attempts.py LEVEL FOLDER [NAME]` prints one JSON object: how many were tried in which checkout, and what
is wrong with those that got somewhere; `attempts.py --table` what each level holds, for the docs. The level `bare` is
Landlock where the kernel grants no namespaces, and what is promised even then. Each attack is harmless to the machine even
where it succeeds.
"""

import ctypes
import json
import os
import resource
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from laboratory import KINDS, SECRET, Lab

from redgreenrefactor.errors import RgrError
from redgreenrefactor.loop.workflows import TDD
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.sandbox import process
from redgreenrefactor.sandbox.cage import Cage
from redgreenrefactor.sandbox.policy import Limits
from redgreenrefactor.sandbox.process import Finished
from redgreenrefactor.sandbox.seccomp import filter_for

STRONG = ("bubblewrap",)
BOTH = ("bubblewrap", "landlock")
PHASES = {phase.name: phase for phase in TDD.phases}


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
    network: bool = False  # as a suite that turned out to need it has it
    then: str = ""  # a second command of the same session, after which it is looked


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


def changed(file: Path) -> bool:
    return file.exists() and "evil" in file.read_text()


def untouched(path: str, text: str) -> Held:
    return lambda lab, done: (lab.root / path).read_text() == text


CONNECT = "python3 -c \"import socket; s = socket.socket({family}); s.settimeout(3); s.connect({address}); print('REACHED')\""
# Python lines; every brace is doubled.
LINES = "python3 - <<'END'\n{}\nEND"
CALL = (
    'python3 -c "import ctypes; l = ctypes.CDLL(None, use_errno=True); print(l.{call}, ctypes.get_errno())"'
)

LEAVING = """import os, ctypes
l = ctypes.CDLL(None, use_errno=True)
os.umask(0)
mode = MODE
def new():
    os.close(os.open('s', os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o755))
ways = (lambda: (new(), os.chmod('s', mode)), lambda: (new(), os.fchmod(os.open('s', os.O_RDONLY), mode)), lambda: os.open('s', os.O_WRONLY | os.O_CREAT, mode), lambda: os.mknod('s', 0o100000 | mode), lambda: l.syscall(437, -100, b's', (ctypes.c_uint64 * 3)(0o101, mode, 0), 24), lambda: (new(), l.syscall(452, -100, b's', mode, 0)))
for way in ways:
    try:
        way()
    except OSError:
        pass
    if os.path.exists('s'):
        print('LEFT' if os.stat('s').st_mode & 0o6000 else 'plain')
        os.unlink('s')"""

NESTED = (
    "import os\nfor _ in range(1500):\n    os.mkdir('d' * 20)\n    os.chdir('d' * 20)\nopen('f', 'w').close()"
)

# A commit of a few trees that unfolds to 8^10 files, and one of a file that is nothing but a hole.
UNFOLDING = """oid=$(echo x | git hash-object -w --stdin); tree=$(printf '100644 blob %s\\tf\\n' $oid | git mktree)
for _ in 1 2 3 4 5 6 7 8 9 10; do tree=$(for n in 1 2 3 4 5 6 7 8; do printf '040000 tree %s\\td%s\\n' $tree $n; done | git mktree); done
git update-ref HEAD $(git commit-tree -p HEAD -m 'test: bomb' $tree); git tag bomb; true"""
HOLES = """python3 -c "
for number in range(40):
    with open(f'hole-{{number}}.py', 'wb') as file:
        file.truncate(30 << 30)
store = __import__('subprocess').check_output(['git', 'rev-parse', '--git-path', 'objects'], text=True).strip()
__import__('os').makedirs(f'{{store}}/ab', exist_ok=True)
for number in range(40):
    with open(f'{{store}}/ab/{{number:038x}}', 'wb') as file:
        file.truncate(30 << 30)
"; echo 'y = 2' >> code.py; git commit -qam 'test: y'; true"""

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
    Attack("works: code in GREEN", "echo 'y = 2' >> code.py && git commit -qam 'feat: y'", works, phase="GREEN"),
    Attack("works: terminals", "python3 -c 'import pty; print(pty.spawn([\"true\"]))' < /dev/null", works),
)  # fmt: skip

# --- what commands of sessions and suites try alike

WRITING = (
    Attack("write home", "echo pwn > {home}/pwned; echo pwn > ~/.bashrc; echo pwn > ~/.profile; mkdir -p ~/.config/autostart && echo x > ~/.config/autostart/x.desktop; true", works),
    Attack("write system", "echo pwn > /etc/pwned; echo pwn > /usr/pwned; echo pwn > /usr/bin/pwned", fails),
    Attack("write main checkout", "echo pwn > {main}/code.py; [ {main} != {root} ]", lambda lab, done: lab.main == lab.root or (lab.main / "code.py").read_text() == "x = 1\n"),
    Attack("fill the root in memory", "for d in / /dev /run /var /home; do head -c 1M /dev/zero > $d/big && echo WROTE $d; done; echo x > /dev/null && echo fine", lambda lab, done: b"WROTE" not in done.stdout and b"fine" in done.stdout),
    Attack("hard link out", "ln /etc/hostname hl || ln {home}/.netrc hl2", fails),
    Attack("symbolic link out", "ln -s {home}/.netrc link; cat link; echo x > link; rm link"),
    Attack("modes and times elsewhere", "chmod 777 {home}/.ssh {home}/.netrc; touch -d 2001-01-01 {home}/.netrc; true", lambda lab, done: (lab.home / ".netrc").stat().st_mode & 0o777 != 0o777 and (lab.home / ".netrc").stat().st_mtime > 1e9, STRONG),
)  # fmt: skip

READING = (
    Attack("read keys", "cat {home}/.ssh/id {home}/.aws/credentials {home}/.config/gh/hosts.yml {home}/.netrc {home}/.gnupg/key {home}/.npmrc {home}/.pypirc ~/.ssh/* ~/.m2/settings.xml"),
    Attack("read what else is the user's", "cat {home}/.pgpass {home}/.claude/.credentials.json {home}/Documents/diary ~/.pgpass ~/Documents/*; ls {home}/Documents && echo S3CRET''KEY"),
    Attack("read shadow", "cat /etc/shadow /etc/gshadow /etc/sudoers", silent("root")),
    Attack("read git's credentials", "cat {main}/.git/config {git_dir}/config .git/config; git config --list; git remote -v"),
    Attack("environment", "env; cat /proc/*/environ /proc/self/task/*/environ 2>/dev/null | tr '\\0' '\\n'; true"),
    Attack("temporary files of others", "ls -A /tmp", lambda lab, done: b".sock" not in done.stdout, STRONG),
    Attack("roots of other processes", "cat /proc/[0-9]*/root{home}/.netrc /proc/[0-9]*/cwd/../../.netrc 2>/dev/null; ls /proc/1/root{home}/.ssh; true"),
    Attack("descriptors of other processes", "for f in /proc/[0-9]*/fd/*; do readlink $f; done 2>/dev/null | grep -v -E 'pipe:|/dev/null|/proc|socket:|anon_inode|/dev/pts|memfd' | sort -u", lambda lab, done: str(lab.home).encode() not in done.stdout),
    Attack("memory of other processes", "cat /proc/{pid}/mem /proc/{pid}/maps /proc/{pid}/environ | head -c 100", silent("home")),
)  # fmt: skip

NETWORK = (
    Attack("connect outside", CONNECT.format(family="", address="('127.0.0.1', {port})"), silent("REACHED")),
    Attack("connect a socket in the home folder", CONNECT.format(family="socket.AF_UNIX", address="'{socket}'"), silent("REACHED"), STRONG),
    Attack("connect a socket in /tmp", CONNECT.format(family="socket.AF_UNIX", address="'{tmp_socket}'"), silent("REACHED"), STRONG),
    Attack("connect an abstract socket", CONNECT.format(family="socket.AF_UNIX", address="chr(0) + '{abstract}'"), silent("REACHED")),
    Attack("connect an abstract socket, with the network", CONNECT.format(family="socket.AF_UNIX", address="chr(0) + '{abstract}'"), silent("REACHED"), network=True),
    Attack("well-known sockets", "ls /run/docker.sock /var/run/docker.sock /run/dbus /run/user /tmp/.X11-unix /run/systemd 2>/dev/null; env | grep -E 'DISPLAY|DBUS|SSH_AUTH|XDG_RUNTIME'", lambda lab, done: done.stdout == b"", STRONG),
    Attack("send a datagram", "python3 -c \"import socket; s = socket.socket(type=socket.SOCK_DGRAM); s.sendto(b'x', ('192.0.2.1', 53)); print('SENT')\"", silent("SENT")),
    Attack("raw sockets", "python3 -c \"import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1); print('RAW')\"; python3 -c \"import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW); print('RAW')\"", silent("RAW")),
)  # fmt: skip

PROCESSES = (
    Attack("daemon", "(setsid nohup sleep 471101.{pid} > /dev/null 2>&1 &); echo started", none_left("sleep 471101.{pid}")),
    Attack("job that holds the pipe", "sleep 471102.{pid} & echo done", lambda lab, done: done.seconds < 20 and none_left("sleep 471102.{pid}")(lab, done)),
    Attack("time is up", "(setsid sleep 471103.{pid} &); sleep 471103.{pid}", lambda lab, done: done.timed_out and none_left("sleep 471103.{pid}")(lab, done), timeout=1),
    Attack("deaf to signals", "trap '' TERM INT HUP; while :; do sleep 1; done", lambda lab, done: done.timed_out and done.seconds < 20, timeout=1),
    Attack("kill the orchestrator", "kill -9 {pid}; kill -TERM {pid}; kill -STOP {pid}", fails),
    Attack("kill the keeper", "kill -9 $PPID; kill -9 1; sleep 0.2; sleep 471104.{pid} & echo on", none_left("sleep 471104.{pid}")),
    Attack("kill everybody", "kill -9 -1; true", lambda lab, done: True, STRONG),
    Attack("trace the orchestrator", CALL.format(call="ptrace(16, {pid}, 0, 0)"), says("-1")),
    Attack("see the orchestrator", "ls /proc/{pid}", fails, STRONG),
)  # fmt: skip

PRIVILEGES = (
    Attack("mount", "mount -t tmpfs x /mnt || mount -o remount,rw /usr || umount /proc", fails),
    Attack("namespaces", "unshare -Urm true || unshare -n true || bwrap --ro-bind / / true", fails),
    Attack("namespaces by clone", CALL.format(call="syscall(56, 0x10000011, 0, 0, 0, 0)"), says("-1")),
    Attack("become root", "su -c id < /dev/null; mknod d c 1 3 || chroot / true", lambda lab, done: done.exit_code != 0 and (os.getuid() == 0 or b"uid=0" not in done.stdout)),
    Attack("leaving a set-uid program", LINES.format(LEAVING.replace("MODE", "0o4755")), silent("LEFT")),
    Attack("set-uid programs", "cp /usr/bin/id ./id2 && chmod u+s ./id2 && ./id2 -u; rm -f id2", lambda lab, done: done.stdout.strip() in (b"", str(os.getuid()).encode())),
    Attack("capabilities", "grep CapEff /proc/self/status", lambda lab, done: int(done.stdout.split()[-1], 16) & ~0x4FB == 0),
    Attack("no new privileges", "grep -E 'NoNewPrivs|Seccomp:' /proc/self/status", lambda lab, done: done.stdout.split()[1::2] == [b"1", b"2"]),
    Attack("kernel settings", "cat /proc/sys/kernel/core_pattern > p; cat p > /proc/sys/kernel/core_pattern || cat /proc/sys/kernel/sysrq > /proc/sys/kernel/sysrq || cat /sys/kernel/mm/ksm/run > /sys/kernel/mm/ksm/run", fails),
    Attack("kernel calls", CALL.format(call="syscall(321, 0, 0, 0), l.syscall(298, 0, 0, 0, 0, 0), l.syscall(323, 0), l.syscall(425, 1, 0), l.syscall(250, 0, 0)"), lambda lab, done: done.stdout.startswith(b"-1 -1 -1 -1 -1 1")),
    Attack("open by handle", CALL.format(call="syscall(304, -100, 0, 0)"), says("-1 1")),
    Attack("type into the terminal", "python3 -c \"import fcntl; fcntl.ioctl(0, 0x5412, b'x'); print('TYPED')\"; echo hi > /dev/tty", lambda lab, done: b"TYPED" not in done.stdout and done.exit_code != 0),
)  # fmt: skip

DOORS = (
    Attack("a program in memory", LINES.format("import os\nfile = os.memfd_create('x', 0)\nos.write(file, b'#!/bin/sh\\ncat {home}/.netrc; echo x > {home}/pwned\\n')\nos.execv(f'/proc/self/fd/{{file}}', ['x'])")),
    Attack("descriptors that were left open", LINES.format("import os\nprint(sorted(map(int, os.listdir('/proc/self/fd'))))"), says("[0, 1, 2, 3]")),
    Attack("shared memory of others", "cat /dev/shm/rgr-attack*; ls /dev/mqueue; ipcs -m", levels=STRONG),
    Attack("the orchestrator's memory by calls", LINES.format("import ctypes\nl = ctypes.CDLL(None, use_errno=True)\nhere = ctypes.create_string_buffer(8)\nvector = (ctypes.c_uint64 * 2)(ctypes.addressof(here), 8)\nfor call in (310, 311):\n    print(l.syscall(call, {pid}, vector, 1, vector, 1, 0), ctypes.get_errno() in (1, 3))\nprint(l.syscall(312, 1, {pid}, 0, 0, 0), True)"), lambda lab, done: done.stdout == b"-1 True\n" * 3),
    Attack("the orchestrator's descriptors", LINES.format("import ctypes, os\nl = ctypes.CDLL(None)\nfile = l.syscall(434, {pid}, 0)\nfound = [l.syscall(438, file, number, 0) for number in range(40)]\nprint('STOLEN' if max(found) >= 0 else 'nothing')\nfor number in range(40):\n    try:\n        print('STOLEN', os.readlink(f'/proc/{pid}/fd/{{number}}'))\n    except OSError:\n        pass"), silent("STOLEN")),
    Attack("the keeper", LINES.format("import os\nkeeper = os.getppid()\nwith open(f'/proc/{{keeper}}/status') as lines:\n    keeper = int(next(line for line in lines if line.startswith('PPid')).split()[1])\nif not keeper:\n    raise SystemExit\nfor name in ('mem', 'environ', 'cwd', 'root', 'ns/net', *(f'fd/{{number}}' for number in range(20))):\n    for reach in (os.readlink, lambda path: open(path, 'rb', buffering=0).read(1), lambda path: os.close(os.open(path, os.O_WRONLY))):\n        try:\n            reach(f'/proc/{{keeper}}/{{name}}')\n            print('REACHED', name)\n        except OSError:\n            pass\ntry:\n    os.kill(keeper, 0)\n    print('REACHED')\nexcept OSError:\n    pass"), silent("REACHED")),
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
)  # fmt: skip

USING = (
    Attack("giant output", "yes | head -c 200000000", lambda lab, done: len(done.stdout) < 5_000_000, keep=1_000_000),
    Attack("reads standard input", "cat; read x; echo $?", says("1")),
    Attack("invalid text", "printf '\\377\\376abc'", says("abc")),
    Attack("giant file", "head -c 300M /dev/zero > big; s=$(stat -c %s big); rm -f big; echo $s; [ $s -le 104857600 ]", works, limits=Limits(file_size=100 << 20)),
    Attack("many files", "for n in 1 2 3 4 5; do head -c 60M /dev/zero > big$n; done; sleep 25", lambda lab, done: b"ended by the sandbox: it has written more than" in done.stderr and not done.timed_out, limits=Limits(disk=100 << 20, free=0)),
    Attack("files that nobody finds any more", LINES.format("import os, time\nfile = open('gone', 'wb')\nos.unlink('gone')\nfor _ in range(300):\n    file.write(bytes(1 << 20))\nfile.flush()\ntime.sleep(25)"), lambda lab, done: b"ended by the sandbox: it has written more than" in done.stderr and not done.timed_out, limits=Limits(disk=100 << 20, free=0)),
    Attack("shared memory", "head -c 300M /dev/zero > $(mktemp /dev/shm/rgr-attack-{pid}-XXXXXX) && {{ sleep 25; echo KEPT; }}; true", silent("KEPT"), limits=Limits(disk=100 << 20, free=0, shared_memory=64 << 20)),
    Attack("a home full of data", "head -c 200M /dev/zero > ~/big; [ ! -e ~/big ] || [ $(stat -c %s ~/big) -lt 200000000 ]", works, limits=Limits(home_size=64 << 20)),
    Attack("fork bomb", "python3 -c \"\nimport os, time\nfor n in range(400):\n    try:\n        os.fork() or time.sleep(9)\n    except OSError:\n        print('HELD'); break\n\"", lambda lab, done: b"HELD" in done.stdout or not lab.counts, limits=Limits(processes=150)),
    Attack("memory", "python3 -c 'x = bytearray(600 << 20); print(\"GOT\")'", lambda lab, done: b"GOT" not in done.stdout or not lab.cages.means.group, limits=Limits(memory=300 << 20)),
)  # fmt: skip

GIT = (
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
    Attack("folders nested beyond reason", LINES.format(NESTED)),
    Attack("a commit that unfolds beyond reason", UNFOLDING),
    Attack("files that are nothing but holes", HOLES),
    Attack("a pipe in place of the folders for tools", "mv {cache}/tools-session/cache {cache}/tools-session/aside; mkfifo {cache}/tools-session/cache {cache}/tools-session/gradle; true"),
    Attack("a pipe in place of the folders for tools, found by the next session", "true", works),
    Attack("leaving a set-gid program of root's", "for place in . node_modules lib; do cp /usr/bin/id $place/lent && chmod 2755 $place/lent; done; true"),
    Attack("files and folders without rights", "mkdir -p locked/in new fixed; echo x > locked/in/x; echo x > new/x; echo x > fixed/x; chmod 0 new/x code.py locked/in locked; chmod 500 fixed; echo 'y = 3' > src/more.py; mkfifo src/deep/.gitignore; chmod 500 src/deep/tests src; chmod 0 src/deep; true"),
    Attack("a pipe in place of a folder", "rm -rf tests src; mkfifo tests src; echo 'y = 3' > more.py; true"),
    Attack("pipes and devices in place of files", "rm code.py .gitignore; mkdir more; mkfifo code.py new tests/test_new.py .gitignore .gitattributes more/.gitignore; ln -s /dev/zero zero.py; ln -s /dev/random tests/test_random.py; ln -s . round; true"),
)  # fmt: skip

JUDGES = (
    Attack("the suites' folders", "mkdir -p {cache}/checkout/.git {compiled} && echo evil > {cache}/checkout/.git/config; echo evil > {compiled}/x; ls {cache} {compiled}; true", lambda lab, done: not (lab.workspace.compiled / "x").exists() and not changed(lab.repository.cache / "checkout/.git/config")),
    Attack("the probes", ": >> {probes}/rgr_pytest_probe.py || : > {probes}/evil", fails),
    Attack("tests in GREEN", "echo > tests/test_a.py; rm -rf tests; mv tests t; echo > tests/new.py; echo > src/deep/tests/test_b.py", untouched("tests/test_a.py", "def test_a(): pass\n"), phase="GREEN"),
    Attack("configuration", "echo > pytest.ini; rm pytest.ini; mv tdd.properties x; echo > test-list.md", untouched("pytest.ini", "[pytest]\n")),
    Attack("dependencies", "echo evil > .venv/lib/python3/site-packages/x.py || echo evil > node_modules/x/index.js", fails),
    Attack("dependencies by a link in the way", "mv src s2 && ln -s {home}/.ssh src; ls src; cat src/id", phase="GREEN"),
)  # fmt: skip

HONEST_SUITE = (
    Attack("works: a suite", "echo x > made && python3 -c 'import code' && ls tests && git log -1 > /dev/null && rm made", works),
)  # fmt: skip

BY_SUITES = (
    Attack("byte code of other runs", "mkdir -p {compiled}/bytecode; echo evil > {compiled}/bytecode/x", lambda lab, done: not (lab.workspace.compiled / "bytecode/x").exists()),
    Attack("the project", "echo pwn > {root}/code.py; rm -rf {root}/tests {root}/node_modules; echo x > {root}/pwned; echo x > {root}/.venv/pwned", lambda lab, done: fails(lab, done) and (lab.root / "code.py").read_text() == "x = 1\n" and (lab.root / "tests/test_a.py").exists() and (lab.root / "node_modules/x").exists()),
    Attack("the project's git folder", "cat {main}/.git/config {git_dir}/config; echo evil > {main}/.git/hooks/pre-commit; echo x > {git_dir}/pwned; rm -rf {main}/.git/refs {main}/.git/objects {git_dir}/HEAD"),
    Attack("the checkout's git folder", "git config core.fsmonitor evil; echo evil > .git; echo evil > .git/config; mv .git g; rm -rf .git", lambda lab, done: fails(lab, done) and "evil" not in (lab.checkout / ".git" / "config").read_text() if (lab.checkout / ".git").is_dir() else True),
    Attack("links in the way of what is laid out", "rm -rf tests src code.py pwned node_modules; ln -s {home} tests; ln -s {home}/.netrc code.py; ln -s {home}/pwned pwned; ln -s {home} src; ln -s {home} {compiled}/runs/x; ln -s {home} made; true"),
    Attack("settings of the clean checkout", "for f in config config.worktree commondir info/attributes; do ln -sf {home}/pwned .git/$f; rm -rf .git/$f; ln -s {home}/pwned .git/$f; done; mv .git g2; ln -s {home} .git; rm -rf code.py; true"),
    Attack("the session's folders", "ls {cache}/stand-in {cache}/tools-session && echo SEEN; echo x > {cache}/pwned", lambda lab, done: b"SEEN" not in done.stdout and not (lab.repository.cache / "pwned").exists()),
    Attack("folders nested beyond reason, in the clean checkout", LINES.format(NESTED)),
    Attack("files and folders without rights, in the clean checkout", "mkdir -p locked/in && chmod 0 locked/in locked code.py tests/test_a.py; chmod 500 tests .; true"),
    Attack("pipes in the clean checkout", "rm -f code.py tests/test_a.py; mkfifo code.py tests/test_a.py new .gitattributes tests/.gitignore; rm .gitignore; mkfifo .gitignore; ln -s /dev/zero zero; true"),
)  # fmt: skip

COMMON = (*WRITING, *READING, *NETWORK, *PROCESSES, *PRIVILEGES, *DOORS, *USING)
OF_SESSIONS = (*HONEST, *COMMON, *GIT, *JUDGES)
OF_SUITES = (*HONEST_SUITE, *COMMON, *BY_SUITES)
OF_BARE = (*WRITING, *READING, *NETWORK, *PROCESSES, *PRIVILEGES, *DOORS)
OF_STAND_INS = "read git's credentials"  # what only a stand-in of the git folder holds


GROUPS = (
    ("writing elsewhere", WRITING),
    ("reading what is secret", READING),
    ("the network and sockets", NETWORK),
    ("processes of others, outliving the command", PROCESSES),
    ("privileges", PRIVILEGES),
    ("other doors of the kernel", DOORS),
    ("using too much", USING),
    ("git, by a session", GIT),
    ("what judges, by a session", JUDGES),
    ("the project and other runs, by a suite", BY_SUITES),
)


def table() -> str:
    """Return what each level holds, as a table for the docs."""
    rows = [
        "| what is tried | attacks | held by bubblewrap | held by Landlock | what Landlock does not hold |",
        "|---|---|---|---|---|",
    ]
    for title, attacks in GROUPS:
        counts = [sum(level in each.levels for each in attacks) for level in BOTH]
        free = "; ".join(each.name for each in attacks if "landlock" not in each.levels)
        rows.append(f"| {title} | {len(attacks)} | {counts[0]} | {counts[1]} | {free} |")
    return "\n".join(rows) + "\n"


def tried(lab: Lab, attack: Attack) -> str:
    """Return what is wrong after a session has attacked; nothing if it was held."""
    base = lab.workspace.head()
    done = run(lab, attack, lab.cage(attack.phase), lab.root)
    wrong = [] if attack.held(lab, done) else [f"not held: {done}"[:800]]
    began = time.monotonic()
    lab.workspace.seal(base, PHASES[PhaseName(attack.phase)], attack.name, empty=False)
    wrong += [f"{path} runs as root's group" for path in lab.lent()]
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
    if not (lab.root / "code.py").is_file() or (lab.root / "code.py").read_text() != "x = 1\n":
        wrong.append("the files are not as before")
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
    network = cage.policy.network or attack.network
    cage = replace(
        cage, policy=replace(cage.policy, limits=attack.limits or cage.policy.limits, network=network)
    )
    env = {name: value for name, value in lab.env.items() if name != "ANTHROPIC_API_KEY"}
    printed = b""
    for command in filter(None, (attack.command, attack.then)):
        done = process.run(
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


def without_namespaces() -> None:
    """Have the kernel refuse this process and all it starts new namespaces, as containers do."""
    program = filter_for(os.uname().machine)
    assert program is not None
    library, content = ctypes.CDLL(None, use_errno=True), ctypes.create_string_buffer(program, len(program))
    order = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(content))
    assert library.prctl(38, 1, 0, 0, 0) == 0  # no new privileges
    assert library.prctl(22, 2, order, 0, 0) == 0  # seccomp
    assert library.unshare(0x50000000) == -1


def main() -> None:
    if sys.argv[1:] == ["--table"]:
        print(table(), end="")
        return
    level, folder = sys.argv[1], Path(sys.argv[2])
    sessions, suites = OF_SESSIONS, OF_SUITES
    if level == "bare":
        level, suites = "landlock", OF_BARE
        bombs = (attack for attack in GIT if attack.command == UNFOLDING)
        sessions = (*(attack for attack in OF_BARE if attack.name != OF_STAND_INS), *bombs)
        without_namespaces()
    wanted = sys.argv[3] if len(sys.argv) > 3 else ""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    found: dict[str, str] = {}
    counts: dict[str, int] = {}
    for kind in KINDS:
        lab = Lab(folder / kind, level, kind)
        for who, attacks, attempt in (
            ("session", sessions, tried),
            ("suite", suites, tried_by_suite),
        ):
            fit = [attack for attack in attacks if level in attack.levels and wanted in attack.name]
            counts[f"{kind} {who}"] = len(fit)
            for attack in fit:
                try:
                    wrong = attempt(lab, attack)
                except (RgrError, OSError, RecursionError) as error:
                    wrong = f"{type(error).__name__}: {error}"[:800]
                if wrong:
                    print(f"{attack.name} ({kind} {who})", wrong, file=sys.stderr)
                    found[f"{attack.name} ({kind} {who})"] = wrong
        lab.close()
    print(json.dumps({"tried": counts, "wrong": found}, indent=1))


if __name__ == "__main__":
    main()

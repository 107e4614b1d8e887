"""Honest suites of real projects do inside what they do outside."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from stage import BIN

from cages import LEVELS, means
from redgreenrefactor.config import Flags, load
from redgreenrefactor.confinement import confinement_of
from redgreenrefactor.git.repository import open_repository
from redgreenrefactor.git.workspace import GitWorkspace
from redgreenrefactor.sandbox import process
from redgreenrefactor.sandbox.process import Finished
from repos import MakeRepo

both = pytest.mark.parametrize("level", LEVELS)

PYTHON = {
    "pyproject.toml": '[tool.pytest.ini_options]\npythonpath = ["."]\n',
    "tests/test_all.py": """
import multiprocessing, os, pty, socket, subprocess, sys, tempfile, threading, pathlib
from multiprocessing import shared_memory

def square(n): return n * n

def test_temporary_files(tmp_path):
    (tmp_path / "x").write_text("x" * 1_000_000)
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"x")
    pathlib.Path(tempfile.gettempdir(), "own").write_text("x")

def test_processes():
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.map(square, [2, 3]) == [4, 9]
    with multiprocessing.Manager() as manager:
        assert manager.list([1])[0] == 1

def test_shared_memory():
    memory = shared_memory.SharedMemory(create=True, size=1_000_000)
    memory.close(); memory.unlink()

def test_servers():
    for family, address in ((socket.AF_INET, ("127.0.0.1", 0)), (socket.AF_INET6, ("::1", 0))):
        if family == socket.AF_INET6 and not os.path.exists("/proc/net/if_inet6"):
            continue
        server = socket.create_server(address, family=family)
        threading.Thread(target=lambda: server.accept()[0].sendall(b"hi"), daemon=True).start()
        assert socket.create_connection(server.getsockname()[:2]).recv(2) == b"hi"

def test_datagrams_and_unix_sockets(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    one, two = (socket.socket(type=socket.SOCK_DGRAM) for _ in "ab")
    one.bind(("127.0.0.1", 0)); two.sendto(b"x", one.getsockname())
    assert one.recv(1) == b"x"
    server = socket.socket(socket.AF_UNIX); server.bind("s"); server.listen()
    socket.socket(socket.AF_UNIX).connect("s")

def test_names():
    assert socket.getaddrinfo("localhost", 80)

def test_programs(tmp_path):
    done = subprocess.run([sys.executable, "-c", "print(1)"], capture_output=True, text=True, check=True)
    assert done.stdout == "1\\n"
    subprocess.run(["git", "init", "-q", "."], cwd=tmp_path, check=True)
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=b", "commit", "-q", "--allow-empty", "-m", "x"], cwd=tmp_path, check=True)

def test_terminals():
    master, slave = pty.openpty()
    os.write(slave, b"x\\n")
    assert os.read(master, 1) == b"x"

def test_beside_the_code():
    pathlib.Path("made").write_text("x")
    assert (pathlib.Path(__file__).parent / "../made").exists()
    assert os.cpu_count() and os.sysconf("SC_PHYS_PAGES")
""",
}

NODE = {
    "package.json": '{"name": "x", "version": "1.0.0", "scripts": {"test": "node --test"}}\n',
    "x.test.js": """
const test = require("node:test"), assert = require("node:assert"), http = require("node:http"), os = require("node:os"), fs = require("node:fs");
const { execFileSync } = require("node:child_process"), { Worker } = require("node:worker_threads");
test("server", async () => {
  const server = http.createServer((_, out) => out.end("hi")).listen(0, "127.0.0.1");
  await new Promise((then) => server.once("listening", then));
  assert.equal(await (await fetch(`http://127.0.0.1:${server.address().port}/`)).text(), "hi");
  server.close(); server.closeAllConnections();
});
test("programs", () => assert.equal(execFileSync(process.execPath, ["-p", "1+1"]).toString(), "2\\n"));
test("files", () => fs.rmSync(fs.mkdtempSync(os.tmpdir() + "/x-"), { recursive: true }));
test("threads", async () => { const w = new Worker("0", { eval: true }); await new Promise((then) => w.on("exit", then)); });
""",
}

GO = {
    "go.mod": "module example.invalid/x\n\ngo 1.20\n",
    "x_test.go": """
package x
import ("net"; "os"; "os/exec"; "path/filepath"; "testing")
func TestServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0"); if err != nil { t.Fatal(err) }
	go func() { c, _ := l.Accept(); c.Close() }()
	c, err := net.Dial("tcp", l.Addr().String()); if err != nil { t.Fatal(err) }
	c.Close()
}
func TestFiles(t *testing.T) { if err := os.WriteFile(filepath.Join(t.TempDir(), "x"), nil, 0o600); err != nil { t.Fatal(err) } }
func TestPrograms(t *testing.T) { if err := exec.Command("true").Run(); err != nil { t.Fatal(err) } }
""",
}

RUST = {
    "Cargo.toml": '[package]\nname = "x"\nversion = "0.1.0"\nedition = "2021"\n',
    "src/lib.rs": """
#[cfg(test)]
mod tests {
    use std::{fs, net, process, thread};
    #[test]
    fn server() {
        let l = net::TcpListener::bind("127.0.0.1:0").unwrap();
        let a = l.local_addr().unwrap();
        let t = thread::spawn(move || { l.accept().unwrap(); });
        net::TcpStream::connect(a).unwrap();
        t.join().unwrap();
    }
    #[test]
    fn files() { let p = std::env::temp_dir().join("x"); fs::write(&p, "x").unwrap(); fs::remove_file(p).unwrap(); }
    #[test]
    fn programs() { assert!(process::Command::new("true").status().unwrap().success()); }
}
""",
}

JAVA = {
    "X.java": """
import java.io.*; import java.net.*; import java.nio.file.*;
public class X {
    public static void main(String[] a) throws Exception {
        Files.delete(Files.createTempFile("x", "y"));
        ServerSocket s = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        new Socket(s.getInetAddress(), s.getLocalPort()).close();
        if (new ProcessBuilder("true").start().waitFor() != 0) throw new Error();
        System.out.println("fine " + Runtime.getRuntime().maxMemory());
    }
}
"""
}


def run(
    make_repo: MakeRepo, files: Mapping[str, str], command: str, level: str, env: dict[str, str]
) -> Finished:
    """Run a command in a clean checkout of a project with these files, held as suites are."""
    if level != "off":
        means(level)
    repo = make_repo(files=files)
    env = {**env, "XDG_CACHE_HOME": repo.env["XDG_CACHE_HOME"], "TDD_SANDBOX": level, "TDD_TRUST": "1"}
    repository = open_repository(repo.path, env)
    try:
        workspace = GitWorkspace(repository)
        cages = confinement_of(repository, load(None, env, Flags()), lambda _: None, workspace.compiled)
        folder = workspace.checkout(workspace.head(), {})
        workspace.compiled.mkdir(parents=True, exist_ok=True)
        return process.run(command, cwd=folder, env=env, cage=cages.suite(folder), timeout=900)
    finally:
        repository.close()


def users() -> dict[str, str]:
    """Return the environment of whoever runs the tests: where the tools are."""
    names = ("PATH", "HOME", "LANG", "JAVA_HOME", "GOROOT", "GOPATH", "CARGO_HOME", "RUSTUP_HOME")
    return {name: os.environ[name] for name in names if name in os.environ}


def needs(*programs: str) -> None:
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")


@both
@pytest.mark.long
def test_pytest_with_everything_a_suite_may_do(level: str, make_repo: MakeRepo) -> None:
    env = users()
    env["PATH"] = f"{BIN}{os.pathsep}{env['PATH']}"
    done = run(make_repo, PYTHON, "python -m pytest -q -p no:cacheprovider", level, env)
    assert done.exit_code == 0, done.stdout.decode()


@pytest.mark.slow
@both
def test_npm(level: str, make_repo: MakeRepo) -> None:
    needs("npm")
    done = run(make_repo, NODE, "npm test", level, users())
    assert done.exit_code == 0, done
    assert b"# pass 4" in done.stdout


@pytest.mark.slow
@both
def test_go(level: str, make_repo: MakeRepo) -> None:
    needs("go")
    done = run(make_repo, GO, "go test ./...", level, users())
    assert done.exit_code == 0, done


@pytest.mark.slow
@both
def test_cargo(level: str, make_repo: MakeRepo) -> None:
    needs("cargo")
    done = run(make_repo, RUST, "cargo test --offline", level, users())
    assert done.exit_code == 0, done


@pytest.mark.slow
@both
def test_java_and_its_compiler(level: str, make_repo: MakeRepo) -> None:
    needs("java", "javac")
    done = run(make_repo, JAVA, "javac X.java && java X", level, users())
    assert done.exit_code == 0, done
    assert b"fine" in done.stdout


@pytest.mark.slow
@both
def test_maven_starts_with_the_users_repository_in_reach(level: str, make_repo: MakeRepo) -> None:
    needs("mvn")
    pom = "<project><modelVersion>4.0.0</modelVersion><groupId>x</groupId><artifactId>x</artifactId><version>1</version></project>"
    done = run(make_repo, {"pom.xml": pom}, "mvn -o -q validate", level, users())
    assert done.exit_code == 0, done


@pytest.mark.slow
@both
def test_a_virtual_environment_with_a_package_that_is_installed_in_place(
    level: str, make_repo: MakeRepo, tmp_path: Path
) -> None:
    library = tmp_path / "elsewhere" / "library"
    library.mkdir(parents=True)
    (library / "beside.py").write_text("X = 1\n")
    repo = make_repo(
        files={
            "test_x.py": "import beside\n\n\ndef test_x() -> None:\n    assert beside.X\n",
            ".gitignore": ".venv\n",
        }
    )
    process.call(["python3", "-m", "venv", "--without-pip", ".venv"], cwd=repo.path, env=users())
    packages = next((repo.path / ".venv/lib").glob("python*/site-packages"))
    (packages / "beside.pth").write_text(f"{library}\n")
    means(level)
    env = {**users(), "XDG_CACHE_HOME": repo.env["XDG_CACHE_HOME"], "TDD_SANDBOX": level, "TDD_TRUST": "1"}
    repository = open_repository(repo.path, env)
    try:
        workspace = GitWorkspace(repository)
        cages = confinement_of(repository, load(None, env, Flags()), lambda _: None, workspace.compiled)
        folder = workspace.checkout(workspace.head(), {})
        workspace.compiled.mkdir(parents=True, exist_ok=True)
        line = f"{repo.path}/.venv/bin/python -c 'import beside; print(beside.X)'"
        done = process.run(line, cwd=folder, env=env, cage=cages.suite(folder), timeout=100)
    finally:
        repository.close()
    assert done.stdout == b"1\n", done

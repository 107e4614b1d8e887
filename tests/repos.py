"""Real repositories to play in."""

import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Repo:
    """A real repository to play in."""

    path: Path
    env: Mapping[str, str]

    def git(self, *args: str, stdin: str | None = None) -> str:
        done = subprocess.run(
            ["git", *args],
            cwd=self.path,
            env=dict(self.env),
            capture_output=True,
            text=True,
            check=False,
            input=stdin,
        )
        assert done.returncode == 0, f"git {args}: {done.stderr}"
        return done.stdout.strip()

    def write(self, name: str, text: str) -> Path:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def commit(self, message: str, files: Mapping[str, str] | None = None) -> str:
        for name, text in (files or {}).items():
            self.write(name, text)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.head()

    def head(self) -> str:
        """Return the commit that is checked out: read where a commit has just written it, which takes no process."""
        folder = Path(self.env.get("GIT_DIR", self.path / ".git"))
        try:
            text = (folder / "HEAD").read_text().strip()
            return (folder / text.removeprefix("ref: ")).read_text().strip()
        except OSError:
            return self.git("rev-parse", "HEAD")

    def subjects(self) -> list[str]:
        return self.git("log", "--format=%s", "--reverse").splitlines()

    def refs(self) -> dict[str, str]:
        rows = self.git("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        return dict(row.split(" ") for row in rows)  # pyright: ignore[reportReturnType, reportArgumentType]


MakeRepo = Callable[..., Repo]

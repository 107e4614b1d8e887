"""A complete workflow on a bundled kata: everything is real but the model."""

import shlex
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from redgreenrefactor.agents.replay import load_script
from redgreenrefactor.git.executable import Git, scrubbed
from redgreenrefactor.lifecycle.feature import RunOptions, start
from redgreenrefactor.model.result import WorkflowResult
from redgreenrefactor.surroundings import Surroundings
from redgreenrefactor.views.lines import Ink
from redgreenrefactor.views.text_page import TextPage

KATA = "roman"


def play(around: Surroundings) -> tuple[Path, WorkflowResult]:
    """Run the kata in a new temporary repository; return its folder and what came of it."""
    script = load_script(KATA)
    folder = Path(tempfile.mkdtemp(prefix="rgr-demo-"))
    git = Git(folder, scrubbed(around.environ, folder))
    git.raw("init", "--quiet", "--initial-branch=main")
    for path, content in script.files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content)
    git.raw("add", "--all")
    author = ("-c", "user.name=Demo", "-c", "user.email=demo@localhost", "-c", "commit.gpgsign=false")
    git.raw(*author, "commit", "--quiet", "-m", "chore: an empty project")
    for key, value in (("user.name", "Demo"), ("user.email", "demo@localhost"), ("commit.gpgsign", "false")):
        git.raw("config", key, value)
    # A demonstration must look the same everywhere: variables meant for other projects do not count.
    environ = {name: value for name, value in around.environ.items() if not name.startswith("TDD_")}
    there = replace(around, project=folder, environ=environ, may_lack_sandbox=True)
    return folder, start(script.feature, there, RunOptions())


def what_to_look_at(folder: Path, *, width: int, ink: Ink, whole: bool) -> str:
    """Return where the repository is, and what to type there."""
    activate = Path(sys.prefix, "bin", "activate")
    unknown = shutil.which("rgr") is None and activate.is_file()
    page = TextPage(width, ink)
    page.gap()
    page.say(f"The repository is {folder}. Have a look:")
    page.advise(
        *([(f". {shlex.quote(str(activate))}", "makes rgr known to your shell")] if unknown else []),
        (f"cd {shlex.quote(str(folder))}", "goes there"),
        *([] if whole else [("rgr resume", "goes on where this ended")]),
        ("git log --oneline", "shows that every phase is one commit"),
        ("git notes --ref=tdd-handoffs show HEAD", "shows what a session is handed"),
        ("rgr history --attempts", "shows what was rejected, and why"),
        ("rgr report -o ../report.html", "makes a page of it for a browser"),
        ("rgr verify", "judges every cycle again"),
    )
    return page.text

"""The real programs that are agents, a row each: all that the tests of their contract have to know of one.

Run as a program it says what has to be installed: `packages` or `commands`.
"""

import os
import shlex
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from model_server import KEY, Call

_LATER = int(time.time() + 100_000) * 1000
RENEWS = "what-renews-the-sign-in"


@dataclass(frozen=True, kw_only=True)
class ProgramRow:
    """What is to be known of a program."""

    package: str  # as npm has it
    command: str
    key: str  # variable that signs it in
    model: str = ""  # nothing: one of its own
    shell: str  # its tool for commands,
    cmd: str = "command"  # what that calls the command,
    beside: Mapping[str, Any] = field(default_factory=dict[str, Any])  # and what it wants to be told, too
    write: tuple[str, str, str] | None = (
        None  # its tool for files, path and text; None: it has commands alone
    )
    largest: int  # bytes of a first request, about four a token
    waits: bool = True  # for a server that is busy
    bills: bool = False  # what it has used, while it works
    thorough: bool = True  # also taken through everything that can go wrong, which takes minutes a program
    speaks: bool = True  # the Agent Client Protocol: alone it does nothing
    sign_in: tuple[str, Any]  # the file of an account, in the home
    account: bool = True  # works with any server; otherwise only with its maker's
    goes_on: bool = True  # when something was refused
    memory: str  # a file of the home that says how the user wants to work
    left: tuple[str, ...] = ()  # such files in the home that we give it
    starts: Mapping[str, str] = field(
        default_factory=dict[str, str]
    )  # files below HOME or PROJECT that have it start PROGRAM, as a server of tools or for an event
    reads: bool = False  # what the project says, whatever it is told: so that comes once more

    def runs(self, command: str) -> Call:
        """Return the call that runs a command."""
        return Call.of(self.shell, **{self.cmd: command, **self.beside})

    def signed_in(self, home: Path, path: str = os.environ["PATH"]) -> dict[str, str]:
        """Return what a person has who has set its key: nothing of this machine's own home is there.

        Codex runs no command where its own folder lies in the one for temporary files, as tests' folders do.
        """
        tmp = home / "tmp"
        tmp.mkdir(parents=True, exist_ok=True)
        found = f"{programs_folder()}{os.pathsep}{path}"
        return {"PATH": found, "HOME": str(home), "TMPDIR": str(tmp), self.key: KEY}

    def writes(self, path: Path, text: str) -> Call:
        """Return the call that writes a file, by its own tool for that if it has one."""
        if self.write is None:
            return self.runs(f"printf %s {shlex.quote(text)} > {shlex.quote(str(path))}")
        tool, place, content = self.write
        return Call.of(tool, **{place: str(path), content: text})


_NEXT = {"description": "the next step"}
_HOOK = '{"hooks": [{"type": "command", "command": "PROGRAM"}]}'
_SERVER = '{"birds": {"command": "PROGRAM", "args": []}}'
_SETTINGS = f'{{"mcpServers": {_SERVER}, "hooks": {{"SessionStart": [{_HOOK}]}}}}'
_SERVER_OF_OPENCODE = '{"mcp": {"birds": {"type": "local", "command": ["PROGRAM"], "enabled": true}}}'
_SERVER_OF_CODEX = '[mcp_servers.birds]\ncommand = "PROGRAM"\n'
PROGRAMS: Mapping[str, ProgramRow] = {
    "claude-code": ProgramRow(
        package="@anthropic-ai/claude-code@2.1.325",
        command="claude",
        key="ANTHROPIC_API_KEY",
        shell="Bash",
        beside=_NEXT,
        write=("Write", "file_path", "content"),
        largest=20_000,
        bills=True,
        speaks=False,
        memory=".claude/CLAUDE.md",
        starts=dict.fromkeys(
            (
                "HOME/.claude.json",
                "HOME/.claude/settings.json",
                "PROJECT/.claude/settings.json",
                "PROJECT/.mcp.json",
            ),
            _SETTINGS,
        ),
        sign_in=(
            ".claude/.credentials.json",
            {
                "claudeAiOauth": {
                    "accessToken": KEY,
                    "refreshToken": RENEWS,
                    "expiresAt": _LATER,
                    "scopes": ["user:inference"],
                }
            },
        ),
    ),
    "codex": ProgramRow(
        package="@openai/codex@0.166.0",
        command="codex",
        key="CODEX_API_KEY",
        shell="exec_command",
        cmd="cmd",
        largest=12_000,
        waits=False,
        bills=True,
        speaks=False,
        memory=".codex/AGENTS.md",
        left=("AGENTS.md", "AGENTS.override.md"),
        starts=dict.fromkeys(("HOME/.codex/config.toml", "PROJECT/.codex/config.toml"), _SERVER_OF_CODEX),
        sign_in=(
            ".codex/auth.json",
            {
                "auth_mode": "chatgpt",
                "OPENAI_API_KEY": None,
                "tokens": {
                    "id_token": "e30.e30.x",
                    "access_token": KEY,
                    "refresh_token": RENEWS,
                    "account_id": "a",
                },
                "last_refresh": "2020-01-01T00:00:00Z",
            },
        ),
    ),
    "copilot": ProgramRow(
        package="@github/copilot@1.0.102",
        command="copilot",
        key="COPILOT_PROVIDER_API_KEY",
        model="gpt-4.1",
        shell="bash",
        beside=_NEXT,
        write=("create", "path", "file_text"),
        largest=30_000,
        thorough=False,
        memory=".copilot/copilot-instructions.md",
        left=(".copilot/copilot-instructions.md",),
        starts=dict.fromkeys(("HOME/.copilot/mcp-config.json", "PROJECT/.mcp.json"), _SETTINGS),
        sign_in=(".copilot/config.json", {"logged_in_users": [], "token": "a"}),
        account=False,
        reads=True,
        goes_on=False,
    ),
    "gemini": ProgramRow(
        package="@google/gemini-cli@0.61.0",
        command="gemini",
        key="GEMINI_API_KEY",
        model="gemini-2.5-pro",
        shell="run_shell_command",
        beside=_NEXT,
        write=("write_file", "file_path", "content"),
        largest=20_000,
        memory=".gemini/GEMINI.md",
        left=(".gemini/GEMINI.md",),
        starts={
            **dict.fromkeys(("HOME/.gemini/settings.json", "PROJECT/.gemini/settings.json"), _SETTINGS),
            "HOME/.gemini/trustedFolders.json": '{"PROJECT": "TRUST_FOLDER"}',
        },
        sign_in=(
            ".gemini/oauth_creds.json",
            {"access_token": "a", "refresh_token": "b", "expiry_date": _LATER},
        ),
        account=False,
    ),
    "opencode": ProgramRow(
        package="opencode-ai@1.18.33",
        command="opencode",
        key="ANTHROPIC_API_KEY",
        model="anthropic:claude-sonnet-4-5",
        shell="bash",
        beside=_NEXT,
        write=("write", "filePath", "content"),
        largest=20_000,
        memory=".config/opencode/AGENTS.md",
        left=("opencode/AGENTS.md", "AGENTS.md"),
        starts=dict.fromkeys(
            ("HOME/.config/opencode/opencode.json", "HOME/.opencode/opencode.json", "PROJECT/opencode.json"),
            _SERVER_OF_OPENCODE,
        ),
        sign_in=(
            ".local/share/opencode/auth.json",
            {
                "anthropic": {"type": "api", "key": KEY},
                "openai": {"type": "oauth", "access": "a", "refresh": RENEWS, "expires": _LATER},
            },
        ),
    ),
    "qwen": ProgramRow(
        package="@qwen-code/qwen-code@0.15.10",
        command="qwen",
        key="OPENAI_API_KEY",
        model="qwen3-coder-plus",
        shell="run_shell_command",
        beside={**_NEXT, "is_background": False},
        write=("write_file", "file_path", "content"),
        largest=30_000,
        bills=True,
        thorough=False,
        memory=".qwen/QWEN.md",
        left=(".qwen/QWEN.md", ".qwen/AGENTS.md"),
        starts=dict.fromkeys(("HOME/.qwen/settings.json", "PROJECT/.qwen/settings.json"), _SETTINGS),
        sign_in=(
            ".qwen/oauth_creds.json",
            {"access_token": "a", "refresh_token": RENEWS, "expiry_date": _LATER},
        ),
        account=False,
    ),
}

THOROUGH = sorted(name for name, row in PROGRAMS.items() if row.thorough)


def programs_folder() -> Path:
    """Return where `make agents` has put the programs; a test that needs them is skipped where nobody asks for it."""
    import pytest  # noqa: PLC0415 - to say what has to be installed takes nothing that has to be

    found = os.environ.get("RGR_AGENTS")
    if not found:
        pytest.skip("the real programs are run by 'make clients'")
    return Path(found) / "node_modules" / ".bin"


if __name__ == "__main__":
    print(*(row.package if sys.argv[1] == "packages" else row.command for row in PROGRAMS.values()))

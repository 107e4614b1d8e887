"""What the documentation names is there, and what is there is documented."""

import ast
import inspect
import json
import re
import shlex
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

import redgreenrefactor
from redgreenrefactor import errors, library
from redgreenrefactor.agents.script import parse as parse_script
from redgreenrefactor.cli.commands import rgr
from redgreenrefactor.config import Flags, load
from redgreenrefactor.config.keys import KEYS, Key
from redgreenrefactor.forge.address import GITHUB
from redgreenrefactor.gates.plan import Answer, read_answer
from redgreenrefactor.model.codec import key_of
from redgreenrefactor.model.facts import Facts, MutantCounts
from redgreenrefactor.model.goal import Case
from redgreenrefactor.model.handoff import ErrorDetails, Handoff, Rejection, UncommittedAttempt
from redgreenrefactor.model.proof import Checked, CheckedCycle
from redgreenrefactor.model.result import CycleCommits, CycleResult, RunStatus, WorkflowResult
from redgreenrefactor.model.session import Usage
from redgreenrefactor.model.values import attributes
from redgreenrefactor.model.verdict import Finding, FindingType, TestOutcome
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.prompts.templates import PLACEHOLDERS
from redgreenrefactor.trust import ONCE

pytestmark = pytest.mark.no_cover  # a page that names a setting has not tried it out

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
LINKS = {"TDD_SESSION", "TDD_STRATEGY", "TDD_RESUME_FROM"}  # of a task's sessions to earlier ones
OF_AGENTS = {"TDD_ROLE", "TDD_PHASE", "TDD_CYCLE", "TDD_ATTEMPT", "TDD_RUN_ID", "TDD_HANDOFF", *LINKS}
TOLD_ON = {"TDD_STATUS", "TDD_HEAD"}  # what on.finish is given beside the run's id
FILES = (".md", ".sh", ".py", ".json", ".toml")

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def tokens(page: Path) -> list[Token]:
    return MarkdownIt("commonmark").enable("table").parse(page.read_text())


def inlines(page: Path) -> Iterator[Token]:
    for token in tokens(page):
        yield from token.children or []


def blocks(page: Path, language: str) -> list[str]:
    return [token.content for token in tokens(page) if token.type == "fence" and token.info == language]


def spans(page: Path) -> list[str]:
    """Return what stands in backticks."""
    return [token.content for token in inlines(page) if token.type == "code_inline"]


def links(page: Path) -> list[str]:
    return [str(token.attrs["href"]) for token in inlines(page) if token.type == "link_open"]


def rows(page: Path) -> list[str]:
    return [line for line in page.read_text().splitlines() if line.startswith("|")]


def section(page: Path, heading: str) -> str:
    """Return what stands below a heading of the second level."""
    _, _, rest = page.read_text().partition(f"\n## {heading}\n")
    assert rest, f"{page.name} has no section {heading!r}"
    return rest.partition("\n## ")[0]


# --- links


@each_page
def test_relative_links_lead_to_something(page: Path) -> None:
    for link in links(page):
        path, _, anchor = link.partition("#")
        if "://" in link:
            continue
        target = (page.parent / path) if path else page
        assert target.exists(), f"{page.name} links to {link}"
        if anchor:
            assert anchor in anchors(target), f"{page.name} links to {link}"


@each_page
def test_pictures_are_there_and_told_to_those_who_do_not_see_them(page: Path) -> None:
    for picture in (token for token in inlines(page) if token.type == "image"):
        assert (page.parent / str(picture.attrs["src"])).is_file()
        assert len(picture.content) > 20


@each_page
def test_links_to_elsewhere_are_addresses_that_nobody_can_read_along(page: Path) -> None:
    for link in (link for link in links(page) if ":" in link.partition("/")[0]):
        assert re.fullmatch(r"https://[a-z0-9-]+(\.[a-z0-9-]+)+(/[^\s<>]*)?", link), (
            f"{page.name} links to {link}"
        )


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_page_is_in_an_index() -> None:
    indexed = {
        (index.parent / link).resolve()
        for index in (ROOT / "README.md", DOCS / "README.md", DOCS / "adr" / "README.md")
        for link in links(index)
    }
    assert [
        page for page in PAGES if page not in indexed and page.name not in ("README.md", "CHANGELOG.md")
    ] == []


def test_every_page_is_in_the_navigation_of_the_site() -> None:
    named = re.findall(r'"([\w/-]+\.md)"', (ROOT / "zensical.toml").read_text())
    assert sorted(named) == sorted([*(page.name for page in DOCS.glob("*.md")), "adr/README.md"])


# --- commands and flags


def commands() -> dict[str, click.Command]:
    context = click.Context(rgr)
    found = {name: rgr.get_command(context, name) for name in rgr.list_commands(context)}
    return {name: command for name, command in found.items() if command is not None}


def flags(command: click.Command) -> set[str]:
    options = [option for option in command.params if isinstance(option, click.Option)]
    return {flag for option in options for flag in option.opts} | {"--help", "-h"}


def invocations(page: Path) -> Iterator[list[str]]:
    """Yield the words of every command line of ours that a page shows."""
    shown = [line for text in blocks(page, "sh") for line in text.replace("\\\n", " ").splitlines()]
    for line in (*shown, *spans(page)):
        if line.startswith("rgr "):
            yield shlex.split(line, comments=True)[1:]


@each_page
def test_commands_and_flags_that_are_shown_exist(page: Path) -> None:
    known = commands()
    for words in invocations(page):
        if words[0].startswith("-"):
            assert set(words) <= flags(rgr), f"rgr {words}"
        elif not words[0].isupper():
            assert words[0] in known, f"{page.name} shows rgr {words[0]}"
            given = {word.partition("=")[0] for word in words if word.startswith("--")}
            assert given <= flags(known[words[0]]), f"rgr {words}"


def lines(page: Path) -> list[str]:
    """Return every line that a page shows for a shell, in the jobs of a CI server, too."""
    jobs = (line for text in blocks(page, "yaml") for line in text.splitlines())
    shown = (line for text in blocks(page, "sh") for line in text.replace("\\\n", " ").splitlines())
    return [*map(str.strip, shown), *(re.sub(r"^\s*(?:-|run:) ", "", line) for line in jobs)]


PLACES = {"N": "1", "USD": "5"}  # what stands for a number


@each_page
def test_command_lines_that_are_shown_can_be_typed(page: Path) -> None:
    """Each is taken apart as when somebody types it: no argument too many or missing, every value one that is taken."""
    known = commands()
    for line in lines(page):
        if line.startswith("rgr ") and "$(" not in line:
            typed, *words = shlex.split(re.split(r" (?:[|>&;]|>>|2>)", line)[0], comments=True)[1:]
            if not typed.startswith("-"):
                words = [PLACES.get(word, word) for word in words]
                known[typed].make_context(typed, words, resilient_parsing=False)


def test_commands_of_the_readme_are_all_typed_on_a_bare_machine() -> None:
    typed = (ROOT / ".ci/tour").read_text()
    shown = {
        " ".join(line.split()[:2]) for line in lines(ROOT / "README.md") if re.match(r"(rgr|make) ", line)
    }
    assert [line for line in sorted(shown) if line != "make test" and line not in typed] == []


@each_page
def test_what_is_shown_for_a_shell_is_understood_by_one(page: Path) -> None:
    for text in blocks(page, "sh"):
        done = subprocess.run(["sh", "-n"], input=text, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{page.name}: {done.stderr}\n{text}"


@each_page
def test_commands_of_git_that_are_shown_exist(page: Path) -> None:
    listed = ["git", "--list-cmds=main,others,alias,nohelpers"]
    known = {*subprocess.run(listed, capture_output=True, text=True, check=True).stdout.split(), "lfs"}
    for line in (line for line in (*lines(page), *spans(page)) if line.startswith("git ")):
        words = [word for word in line.split()[1:] if not word.startswith("-")]
        assert words[0] in known, f"{page.name} shows {line}"


@each_page
def test_code_and_data_that_are_shown_can_be_read(page: Path) -> None:
    for text in blocks(page, "python"):
        compile(text, page.name, "exec")
    for text in blocks(page, "toml"):
        tomllib.loads(text)
    for text in blocks(page, "json"):
        json.loads(text)


@each_page
def test_extras_that_are_named_can_be_installed(page: Path) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(re.findall(r"redgreenrefactor\[(\w+)\]", page.read_text())) <= set(extras)


@pytest.mark.parametrize(
    "page", [ROOT / name for name in ("AGENTS.md", "CONTRIBUTING.md", "README.md")], ids=str
)
def test_files_of_the_project_that_are_named_are_there(page: Path) -> None:
    inside = {path.name for path in ROOT.iterdir()} | {
        "agents",
        "katas",
        "views",
        "starters",
        "prompts",
        "gates",
    }
    for span in spans(page):
        if re.fullmatch(r"[\w.-]+(/[\w.-]+)+/?", span) and span.partition("/")[0] in inside:
            assert any((base / span).exists() for base in (ROOT, ROOT / "src/redgreenrefactor")), span


@each_page
def test_flags_that_are_named_belong_to_some_command(page: Path) -> None:
    every = set[str]().union(*(flags(command) for command in commands().values()), flags(rgr))
    named = {span.split()[0] for span in spans(page) if span.startswith("--")}
    assert named <= every


def test_every_command_has_a_section_and_every_flag_a_row() -> None:
    page = DOCS / "command-line.md"
    shared = section(page, "Flags of every command") + section(page, "Flags of run and resume")
    for name, command in commands().items():
        told = section(page, f"rgr {name}") + shared
        for flag in flags(command) - {"--help", "-h"}:
            assert re.search(rf"`{flag}[ `]", told), f"rgr {name} {flag}"


def refusals() -> dict[str, int]:
    """Return every type an error may have, and the exit code it ends with, as the source says it."""
    classes: dict[str, type[errors.RgrError]] = {
        name: kind
        for name, kind in vars(errors).items()
        if inspect.isclass(kind) and issubclass(kind, errors.RgrError)
    }
    found = {kind.type: kind.exit_code for kind in classes.values() if kind is not errors.RgrError}
    texts = (source.read_text() for source in (ROOT / "src").rglob("*.py"))
    for text in (text for text in texts if 'type="' in text):
        for call in ast.walk(ast.parse(text)):
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
                continue
            named = [word.value for word in call.keywords if word.arg == "type"]
            if call.func.id in (*classes, "TextFile"):
                code = classes.get(call.func.id, errors.UsageError).exit_code
                found |= {str(value.value): code for value in named if isinstance(value, ast.Constant)}
    return found


def test_every_error_is_explained_with_the_exit_code_it_has() -> None:
    told = {
        name: row.rstrip("| ").rpartition("| ")[2]
        for row in section(DOCS / "faq.md", "What a refusal means").splitlines()
        for name in re.findall(r"`(\w+)`", row.partition("|")[2].partition("|")[0])
    }
    assert told == {name: str(code) for name, code in refusals().items()}


def test_every_kind_of_finding_is_explained() -> None:
    told = re.findall(r"^\| `(\w+)` \|", section(DOCS / "faq.md", "What a rejection means"), re.MULTILINE)
    assert sorted(told) == sorted(FindingType)


@pytest.mark.parametrize("page", [ROOT / "README.md", DOCS / "command-line.md"], ids=lambda page: page.name)
def test_exit_codes_are_those_of_the_program(page: Path) -> None:
    listed = {
        int(row.split("|")[1]) for row in section(page, "Exit codes").splitlines() if re.match(r"\| \d", row)
    }
    kinds = [kind for kind in vars(errors).values() if inspect.isclass(kind)]
    assert listed == {0, 1, 4} | {kind.exit_code for kind in kinds if issubclass(kind, errors.RgrError)}


@each_page
def test_targets_of_make_exist(page: Path) -> None:
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    shown = [line for text in (*blocks(page, "sh"), *spans(page)) for line in text.splitlines()]
    assert {line.split()[1] for line in shown if line.startswith("make ")} <= set(targets)


# --- settings


def row(key: Key) -> str:
    """Return the row a setting has in the table."""
    name = f"`{key.property_name}`" if key.property_name else "-"
    if any(other.role and other.fallback == key.name for other in KEYS):
        name += f", `{key.name}.ROLE`"
    places = ", ".join(f"`{place}`" for place in (key.flag, key.variable) if place) or "-"
    default = key.default_text if key.default in (None, ()) else f"`{key.default_text}`"
    return f"| {name} | {places} | {default} | {key.meaning} | {key.kind.expects} |"


def test_the_table_of_settings_is_complete_and_right() -> None:
    table = rows(DOCS / "configuration.md")[2:]
    assert table == [row(key) for key in KEYS if key.role is None]


@each_page
def test_settings_that_are_named_exist(page: Path) -> None:
    known = {key.property_name for key in KEYS if key.property_name}
    families = {name.partition(".")[0] for name in known}
    for span in spans(page):
        name, equals, _ = span.partition("=")
        if not re.fullmatch(r"[a-z]+(\.[a-z]+)*", name) or name.endswith(FILES) or name == GITHUB:
            continue
        if name.partition(".")[0] in families and (equals or "." in name):
            assert name in known, f"{page.name} names the setting {name}"


@each_page
def test_variables_that_are_named_exist(page: Path) -> None:
    known = {key.variable for key in KEYS if key.variable} | OF_AGENTS | TOLD_ON | {ONCE}
    assert set(re.findall(r"\bTDD_[A-Z_]+\b", " ".join(spans(page)))) <= known


@each_page
def test_properties_that_are_shown_are_accepted(page: Path) -> None:
    for text in blocks(page, "properties"):
        load((page.name, text), {}, Flags())


# --- formats


def test_every_key_of_a_note_is_explained() -> None:
    explained = set(spans(DOCS / "handoffs.md"))
    kinds = (Handoff, Facts, Case, Finding, ErrorDetails, Usage, Rejection, UncommittedAttempt, MutantCounts)
    keys = {key_of(field) for kind in kinds for field in attributes(kind)}
    assert keys - {"facts", "unknown"} <= explained


def test_the_result_that_is_shown_has_the_keys_of_a_result() -> None:
    cycle = CycleResult(1, "", "done", CycleCommits(), 0, 0.0, None)
    error = ErrorDetails("", "")
    result = WorkflowResult("", "", RunStatus.COMPLETE, (cycle,), None, error, Usage(), 0.0, "").to_json()
    shown = json.loads(blocks(DOCS / "command-line.md", "json")[0])

    def keys(body: dict[str, Any]) -> list[list[str]]:
        cycles = body["cycles"][0]
        return [list(part) for part in (body, cycles, cycles["commits"], body["usage"])]

    assert keys(shown) == keys(result)


def test_the_verification_that_is_shown_has_the_keys_of_one() -> None:
    phases = {
        PhaseName(name): Checked("", TestOutcome.PASS, ok=True) for name in ("RED", "GREEN", "REFACTOR")
    }
    cycle = CheckedCycle(1, "", phases, ()).to_json()
    shown = json.loads(blocks(DOCS / "command-line.md", "json")[1])["cycles"][0]
    assert list(shown) == list(cycle)
    assert list(shown["red"]) == list(cycle["red"])


def test_the_answer_of_plan_that_is_shown_is_understood() -> None:
    answer = read_answer(blocks(DOCS / "agents.md", "json")[0])
    assert isinstance(answer, Answer)
    assert answer.case == Case("4 is IV", "tests/test_roman.py", "roman.py")
    assert answer.upcoming == (Case("5 is V", "tests/test_roman.py", "roman.py"),)
    assert answer.dropped == {"5 is iiiii"}


def test_the_script_that_is_shown_is_accepted() -> None:
    (script,) = [parse_script(text, "agents.md") for text in blocks(DOCS / "agents.md", "toml")]
    assert [len(scene.calls) for scene in script.scenes] == [3]


def test_all_placeholders_are_listed_and_no_other() -> None:
    named = {span.removeprefix("$") for span in spans(DOCS / "agents.md") if span.startswith("$")}
    assert named - {"$"} == set(PLACEHOLDERS)


# --- library

LIBRARY = [name for name in redgreenrefactor.__all__ if inspect.isfunction(getattr(library, name, None))]


def signature(function: Callable[..., Any]) -> list[str]:
    told: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in told:
            told.append("*")
        default = "" if parameter.default is parameter.empty else f"={parameter.default!r}".replace("'", '"')
        stars = "**" if parameter.kind is parameter.VAR_KEYWORD else ""
        told.append(f"{stars}{parameter.name}{default}")
    return told


@pytest.mark.parametrize("name", LIBRARY)
def test_signatures_of_the_library_are_as_documented(name: str) -> None:
    told = signature(getattr(library, name))
    assert f"{name}({', '.join(told)})" in spans(DOCS / "library.md")


def test_what_every_function_takes_is_documented_and_nothing_else_is_taken() -> None:
    told = {span.partition("=")[0] for span in spans(DOCS / "library.md") if "=" in span}
    assert set(library.LibraryOptions.__annotations__) <= told
    misspelt: Any = {"agnet": "api"}
    with pytest.raises(TypeError, match="agnet"):
        library.resume(**misspelt)


def test_every_exported_name_is_on_the_library_page() -> None:
    page = DOCS / "library.md"
    named = {re.split(r"\W", span)[0] for span in spans(page)}
    assert set(redgreenrefactor.__all__) <= named


def test_the_code_that_is_shown_compiles_and_imports_exported_names() -> None:
    for text in blocks(DOCS / "library.md", "python"):
        compile(text, "library.md", "exec")
        for names in re.findall(r"^from redgreenrefactor import (.+)$", text, re.MULTILINE):
            assert set(names.split(", ")) <= set(redgreenrefactor.__all__)


# --- changes


def test_changelog_fragments_are_named_by_the_rule_and_say_something() -> None:
    for fragment in (ROOT / "changelog.d").iterdir():
        assert re.fullmatch(r"[a-z0-9-]+\.(added|changed|fixed|removed)\.md", fragment.name), fragment.name
        assert fragment.read_text().strip()


# --- help


@pytest.mark.parametrize("name", ["", *sorted(commands())])
def test_the_help_of_every_command_has_examples_that_can_be_typed(name: str) -> None:
    command: click.Command = commands()[name] if name else rgr
    shown = command.get_help(click.Context(command, info_name=name or "rgr"))
    examples = [line.strip().removeprefix("Example: ") for line in shown.splitlines()]
    examples = [line for line in examples if line.startswith(f"rgr {name}".strip() + " ")]
    if name == "demo":
        examples = ["rgr demo"] if "Example: rgr demo" in shown else []
    assert examples, shown
    for line in examples:
        _, typed, *words = shlex.split(line)
        commands()[typed].make_context(typed, words)


def test_the_list_of_commands_cuts_no_description_off() -> None:
    shown = rgr.get_help(click.Context(rgr, info_name="rgr", terminal_width=80))
    assert "..." not in shown.partition("Commands:")[2]

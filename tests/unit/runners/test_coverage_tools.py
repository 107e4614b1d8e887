"""Coverage is measured by the tool the project has, in a run of our own; old reports are never read."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from redgreenrefactor.model.evidence import Coverage
from redgreenrefactor.runners.coverage_tools import meter_for
from redgreenrefactor.runners.suite_context import SuiteContext

BIN = str(Path(sys.executable).parent)
CODE = "def used():\n    return 1\n\n\ndef unused():\n    a = 1\n    b = 2\n    return a + b\n"
TEST = "from code_under_test import used\n\n\ndef test_used():\n    assert used() == 1\n"


def measured(
    folder: Path, command: str, env: dict[str, str], project: Path | None = None, setup: str | None = None
) -> Coverage:
    cache = Path(env["XDG_CACHE_HOME"])
    return meter_for(
        command, SuiteContext(project=project or folder, env=env, timeout=120, cache=cache), setup=setup
    )(folder)


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if text.startswith("#!"):
            path.chmod(0o755)
    return folder


@pytest.fixture
def with_tools(env: dict[str, str], cache: Path) -> dict[str, str]:
    path = f"{BIN}{os.pathsep}{env['PATH']}"
    return {**env, "PATH": path, "XDG_CACHE_HOME": str(cache), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


# --- Python


PYTHON = {
    "code_under_test.py": CODE,
    "test_it.py": TEST,
    "pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['.']\n",
}


def test_pytest_is_measured_with_coverage_py(tmp_path: Path, with_tools: dict[str, str]) -> None:
    folder = written(tmp_path / "a project", PYTHON)
    found = measured(folder, "pytest -q", with_tools)
    assert (found.tool, found.files["code_under_test.py"]) == ("coverage.py", (3, 6))
    assert found.percent(["code_under_test.py"]) == 50.0
    assert not list(folder.glob(".coverage*"))


def test_a_checkout_is_made_runnable_first(tmp_path: Path, with_tools: dict[str, str]) -> None:
    files = {**PYTHON, "code.txt": CODE}
    del files["code_under_test.py"]
    folder = written(tmp_path / "p", files)
    found = measured(folder, "pytest -q", with_tools, setup="cp code.txt code_under_test.py")
    assert found.files["code_under_test.py"] == (3, 6)
    assert measured(folder, "pytest -q", with_tools, setup="exit 3").why == "setup.command 'exit 3' failed"


@pytest.mark.long
def test_an_old_report_and_the_projects_own_settings_change_nothing(
    tmp_path: Path, with_tools: dict[str, str]
) -> None:
    files = {**PYTHON, ".coverage": "old", "coverage.json": "{}", ".coveragerc": "[run]\nomit = *\n"}
    assert measured(written(tmp_path / "p", files), "pytest -q", with_tools).files["code_under_test.py"] == (
        3,
        6,
    )


def test_a_comment_does_not_hide_code(tmp_path: Path, with_tools: dict[str, str]) -> None:
    hidden = CODE.replace("def unused():", "def unused():  # pragma: no cover")
    folder = written(tmp_path / "p", {**PYTHON, "code_under_test.py": hidden})
    assert measured(folder, "pytest -q", with_tools).files["code_under_test.py"] == (3, 6)


def test_a_project_that_measures_itself_is_measured_all_the_same(
    tmp_path: Path, with_tools: dict[str, str]
) -> None:
    folder = written(tmp_path / "p", PYTHON)
    found = measured(folder, "pytest -q -p pytest_cov --cov=.", with_tools)
    assert found.files["code_under_test.py"] == (3, 6)


def test_unittest_is_measured_too_and_a_failing_suite(tmp_path: Path, with_tools: dict[str, str]) -> None:
    test = (
        "import unittest\nimport code_under_test\n\n\nclass T(unittest.TestCase):\n"
        "    def test_it(self):\n        self.assertEqual(code_under_test.used(), 2)\n"
    )
    folder = written(tmp_path / "p", {"code_under_test.py": CODE, "test_it.py": test})
    assert measured(folder, "python -m unittest", with_tools).files["code_under_test.py"] == (3, 6)


@pytest.mark.long
def test_the_projects_own_start_up_module_still_runs(tmp_path: Path, with_tools: dict[str, str]) -> None:
    theirs = written(
        tmp_path / "theirs", {"sitecustomize.py": f"open({str(tmp_path / 'ran')!r}, 'w').close()\n"}
    )
    folder = written(tmp_path / "p", PYTHON)
    found = measured(folder, "pytest -q", {**with_tools, "PYTHONPATH": str(theirs)})
    assert found.tool == "coverage.py"
    assert (tmp_path / "ran").exists()


def test_without_coverage_py_nothing_is_measured(tmp_path: Path, with_tools: dict[str, str]) -> None:
    folder = written(tmp_path / "p", {"test_it.py": "x = 1\n"})
    assert measured(folder, "python -S -m unittest", with_tools) == Coverage(
        why="no coverage tool was found for the test command"
    )


def test_other_commands_are_not_measured(tmp_path: Path, with_tools: dict[str, str]) -> None:
    assert not measured(written(tmp_path / "p", {"x": ""}), "true", with_tools).tool
    assert not measured(tmp_path / "p", "npm test", with_tools).tool


# --- Go


def test_go_writes_a_profile(tmp_path: Path, with_tools: dict[str, str]) -> None:
    fake = (
        "#!/bin/sh\nfor word; do case $word in -coverprofile=*) out=${word#*=};; esac; done\n"
        "printf 'mode: set\\nexample.com/m/a.go:1.1,2.2 3 1\\nexample.com/m/a.go:3.1,4.2 1 0\\nnonsense\\n' > \"$out\"\n"
    )
    folder = written(tmp_path / "p", {"go.mod": "module example.com/m\n\ngo 1.21\n", "../bin/go": fake})
    env = {**with_tools, "PATH": f"{tmp_path / 'bin'}:{with_tools['PATH']}"}
    found = measured(folder, "go test ./... -coverprofile=old.out", env)
    assert (found.tool, found.files) == ("go test -cover", {"a.go": (3, 4)})


@pytest.mark.slow
@pytest.mark.skipif(
    not shutil.which("go", path=f"{os.environ['PATH']}:/usr/local/go/bin"), reason="no Go here"
)
def test_real_go_is_measured(tmp_path: Path, with_tools: dict[str, str]) -> None:
    files = {
        "go.mod": "module example.com/m\n\ngo 1.21\n",
        "a.go": "package m\n\nfunc Used() int {\n\treturn 1\n}\n\nfunc Unused() int {\n\treturn 2\n}\n",
        "a_test.go": 'package m\n\nimport "testing"\n\nfunc TestUsed(t *testing.T) {\n\tif Used() != 1 {\n\t\tt.Fatal()\n\t}\n}\n',
    }
    env = {
        **with_tools,
        "PATH": f"{with_tools['PATH']}:/usr/local/go/bin",
        "GOFLAGS": "-mod=mod",
        "GOTOOLCHAIN": "local",
    }
    assert measured(written(tmp_path / "p", files), "go test ./...", env).files == {"a.go": (1, 2)}


# --- Node

needs_npm = pytest.mark.needs("npm")


def node_project(tmp_path: Path, script: str, **modules: str) -> Path:
    package = {"name": "p", "scripts": {"test": script}}
    return written(
        tmp_path / "p",
        {
            "package.json": json.dumps(package),
            "coverage/coverage-final.json": '{"old.js": {"s": {"0": 1}}}',
            **{f"node_modules/{name.replace('__', '/')}": text for name, text in modules.items()},
        },
    )


def reporter(option: str) -> str:
    """Return a tool that writes the report where it is told to, naming the words it was given."""
    return (
        "#!/bin/sh\nfor word; do case $word in " + option + "=*) out=${word#*=};; esac; done\n"
        'printf \'{"%s/a.js": {"s": {"0": 1, "1": 0, "2": 5}}, "b.js": {"s": {}}, "odd": 3}\' "$PWD" > "$out/coverage-final.json"\n'
    )


@pytest.mark.parametrize(
    ("tool", "command", "option", "extra"),
    [
        pytest.param("jest", "npm test", "--coverageDirectory", {}, marks=needs_npm),
        ("jest", "node_modules/.bin/jest", "--coverageDirectory", {}),
        pytest.param(
            "vitest",
            "npm test",
            "--coverage.reportsDirectory",
            {"@vitest__coverage-v8__x": ""},
            marks=needs_npm,
        ),
    ],
)
def test_jest_and_vitest_are_asked_for_a_report(
    tmp_path: Path, with_tools: dict[str, str], tool: str, command: str, option: str, extra: dict[str, str]
) -> None:
    folder = node_project(tmp_path, tool, **{f".bin__{tool}": reporter(option)}, **extra)
    found = measured(folder, command, with_tools)
    assert (found.tool, found.files) == (tool, {"a.js": (2, 3)})


def test_c8_is_put_before_other_runners(tmp_path: Path, with_tools: dict[str, str]) -> None:
    folder = node_project(tmp_path, "node --test", **{".bin__c8": reporter("--reports-dir")})
    assert measured(folder, "node --test", with_tools).tool == "c8"


def test_without_a_tool_for_node_nothing_is_measured(tmp_path: Path, with_tools: dict[str, str]) -> None:
    folder = node_project(tmp_path, "vitest")
    assert measured(folder, "npm test", with_tools).why == "no coverage tool was found for the test command"


def test_a_tool_that_leaves_no_report_is_named(tmp_path: Path, with_tools: dict[str, str]) -> None:
    folder = node_project(tmp_path, "jest", **{".bin__jest": "#!/bin/sh\n"})
    assert measured(folder, "npm test", with_tools).why == "jest left no report of the test command"


# --- Java


REPORT = (
    '<report name="p"><package name="org/a"><sourcefile name="A.java"><counter type="LINE" missed="1" covered="3"/>'
    "</sourcefile></package></report>"
)


def test_maven_is_asked_for_jacocos_report(tmp_path: Path, with_tools: dict[str, str]) -> None:
    fake = f"#!/bin/sh\nmkdir -p target/site/jacoco\necho '{REPORT}' > target/site/jacoco/jacoco.xml\n"
    files = {
        "pom.xml": "<artifactId>jacoco-maven-plugin</artifactId>",
        "src/main/java/org/a/A.java": "",
        "old/target/site/jacoco/jacoco.xml": REPORT.replace("A.java", "Old.java"),
        "../bin/mvn": fake,
    }
    env = {**with_tools, "PATH": f"{tmp_path / 'bin'}:{with_tools['PATH']}"}
    found = measured(written(tmp_path / "p", files), "mvn test", env)
    assert (found.tool, found.files) == ("JaCoCo", {"src/main/java/org/a/A.java": (3, 4)})


def test_gradle_writes_the_report_to_us(tmp_path: Path, with_tools: dict[str, str]) -> None:
    fake = (
        "#!/bin/sh\nfor word; do last=$word; done\n"
        f'echo \'{REPORT}\' > "$(dirname "$last")/jacoco-p.xml"\necho \'<broken\' > "$(dirname "$last")/jacoco-q.xml"\n'
    )
    files = {"build.gradle": "plugins { id 'jacoco' }", "gradlew": fake}
    found = measured(written(tmp_path / "p", files), "./gradlew test", with_tools)
    assert (found.tool, found.files) == ("JaCoCo", {"org/a/A.java": (3, 4)})


@pytest.mark.parametrize(("command", "file"), [("mvn test", "pom.xml"), ("./gradlew test", "build.gradle")])
def test_java_without_jacoco_is_not_measured(
    tmp_path: Path, with_tools: dict[str, str], command: str, file: str
) -> None:
    assert measured(written(tmp_path / "p", {file: "<project/>"}), command, with_tools).tool == ""

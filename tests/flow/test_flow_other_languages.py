"""Projects of other languages, with their real toolchains: cheats are caught, honest work goes through."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from shutil import which

import pytest
from stage import Json, Stage

from repos import MakeRepo

SETTINGS = "retry.backoff=0\nprobe.budget=120\nmax.retries=9\ntest.command={}\n"


@dataclass(frozen=True)
class Language:
    """One project: what is there, what each phase writes, and what REFACTOR may not do."""

    command: str
    project: dict[str, str]
    test_file: str
    impl_file: str
    red: dict[str, str]
    green: dict[str, str]
    cheats: dict[str, dict[str, str | None]]
    refactored: dict[str, str]
    covered: dict[str, str]


def parts(language: Language) -> dict[str, Json]:
    """Play a case with every cheat in REFACTOR, then one whose behaviour is there already."""
    boxes = "- [{}] adds\n- [{}] adds what is negative\n"
    cases = [
        {"description": name, "testFile": language.test_file, "implFile": language.impl_file}
        for name in ("adds", "adds what is negative")
    ]
    played: dict[str, Json] = {
        "PLAN-1": {"files": {"test-list.md": boxes.format(" ", " ")}, "say": _answer(cases[0])},
        "RED-1": {"files": language.red},
        "GREEN-1": {"files": language.green},
        "REFACTOR-1": {"files": language.refactored},
        "PLAN-2": {"files": {"test-list.md": boxes.format("x", " ")}, "say": _answer(cases[1])},
        "RED-2": {"files": language.covered},
        "PLAN-3": {"files": {"test-list.md": boxes.format("x", "x")}, "say": _answer(None)},
    }
    for number, files in enumerate(language.cheats.values(), 1):
        played[f"REFACTOR-1-{number}"] = {"files": files}
    return played


def _answer(case: Json | None) -> str:
    return json.dumps({"currentTest": case})


GO_TEST = """package calc

import "testing"

func TestAdds(t *testing.T) {
	if got := Add(1, 2); got != 3 {
		t.Fatalf("got %d", got)
	}
}
"""
GO_NEGATIVE = """
func TestAddsWhatIsNegative(t *testing.T) {
	if got := Add(-1, -2); got != -3 {
		t.Fatalf("got %d", got)
	}
}
"""
GO_POLISHED = GO_TEST.replace('t.Fatalf("got %d", got)', 't.Fatalf("1 + 2 is not %d", got)')
GO_CODE = "package calc\n\nfunc Add(a, b int) int {\n\treturn a + b\n}\n"
GO = Language(
    command="go test ./...",
    project={"go.mod": "module example.org/calc\n\ngo 1.20\n", "calc.go": "package calc\n"},
    test_file="calc_test.go",
    impl_file="calc.go",
    red={"calc_test.go": GO_TEST},
    green={"calc.go": GO_CODE},
    cheats={
        "skipped": {"calc_test.go": GO_TEST.replace("\tif got", '\tt.Skip("later")\n\tif got')},
        "asserts nothing": {"calc_test.go": GO_TEST.replace('t.Fatalf("got %d", got)', "_ = got")},
        "compares with itself": {"calc_test.go": GO_TEST.replace("got != 3", "got != Add(1, 2)")},
        "not built": {"calc_test.go": f"//go:build never\n\n{GO_TEST}"},
        "renamed away": {"calc_test.go": None, "calc_tests.go": GO_TEST},
        "not run": {
            "main_test.go": 'package calc\n\nimport (\n\t"os"\n\t"testing"\n)\n\nfunc TestMain(m *testing.M) { os.Exit(0) }\n'
        },
        "no test any more": {"calc_test.go": GO_TEST.replace("TestAdds", "testAdds")},
    },
    refactored={
        "calc.go": GO_CODE.replace("func Add", "// Add returns the sum.\nfunc Add"),
        "calc_test.go": GO_POLISHED,
    },
    covered={"calc_test.go": GO_POLISHED + GO_NEGATIVE},
)

RUST_TEST = """use calc::add;

#[test]
fn adds() {
    assert_eq!(add(1, 2), 3);
}
"""
RUST_NEGATIVE = """
#[test]
fn adds_what_is_negative() {
    assert_eq!(add(-1, -2), -3);
}
"""
RUST_CODE = "pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n"
CARGO = '[package]\nname = "calc"\nversion = "0.1.0"\nedition = "2021"\n'
RUST = Language(
    command="cargo test --offline",
    project={
        "Cargo.toml": CARGO,
        "Cargo.lock": 'version = 4\n\n[[package]]\nname = "calc"\nversion = "0.1.0"\n',
        ".gitignore": "target/\n",
        "src/lib.rs": "",
    },
    test_file="tests/adding.rs",
    impl_file="src/lib.rs",
    red={"tests/adding.rs": RUST_TEST},
    green={"src/lib.rs": RUST_CODE},
    cheats={
        "ignored": {"tests/adding.rs": RUST_TEST.replace("#[test]", "#[test]\n#[ignore]")},
        "asserts nothing": {"tests/adding.rs": RUST_TEST.replace("assert_eq!(add(1, 2), 3)", "add(1, 2)")},
        "compares with itself": {"tests/adding.rs": RUST_TEST.replace("2), 3)", "2), add(1, 2))")},
        "not built": {"tests/adding.rs": f"#![cfg(any())]\n{RUST_TEST}"},
        "no test any more": {"tests/adding.rs": RUST_TEST.replace("#[test]", "#[allow(dead_code)]")},
        "not run": {"Cargo.toml": f'{CARGO}\n[[test]]\nname = "adding"\ntest = false\n'},
        "all switched off": {"Cargo.toml": CARGO + "autotests = false\n"},
        "deleted": {"tests/adding.rs": None},
    },
    refactored={
        "src/lib.rs": f"/// The sum.\n{RUST_CODE}",
        "tests/adding.rs": RUST_TEST.replace("fn adds()", "fn sums_up()"),
    },
    covered={"tests/adding.rs": RUST_TEST.replace("fn adds()", "fn sums_up()") + RUST_NEGATIVE},
)
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>org.example</groupId>
  <artifactId>calc</artifactId>
  <version>1</version>
  <properties>
    <maven.compiler.source>17</maven.compiler.source>
    <maven.compiler.target>17</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies>
    <dependency>
      <groupId>org.junit.jupiter</groupId>
      <artifactId>junit-jupiter</artifactId>
      <version>5.10.2</version>
      <scope>test</scope>
    </dependency>
  </dependencies>
  <build>
    <plugins>
      <plugin>
        <artifactId>maven-surefire-plugin</artifactId>
        <version>3.2.5</version>
      </plugin>
    </plugins>
  </build>
</project>
"""
MAVEN_HOME = Path("~/.m2/repository").expanduser()
ADDING = "src/test/java/AddingTest.java"
JAVA_TEST = """import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class AddingTest {
    @Test
    void adds() {
        assertEquals(3, Calc.add(1, 2));
    }
}
"""
JAVA_POLISHED = JAVA_TEST.replace("void adds()", "void sumsUp()")
JAVA_NEGATIVE = """
    @Test
    void addsWhatIsNegative() {
        assertEquals(-3, Calc.add(-1, -2));
    }
}
"""
JAVA_CODE = "class Calc {\n    static int add(int a, int b) {\n        return a + b;\n    }\n}\n"
JAVA = Language(
    command=f"mvn -q -o -Dmaven.repo.local={MAVEN_HOME} test",
    project={"pom.xml": POM, ".gitignore": "target/\n"},
    test_file=ADDING,
    impl_file="src/main/java/Calc.java",
    red={ADDING: JAVA_TEST},
    green={"src/main/java/Calc.java": JAVA_CODE},
    cheats={
        "disabled": {ADDING: JAVA_TEST.replace("@Test", "@Test @org.junit.jupiter.api.Disabled")},
        "asserts nothing": {ADDING: JAVA_TEST.replace("assertEquals(3, Calc.add(1, 2))", "Calc.add(1, 2)")},
        "compares with itself": {ADDING: JAVA_TEST.replace("(3, Calc", "(Calc.add(1, 2), Calc")},
        "renamed away": {
            ADDING: None,
            "src/test/java/Adding.java": JAVA_TEST.replace("AddingTest", "Adding"),
        },
        "no test any more": {ADDING: JAVA_TEST.replace("    @Test\n", "")},
        "for nobody": {
            ADDING: JAVA_TEST.replace(
                "class",
                '@org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable(named = "X", matches = "y")\nclass',
            )
        },
        "not run": {"pom.xml": POM.replace("<properties>", "<properties>\n    <skipTests>true</skipTests>")},
    },
    refactored={
        "src/main/java/Calc.java": JAVA_CODE.replace("    static", "    /** The sum. */\n    static"),
        ADDING: JAVA_POLISHED,
    },
    covered={ADDING: JAVA_POLISHED.removesuffix("}\n") + JAVA_NEGATIVE},
)
LANGUAGES = {"go": GO, "cargo": RUST, "maven": JAVA}


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES.values(), ids=LANGUAGES)
def test_a_toolchain_is_guarded_and_its_honest_turns_are_accepted(
    make_repo: MakeRepo, language: Language
) -> None:
    tool = language.command.split()[0]
    if not which(tool):
        pytest.skip(f"{tool} is not installed")
    if language is JAVA and not (MAVEN_HOME / "org/junit/jupiter/junit-jupiter/5.10.2").is_dir():
        pytest.skip("JUnit is not in Maven's repository")
    settings = SETTINGS.format(language.command)
    stage = Stage(
        make_repo(files={**language.project, "tdd.properties": settings}), parts(language), _homes(tool)
    )
    start = stage.head()
    done = stage.run()
    assert done.code == 0, done.out
    for number, name in enumerate(language.cheats, 2):
        told: Json = stage.session(f"REFACTOR-1-{number}")["handoff"]["errorDetails"] or {}
        assert told.get("type") == "TestTampering", (name, told)
    notes = [stage.note(commit) for commit in stage.commits(start)]
    assert any(note.get("outcome") == "covered" and note.get("wrongExpectation") for note in notes)


def _homes(tool: str) -> dict[str, str]:
    """Return where a toolchain finds itself; the stage has a home folder of its own."""
    if tool == "go":
        return {}
    home = Path("~").expanduser()
    return {
        "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(home / ".rustup")),
        "CARGO_HOME": os.environ.get("CARGO_HOME", str(home / ".cargo")),
    }

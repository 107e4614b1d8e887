"""What decides how tests are run stays as it is, in other languages, too; the rest of a manifest is anybody's."""

import json
from typing import Any

import pytest

from gates_support import change, evidence
from redgreenrefactor.gates.rules.tampering import configuration
from redgreenrefactor.languages.manifests import adds_for_tests, files_run, scripts
from redgreenrefactor.languages.paths import reconfigures
from redgreenrefactor.model.verdict import FindingType
from redgreenrefactor.model.workflow import PhaseName

SCRIPTS = {
    "test": "npm run unit && node tools/check.js",
    "unit": "node --test",
    "pretest": "tsc",
    "lint": "eslint .",
}


def package(**keys: Any) -> str:
    return json.dumps({"name": "a", "version": "1.0.0", "scripts": SCRIPTS, **keys})


def pom(inside: str) -> str:
    return f"<project><packaging>jar</packaging>{inside}</project>"


def plugin(inside: str) -> str:
    return pom(
        f"<plugin><artifactId>maven-surefire-plugin</artifactId><version>3.0</version>{inside}</plugin>"
    )


CARGO = '[package]\nname = "a"\n'
GRADLE = "plugins { id 'java' }\ntest {\n    useJUnitPlatform()\n}\n"

DECIDES: list[tuple[str, str | None, str | None]] = [
    ("package.json", package(), package(scripts={**SCRIPTS, "test": "true"})),
    ("package.json", package(), package(scripts={**SCRIPTS, "unit": "true"})),
    ("package.json", package(), package(scripts={**SCRIPTS, "posttest": "exit 0"})),
    ("package.json", package(), package(scripts={**SCRIPTS, "pretest": "rm -r test"})),
    ("package.json", package(), package(scripts={})),
    ("package.json", package(), package(jest={"testPathIgnorePatterns": ["a"]})),
    ("package.json", package(mocha={"spec": "test"}), package(mocha={"spec": "none"})),
    ("package.json", package(), "{"),
    ("package.json", package(), None),
    (".npmrc", "a=b\n", "a=b\nscript-shell=/bin/true\n"),
    (".mocharc.yml", "a\n", "b\n"),
    ("vitest.config.ts", "a\n", "b\n"),
    (".c8rc.json", "a\n", "b\n"),
    ("vite.config.ts", "export default {}\n", "export default { test: { include: ['none'] } }\n"),
    ("pom.xml", plugin(""), plugin("<configuration><skipTests>true</skipTests></configuration>")),
    ("pom.xml", pom(""), pom("<properties><maven.test.skip>true</maven.test.skip></properties>")),
    ("pom.xml", pom("<modules><module>a</module><module>b</module></modules>"), pom("<module>a</module>")),
    ("pom.xml", pom(""), pom("").replace("jar", "pom")),
    (".mvn/maven.config", None, "-DskipTests\n"),
    ("build.gradle", GRADLE, GRADLE.replace("useJUnitPlatform()", "enabled = false")),
    ("build.gradle.kts", "", "tasks.test { ignoreFailures = true }\n"),
    ("build.gradle", GRADLE, f"{GRADLE}tasks.test.enabled = false\n"),
    ("Cargo.toml", CARGO, f"{CARGO}[lib]\ntest = false\n"),
    ("Cargo.toml", CARGO, "[[["),
    ("Cargo.toml", f'{CARGO}[[bin]]\nname = "b"\n', f'{CARGO}[[bin]]\nname = "b"\ntest = false\n'),
    ("Cargo.toml", CARGO, f"{CARGO}autotests = false\n"),
    ("Cargo.toml", f'{CARGO}[[test]]\nname = "a"\n', CARGO),
    ("Cargo.toml", CARGO, f'{CARGO}[[test]]\nname = "a"\nharness = false\n'),
    ("Cargo.toml", '[workspace]\nmembers = ["a", "b"]\n', '[workspace]\nmembers = ["a"]\n'),
    (".cargo/config.toml", None, "[target.x]\nrunner = 'true'\n"),
    ("CMakeLists.txt", "enable_testing()\nadd_test(NAME a COMMAND a)\n", "enable_testing()\n"),
]


@pytest.mark.parametrize(("path", "before", "after"), DECIDES)
def test_what_decides_how_tests_are_run_is_known(path: str, before: str | None, after: str | None) -> None:
    assert reconfigures(change(path, before, after), "npm test")


HARMLESS: list[tuple[str, str | None, str | None]] = [
    ("package.json", package(), package(dependencies={"left-pad": "1"})),
    ("package.json", package(), package(devDependencies={"jest": "29"})),
    ("package.json", package(), package(version="1.0.1", type="module", exports={".": "./a.js"})),
    ("package.json", package(), package(scripts={**SCRIPTS, "lint": "eslint src", "format": "prettier ."})),
    ("package.json", None, json.dumps({"name": "a", "type": "module"})),
    (".npmrc", "", "save-exact=true\n"),
    ("vite.config.ts", "export default {}\n", "export default { build: { minify: false } }\n"),
    ("pom.xml", pom(""), pom("<dependency><artifactId>a</artifactId><scope>test</scope></dependency>")),
    ("pom.xml", plugin(""), plugin("").replace("3.0", "3.2")),
    ("pom.xml", pom("<module>a</module>"), pom("<module>a</module><module>b</module>")),
    ("pom.xml", pom(""), pom("<!-- <skipTests>true</skipTests> -->")),
    ("build.gradle", GRADLE, f"{GRADLE}dependencies {{\n    testImplementation 'a:b:1'\n}}\n"),
    ("Cargo.toml", CARGO, f'{CARGO}version = "2.0.0"\n[dev-dependencies]\nrstest = "1"\n'),
    ("Cargo.toml", CARGO, f'{CARGO}[[test]]\nname = "a"\npath = "tests/deep/a.rs"\n'),
    ("CMakeLists.txt", "add_test(NAME a COMMAND a)\n", "add_test(NAME a COMMAND a)\nadd_library(b b.c)\n"),
]


@pytest.mark.parametrize(("path", "before", "after"), HARMLESS)
def test_the_rest_of_a_manifest_is_anybodys(path: str, before: str | None, after: str | None) -> None:
    assert reconfigures(change(path, before, after), "npm test") is None


def test_a_script_that_the_test_command_does_not_call_may_be_added() -> None:
    without, with_it = (
        json.dumps({"name": "a"}),
        json.dumps({"name": "a", "scripts": {"test": "node --test"}}),
    )
    assert reconfigures(change("package.json", without, with_it), "node --test") is None
    assert reconfigures(change("package.json", with_it, without), "sh all.sh")


def test_the_script_that_the_test_command_names_counts() -> None:
    changed = change("package.json", package(), package(scripts={**SCRIPTS, "lint": "true"}))
    assert reconfigures(changed, "npm run lint")
    assert reconfigures(changed, "npm run --silent unit") is None


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("npm test", {"test", "pretest", "unit"}),
        ("npm t", {"test", "pretest", "unit"}),
        ("yarn unit", {"unit"}),
        ("npm run --if-present unit", {"unit"}),
        ("sh all.sh", {"test", "pretest", "unit"}),
    ],
)
def test_scripts_are_followed(command: str, names: set[str]) -> None:
    assert set(scripts(package(), command)) == names
    assert scripts("{", command) == {}


def test_files_that_scripts_start_are_known_and_files_they_only_read_are_not() -> None:
    text = package(scripts={"test": "eslint src/a.js && node --no-warnings tools/check.mjs && ./all.sh"})
    assert files_run(text, "npm test") == {"tools/check.mjs", "all.sh"}


@pytest.mark.parametrize("phase", [PhaseName.RED, PhaseName.GREEN, PhaseName.REFACTOR])
def test_no_phase_may_change_how_tests_are_run(phase: PhaseName) -> None:
    before = {"package.json": package(), "tools/check.js": "check()\n", "a.js": "1\n"}
    for after in (
        {**before, "package.json": package(scripts={"test": "true"})},
        {**before, "tools/check.js": "\n"},
    ):
        found = list(configuration(evidence(phase, before, after, command="npm test")))
        assert [item.type for item in found] == [FindingType.TEST_TAMPERING]
    other = {**before, "package.json": package(version="2.0.0"), "a.js": "2\n"}
    assert not list(configuration(evidence(phase, before, other, command="npm test")))


GO_MOD = "module a\n\ngo 1.22\n"
DEPENDENCY = "<dependencies><dependency><artifactId>j</artifactId>{}</dependency></dependencies>"
FOR_TESTS = [
    ("package.json", package(), package(devDependencies={"jest": "29"})),
    ("Cargo.toml", CARGO, f'{CARGO}[dev-dependencies]\nrstest = "1"\n'),
    ("go.mod", GO_MOD, f"{GO_MOD}\nrequire (\n\tgithub.com/a/b v1.2.3 // indirect\n)\n"),
    ("pom.xml", pom(""), pom(DEPENDENCY.format("<scope>test</scope>"))),
    ("build.gradle", "dependencies {\n}\n", "dependencies {\n    testImplementation 'a:b:1'\n}\n"),
]
FOR_ALL = [
    ("package.json", package(), package(dependencies={"jest": "29"})),
    ("package.json", package(), "{"),
    ("package.json", package(), "[]"),
    ("Cargo.toml", CARGO, f'{CARGO}[dependencies]\nserde = "1"\n'),
    ("go.mod", GO_MOD, GO_MOD.replace("1.22", "1.23")),
    ("pom.xml", pom(""), pom(DEPENDENCY.format(""))),
    ("build.gradle", "dependencies {\n}\n", "dependencies {\n    implementation 'a:b:1'\n}\n"),
    ("calc.js", "1\n", "2\n"),
]


@pytest.mark.parametrize(("name", "before", "after"), FOR_TESTS)
def test_a_dependency_for_tests_is_told_from_others(name: str, before: str, after: str) -> None:
    assert adds_for_tests(name, before, after)


@pytest.mark.parametrize(("name", "before", "after"), FOR_ALL)
def test_what_the_code_depends_on_is_not_for_tests_alone(name: str, before: str, after: str) -> None:
    assert not adds_for_tests(name, before, after)

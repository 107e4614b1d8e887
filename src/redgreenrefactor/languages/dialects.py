"""How tests are written, silenced and asserted with in other languages than Python."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePosixPath

from redgreenrefactor.model.values import frozen


@frozen
class Dialect:
    """How tests are written in a family of languages."""

    token: re.Pattern[str]  # comments, in a group of that name, and strings: what is no code
    test: re.Pattern[str]  # where one begins; its group `name` is what it is called, if that is no string
    silenced: re.Pattern[str]
    asserts: re.Pattern[str]
    several: re.Pattern[str]  # one test for many values
    fails: str = ""  # a statement that lets the test fail, for the beginning of its body
    focused: re.Pattern[str] | None = None  # lets no other test run
    callbacks: bool = False  # a test is a call that is given a function


# What is never closed goes to the end: nothing is searched for twice, however long a text is.
_SLASHES = r"//[^\n]*|/\*.*?(?:\*/|\Z)"
_HASH = r"#[^\n]*"
_DOUBLE, _SINGLE = r'"(?:\\.|[^"\\\n])*"', r"'(?:\\.|[^'\\\n])*'"
_CHARACTER = r"'(?:\\[^\n']*.|[^'\\\n])'"  # a lone quote is something else, such as a lifetime
_TEMPLATE, _RAW = r"`(?:\\.|[^`\\])*(?:`|\Z)", r"`[^`]*(?:`|\Z)"
_TRIPLE = r'"""(?:\\.|[^\\])*?(?:"""|\Z)'
_VERBATIM, _HASHED = r'@"(?:""|[^"])*(?:"|\Z)', r'r(?P<hashes>\#*)".*?(?:"(?P=hashes)|\Z)'
_PARENTHESISED, _PERCENT = r'R"\(.*?(?:\)"|\Z)', r"%[qQwWiI]?\{[^}]*(?:\}|\Z)"
_REGEX = r"(?<=[=(,:\[!&|?;])[ \t]*/(?![*/])(?:\\.|\[[^\]\n]*\]|[^/\\\n\[])+/[a-z]*"


def _token(comment: str, *strings: str) -> re.Pattern[str]:
    return re.compile(rf"(?P<comment>{comment})|{'|'.join(strings)}", re.DOTALL)


_JS = Dialect(
    token=_token(_SLASHES, _DOUBLE, _SINGLE, _TEMPLATE, _REGEX),
    test=re.compile(
        r"(?<![.\w$])(?:it|test|specify|Deno\.test)(?:\.(?:each|only|concurrent|failing|serial))*\s*[(`]"
    ),
    silenced=re.compile(
        r"(?<![\w$])(?:it|test|describe|suite|context|specify)(?:\.\w+)*\.(?:skip|todo|fixme|skipIf|runIf|ignore)\b"
        r"|(?<![.\w$])x(?:it|test|describe|context|specify)\s*\(|\b(?:t|this|ctx|context)\.(?:skip|todo)\s*\("
        r"|\bskip\s*:\s*(?:true\b|[\"'`])|\btodo\s*:\s*true\b"
    ),
    focused=re.compile(
        r"(?<![\w$])(?:it|test|describe|suite|context|specify)(?:\.\w+)*\.only\b|(?<![.\w$])f(?:it|describe)\s*\(|\bonly\s*:\s*true\b"
    ),
    asserts=re.compile(
        r"(?<![.\w$])(?:assert|expect|chai\.assert|chai\.expect)(?:\.\w+)*\s*\(|\.should\b"
        r"|\bt\.(?:is|not|deep|equal|same|ok|true|false|truthy|falsy|throws|rejects|like|regex|snapshot|assert|fail|match)\w*\s*[.(]"
    ),
    several=re.compile(r"\.each\b|\bfor\s*(?:await\s*)?\(|\.forEach\s*\(|\.map\s*\("),
    fails='throw new Error("planted");',
    callbacks=True,
)
_GO = Dialect(
    token=_token(_SLASHES, _DOUBLE, _CHARACTER, _RAW),
    test=re.compile(r"^func (?P<name>(?:Test|Example|Fuzz)\w*)\s*\(", re.MULTILINE),
    silenced=re.compile(r"\b[tbf]\.Skip(?:f|Now)?\("),
    asserts=re.compile(r"\b[a-z]\w?\.(?:Error|Fatal|Fail)\w*\(|\b(?:assert|require|is|qt|cmp)\.\w+\("),
    several=re.compile(r"\brange\b|\b\w+\.Run\("),
    fails='panic("planted");',
)
_RUST = Dialect(
    token=_token(_SLASHES, _HASHED, _DOUBLE, _CHARACTER),
    test=re.compile(
        r"#\[\s*(?:\w+::)*(?:test|rstest|test_case|wasm_bindgen_test|quickcheck)\b[^\]]*\][^{;]*?\bfn\s+(?P<name>\w+)"
    ),
    silenced=re.compile(
        r"#\[\s*ignore\b|#!?\[\s*cfg\s*\(\s*(?:any\s*\(\s*\)|FALSE|false|not\s*\(\s*test\s*\))|cfg_attr\s*\([^\]]*\bignore\b"
    ),
    asserts=re.compile(r"\b(?:debug_)?(?:assert|prop_assert)\w*!|#\[\s*should_panic|\bpanic!"),
    several=re.compile(r"#\[\s*(?:case|values|test_case)\b|\bfor\b"),
    fails='if true { panic!("planted"); }',
)
_JVM = Dialect(
    token=_token(_SLASHES, _TRIPLE, _DOUBLE, _CHARACTER),
    test=re.compile(
        r"@(?:Test|ParameterizedTest|RepeatedTest|TestFactory|TestTemplate|Property|Theory)\b.{0,2000}?"
        r"(?<![@\w.])(?P<name>`[^`]+`|\w+)\s*\([^()]*\)\s*(?:throws[^{;]*|:[^{;=]*)?(?=[{=])"
        r"|\bpublic\s+void\s+(?P<old>test\w+)\s*\(",
        re.DOTALL,
    ),
    silenced=re.compile(
        r"@(?:Disabled|Ignore|EnabledI[fn]|EnabledOn|EnabledFor)\w*\b|\benabled\s*=\s*false\b|\bassum(?:e\w*|ptions\.\w+)\s*\(|\bAssum\w+\.\w+\("
    ),
    asserts=re.compile(
        r"\b(?:assert|verify|expect|check)\w*\s*[({]|\bfail\s*\(|\bshould\w+\b|\bassert\s|\bexpected\s*="
    ),
    several=re.compile(
        r"@(?:\w*Source|Parameters|ParameterizedTest|Theory)\b|\bfor\s*\(|\.forEach\b|\bdynamicTest\b"
    ),
    fails='if (true) throw new AssertionError("planted");',
)
_KOTLIN = replace(_JVM, fails='if (true) throw AssertionError("planted");')
_DOTNET = Dialect(
    token=_token(_SLASHES, _TRIPLE, _VERBATIM, _DOUBLE, _CHARACTER),
    test=re.compile(
        r"\[\s*(?:Fact|Theory|Test|TestCase|TestMethod|DataTestMethod)\b.{0,2000}?"
        r"(?P<name>\w+)\s*\([^()]*\)\s*(?=\{|=>)",
        re.DOTALL,
    ),
    silenced=re.compile(r"\bSkip\s*=|\[\s*(?:Ignore|Explicit)\b|\bAssert\.(?:Ignore|Inconclusive)\("),
    asserts=re.compile(r"\bAssert\.\w+|\.Should\w*\(|\bVerify\w*\("),
    several=re.compile(r"\[\s*(?:Theory|InlineData|MemberData|ClassData|TestCase|DataRow)\b|\bforeach\b"),
    fails='if (true) throw new System.Exception("planted");',
)
_C = Dialect(
    token=_token(_SLASHES, _PARENTHESISED, _DOUBLE, _CHARACTER),
    test=re.compile(r"\b(?:TEST(?:_F|_P|_CASE)?|SCENARIO|BOOST_AUTO_TEST_CASE)\s*\("),
    silenced=re.compile(r"\bDISABLED_\w+|\bGTEST_SKIP\b|\bSKIP\s*\(|\[\.\w*\]|\[!mayfail\]|#\s*if\s+0\b"),
    asserts=re.compile(r"\b(?:EXPECT|ASSERT|REQUIRE|CHECK|BOOST_\w+|TEST_ASSERT)\w*\s*\(|\bassert\s*\("),
    several=re.compile(r"\bTEST_P\b|\bGENERATE\s*\(|\bfor\s*\("),
)
RUBY = Dialect(
    token=_token(_HASH, _DOUBLE, _SINGLE, _PERCENT),
    test=re.compile(
        r"^[ \t]*(?:it|specify|test|scenario|example)\s*\(?\s*[\"']|^[ \t]*def\s+(?P<name>test_\w+)",
        re.MULTILINE,
    ),
    silenced=re.compile(
        r"^[ \t]*(?:xit|xspecify|xdescribe|xcontext|skip|pending)\b|\bskip:\s*true", re.MULTILINE
    ),
    focused=re.compile(r"^[ \t]*f(?:it|describe|context)\b|\bfocus:\s*true|,\s*:focus\b", re.MULTILINE),
    asserts=re.compile(r"\b(?:expect|assert\w*|refute\w*)\b|\.(?:must|wont|should)\w*\b"),
    several=re.compile(r"\.each\w*\b|\bwhere\b"),
)
_PHP = Dialect(
    token=_token(rf"{_SLASHES}|#(?!\[)[^\n]*", _DOUBLE, _SINGLE),
    test=re.compile(
        r"\bfunction\s+(?P<name>test\w*)\s*\(|#\[Test\][^{;]*?\bfunction\s+(?P<old>\w+)\s*\(|(?<![.\w$>])(?:it|test)\s*\("
    ),
    silenced=re.compile(r"\bmarkTest(?:Skipped|Incomplete)\b|->(?:skip|todo)\s*\("),
    asserts=re.compile(r"(?:->|::)(?:assert|expect)\w*\s*\(|\bexpect\s*\("),
    several=re.compile(r"\bdataProvider\b|DataProvider|TestWith|->with\(|\bforeach\b"),
    fails='throw new \\Exception("planted");',
)
PYTHON = Dialect(
    token=_token(_HASH, _TRIPLE, _TRIPLE.replace('"', "'"), _DOUBLE, _SINGLE),
    test=re.compile(r"^[ \t]*(?:async\s+)?def\s+(?P<name>test\w*)\s*\(", re.MULTILINE),
    silenced=re.compile(
        r"\b(?:pytest|mark|unittest)\.(?:skip\w*|xfail|importorskip)\b|@skip\w*|\bexpectedFailure\b|\.skipTest\(|\bSkipTest\b"
    ),
    asserts=re.compile(r"\bassert\b|\bassert[A-Z_]\w*\s*\(|\b(?:raises|warns)\s*\("),
    several=re.compile(r"\bparametrize\b|\bsubTest\b|\bfor\b"),
    fails='raise AssertionError("planted")',
)
DIALECTS: Mapping[str, Dialect] = {
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".vue", ".svelte"), _JS),
    ".go": _GO,
    ".rs": _RUST,
    **dict.fromkeys((".java", ".groovy", ".scala"), _JVM),
    **dict.fromkeys((".kt", ".kts"), _KOTLIN),
    ".cs": _DOTNET,
    **dict.fromkeys((".c", ".cc", ".cpp", ".cxx", ".h", ".hpp"), _C),
    ".rb": RUBY,
    ".php": _PHP,
    ".py": PYTHON,
}


def dialect_of(path: str) -> Dialect | None:
    """Return how tests are written in a file of this name, None where that is not known."""
    return DIALECTS.get(PurePosixPath(path).suffix)

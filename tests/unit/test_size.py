"""What `pip install redgreenrefactor` brings, without extras."""

import re
from importlib.metadata import distribution
from pathlib import Path

MOST = 60e6  # bytes


def needed(name: str, known: set[str], extras: frozenset[str] = frozenset()) -> set[str]:
    """Return the names of everything a distribution needs, itself included."""
    known.add(name)
    for line in distribution(name).requires or []:
        requirement, _, marker = line.partition(";")
        found = re.match(r"([\w.-]+)(?:\[([\w,-]+)\])?", requirement.strip())
        assert found
        wanted = re.search(r"extra\s*==\s*['\"]([\w-]+)", marker)
        other = re.search(
            r"(python_version|sys_platform|platform_system|implementation_name|os_name)", marker
        )
        if (wanted and wanted[1] not in extras) or (other and not wanted) or found[1] in known:
            continue
        needed(found[1], known, frozenset((found[2] or "").split(",")))
    return known


def size(name: str) -> int:
    """Return what a distribution's files take on disk, byte code that is made later not included."""
    files = [Path(str(file.locate())) for file in distribution(name).files or [] if file.suffix != ".pyc"]
    return sum(-(-file.stat().st_size // 4096) * 4096 for file in files if file.exists())


def test_the_program_stays_small_without_extras() -> None:
    names = needed("redgreenrefactor", set())
    sizes = {name: size(name) for name in names}

    assert {"anthropic", "pydantic-ai-slim", "click"} <= names
    assert not {"openai", "google-genai", "opentelemetry-sdk"} & names
    assert sum(sizes.values()) < MOST, sizes

"""Cut GitHub's OpenAPI description down to what we send: `python trim_openapi.py FULL.json > data/github_openapi.json`.

The full one is `generated/api.github.com.json` of the npm package @octokit/openapi (23.0.2).
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

Json = dict[str, Any]

USED = {
    "/repos/{owner}/{repo}": ("get",),
    "/repos/{owner}/{repo}/pulls": ("get", "post"),
    "/repos/{owner}/{repo}/pulls/{pull_number}": ("patch",),
}
NOISE = frozenset({"description", "externalDocs", "x-github", "summary", "tags", "x-github-breaking-changes"})


def trimmed(full: Json) -> Json:
    """Return the description of the used operations, and of everything they refer to."""
    paths = {
        path: {
            method: operation
            for method, operation in full["paths"][path].items()
            if method in methods or method == "parameters"
        }
        for path, methods in USED.items()
    }
    kept: dict[str, Json] = {}
    waiting = list(references(paths))
    while waiting:
        kind, name = waiting.pop()
        if name not in kept.setdefault(kind, {}):
            kept[kind][name] = full["components"][kind][name]
            waiting += references(kept[kind][name])
    body = {"paths": paths, "components": {kind: dict(sorted(kept[kind].items())) for kind in sorted(kept)}}
    return {
        "openapi": full["openapi"],
        "info": {"title": "GitHub", "version": full["info"]["version"]},
    } | quiet(body)


def references(value: Any) -> Iterator[tuple[str, str]]:
    """Yield kind and name of every component that is referred to."""
    if isinstance(value, dict):
        for key, item in cast("Json", value).items():
            if key == "$ref":
                kind, name = str(item).split("/")[-2:]
                yield kind, name
            else:
                yield from references(item)
    elif isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from references(item)


def quiet(value: Any, *, named: bool = False) -> Any:
    """Return the value without words for people; a property may be called like one of them."""
    if isinstance(value, list):
        return [quiet(item) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    body = cast("Json", value)
    items = body.items()
    if "value" in body and len(body) <= 3 and not named:  # an example is data: nothing in it is for people
        return {key: item for key, item in items if key not in NOISE}
    return {
        key: item if key == "example" else quiet(item, named=key in ("properties", "examples"))
        for key, item in items
        if named or key not in NOISE or (key == "description" and "content" in body)
    }


if __name__ == "__main__":
    print(
        json.dumps(trimmed(json.loads(Path(sys.argv[1]).read_text())), separators=(",", ":"), sort_keys=False)
    )

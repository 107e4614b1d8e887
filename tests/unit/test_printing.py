"""What commands print is what it claims to be, whatever stands in it and wherever it goes."""

import io
import json
import sys

import pytest

from redgreenrefactor.cli.common import print_json
from redgreenrefactor.cli.main import main
from repos import Repo


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1"])
@pytest.mark.parametrize("errors", ["strict", "surrogateescape"])
@pytest.mark.parametrize("text", ["plain", "caf\u00e9 \u4e2d", "caf\udce9.py was changed"])
def test_json_is_json_in_every_encoding(
    monkeypatch: pytest.MonkeyPatch, encoding: str, errors: str, text: str
) -> None:
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding, errors))
    print_json({"error": text})
    assert json.loads(out.getvalue().decode(encoding)) == {"error": text}


def test_letters_stay_letters_where_they_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, "utf-8"))
    print_json("caf\u00e9")
    assert out.getvalue() == '"caf\u00e9"\n'.encode()


def test_a_terminal_that_knows_few_letters_is_no_reason_to_fail(
    monkeypatch: pytest.MonkeyPatch, repo: Repo
) -> None:
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, "latin-1", "strict"))
    monkeypatch.setattr(sys, "argv", ["rgr", "doctor", "--project", str(repo.path)])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 3
    sys.stdout.flush()
    assert b"git version" in out.getvalue()

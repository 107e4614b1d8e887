"""A run that is shown in a browser while it goes on."""

import json
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from stage import GREENFIELD, Stage, calculator, wait_for

from repos import MakeRepo

WAIT = "for i in $(seq 600); do test -e {} && break; sleep 0.1; done"


@pytest.mark.long
@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_a_run_is_served_while_it_goes_on(make_repo: MakeRepo, flags: list[str]) -> None:
    stage = Stage(make_repo(files=GREENFIELD))
    looked = stage.repo.path.parent / "looked"
    parts = calculator(1)
    parts["RED-1"]["run"] = [WAIT.format(looked)]
    stage.play(parts)
    with stage.started("run", "A calculator", "--agent", stage.agent, "--watch", *flags) as process:
        stream = process.stderr if flags else process.stdout
        assert stream is not None
        said = next(line for line in stream if "watch it at" in line)
        address = said.rpartition(" ")[2].strip()
        wait_for(lambda: "RED-1-1" in stage.turns, "a session is at work")
        with urlopen(address) as page:
            assert "A calculator" in page.read().decode()
        looked.touch()
        out, _ = process.communicate(timeout=120)
    assert process.returncode == 0, out
    assert not flags or json.loads(out)["status"] == "complete"  # nothing else is printed there
    with pytest.raises(URLError):
        urlopen(address)

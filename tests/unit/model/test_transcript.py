import pytest

from redgreenrefactor.model.events import (
    Event,
    Judged,
    Paused,
    SessionBegan,
    SessionNoted,
    SessionReported,
    SessionSaid,
    WorkSealed,
)
from redgreenrefactor.model.evidence import Change, File
from redgreenrefactor.model.session import Answered, Brief, Called, Report, Role, Usage, Uttered
from redgreenrefactor.model.transcript import Left, Recorded, object_of, recorded, turn_name
from redgreenrefactor.model.verdict import Finding, FindingType, rule
from redgreenrefactor.model.workflow import PhaseName, RoleName

BRIEF = Brief(Role(RoleName.TEST, "", "You test.", model="m"), PhaseName.RED, 2, 3, "run-7", "Do it.", "{}")
BEGAN = SessionBegan(BRIEF, "replay:x", "/home/me/project", "b" * 40)
FAILURE = Finding(FindingType.TIMEOUT, "too long", hint="wait")
ENDED = (
    SessionReported(Report("done", Usage(1, 2, cost_usd=0.5), FAILURE), 1.23456),
    WorkSealed(
        "c" * 40,
        "test: x",
        "sub/",
        (Change("sub/a", None, File("100644", "1", "x")), Change("sub/b", File("100644", "2", "y"), None)),
    ),
)
STEPS = (
    SessionNoted(Uttered("thinking")),
    SessionNoted(Called("1", "Read", {"file_path": "a"})),
    SessionNoted(Answered("1", "no", failed=True)),
    SessionNoted(Called("2", "Write", {"file_path": "a", "content": "x"})),
    SessionNoted(Answered("2", "Created a.")),
    SessionNoted(Called("3", "Bash", {"command": "true"})),
)


def told(*events: Event) -> list[dict[str, object]]:
    return [one for event in events if (one := object_of(event)) is not None]


def test_a_turn_is_called_as_its_kept_attempt_is() -> None:
    assert turn_name(BRIEF) == "2-RED-3"


def test_every_step_is_an_object_with_a_type() -> None:
    verdict = rule(Finding(FindingType.TEST_TAMPERING, "edited"))
    judged = Judged(PhaseName.RED, 2, 3, verdict, None, "", 1.0)

    objects = told(BEGAN, SessionSaid("line"), *STEPS, *ENDED, judged)

    assert [one["type"] for one in objects] == [
        *[
            "session",
            "said",
            "message",
            "call",
            "result",
            "call",
            "result",
            "call",
            "report",
            "sealed",
            "judged",
        ]
    ]
    assert objects[0]["brief"] == "You test.\n\nDo it.\n"
    assert objects[0]["base"] == "b" * 40
    assert objects[-1]["ruling"] == "rejected"


def test_other_events_are_no_part_of_it() -> None:
    assert object_of(Paused(1.0)) is None


def test_what_was_told_is_read_again() -> None:
    session = recorded(told(BEGAN, *STEPS, *ENDED))

    assert session == Recorded(
        phase=PhaseName.RED,
        cycle=2,
        attempt=3,
        run_id="run-7",
        folder="/home/me/project",
        handoff="{}",
        report=Report("done", Usage(1, 2, cost_usd=0.5), FAILURE),
        calls=(
            (Called("1", "Read", {"file_path": "a"}), True),
            (Called("2", "Write", {"file_path": "a", "content": "x"}), False),
            (Called("3", "Bash", {"command": "true"}), True),  # it was never answered
        ),
        base="b" * 40,
        commit="c" * 40,
        subject="test: x",
        prefix="sub/",
        left=(Left("sub/a", "100644", "x"), Left("sub/b", None, None)),
    )


def test_a_session_that_was_cut_off_does_not_count() -> None:
    done = SessionReported(Report("at last"), 1.0)

    assert recorded(told(BEGAN, *STEPS)) is None
    assert recorded([]) is None
    again = recorded(told(BEGAN, *STEPS, BEGAN, done, BEGAN, *STEPS))
    assert again is not None
    assert (again.report, again.calls, again.left) == (Report("at last"), (), ())


@pytest.mark.parametrize("objects", [[{}], [{"type": "report"}], [{"type": "session"}, {"type": "report"}]])
def test_what_is_no_transcript_is_an_error(objects: list[dict[str, str]]) -> None:
    with pytest.raises((KeyError, IndexError)):
        recorded(objects)

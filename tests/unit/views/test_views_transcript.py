from redgreenrefactor.views.transcript_text import transcript_text

HEAD = {
    "type": "session",
    "cycle": 1,
    "phase": "GREEN",
    "attempt": 2,
    "runId": "run-7",
    "agent": "api",
    "model": "m",
    "base": "abcdef0123456789",
    "brief": "Do it.\n",
    "time": "2026-11-15T09:15:12.345Z",
}
SAID = {"type": "said", "text": "working\x1b[31m"}
REST = (
    {
        "type": "call",
        "id": "1",
        "tool": "Write",
        "arguments": {"file_path": "a.py", "content": "x = 1\ny = 2\n"},
    },
    {"type": "result", "id": "1", "text": "Created a.py.", "failed": False},
    {"type": "result", "id": "2", "text": "no", "failed": True},
    {"type": "message", "text": "Now the rest."},
    {
        "type": "report",
        "message": "Done.",
        "usage": {"inputTokens": 5},
        "failure": {"type": "Timeout", "message": "too long"},
        "seconds": 1.5,
    },
    {
        "type": "sealed",
        "commit": "c0ffee0000111",
        "subject": "feat: x",
        "changes": [{"path": "a.py", "mode": "100644"}, {"path": "b.py", "mode": None}, 3],
    },
    {"type": "judged", "ruling": "rejected", "findings": [{"type": "TestTampering", "message": "edited"}]},
    {"type": "cut", "text": "no more"},
)


def test_every_step_is_shown_in_order() -> None:
    assert list(transcript_text([HEAD, SAID, *REST])) == [
        "1-GREEN-2 · run-7 · api · m · from abcdef0123 · 2026-11-15T09:15:12.345Z",
        "── brief",
        "   Do it.",
        '── Write {"file_path": "a.py"}',
        "   content:",
        "   x = 1",
        "   y = 2",
        "   → Created a.py.",
        "   failed: no",
        "── said",
        "   Now the rest.",
        '── ended after 1.5 s · {"inputTokens": 5}',
        "   Done.",
        "   Timeout: too long",
        "── sealed c0ffee0000 feat: x",
        "   + a.py",
        "   - b.py",
        "── rejected",
        "   TestTampering: edited",
        "── cut: no more",
    ]


def test_progress_is_shown_where_nothing_else_is_known() -> None:
    assert list(transcript_text([SAID])) == ["· working"]


def test_long_texts_are_cut_and_odd_values_do_no_harm() -> None:
    long = {"type": "message", "text": "line\n" * 100}

    assert list(transcript_text([long]))[-1] == "   [… 60 more lines; --json shows all …]"
    for kind in ("session", "said", "message", "call", "result", "report", "sealed", "judged", "other"):
        assert list(
            transcript_text([{"type": kind, "changes": 3, "findings": {}, "arguments": [], "text": 5}])
        )

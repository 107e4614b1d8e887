"""REVIEW: a clear answer, nothing touched, and no approval of a suite that fails."""

from redgreenrefactor.gates.code import LONGEST, failing
from redgreenrefactor.gates.rules.answers import objects, unreadable
from redgreenrefactor.gates.rules.findings import errors, printed_error, scope
from redgreenrefactor.gates.rules.legacy import regressions
from redgreenrefactor.gates.rules.measurement import measure
from redgreenrefactor.gates.rules.scope import history
from redgreenrefactor.model.evidence import Evidence, Judgement, Measure
from redgreenrefactor.model.facts import Facts
from redgreenrefactor.model.goal import title_of
from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.verdict import Finding, FindingType, Outcome, TestOutcome, Verdict, rule

ANSWER = (
    'End with one JSON object: {"verdict": "approve", "title": "…", "body": "…"}, '
    'or {"verdict": "feedback", "feedback": "…"}.'
)


@frozen
class Opinion:
    """What the reviewer decided, and the words for the pull request or for the coder."""

    outcome: Outcome
    title: str = ""
    body: str = ""
    feedback: str = ""

    def facts(self, message: str) -> Facts:
        """Return what the note says of the opinion, and of the message that held it."""
        if self.outcome is Outcome.FEEDBACK:
            return Facts(message=message, verdict="feedback", feedback=self.feedback)
        return Facts(message=message, verdict="approve", title=self.title, body=self.body)


def review(evidence: Evidence) -> Judgement:
    """The answer can be read, nothing was changed, and what is approved is green."""
    found = [*history(evidence), *_touched(evidence)]
    said = evidence.report.message[:LONGEST]
    opinion = read_opinion(evidence.report.message, title_of(evidence.handoff.feature))
    if isinstance(opinion, str):
        found.append(Finding(FindingType.MALFORMED_HANDOFF, opinion, hint=ANSWER))
    if isinstance(opinion, str) or errors(found):
        return rule(*found, facts=Facts(message=said))
    measured = yield from measure(evidence)
    if isinstance(measured, Verdict):
        return measured
    after = measured.after
    if after.measure is Measure.EXIT_CODE:
        red = [] if after.green else [_red(f"exit code {after.exit_code}: {printed_error(after)}")]
    else:
        red = [*failing(measured), *(yield from regressions(evidence, measured))]
    outcome = TestOutcome.FAIL if errors(red) else TestOutcome.PASS
    if opinion.outcome is Outcome.APPROVED and errors(red):
        found += [_red(errors(red)[0].message)]
    return rule(*found, test_result=outcome, outcome=opinion.outcome, facts=opinion.facts(said))


def read_opinion(message: str, title: str = "") -> Opinion | str:
    """Return what the last JSON object with a verdict says, or what is wrong with it; `title` is for want of one."""
    bodies = [body for body in objects(message) if "verdict" in body]
    if not bodies:
        return unreadable(message, "verdict")
    body = bodies[-1]
    words = {key: str(body.get(key) or "").strip() for key in ("title", "body", "feedback")}
    match body["verdict"]:
        case "approve":
            return Opinion(Outcome.APPROVED, " ".join(words["title"].split()) or title, words["body"])
        case "feedback" if words["feedback"]:
            return Opinion(Outcome.FEEDBACK, feedback=words["feedback"])
        case "feedback":
            return "the verdict is feedback, but there is none"
        case other:
            return f"the verdict is {other!r:.50}, but must be approve or feedback"


def _touched(evidence: Evidence) -> list[Finding]:
    return [
        scope(change, "the reviewer changes nothing", "Say what is to be changed; the coder changes it.")
        for change in evidence.changes
    ]


def _red(why: str) -> Finding:
    return Finding(
        FindingType.TEST_FAILURE,
        f"the suite fails, so this cannot be approved ({why})",
        hint="Give feedback that says what fails.",
    )

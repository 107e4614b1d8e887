"""Enough of the code that was written is reached by the tests, where a coverage tool can tell."""

from dataclasses import replace

from redgreenrefactor.languages.paths import inside, is_test
from redgreenrefactor.model.evidence import Coverage, Evidence, Judgement, Trial
from redgreenrefactor.model.facts import CoverageFigure
from redgreenrefactor.model.verdict import Finding, FindingType, Ruling, Severity, Verdict


def covered(evidence: Evidence, verdict: Verdict) -> Judgement:
    """Return the verdict, turned down where the tests reach too little of the files that were changed."""
    wanted = evidence.rules.coverage_min
    if wanted is None or verdict.ruling is not Ruling.ACCEPTED:
        return verdict
    run = yield Trial(evidence.head, coverage=True)
    files = [
        local
        for change in evidence.changes
        if change.after and (local := inside(evidence, change.path)) and not is_test(evidence, change.path)
    ]
    measured = [name for name in files if name in run.coverage.files]
    percent = run.coverage.percent(measured)
    facts = replace(verdict.facts, coverage=_figure(run.coverage, percent, wanted))
    finding = _finding(run.coverage, percent, wanted, measured)
    if finding is None:
        return replace(verdict, facts=facts)
    ruling = Ruling.REJECTED if finding.severity is Severity.ERROR else verdict.ruling
    return replace(verdict, ruling=ruling, findings=(*verdict.findings, finding), facts=facts)


def _figure(coverage: Coverage, percent: float | None, wanted: float) -> CoverageFigure:
    if percent is None:
        return CoverageFigure(None, wanted, why=coverage.why)
    return CoverageFigure(percent, wanted, coverage.tool)


def _finding(coverage: Coverage, percent: float | None, wanted: float, files: list[str]) -> Finding | None:
    if percent is None:
        return Finding(
            FindingType.COVERAGE_TOO_LOW,
            f"the coverage of {wanted:g} % that is wanted cannot be compared: {coverage.why}",
            hint="Install a coverage tool where the tests run, e.g. coverage.py, c8 or JaCoCo.",
            severity=Severity.WARNING,
        )
    if percent >= wanted:
        return None
    where = f" of {', '.join(files)}" if files else ""
    return Finding(
        FindingType.COVERAGE_TOO_LOW,
        f"the tests reach {percent:g} %{where}; {wanted:g} % are wanted ({coverage.tool})",
        files[0] if files else None,
        hint="Take away code that no test asks for.",
    )

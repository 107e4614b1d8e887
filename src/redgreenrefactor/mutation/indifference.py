"""Whether a test minds what the planned code gives."""

import re
from collections.abc import Generator, Iterable, Sequence

from redgreenrefactor.model.evidence import Evidence, Question, SuiteRun, TestId, Trial
from redgreenrefactor.mutation.detection import SEED, holds
from redgreenrefactor.mutation.unlike import Stand, stand_in

_MAKING = re.compile(r"\b(?:creat|construct|instantiat|built|build|made|make|new|exist)", re.IGNORECASE)

Passing = Generator[Question, SuiteRun, bool]


def indifference(
    evidence: Evidence, ids: Sequence[TestId], words: Iterable[str], *, passing: bool = False
) -> Generator[Question, SuiteRun, str]:
    """Return what the planned code may do without these tests noticing; nothing where they notice, or nobody can tell.

    `words` are the texts the tests look for; `passing` says that they pass as it is.
    """
    case = evidence.case
    if case is None or not case.impl_file.endswith(".py"):
        return ""
    path, looked_for = f"{evidence.prefix}{case.impl_file}", tuple(words)
    text = evidence.read(evidence.head, path)
    if text is None and passing:
        return ""  # what there is lies elsewhere

    def passes(stand: Stand) -> Passing:
        overlay = ((path, stand_in(text, stand, looked_for)),)
        run = yield Trial(evidence.head, overlay=overlay, tests=tuple(ids), seed=SEED, probe=True)
        return holds(run, ids)

    if not (yield from passes(Stand.UNLIKE)):
        return ""
    if not (yield from passes(Stand.NONE)):
        made = _MAKING.search(case.description)
        return "" if made else "any object may come back, and all it notices is None"
    # What only fails when functions raise is about what they do beside, or leave alone; or about what can be made.
    if (yield from passes(Stand.RAISING)) and (yield from passes(Stand.NOTHING)):
        return "every function and class in it may just raise an error"
    return ""

"""Pure judgement: evidence in, questions on the way, a verdict out."""

from collections.abc import Callable, Mapping

from redgreenrefactor.gates.code import code, coded
from redgreenrefactor.gates.green import green
from redgreenrefactor.gates.plan import plan
from redgreenrefactor.gates.red import red
from redgreenrefactor.gates.refactor import refactor
from redgreenrefactor.gates.review import review
from redgreenrefactor.model.evidence import Evidence, Judgement
from redgreenrefactor.model.workflow import PhaseName

Gate = Callable[[Evidence], Judgement]

TDD_GATES: Mapping[PhaseName, Gate] = {
    PhaseName.PLAN: plan,
    PhaseName.RED: red,
    PhaseName.GREEN: green,
    PhaseName.REFACTOR: refactor,
}
REVIEW_GATES: Mapping[PhaseName, Gate] = {PhaseName.CODE: coded, PhaseName.REVIEW: review}
# Of a coder that is a whole run, whose turns were measured one by one.
INNER_GATES: Mapping[PhaseName, Gate] = {**REVIEW_GATES, PhaseName.CODE: code}

"""What the file tools do not write in a phase, with the reasons: the gates would reject it all the same, only later."""

from redgreenrefactor.agents.toolbox import Locked
from redgreenrefactor.languages.paths import ProjectFolder, is_test
from redgreenrefactor.model.goal import LIST
from redgreenrefactor.model.session import Brief
from redgreenrefactor.model.workflow import PhaseName

SETTINGS = "tdd.properties"


def locked_in(brief: Brief) -> Locked:
    """Return what is locked in a session: in GREEN the tests, outside PLAN the list, the settings always."""
    project = ProjectFolder("", brief.case)

    def locked(path: str) -> str:
        if path == SETTINGS:
            return "nobody changes the settings during a run"
        if path == LIST and brief.phase in _LISTLESS:
            return "only PLAN changes the list of cases"
        if brief.phase is PhaseName.GREEN and is_test(project, path):
            return "in GREEN the tests stay as RED wrote them; make them pass by changing the code"
        return ""

    return locked


_LISTLESS = (PhaseName.RED, PhaseName.GREEN, PhaseName.REFACTOR)

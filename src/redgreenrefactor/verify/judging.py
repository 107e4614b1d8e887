"""What each turn is judged with: the settings and the test command of the commit it began from."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import inf

from redgreenrefactor.config import Settings
from redgreenrefactor.confinement import confinement_of
from redgreenrefactor.git.repository import Repository
from redgreenrefactor.git.snapshots import GitSnapshots
from redgreenrefactor.lifecycle.factory import Factory
from redgreenrefactor.loop.lab import Lab
from redgreenrefactor.model.events import Event, LookedBack, Warned
from redgreenrefactor.model.evidence import Rules
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.task import Task, command_of_tests
from redgreenrefactor.model.values import frozen
from redgreenrefactor.runners.detect import detect_in
from redgreenrefactor.runners.warm_process import WarmProcesses
from redgreenrefactor.surroundings import Surroundings, judging_settings_of

GENEROUS = 4  # times probe.budget: where a workflow is judged again may be slower than where it was made
ENOUGH = 60.0  # seconds for probes at least: what a branch sets does not decide whether it is looked at
WITHOUT_NETWORK = (
    "the run's suites had the network, here they have none: if that makes tests fail, --network gives them it"
)


@frozen
class Yardstick:
    """The tests, and the rules, of all turns that began under the same settings."""

    settings: Settings
    command: str
    lab: Lab
    rules: Rules

    @property
    def patient(self) -> Lab:
        """The same tests, with all the time that probes want: for claims that only they can prove."""
        return replace(self.lab, probe_budget=inf)


@dataclass
class Yardsticks:
    """What the turns of one run are judged with; nobody's later settings judge what was made before them."""

    around: Surroundings
    repository: Repository
    past: GitSnapshots
    noted: Handoff | None  # what the run says of how its suites were held
    warm: WarmProcesses
    task: Task | None = None
    _known: list[Yardstick] = field(default_factory=list[Yardstick])

    def at(self, commit: str) -> Yardstick:
        """Return what a turn is judged with that began from this commit."""
        settings = self._settings(commit)
        known = next((one for one in self._known if one.settings == settings), None)
        if known is None:
            known = self._made(settings)
            self._known.append(known)
        return known

    def project_command(self, commit: str) -> str | None:
        """Return how the project itself runs its tests at a commit, whatever a task names."""
        return self._settings(commit).test_command

    def _settings(self, commit: str) -> Settings:
        settings = judging_settings_of(self.repository, self.around, commit)
        detected = detect_in(lambda name: self.past.source(commit, f"{self.past.prefix}{name}"))
        return replace(
            settings,
            test_command=settings.test_command or detected,
            probe_budget=max(settings.probe_budget * GENEROUS, ENOUGH),
            # Neither a note nor a setting of the clone opens the network for what the clone brings.
            sandbox_suite_network="on" if self.around.flags.network == "on" else "off",
            sources={},
        )

    def _made(self, settings: Settings) -> Yardstick:
        confinement = confinement_of(self.repository, settings, self.around.emit, self.past.compiled)
        if self.noted is not None and self.noted.suite_network and not confinement.suite_network:
            self.around.emit(Warned(WITHOUT_NETWORK))
        if confinement.reduced:
            self.around.emit(Warned(confinement.reduced))
        around = replace(self.around, emit=self._emit)
        warm = self.warm if settings.probe_warm == "on" else None
        factory = Factory(self.repository, settings, around, self.past.compiled, confinement, warm)
        suite = factory.task_suite(command_of_tests(self.task)) if self.task else factory.suite()
        # Whether there was another try is not asked again, and how much the tests reach was measured once.
        rules = replace(factory.rules(), retries=0, coverage_min=None)
        return Yardstick(settings, suite.command, factory.lab(self.past, suite), rules)

    def _emit(self, event: Event) -> None:
        """Pass on what a person wants to know; single runs of suites are not told."""
        if isinstance(event, LookedBack | Warned):
            self.around.emit(event)


def time_left(noted: Sequence[float | None], done: int, spent: float) -> float | None:
    """Return how many seconds the turns not judged again yet may take; None where nobody can know, or none are left.

    `noted` is how long each of them took its gate when it was made, 0 where that is not told, None where it costs nothing.
    One turn is no measure of how much slower it is here: as much again is taken to be as it was.
    """
    dear = [seconds for seconds in noted if seconds is not None]
    finished = [seconds for seconds in noted[:done] if seconds is not None]
    if len(dear) == len(finished):
        return None
    if not all(seconds > 0 for seconds in dear):
        return spent / len(finished) * (len(dear) - len(finished)) if finished else None
    usual = sum(dear) / len(dear)
    return (spent + usual) / (sum(finished) + usual) * (sum(dear) - sum(finished))

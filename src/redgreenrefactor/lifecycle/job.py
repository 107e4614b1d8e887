"""What a run is for: every workflow brings a job, and the lifecycle is the same for all."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Generic, Protocol, TypeVar

from redgreenrefactor.config import Settings
from redgreenrefactor.gates import Gate
from redgreenrefactor.lifecycle.factory import Factory
from redgreenrefactor.lifecycle.project import OpenProject
from redgreenrefactor.loop.engine import Ended
from redgreenrefactor.loop.finished_turn import Hooks
from redgreenrefactor.loop.sessions import Briefing
from redgreenrefactor.model.events import Event
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.session import Brief
from redgreenrefactor.model.values import frozen
from redgreenrefactor.model.workflow import Phase, PhaseName, Workflow
from redgreenrefactor.ports import Agent, Suite
from redgreenrefactor.prompts import templates
from redgreenrefactor.prompts.render import NO_ROUND, Ask, brief
from redgreenrefactor.prompts.rounds import Round


class Concluded(Protocol):
    """What comes of a run, whatever else a workflow has to say about it."""

    @property
    def status(self) -> str:
        """How it ended, as on.finish is told."""
        ...


Result = TypeVar("Result", bound=Concluded)


class Job(Hooks, ABC, Generic[Result]):
    """A table of phases and gates, what its sessions are told, what its notes remember, and what its result is.

    What most workflows have in common is written here; each overrides what it does in another way.
    """

    workflow: Workflow
    gates: Mapping[PhaseName, Gate]
    feature: str  # what is asked for, as notes have it
    asked: str  # the words that tests may be missing something for: it is still to be written
    tests_may_fail: bool = False  # before the run, where only an exit code can be had
    ends_invocation: bool = True  # on.finish is run at its end; if not, whoever wanted the run sees to that

    def __init__(self, project: OpenProject) -> None:
        self.project = project

    # --- before

    def settings(self) -> Settings:
        """Return the settings that count for it."""
        return self.project.settings

    def suite(self, factory: Factory) -> Suite:
        """Return the tests it is judged by."""
        return factory.suite()

    def own_agents(self, factory: Factory, suite: Suite) -> Mapping[PhaseName, Agent]:  # noqa: ARG002
        """Return who works at phases that no setting names an agent for."""
        return {}

    def require_able(self, factory: Factory, agents: Mapping[PhaseName, Agent]) -> None:
        """Refuse what cannot be done here; nothing is touched."""

    def prepare_briefing(self, factory: Factory, suite: Suite) -> Briefing:
        """Return what writes its briefs, with everything gathered that these tell."""
        return TemplateBriefing(self, factory, templates.load(factory.prompts_dir), suite.command)

    def title(self, handoff: Handoff) -> str:
        """Return what a person calls it."""
        return handoff.feature

    def opened_with(self, handoff: Handoff) -> Handoff:
        """Return the opening handoff with what only its notes say."""
        return handoff

    # --- on the way

    def round_of(self, phase: Phase) -> Round:  # noqa: ARG002
        """Return where coder and reviewer stand."""
        return NO_ROUND

    def hear(self, event: Event) -> None:
        """Do what is to be done beside telling that something has happened."""

    # --- at the end

    def publish(self) -> None:
        """Do what is left to do at the end of good work; a run is not complete without it."""

    @abstractmethod
    def last_words(self, ended: Ended) -> str:
        """Return how a person is told what came of the run."""

    @abstractmethod
    def conclude(self, ended: Ended, seconds: float) -> Result:
        """Write down what came of the run where others look for it; return it."""


@frozen
class TemplateBriefing:
    """Fills the templates of phases from the handoff."""

    job: Job[Any]
    factory: Factory
    prompts: templates.Prompts
    command: str

    def brief(self, phase: Phase, handoff: Handoff, attempt: int) -> Brief:
        """Return everything one session is told."""
        factory = self.factory
        ask = Ask(
            phase,
            handoff,
            attempt,
            factory.typed(self.command),
            handoff.findings if handoff.error is not None else (),
            factory.repository.prefix,
            factory.guides(),
            self.job.round_of(phase),
        )
        return brief(self.prompts, ask, factory.model(phase.key))

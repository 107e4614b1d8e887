"""Who is held how: the confinement of one invocation's suites and sessions."""

from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from textwrap import shorten

from redgreenrefactor.agents.table import Holding, kind_of
from redgreenrefactor.config import Settings
from redgreenrefactor.errors import NotReadyError
from redgreenrefactor.git.local_files import shared_with_main
from redgreenrefactor.git.objects import SUBMODULE
from redgreenrefactor.git.repository import Repository
from redgreenrefactor.git.stand_in import object_stores
from redgreenrefactor.git.workspace import GitWorkspace
from redgreenrefactor.languages.paths import ProjectFolder, kept_from
from redgreenrefactor.model.events import Emit, Warned
from redgreenrefactor.model.evidence import ALL, Manner
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.session import Brief
from redgreenrefactor.sandbox.availability import means_for
from redgreenrefactor.sandbox.cage import NO_MEANS, Cage, Means
from redgreenrefactor.sandbox.permissions import (
    TEMPORARY,
    Ground,
    UserTools,
    collapsed,
    session_policy,
    suite_policy,
    tools_of,
)
from redgreenrefactor.sandbox.policy import Level, Mount, MountMode


class Confinement:
    """What holds the programs of one checkout; whether suites get the network is found out on the way."""

    def __init__(
        self,
        repository: Repository,
        compiled: Path,
        settings: Settings,
        means: Means,
        workspace: GitWorkspace | None,
    ) -> None:
        self._repository = repository
        self._compiled = compiled
        self._settings = settings
        self._workspace = workspace
        self.means = means
        self.suite_network = settings.sandbox_suite_network == "on"

    @property
    def level(self) -> Level:
        """How strongly programs are held."""
        return self.means.level

    @property
    def separates_suites(self) -> bool:
        """Whether suites that run at the same time share neither ports nor temporary files."""
        return self.level is Level.BUBBLEWRAP and not self.suite_network

    @property
    def reduced(self) -> str:
        """What a person should know of a sandbox that is not the full one, and what to type; else nothing."""
        if self.level is not Level.LANDLOCK:
            return ""
        lacks = "not installed" in self.means.why
        why = "'apt install bubblewrap' for the full one" if lacks else self.means.why
        if not self.means.mounts:
            return "reduced sandbox (Landlock without namespaces): git's folder is not held"
        return f"reduced sandbox (Landlock): {why or 'as the settings want it'}"

    def told(self, agents: Collection[str]) -> str:
        """Return who is held by what, as it is: suites, tools of the agents that have ours, and programs that are agents."""
        if self.level is Level.OFF:
            return "off, nothing is held"
        network = {"on": "with the network", "off": "no network", "auto": "no network unless they need it"}
        ours = [spec for spec in agents if kind_of(spec).our_tools]
        parts = [f"{self.level}: suites ({network[self._settings.sandbox_suite_network]})"]
        if ours:
            parts.append(f"tools ({network[self._settings.sandbox_network]})")
        outside = [spec for spec in agents if spec not in ours and self.holds(spec) == "off"]
        if len(ours) + len(outside) < len(agents):
            parts.append("the agent (with the network)")
        parts += [f"not {shorten(spec, 40, placeholder=' …')}, which runs outside" for spec in outside]
        shown = [str(lead.folder) for lead in self._tools.leads]
        return ", ".join([*parts, *([f"shows {' and '.join(shown)}"] if shown else ())])

    @cached_property
    def _tools(self) -> UserTools:
        return tools_of(self._repository.root, self._repository.project, self._repository.environ)

    @property
    def suite_may_need_network(self) -> bool:
        """Whether a suite without the network may get it, if it turns out to need it."""
        auto = self._settings.sandbox_suite_network == "auto"
        return auto and not self.suite_network and self.level is not Level.OFF

    def noted(self, handoff: Handoff) -> Handoff:
        """Return a handoff whose note says all this."""
        return replace(handoff, sandbox=str(self.level), suite_network=self.suite_network or None)

    def as_noted(self, handoff: Handoff) -> None:
        """Give suites the network if a note says that they need it."""
        self.suite_network |= self.suite_may_need_network and bool(handoff.suite_network)

    def suite(self, folder: Path, manner: Manner = ALL) -> Cage | None:
        """Return what holds a suite that is run in a clean checkout; it may keep what it compiles, or not."""
        if self.level is Level.OFF:
            return None
        network, keeps = self.suite_network, manner.keeps
        return Cage(self.means, suite_policy(self._ground, folder, self.level, network=network, keeps=keeps))

    def session(self, brief: Brief) -> Cage | None:
        """Return what holds the commands of one session, which gets a git folder of its own where that can be."""
        if self.level is Level.OFF:
            return None
        network = self._settings.sandbox_network == "on"
        protected = tuple(self._kept_from(brief))
        policy = session_policy(
            self._ground, self.level, lent=[*self._lent()], protected=protected, network=network
        )
        return Cage(self.means, policy)

    def holds(self, spec: str) -> Holding:
        """Return whether the program that is this agent is held; auto, where what it needs is known and can be shown."""
        wanted = self._settings.sandbox_agents
        fits = kind_of(spec).fits_sandbox and self.means.substitutes
        return "off" if self.level is Level.OFF or (wanted == "auto" and not fits) else wanted

    def agent(self, brief: Brief) -> Cage | None:
        """Return what holds a program that is an agent; it may reach its model."""
        cage = self.session(brief)
        return cage and replace(cage, policy=replace(cage.policy, network=True))

    def locked(self, brief: Brief) -> tuple[Path, ...]:
        """Return what a session of this phase may not change, files and folders, as far as it is there."""
        return tuple(self._repository.root / path for path in collapsed(self._kept_from(brief)))

    def _lent(self) -> Iterator[Mount]:
        """Yield what a session finds in the place of the git folder, where something else can be shown there."""
        if self._workspace is None or not self.means.substitutes:
            return
        lent = self._workspace.lend()
        yield Mount(self._repository.git_dir, MountMode.WRITE, lent.folder)
        yield from (Mount(path, MountMode.READ, source) for path, source in lent.shown())
        if self.level is Level.BUBBLEWRAP:
            yield Mount(TEMPORARY, MountMode.WRITE, lent.temporary)

    def _kept_from(self, brief: Brief) -> Iterator[str]:
        """Yield what a session of this phase may not touch, as far as it is there."""
        head = self._repository.objects.commit("HEAD")
        files = self._repository.objects.files(head.tree) if head else ()
        nodes = {path: node for path, node in files if node.mode != SUBMODULE}

        def read(path: str) -> str:
            found = self._repository.objects.get(nodes[path].oid)
            return found[2].decode("utf-8", "replace") if found else ""

        return kept_from(brief.phase, nodes, ProjectFolder(self._repository.prefix, brief.case), read)

    @cached_property
    def _ground(self) -> Ground:
        found = self._repository
        return Ground(
            root=found.root,
            git_dir=found.git_dir,
            common_dir=found.common_dir,
            object_stores=tuple(object_stores(found.common_dir / "objects")),
            project=found.project,
            cache=found.cache,
            compiled=self._compiled,
            environ=found.environ,
            tools=(*self._tools.shown, *shared_with_main(found)),
        )


def confinement_of(
    repository: Repository,
    settings: Settings,
    emit: Emit,
    compiled: Path,
    *,
    workspace: GitWorkspace | None = None,
    may_lack: bool = False,
) -> Confinement:
    """Return the confinement the settings ask for; means that are missing are a NotReadyError, unless they may lack."""
    try:
        means = means_for(settings.sandbox, repository.environ)
    except NotReadyError as error:
        if not may_lack:
            raise
        emit(Warned(f"{error.message}: everything here is ours, and goes without"))
        means = NO_MEANS
    return Confinement(repository, compiled, settings, means, workspace)

"""The checkout a run works in, with everything the run needs there."""

import re
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from redgreenrefactor.cages import NETWORK, cages_of
from redgreenrefactor.errors import NotReadyError, UsageError
from redgreenrefactor.gates.rules.legacy import Baseline, baseline
from redgreenrefactor.gates.rules.measurement import foreign
from redgreenrefactor.git.local_files import bring_ignored
from redgreenrefactor.git.lock import LOCKED
from redgreenrefactor.git.locked_checkout import LockedCheckout, locked_checkout
from redgreenrefactor.git.repository import Repository, open_repository
from redgreenrefactor.goals.test_list import parse
from redgreenrefactor.loop.engine import Limits
from redgreenrefactor.model.decision import opening
from redgreenrefactor.model.events import Event, RunStarted, Warned
from redgreenrefactor.model.evidence import Measure, SuiteRun
from redgreenrefactor.model.goal import LIST, Plan
from redgreenrefactor.model.handoff import Handoff
from redgreenrefactor.model.result import due_of, rolled_back_of, total_usage
from redgreenrefactor.model.review_task import task_id_of, task_of
from redgreenrefactor.records.transcripts import FOLDER, Transcripts
from redgreenrefactor.runners.virtual import how_to_install, missing_module
from redgreenrefactor.sandbox import process
from redgreenrefactor.sandbox.secrets import masking
from redgreenrefactor.surroundings import Surroundings, files_run, settings_of
from redgreenrefactor.wiring import Table, engine_of, now, suite_of

TDD_TABLE = Table()
INSTALL = "Install the project's test dependencies, see that the command works, then try again."
NAMED = 3  # files of many


class Bench:
    """One checkout, locked and recovered, with everything a run in it needs."""

    def __init__(self, checkout: LockedCheckout, around: Surroundings, table: Table = TDD_TABLE) -> None:
        self.around = around
        self.emit = around.emit
        self.table = table
        self.repository, self.workspace, self.ledger = (
            checkout.repository,
            checkout.workspace,
            checkout.ledger,
        )
        self.settings = settings_of(self.repository, around)
        self._files_run = files_run(self.settings, self.repository)
        self.unborn = self.repository.objects.resolve("HEAD") is None

    def enclose(self) -> None:
        """Know what holds sessions and suites; a sandbox that is wanted and missing is a NotReadyError."""
        self.cages = cages_of(
            self.repository,
            self.settings,
            self.emit,
            self.workspace.compiled,
            workspace=self.workspace,
            may_lack=self.around.may_lack_sandbox,
        )

    def check(self) -> None:
        """Refuse to start where an agent, the test command or a sandbox is missing; nothing is touched."""
        self.enclose()
        self.suite = suite_of(
            self.repository, self.settings, self.around, self.workspace.compiled, self.cages
        )
        self.equip(self.table)
        if self.repository.identity:
            self.emit(
                Warned("git knows no user.name and user.email here: commits are made as RedGreenRefactor")
            )

    def equip(self, table: Table) -> None:
        """Make ready for this workflow, in a checkout that has been looked at."""
        self.table = table
        self.engine, self.lab = engine_of(
            table, self.repository, self.workspace, self.settings, self.around, self.suite, cages=self.cages
        )

    def announce(self, run_id: str, feature: str, *, resumed: bool) -> None:
        """Tell what is about to happen."""
        self.emit(
            RunStarted(
                run_id,
                feature,
                str(self.repository.project),
                self.suite.command,
                self.suite.measure,
                resumed=resumed,
                sandbox=str(self.cages.level),
                held=self.cages.told(
                    {self.settings.agent_for(phase.key) for phase in self.table.workflow.sessions()}
                ),
            ),
        )
        whole = task_of(run_id) in (None, task_id_of(run_id))  # not the coder of a round
        if self.cages.reduced and whole and not resumed:
            self.emit(Warned(self.cages.reduced))

    def baseline(self, base: str, feature: str, *, may_fail: bool = False) -> Baseline:
        """Run the tests as they are before anything is done; where that cannot be measured nothing starts.

        A command of which only an exit code can be had may fail where it names tests that are still to be written.
        """
        found = self.with_network_if_needed(base, self.lab.judge(baseline(base)))
        run = found.run
        self.require_runnable(run, feature)
        if run.foreign:
            elsewhere = foreign(run.foreign, "try again")
            raise NotReadyError(elsewhere.message, hint=elsewhere.hint or "", type=elsewhere.type)
        if run.measure is Measure.EXIT_CODE:
            self.emit(
                Warned(
                    f"{self.suite.command!r} tells no results test by test: phases are judged by its exit code"
                )
            )
            red = not run.green and not may_fail
            if red and (module := missing_module(run.output)):
                raise self._unready(f"fails before the run: there is no module {module!r}", module)
            if red:
                raise NotReadyError(
                    f"the test command {self.suite.command!r} fails before the run (exit code {run.exit_code})",
                    hint="Make the suite pass first: by exit code alone a new failure could not be told from an old one.",
                    type="SuiteRed",
                )
        else:
            for line in found.told:
                self.emit(Warned(line))
        return found

    def require_runnable(self, run: SuiteRun, feature: str) -> None:
        """Refuse tests that do not run here, above all for want of what they import.

        A module that the feature names is still to be written: its tests may be there before it.
        """
        lacking = [missing_module(error.message) for error in run.errors]
        if not run.finished:
            words = " | ".join(line.strip() for line in run.output.strip().splitlines()[-5:] if line.strip())
            how = f"did not come to its end (exit code {run.exit_code})"
            what = ": ".join(filter(None, ["ran past test.timeout" if run.timed_out else how, words[-600:]]))
            raise self._unready(what, missing_module(run.output))
        asked = set(re.findall(r"\w+", feature))
        planned = all(name and name.rpartition(".")[2] in asked for name in lacking)
        ran = any(result.passed or result.failed for result in run.results.values())
        if run.errors and not ran and not planned:
            files = ", ".join(sorted({error.file for error in run.errors})[:NAMED])
            module = next(filter(None, lacking), None)
            why = f"there is no module {module!r}" if module else run.errors[0].message.strip()[-300:]
            raise self._unready(f"can collect no test ({files}): {why}", module)

    def _unready(self, what: str, module: str | None) -> NotReadyError:
        where = self.repository
        how = how_to_install(where.environ, where.project, where.root, module) if module else INSTALL
        return NotReadyError(
            f"the test command {self.suite.command!r} {what}", hint=how, type="TestsNotRunnable"
        )

    def recall(self, run_id: str) -> None:
        """Know again what the suite did where the run began and where it stands."""
        entries = list(self.ledger.history(run_id))
        noted = [entry.handoff.extra.get("suiteRun") for entry in (entries[-1], entries[0])]
        self.lab.recall(receipt for receipt in noted if isinstance(receipt, str))

    def beginning(self, feature: str, run_id: str) -> Handoff:
        """Return the handoff a run for this feature starts from; nothing is written."""
        first = self.table.workflow.first.name
        if self.unborn:
            return opening(run_id, feature, now(), Plan(), None, first)
        base = self.workspace.head()
        return opening(run_id, feature, now(), self.plan(base), self.ledger.read(base), first)

    def with_network_if_needed(self, base: str, without: Baseline) -> Baseline:
        """Return the baseline, measured again with the network where tests fail; suites keep it if they need it."""
        if not self.cages.suite_may_need_network or _all_well(without.run):
            return without
        known = self.lab.measure_anew()
        self.cages.suite_network = True
        found = self.lab.judge(baseline(base))
        if _does_better(found.run, without.run):
            self.emit(Warned(NETWORK))
            return found
        self.cages.suite_network = False
        self.lab.measure_anew(known)
        return without

    def plan(self, commit: str) -> Plan:
        """Return the list of cases at a commit."""
        found = self.workspace.read(commit, LIST)
        return Plan() if found is None else parse(found[1], found[0])

    def opening(self, run_id: str) -> str:
        """Return the commit the run began from."""
        commit = ""
        for entry in self.ledger.history(run_id):
            commit = entry.commit
        return commit

    def tell_on(self, run_id: str, status: str, head: str) -> None:
        """Run the user's own command about a run that has ended; whatever becomes of it, the result stands."""
        if not self.settings.on_finish:
            return
        if files_run(self.settings, self.repository) != self._files_run:
            self.emit(
                Warned("on.finish was not run: what it runs in the repository is not what it was before")
            )
            return
        told = {"TDD_RUN_ID": run_id, "TDD_STATUS": status, "TDD_HEAD": head}
        finished = process.shell(
            self.settings.on_finish,
            cwd=self.repository.project,
            env={**self.around.environ, **told},
            timeout=self.settings.bash_timeout,
        )
        if finished.timed_out or finished.exit_code:
            how = "ran past bash.timeout" if finished.timed_out else f"ended with {finished.exit_code}"
            words = finished.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
            self.emit(Warned(": ".join([f"on.finish {how}", *words])))

    def limits(self, limits: Limits, run_id: str) -> Limits:
        """Return the limits with the budget: a flag's is for this invocation, a setting's for the whole run."""
        if limits.budget_usd is not None:
            return limits  # what is left of a budget that counts for more than this run
        settings = self.settings
        spent = 0.0 if settings.budget_is_for_this_invocation else self.spent(run_id)
        return replace(
            limits, budget_usd=settings.budget_usd, spent_usd=spent, phase_usd=settings.budget_phase_usd
        )

    def spent(self, run_id: str) -> float:
        """Return what a run has cost so far in US dollars, as far as its notes tell."""
        history = list(self.ledger.history(run_id))
        if not history:
            return 0.0
        latest = history[0].handoff
        notes = [*(entry.handoff.extra for entry in history), due_of(latest), rolled_back_of(latest)]
        used = total_usage(notes)
        return used.cost_usd or 0.0 if used else 0.0


@contextmanager
def opened(
    around: Surroundings, *, worktree: str | None = None, resumes: bool = False, table: Table = TDD_TABLE
) -> Generator[Bench]:
    """Open the checkout an invocation works in, alone, with nothing left over from a crash."""
    project = _worktree(around, worktree, resumes=resumes) if worktree else around.project
    with (
        _way_in(worktree),
        locked_checkout(project, around.environ, lambda line: around.emit(Warned(line))) as checkout,
        _transcribed(checkout.repository, around) as transcribed,
    ):
        yield Bench(checkout, transcribed, table)


@contextmanager
def _way_in(worktree: str | None) -> Generator[None]:
    """Say how to come back to a worktree that somebody else works in."""
    try:
        yield
    except NotReadyError as error:
        if worktree and error.type == LOCKED:
            error.hint = error.hint.replace("rgr resume", f"rgr resume --worktree {worktree}")
        raise


@contextmanager
def _transcribed(repository: Repository, around: Surroundings) -> Generator[Surroundings]:
    """Have every session's steps written down beside what else is done with events."""
    folder, mask = repository.common_dir / FOLDER, masking(around.environ)
    with Transcripts(folder, mask=mask, clock=lambda: datetime.now(UTC), warn=around.emit) as transcripts:

        def emit(event: Event) -> None:
            transcripts(event)
            around.emit(event)

        yield replace(around, emit=emit)


def _worktree(around: Surroundings, name: str, *, resumes: bool) -> Path:
    """Return the folder of branch tdd/NAME's checkout beside the main one, made if it is not there yet."""
    with closing(open_repository(around.project, around.environ)) as repository:
        branch = _branch(repository, name)
        folder = (repository.root / settings_of(repository, around).worktree_dir / name).resolve()
        if not (folder / ".git").exists():
            _add_worktree(repository, folder, branch, resumes=resumes)
        return folder / repository.prefix


def _branch(repository: Repository, name: str) -> str:
    wrong = name.startswith("-") or "/" in name
    if wrong or repository.git.attempt("check-ref-format", f"refs/heads/tdd/{name}").exit_code:
        raise UsageError(
            f"--worktree {name!r} cannot be part of a branch name", hint="Use letters, digits and dashes."
        )
    return f"tdd/{name}"


def _add_worktree(repository: Repository, folder: Path, branch: str, *, resumes: bool) -> None:
    known = repository.objects.resolve(f"refs/heads/{branch}") is not None
    if resumes and not known:
        raise NotReadyError(
            f"nothing to resume: there is no branch {branch}",
            hint=f"Type 'rgr run --worktree {folder.name} \"FEATURE\"' to start there.",
            type="NothingToResume",
        )
    folder.parent.mkdir(parents=True, exist_ok=True)
    what = (str(folder), branch) if known else ("-b", branch, str(folder))
    repository.git.raw("worktree", "add", "--quiet", *what)
    bring_ignored(repository, folder)


def _all_well(run: SuiteRun) -> bool:
    if run.measure is Measure.EXIT_CODE:
        return run.green
    return run.finished and not run.errors and not any(result.failed for result in run.results.values())


def _does_better(run: SuiteRun, other: SuiteRun) -> bool:
    """Tell whether a run passes where another one does not."""
    if run.measure is Measure.EXIT_CODE:
        return run.green and not other.green
    return bool(run.passed - other.passed) or (run.finished and not other.finished)

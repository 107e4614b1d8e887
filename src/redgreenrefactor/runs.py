"""Starting, resuming and looking at runs: what the commands and the library share."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from redgreenrefactor.cages import NETWORK, cages_of
from redgreenrefactor.engine import Ended, Limits, Spent
from redgreenrefactor.errors import InterruptedRunError, NotReadyError, UsageError
from redgreenrefactor.gates.common import named
from redgreenrefactor.gates.legacy import Baseline, baseline, sifted
from redgreenrefactor.goals.test_list import parse
from redgreenrefactor.model.chain import runs_of
from redgreenrefactor.model.decision import carried, exhausted, opening, refreshed, relisted
from redgreenrefactor.model.events import Event, RunEnded, RunStarted, Warned
from redgreenrefactor.model.evidence import Measure, SuiteRun, Trial
from redgreenrefactor.model.goal import LIST, Plan
from redgreenrefactor.model.handoff import ErrorDetails, Handoff, State, with_extra
from redgreenrefactor.model.result import (
    Entry,
    RunStatus,
    WorkflowResult,
    due_of,
    result_of,
    rolled_back_of,
    total_usage,
)
from redgreenrefactor.model.review_task import belongs_to_a_task
from redgreenrefactor.model.workflow import PhaseName
from redgreenrefactor.records.transcripts import FOLDER, Transcripts
from redgreenrefactor.repository import lock, mark
from redgreenrefactor.repository.ledger import GitLedger
from redgreenrefactor.repository.lending import lend
from redgreenrefactor.repository.repository import Repository, open_repository
from redgreenrefactor.repository.workspace import GitWorkspace
from redgreenrefactor.sandbox import process
from redgreenrefactor.sandbox.secrets import masking
from redgreenrefactor.views.lines import count
from redgreenrefactor.wiring import (
    Surroundings,
    Table,
    engine_of,
    new_run_id,
    now,
    settings_of,
    suite_of,
)

NOT_READY = ("Undecided", "ModelUnavailable")  # stopped for want of something around us
NO_LIMITS = Limits()
TDD_TABLE = Table()


@dataclass(frozen=True, slots=True)
class Wishes:
    """What one invocation was asked for beside the feature."""

    limits: Limits = NO_LIMITS
    approve: bool = False
    worktree: str | None = None
    new: bool = False
    tells: bool = True  # on.finish is run at its end; if not, whoever wanted the run sees to that
    reached: Callable[[Entry], bool] | None = (
        None  # whether the goal is reached, whatever the last phase said
    )


def start(feature: str, around: Surroundings, wishes: Wishes) -> WorkflowResult:
    """Run the whole workflow for a feature, from the commit that is checked out."""
    with opened(around, wishes) as bench:
        bench.workspace.require_clean()
        latest = None if bench.unborn else _latest(bench)
        if latest and not wishes.new and unfinished(bench, latest):
            raise NotReadyError(
                f"an unfinished run is here: {latest.handoff.feature!r:.80} ({latest.handoff.state})",
                hint="Type 'rgr resume' to go on with it, or 'rgr run --new …' to start another one.",
                type="UnfinishedRun",
            )
        bench.workspace.adopt()
        bench.check()
        return begin(bench, feature, wishes, new_run_id())


def begin(bench: "Bench", feature: str, wishes: Wishes, run_id: str, **noted: Any) -> WorkflowResult:
    """Open a run in a checkout that has been looked at, and take it to its end; `noted` goes into its opening."""
    handoff = bench.beginning(feature, run_id)
    bench.announce(run_id, feature, resumed=False)
    with nothing_begun():
        bench.engine.probe(handoff)
        base = bench.workspace.first_commit() if bench.unborn else bench.workspace.head()
        legacy = bench.baseline(base)
    noted |= {"suiteRun": bench.lab.receipt(base), **bench.cages.noted()}
    entry = Entry(base, with_extra(handoff, legacy=legacy.facts or None, **noted))
    bench.ledger.write({base: entry.handoff})
    return bench.go(entry, base, wishes)


def resume(around: Surroundings, wishes: Wishes) -> WorkflowResult:
    """Go on from the last handoff: the phase that was due, with the error context it had."""
    with opened(around, wishes, resumes=True) as bench:
        latest = None if bench.unborn else _latest(bench)
        if latest is None:
            raise NotReadyError(
                "nothing to resume here",
                hint="Type 'rgr run \"FEATURE\"'; tasks go on with 'rgr tdd --resume TASKID'.",
                type="NothingToResume",
            )
        if latest.handoff.next_phase is PhaseName.COMPLETE:
            bench.emit(
                RunEnded(RunStatus.COMPLETE, "the run is complete already; nothing is left to do", 0.0)
            )
            return result_of(list(bench.ledger.history()), RunStatus.COMPLETE, 0.0)
        bench.check()
        if latest.handoff.awaiting:
            latest = take_list(bench, latest)
        return go_on(bench, latest, wishes)


def _latest(bench: "Bench") -> Entry | None:
    """Return the newest handoff of a run that is not a task's; those go on in worktrees of their own."""
    for commit, handoff in bench.ledger.along("HEAD"):
        own = [each for each in runs_of(handoff) if not belongs_to_a_task(each.run_id)]
        if own:
            return Entry(commit.oid, own[0])
    return None


def go_on(bench: "Bench", latest: Entry, wishes: Wishes) -> WorkflowResult:
    """Take a run that is not complete to its end, from its latest handoff, with a fresh set of retries."""
    bench.cages.as_noted(latest.handoff)
    bench.workspace.require_clean()
    bench.announce(latest.handoff.run_id, latest.handoff.feature, resumed=True)
    bench.recall(latest.handoff.run_id)
    latest = caught_up(bench, latest)
    entry = Entry(latest.commit, exhausted(bench.table.workflow, refreshed(latest.handoff)))
    limits = bench.limits(wishes.limits, entry.handoff.run_id)
    if entry.handoff.state is State.RUNNING and Spent(limits.spent_usd).over(limits) is None:
        bench.engine.probe(entry.handoff)
    if entry != latest:
        bench.ledger.write({entry.commit: entry.handoff})
    return bench.go(entry, bench.opening(entry.handoff.run_id), wishes)


class Bench:
    """One checkout, locked and recovered, with everything a run in it needs."""

    def __init__(self, repository: Repository, around: Surroundings, table: Table = TDD_TABLE) -> None:
        self.around = around
        self.emit = around.emit
        self.repository = repository
        self.table = table
        self.workspace = GitWorkspace(repository)
        self.ledger = GitLedger(repository.git, repository.objects)
        self._recover()
        # Not before: an interrupted session may have committed settings of its own.
        self.settings = settings_of(repository, around)
        self.unborn = repository.objects.resolve("HEAD") is None

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

    def _recover(self) -> None:
        """Clean up after a session that was cut off."""
        kept = self.workspace.recover(self._accounted)
        if kept:
            self.emit(Warned(f"what was cut off here has been cleaned up; what was found is kept at {kept}"))

    def _accounted(self, commit: str) -> bool:
        return self.ledger.accounts_for(commit)

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
            ),
        )

    def baseline(self, base: str) -> Baseline:
        """Run the tests as they are before anything is done; where that cannot be measured nothing starts."""
        found = self.with_network_if_needed(base, self.lab.judge(baseline(base)))
        run = found.run
        if not run.finished:
            words = " | ".join(line.strip() for line in run.output.strip().splitlines()[-5:] if line.strip())
            why = (
                "ran past test.timeout"
                if run.timed_out
                else f"did not come to its end (exit code {run.exit_code})"
            )
            raise NotReadyError(
                f"the test command {self.suite.command!r} {why}: {words[-600:]}",
                hint="Install the project's test dependencies, see that the command works, then try again.",
                type="TestsNotRunnable",
            )
        if run.measure is Measure.EXIT_CODE:
            self.emit(
                Warned(
                    f"{self.suite.command!r} tells no results test by test: phases are judged by its exit code"
                )
            )
            if not run.green:
                raise NotReadyError(
                    f"the test command {self.suite.command!r} fails before the run (exit code {run.exit_code})",
                    hint="Make the suite pass first: by exit code alone a new failure could not be told from an old one.",
                    type="SuiteRed",
                )
        else:
            for line in found.told:
                self.emit(Warned(line))
        return found

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

    def go(self, entry: Entry, base: str, wishes: Wishes) -> WorkflowResult:
        """Take turns until the end, and tell what came of it."""
        started = self.engine.clock()
        approve = self._approve if wishes.approve else None
        run_id = entry.handoff.run_id
        engine = replace(
            self.engine, opening=base, approve=approve, reached=wishes.reached, noted=self.cages.noted()
        )
        ended = engine.run(entry, self.limits(wishes.limits, run_id))
        seconds = self.engine.clock() - started
        self.emit(RunEnded(ended.status, _last_words(ended), seconds))
        result = result_of(list(self.ledger.history(run_id)), ended.status, seconds)
        if ended.type is not None:
            details = ErrorDetails(ended.type, ended.reason)
            result = replace(result, error=ended.reason, error_details=details)
        if wishes.tells:
            self.tell_on(result)
        return result

    def tell_on(self, result: WorkflowResult) -> None:
        """Run the user's own command about a run that has ended; whatever becomes of it, the result stands."""
        if not self.settings.on_finish:
            return
        told = {"TDD_RUN_ID": result.run_id, "TDD_STATUS": str(result.status), "TDD_HEAD": result.head}
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

    def _approve(self, entry: Entry) -> Entry | None:
        if self.around.edit is None:
            return None
        self.around.edit(self.repository.project / LIST)
        return take_list(self, entry)


def _all_well(run: SuiteRun) -> bool:
    if run.measure is Measure.EXIT_CODE:
        return run.green
    return run.finished and not run.errors and not any(result.failed for result in run.results.values())


def _does_better(run: SuiteRun, other: SuiteRun) -> bool:
    """Tell whether a run passes where another one does not."""
    if run.measure is Measure.EXIT_CODE:
        return run.green and not other.green
    return bool(run.passed - other.passed) or (run.finished and not other.finished)


def unfinished(bench: Bench, latest: Entry) -> bool:
    """Tell whether a run waits here to be resumed; one that only began here and goes on elsewhere does not."""
    if latest.handoff.next_phase is PhaseName.COMPLETE:
        return False
    began = latest.handoff.cycle_number == 0 and latest.handoff.carried_from is None
    return not (began and (bench.workspace.others_at_work() or bench.ledger.goes_on_elsewhere(latest)))


@contextmanager
def nothing_begun() -> Generator[None]:
    """Say what to type after an interruption that leaves no handoff to go on from."""
    try:
        yield
    except InterruptedRunError as error:
        raise InterruptedRunError(
            error.message, hint="Nothing was begun yet: type 'rgr run …' again."
        ) from error


@contextmanager
def opened(
    around: Surroundings, wishes: Wishes, *, resumes: bool = False, table: Table = TDD_TABLE
) -> Generator[Bench]:
    """Open the checkout an invocation works in, alone, with nothing left over from a crash."""
    repository = open_repository(around.project, around.environ)
    try:
        if wishes.worktree:
            repository = _worktree(repository, around, wishes.worktree, resumes=resumes)
        with lock.held(repository.git_dir / lock.NAME):
            if told := mark.steered_back(repository.git_dir, repository.common_dir, repository.cache):
                for line in filter(None, told):
                    around.emit(Warned(line))
                repository.close()
                folder = repository.project if wishes.worktree else around.project
                repository = open_repository(folder, around.environ)
            with _transcribed(repository, around) as transcribed:
                yield Bench(repository, transcribed, table)
    finally:
        repository.close()


@contextmanager
def _transcribed(repository: Repository, around: Surroundings) -> Generator[Surroundings]:
    """Have every session's steps written down beside what else is done with events."""
    folder, mask = repository.common_dir / FOLDER, masking(around.environ)
    with Transcripts(folder, mask=mask, clock=lambda: datetime.now(UTC), warn=around.emit) as transcripts:

        def emit(event: Event) -> None:
            transcripts(event)
            around.emit(event)

        yield replace(around, emit=emit)


def _worktree(repository: Repository, around: Surroundings, name: str, *, resumes: bool) -> Repository:
    """Return the checkout of branch tdd/NAME beside the main one, made if it is not there yet."""
    if (
        name.startswith("-")
        or "/" in name
        or repository.git.attempt("check-ref-format", f"refs/heads/tdd/{name}").exit_code
    ):
        raise UsageError(
            f"--worktree {name!r} cannot be part of a branch name", hint="Use letters, digits and dashes."
        )
    folder = (repository.root / settings_of(repository, around).worktree_dir / name).resolve()
    if not (folder / ".git").exists():
        branch = f"tdd/{name}"
        known = repository.objects.resolve(f"refs/heads/{branch}") is not None
        if resumes and not known:
            raise NotReadyError(
                f"nothing to resume: there is no branch {branch}",
                hint=f"Type 'rgr run --worktree {name} \"FEATURE\"' to start there.",
                type="NothingToResume",
            )
        folder.parent.mkdir(parents=True, exist_ok=True)
        repository.git.raw(
            "worktree",
            "add",
            "--quiet",
            *([] if known else ["-b", branch]),
            str(folder),
            *([branch] if known else []),
        )
        lend(repository, folder)
    repository.close()
    return open_repository(folder / repository.prefix, around.environ)


def take_list(bench: Bench, entry: Entry) -> Entry:
    """Take an edited, uncommitted list as the accepted one: one more commit, PLAN's note carried over."""
    path = f"{bench.repository.prefix}{LIST}"
    status = bench.workspace.status()
    if status.dirty != (path,) or status.head != entry.commit:
        return entry
    commit = bench.workspace.commit_list(entry.commit, "plan: accepted list")
    handoff = relisted(entry.handoff, entry.commit, bench.plan(commit), now())
    bench.ledger.write({commit: handoff})
    return Entry(commit, handoff)


def caught_up(bench: Bench, latest: Entry) -> Entry:
    """Carry the handoff over the user's own commits, if there are any and the tests still hold."""
    head = bench.workspace.head()
    if head == latest.commit or bench.table.workflow.phase(latest.handoff.next_phase).inner:
        return latest
    if broken := _broken(bench, latest, head):
        raise NotReadyError(
            f"your commits since {latest.commit[:10]} break the suite: {broken}",
            hint="Mend them, commit, then type 'rgr resume'.",
            type="SuiteRed",
        )
    handoff = _carried(bench, latest, head)
    bench.ledger.write({head: handoff})
    bench.emit(
        Warned(
            f"your commits since {latest.commit[:10]} are taken as they are; the run goes on from {head[:10]}"
        )
    )
    return Entry(head, handoff)


def _carried(bench: Bench, latest: Entry, head: str) -> Handoff:
    """Return the handoff for the user's last commit; a list changed before anything was built on it counts."""
    planned = latest.handoff.phase is PhaseName.PLAN and latest.handoff.current_test is not None
    plan = bench.plan(head)
    if planned and plan.blob != bench.plan(latest.commit).blob:
        return relisted(latest.handoff, latest.commit, plan, now())
    return carried(latest.handoff, latest.commit, now())


def _broken(bench: Bench, latest: Entry, head: str) -> str:
    """Return what the user's commits break; a test that fails by chance is not counted."""
    before, after = bench.lab.answer(Trial(latest.commit)), bench.lab.answer(Trial(head))
    if after.measure is Measure.EXIT_CODE:
        red = latest.handoff.next_phase is PhaseName.GREEN
        return "" if after.green or red else f"exit code {after.exit_code}"
    if not after.finished:
        return f"the runner did not come to its end (exit code {after.exit_code})"
    failing = [after.results[name] for name in sorted(before.passed & after.ids - after.passed)]
    return named([r.id for r in bench.lab.judge(sifted(latest.commit, Trial(head), failing)).broken])


def _last_words(ended: Ended) -> str:
    handoff = ended.entry.handoff
    match ended.status:
        case RunStatus.COMPLETE:
            done = count(handoff.completed_count, "case")
            return f"complete: {done} done" if handoff.phase is PhaseName.PLAN else "complete"
        case RunStatus.FAILED:
            due = handoff.next_phase
            times = count(handoff.retry_count + 1, "time")
            return f"failed: {due} was rejected {times}; HEAD is the last good commit"
        case RunStatus.STOPPED:
            return f"stopped: {ended.reason}"
        case RunStatus.INTERRUPTED:
            return f"interrupted: {ended.reason}"


def exit_code(result: WorkflowResult) -> int:
    """Return the exit code a result has."""
    match result.status:
        case RunStatus.COMPLETE:
            return 0
        case RunStatus.FAILED:
            return 1
        case RunStatus.STOPPED:
            return 3 if result.error_details and result.error_details.type in NOT_READY else 4
        case RunStatus.INTERRUPTED:
            return 130


__all__ = ["Limits", "Wishes", "exit_code", "resume", "start"]

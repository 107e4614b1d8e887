"""A request to stop strikes only where somebody waits."""

import gc
import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from redgreenrefactor.errors import InterruptedRunError
from redgreenrefactor.sandbox.process import Interrupt
from redgreenrefactor.threads import side_by_side

LONG = 300.0
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208


def readable(interrupt: Interrupt) -> bool:
    return bool(select.select([interrupt], [], [], 0)[0])


@pytest.fixture(autouse=True)
def hang_up_is_heard() -> Iterator[None]:
    """Whoever runs the tests under nohup ignores SIGHUP, and so would everything that is tried here."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


def test_nothing_is_requested_at_first() -> None:
    interrupt = Interrupt()
    interrupt.check()
    assert interrupt.requested is None
    assert not readable(interrupt)


def test_a_request_names_its_reason_and_stands_for_good() -> None:
    interrupt = Interrupt()
    interrupt.request("SIGTERM")
    interrupt.request("SIGINT")
    assert interrupt.requested == "SIGTERM"
    for _ in range(2):
        with pytest.raises(InterruptedRunError, match="interrupted by SIGTERM"):
            interrupt.check()
        assert readable(interrupt)


def test_any_number_of_requests_can_be_made_without_anybody_waiting() -> None:
    interrupt = Interrupt()
    for _ in range(70_000):  # more than a pipe holds
        interrupt.request("again")
    assert readable(interrupt)


@pytest.mark.parametrize("seconds", [0.0, 0.01, -1.0])
def test_an_undisturbed_pause_lasts_as_long_as_it_should(seconds: float) -> None:
    began = time.monotonic()
    Interrupt().pause(seconds)
    assert time.monotonic() - began >= seconds


def test_a_pause_after_a_request_does_not_begin() -> None:
    interrupt = Interrupt()
    interrupt.request("SIGINT")
    with pytest.raises(InterruptedRunError):
        interrupt.pause(LONG)


def test_a_request_from_another_thread_ends_a_pause() -> None:
    interrupt = Interrupt()
    requester = threading.Timer(0.02, interrupt.request, ("SIGINT",))
    requester.start()
    with pytest.raises(InterruptedRunError):
        interrupt.pause(LONG)
    requester.join()


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_ends_a_pause(number: signal.Signals) -> None:
    interrupt = Interrupt()
    sender = threading.Timer(0.02, os.kill, (os.getpid(), number))
    with interrupt.listen():
        sender.start()
        with pytest.raises(InterruptedRunError, match=number.name):
            interrupt.pause(LONG)
    sender.join()


@pytest.mark.parametrize("number", SIGNALS)
def test_where_nobody_waits_a_signal_is_only_noted(number: signal.Signals) -> None:
    interrupt = Interrupt()
    with interrupt.listen():
        os.kill(os.getpid(), number)
    assert interrupt.requested == number.name


def test_after_listening_everything_is_as_it_was() -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    with Interrupt().listen():
        assert all(signal.getsignal(number) not in before for number in SIGNALS)
    assert [signal.getsignal(number) for number in SIGNALS] == before


def test_a_hangup_that_is_ignored_from_outside_stays_ignored() -> None:
    interrupt = Interrupt()
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with interrupt.listen():
            os.kill(os.getpid(), signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
    assert interrupt.requested is None


def test_an_interrupt_ignored_from_outside_is_listened_to() -> None:
    interrupt = Interrupt()
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as in every background job of a script
    try:
        with interrupt.listen():
            os.kill(os.getpid(), signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    assert interrupt.requested == "SIGINT"


def test_listening_is_for_the_main_thread() -> None:
    errors: list[str] = []

    def listen() -> None:
        try:
            with Interrupt().listen():
                pass
        except ValueError as error:
            errors.append(str(error))

    thread = threading.Thread(target=listen)
    thread.start()
    thread.join()
    assert len(errors) == 1


def closed() -> None:
    interrupt = Interrupt()
    interrupt.close()
    interrupt.close()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("end", [closed, Interrupt], ids=["closed", "forgotten"])
def test_no_descriptor_is_lost_with_an_interrupt(end: Callable[[], object]) -> None:
    gc.collect()
    before = descriptors()
    for _ in range(10):
        end()
    gc.collect()
    assert descriptors() == before


def test_a_closed_interrupt_can_still_be_requested_and_checked() -> None:
    interrupt = Interrupt()
    interrupt.close()
    interrupt.request("SIGINT")
    with pytest.raises(InterruptedRunError):
        interrupt.check()


def test_a_request_strikes_all_that_run_side_by_side_and_is_told_when_none_is_left() -> None:
    interrupt, ended, met = Interrupt(), list[int](), threading.Barrier(2)

    def waiting(number: int) -> None:
        met.wait()
        interrupt.request("SIGINT")
        try:
            interrupt.pause(LONG)
        finally:
            ended.append(number)

    with pytest.raises(InterruptedRunError):
        side_by_side([partial(waiting, number) for number in range(2)])

    assert sorted(ended) == [0, 1]
    interrupt.close()

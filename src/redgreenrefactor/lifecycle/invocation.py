"""One call of the program, or of the library: who hears what happens, and what interrupts it."""

from collections.abc import Generator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from redgreenrefactor.config import Flags
from redgreenrefactor.model.events import Emit, Event
from redgreenrefactor.records import telemetry
from redgreenrefactor.sandbox.process import Interrupt
from redgreenrefactor.sandbox.secrets import masked_in, masking
from redgreenrefactor.surroundings import Surroundings


@contextmanager
def invocation(
    project: Path, environ: Mapping[str, str], flags: Flags, *listeners: Emit, traced: bool = True
) -> Generator[Surroundings]:
    """Provide where and how an invocation works; events are masked before anybody hears them."""
    with ExitStack() as stack:
        heard = list(listeners)
        if traced and telemetry.wanted(environ):
            tracing = telemetry.tracing(environ, listeners[0])
            heard += [stack.enter_context(closing(tracing))] if tracing else []
        mask = masking(environ)

        def emit(event: Event) -> None:
            told = masked_in(event, mask)
            for listener in heard:
                listener(told)

        interrupt = Interrupt()
        stack.callback(interrupt.close)
        yield Surroundings(project, environ, flags, emit, interrupt)

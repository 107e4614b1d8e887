"""Work in threads: it ends when it is interrupted, and nobody goes on before it has."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from redgreenrefactor.sandbox.process import Interrupt

T = TypeVar("T")


async def in_thread(work: Callable[[], T], interrupt: Interrupt, why: str) -> T:
    """Return what the work returns; when this is cancelled the work is interrupted, and has ended when it raises."""
    import asyncio  # noqa: PLC0415

    running = asyncio.get_running_loop().run_in_executor(None, work)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        interrupt.request(why)
        await asyncio.wait([running])
        if not running.cancelled():
            running.exception()  # looked at, so that nobody complains about it
        raise


def side_by_side(work: Sequence[Callable[[], T]]) -> list[T]:
    """Return what each of these returns, done at the same time; what one of them raises is raised when all have ended."""
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

    with ThreadPoolExecutor(len(work)) as pool:
        running = [pool.submit(each) for each in work]
    return [each.result() for each in running]

"""Where a reply ends: a stream that stops before its maker said so is half a reply, however cleanly it stops."""

from collections.abc import AsyncIterator

from httpx2 import AsyncByteStream, RemoteProtocolError, Response
from pydantic_ai.exceptions import ModelConnectionError
from pydantic_ai.messages import ModelResponse

_LAST = b"message_stop"  # Anthropic's last event; why it stopped comes before that, and the client looks no further
_TAIL = 4096  # bytes in which the last event is looked for
EARLY = "the reply stopped before its end"


def require_end(reply: ModelResponse) -> None:
    """Raise a ModelConnectionError unless the model said why it stopped; "stop" alone is what clients make of silence."""
    said = (reply.provider_details or {}).get("finish_reason")
    if not said and reply.finish_reason in (None, "stop"):
        raise ModelConnectionError(reply.model_name or "", EARLY)


async def watch(response: Response) -> None:
    """Have a stream of Anthropic's fail where it ends without its last event."""
    kind, packed = (response.headers.get(name, "") for name in ("content-type", "content-encoding"))
    streams = response.request.url.path.endswith("/messages") and kind.startswith("text/event-stream")
    if streams and not packed and isinstance(response.stream, AsyncByteStream):
        response.stream = _Watched(response.stream)


class _Watched(AsyncByteStream):
    """Somebody's stream, whose end is looked at."""

    def __init__(self, stream: AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        tail = b""
        async for piece in self._stream:
            tail = (tail + piece)[-_TAIL:]
            yield piece
        if _LAST not in tail and b"event: error" not in tail:
            raise RemoteProtocolError(EARLY)

    async def aclose(self) -> None:
        await self._stream.aclose()

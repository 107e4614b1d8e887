"""Text files that a person names: a feature, a specification, a task file."""

from dataclasses import dataclass
from pathlib import Path

from redgreenrefactor.errors import UsageError
from redgreenrefactor.filesystem import LARGEST, head_of

LOOK = "Check the spelling; the path is taken from the folder you are in."
SAVE = "Save it as plain text in UTF-8 and try again."


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file that was named for a purpose, and what to say where it does not serve."""

    path: Path
    kind: str  # what it should be: a specification, a task file
    hint: str  # what to type instead
    type: str = UsageError.type
    largest: int = LARGEST

    def read(self) -> str:
        """Return its text, without a byte order mark; what is no regular file of UTF-8 text is a UsageError."""
        try:
            content = head_of(self.path, self.largest + 1)
            if len(content) > self.largest:
                size = self.path.stat().st_size
                raise self.unusable(f"has {size} bytes; a {self.kind} has at most {self.largest}")
            return content.decode("utf-8-sig")
        except FileNotFoundError as error:
            raise self._refusal(f"There is no {self.kind} {self.path}.", LOOK) from error
        except UnicodeDecodeError as error:
            raise self.unusable(f"is not UTF-8 text (byte {error.start})", SAVE) from error
        except IsADirectoryError as error:
            message = f"{self.path} is a folder, not a {self.kind}."
            raise self._refusal(message, "Name a file inside it.") from error
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else error
            raise self.unusable(f"cannot be read: {why}") from error

    def unusable(self, why: str, hint: str | None = None) -> UsageError:
        """Return the error that says why the file does not serve."""
        return self._refusal(f"The {self.kind} {self.path} {why}.", hint or self.hint)

    def _refusal(self, message: str, hint: str) -> UsageError:
        return UsageError(message, hint=hint, type=self.type)

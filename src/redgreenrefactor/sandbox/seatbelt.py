"""A policy as a profile for macOS's `sandbox-exec`. Not tested on a Mac yet."""

from pathlib import Path

from redgreenrefactor.sandbox.policy import Access, Place, Policy

_HEADER = """\
(version 1)
(deny default)
(allow process-fork process-exec)
(allow signal (target same-sandbox))
(allow sysctl-read)
(allow mach-lookup
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.logger")
  (global-name "com.apple.SecurityServer")
  (global-name "com.apple.trustd.agent"))
(allow ipc-posix-shm ipc-posix-sem)
(allow pseudo-tty)
(allow file-read-metadata)
(allow file-read*
  (literal "/") (subpath "/usr") (subpath "/bin") (subpath "/sbin") (subpath "/System") (subpath "/Library")
  (subpath "/opt") (subpath "/private/etc") (subpath "/private/var/db") (subpath "/dev") (subpath "/Applications/Xcode.app"))
(allow file-write*
  (subpath "/dev/fd") (literal "/dev/null") (literal "/dev/zero") (regex #"^/dev/ttys[0-9]+$") (literal "/dev/ptmx")
  (literal "/dev/dtracehelper"))
(allow file-ioctl (literal "/dev/ptmx") (regex #"^/dev/ttys[0-9]+$"))
(allow file-read* file-write* (subpath "/private/tmp") (subpath "/private/var/tmp") (subpath "/private/var/folders"))
"""
_LOOPBACK = """\
(allow network-bind network-inbound (local ip "localhost:*"))
(allow network-outbound (remote ip "localhost:*"))
(allow network* (local unix-socket) (subpath "/private/tmp"))
"""
_NETWORK = "(allow network*)\n(allow system-socket)\n"


def profile(policy: Policy) -> str:
    """Return the profile; a later rule beats an earlier one, so parents come first."""
    rules = "".join(_rule(place) for place in policy.ordered())
    return _HEADER + (_NETWORK if policy.network else _LOOPBACK) + rules


def _rule(place: Place) -> str:
    where = f"(subpath {_quoted(place.shown)})"
    match place.access:
        case Access.WRITE:
            return f"(allow file-read* file-write* {where})\n"
        case Access.READ:
            return f"(allow file-read* {where})\n(deny file-write* {where})\n"
        case Access.SCRATCH | Access.HIDE:
            return f"(deny file-read* file-write* {where})\n"


def _quoted(path: Path) -> str:
    text = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'

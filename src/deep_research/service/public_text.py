"""What a text says without telling where things lie on the server's machine."""

import re

from deep_research.text.masking import masked

# An address of the web, which may be told; a path of this system or of Windows, of which the name at its end is kept.
_WEB_OR_PATH = re.compile(
    r"""(?P<web>https?://\S+)|"""
    r"""(?<![\w.\\~-])(?:~|[A-Za-z]:)?[/\\](?:[^\s/\\'"“”<>|]+[/\\])+(?P<name>[^\s/\\'"“”<>|]*)"""
)


def without_paths(text: str) -> str:
    """Return a text in which each path is only the name of its file."""
    return _WEB_OR_PATH.sub(lambda found: found["web"] or found["name"] or "…", text)


def public_message(message: str) -> str:
    """Return what is said of a failure to whoever asks over a network: no path of this machine, no secret."""
    return without_paths(masked(message))


def sendable(text: str) -> str:
    """Return a text that can be sent as UTF-8; what is half a character is a question mark, so that offsets hold."""
    return text.encode("utf-8", "replace").decode()

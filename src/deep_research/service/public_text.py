"""What a text says without telling where things lie on the server's machine."""

import re

# An address of the web, which may be told; a path of this system or of Windows, of which the name at its end is kept.
_WEB_OR_PATH = re.compile(
    r"""(?P<web>https?://\S+)|"""
    r"""(?<![\w.\\~-])(?:~|[A-Za-z]:)?[/\\](?:[^\s/\\'"“”<>|]+[/\\])+(?P<name>[^\s/\\'"“”<>|]*)"""
)


def without_paths(text: str) -> str:
    """Return a text in which each path is only the name of its file."""
    return _WEB_OR_PATH.sub(lambda found: found["web"] or found["name"] or "…", text)


def sendable(text: str) -> str:
    """Return a text that can be sent as UTF-8; what is half a character is a question mark, so that offsets hold."""
    return text.encode("utf-8", "replace").decode()

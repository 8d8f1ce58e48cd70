"""Where the text of a page stands, for sites whose pages are only a frame around it. Pure; each rule is a function."""

import re
from collections.abc import Callable
from typing import Final
from urllib.parse import SplitResult, urlsplit

_ARXIV_HOSTS: Final = frozenset({"arxiv.org", "www.arxiv.org", "export.arxiv.org"})
_ARXIV_ABSTRACT: Final = re.compile(r"/abs/((?:[a-z-]+(?:\.[A-Z]{2})?/\d{7}|\d{4}\.\d{4,5})(?:v\d+)?)/?")
_GITHUB_HOSTS: Final = frozenset({"github.com", "www.github.com"})
_GITHUB_FILE: Final = re.compile(r"/([\w.-]+)/([\w.-]+)/(?:blob|raw)/(.+)")
_GITHUB_REPOSITORY: Final = re.compile(r"/([\w.-]+)/([\w.-]+?)(?:\.git)?/?")
# First parts of paths that are GitHub's own and no owner's.
_GITHUB_OWN: Final = frozenset(
    """about apps codespaces collections contact customer-stories enterprise events explore features issues login
    marketplace new notifications organizations orgs pricing pulls readme search security settings site sponsors topics
    trending users""".split()
)
_READMES: Final = ("README.md", "README.rst", "readme.md")


def text_addresses(address: str) -> tuple[str, ...]:
    """Return the addresses to try for a page's text, the best first and the page itself last."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return (address,)
    host = (parts.hostname or "").lower()
    rule: Callable[[SplitResult], tuple[str, ...]] | None = None
    if host in _ARXIV_HOSTS:
        rule = _arxiv
    elif host in _GITHUB_HOSTS:
        rule = _github
    return (*(rule(parts) if rule is not None and not parts.query else ()), address)


def _arxiv(parts: SplitResult) -> tuple[str, ...]:
    """An abstract leads to the paper: in HTML, which newer papers have, else as PDF."""
    paper = _ARXIV_ABSTRACT.fullmatch(parts.path)
    return (f"https://arxiv.org/html/{paper[1]}", f"https://arxiv.org/pdf/{paper[1]}") if paper else ()


def _github(parts: SplitResult) -> tuple[str, ...]:
    """A file leads to its plain text, a repository to its README."""
    raw = "https://raw.githubusercontent.com"
    if found := _GITHUB_FILE.fullmatch(parts.path):
        return (f"{raw}/{found[1]}/{found[2]}/{found[3]}",)
    found = _GITHUB_REPOSITORY.fullmatch(parts.path)
    if found is None or found[1].lower() in _GITHUB_OWN:
        return ()
    return tuple(f"{raw}/{found[1]}/{found[2]}/HEAD/{name}" for name in _READMES)

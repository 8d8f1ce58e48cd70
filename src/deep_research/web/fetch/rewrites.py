"""Where the text of a page stands, for sites whose pages are only a frame around it. Pure; each rule is a function."""

import re
from urllib.parse import urlsplit

_ARXIV_ABSTRACT = re.compile(r"/abs/((?:[a-z-]+(?:\.[A-Z]{2})?/\d{7}|\d{4}\.\d{4,5})(?:v\d+)?)/?")
_GITHUB_FILE = re.compile(r"/([\w.-]+)/([\w.-]+)/(?:blob|raw)/(.+)")
_GITHUB_REPOSITORY = re.compile(r"/([\w.-]+)/([\w.-]+?)(?:\.git)?/?")
# First parts of paths that are GitHub's own and no owner's.
_GITHUB_OWN = frozenset(
    """about apps codespaces collections contact customer-stories enterprise events explore features issues login
    marketplace new notifications organizations orgs pricing pulls readme search security settings site sponsors topics
    trending users""".split()
)
_READMES = ("README.md", "README.rst", "readme.md")


def text_addresses(address: str) -> tuple[str, ...]:
    """Return the addresses to try for a page's text, the best first and the page itself last."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return (address,)
    rule = _RULES.get(parts.hostname or "")
    return (*(rule(parts.path) if rule and not parts.query else ()), address)


def _arxiv(path: str) -> tuple[str, ...]:
    """An abstract leads to the paper: in HTML, which newer papers have, else as PDF."""
    paper = _ARXIV_ABSTRACT.fullmatch(path)
    return (f"https://arxiv.org/html/{paper[1]}", f"https://arxiv.org/pdf/{paper[1]}") if paper else ()


def _github(path: str) -> tuple[str, ...]:
    """A file leads to its plain text, a repository to its README."""
    raw = "https://raw.githubusercontent.com"
    if found := _GITHUB_FILE.fullmatch(path):
        return (f"{raw}/{found[1]}/{found[2]}/{found[3]}",)
    found = _GITHUB_REPOSITORY.fullmatch(path)
    if found is None or found[1].lower() in _GITHUB_OWN:
        return ()
    return tuple(f"{raw}/{found[1]}/{found[2]}/HEAD/{name}" for name in _READMES)


_RULES = {
    **dict.fromkeys(("arxiv.org", "www.arxiv.org", "export.arxiv.org"), _arxiv),
    **dict.fromkeys(("github.com", "www.github.com"), _github),
}

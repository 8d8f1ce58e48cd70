"""HTML from templates, escaped by default: whatever is no markup of ours is shown as text, wherever it comes from."""

import re
from collections.abc import Iterable
from functools import cache
from html import escape
from importlib.resources import files

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.ext import Extension
from markupsafe import Markup

from deep_research.report.escaping import one_line
from deep_research.text.cleaning import clean_text

_WEB = re.compile(r"https?://[^\s/]", re.IGNORECASE)


class _JoinedLines(Extension):
    """Joins the lines of a template, so that no blank stands between elements that are written below each other."""

    def preprocess(self, source: str, name: str | None, filename: str | None = None) -> str:  # noqa: ARG002 Jinja's form
        return source.replace("\n", "")


@cache
def templates() -> Environment:
    """Return the environment of the templates."""
    environment = Environment(
        loader=PackageLoader("deep_research.export"),
        autoescape=True,
        finalize=escaped,
        undefined=StrictUndefined,
        auto_reload=False,
        extensions=[_JoinedLines],
    )
    environment.filters["one_line"] = one_line
    environment.tests["web"] = is_web
    return environment


def is_web(address: str) -> bool:
    """Return whether an address may be a link: a path or anything that a program might obey is shown as text."""
    return _WEB.match(address) is not None


def rendered(template: str, **values: object) -> str:
    """Return what a template makes of these values."""
    return templates().get_template(template).render(values)


def element(name: str, /, *texts: object, **values: object) -> Markup:
    """Return what a macro of `parts.html` makes of these values."""
    return Markup(getattr(templates().get_template("parts.html").module, name)(*texts, **values))


def escaped(value: object) -> Markup:
    """Return markup as it is, and anything else as text that a page shows."""
    return value if isinstance(value, Markup) else Markup(escape(clean_text(str(value))))


def joined(parts: Iterable[str]) -> Markup:
    """Return markup and text one after the other; the text is escaped."""
    return Markup("".join(map(escaped, parts)))


def packaged(*names: str) -> Markup:
    """Return styles or scripts that come along, one after the other."""
    folder = files("deep_research.export")
    return Markup("".join(folder.joinpath(name).read_text(encoding="utf-8") for name in names))

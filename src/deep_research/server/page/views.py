"""How a view becomes a response: language, template, words, theme, and what the browser may load.

A page is shown in the language chosen before, else in the one that the browser asks for.
"""

from functools import cache
from http import HTTPStatus
from importlib.resources import files

from fastapi import Request, Response
from jinja2 import Environment, PackageLoader, StrictUndefined

from deep_research.request import Language
from deep_research.server.page.static_files import compressed, static_address
from deep_research.service.accounts.identity import Identity
from deep_research.text.messages.language import LANGUAGES
from deep_research.text.messages.words import Words, words_from, words_in
from deep_research.text.shortening import shortened

COOKIE = "language"
_TRADITIONAL = ("zh-hant", "zh-tw", "zh-hk", "zh-mo")
_OURS = {"zh": "zh-Hans", "en": "en"}
THEMES = ("auto", "light", "dark")
THEME_COOKIE = "theme"
# Everything comes from this server; no script or style stands in the page itself.
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
}
# Where views are found in the navigation: path, key of the word, name of the icon.
NAVIGATION = (
    ("/", "nav.new", "plus"),
    ("/runs", "nav.runs", "clock"),
    ("/documents", "nav.documents", "folder"),
    ("/settings", "nav.settings", "sliders"),
)


@cache
def page_words(language: Language) -> Words:
    """Return the words of the page in a language."""
    return words_from(files("deep_research.server").joinpath("words"), language)


def language_of(request: Request) -> Language:
    """Return the language to show a page in."""
    chosen = request.cookies.get(COOKIE)
    if chosen in LANGUAGES:
        return chosen
    return accepted_language(request.headers.get("accept-language", ""))


def words_for(request: Request) -> Words:
    """Return the words of the language that a client asks for."""
    return words_in(language_of(request))


def accepted_language(header: str) -> Language:
    """Return the first of our languages that an `Accept-Language` header names; English where it has none."""
    weighed = []
    for number, part in enumerate(header.split(",")):
        tag, _, weight = part.partition(";")
        weighed.append((-_weight(weight), number, tag.strip().lower()))
    for negative, _, tag in sorted(weighed):
        ours = "zh-Hant" if tag.startswith(_TRADITIONAL) else _OURS.get(tag.partition("-")[0])
        if negative < 0 and ours:
            return ours
    return "en"


def _weight(text: str) -> float:
    name, _, value = text.strip().partition("=")
    try:
        return float(value) if name.strip() == "q" else 1.0
    except ValueError:
        return 0.0


@cache
def templates() -> Environment:
    """Return the environment of all templates; everything that is filled in is escaped."""
    environment = Environment(
        loader=PackageLoader("deep_research.server"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["shortened"] = shortened
    return environment


def render(request: Request, template: str, *, status: int = HTTPStatus.OK, **values: object) -> Response:
    """Return a view as a page: `t` gives its words, `m` those of reports, `static` where scripts and styles are.

    `counted` gives words with a number.
    """
    language = language_of(request)
    t = page_words(language)
    chosen = request.cookies.get(THEME_COOKIE)
    identity: Identity | None = getattr(request.state, "identity", None)
    frame = {
        "t": t,
        "counted": lambda key, count: t(key, count=f"{count:,}"),
        "m": words_in(language),
        "language": language,
        "languages": LANGUAGES,
        "theme": chosen if chosen in THEMES else "auto",
        "static": static_address,
        "navigation": NAVIGATION,
        "path": request.url.path,
        "user": identity.name if identity else "",
    }
    text = templates().get_template(template).render(frame | values)
    # A broken file may hold half a character, which nobody can send.
    return compressed(request, text.encode("utf-8", "replace"), "text/html", status=status, headers=HEADERS)

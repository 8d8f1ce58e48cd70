"""The kinds of pages there are, and the signs they are known by."""

import re
import tomllib
from functools import lru_cache
from importlib.resources import files
from typing import Final, Literal, NamedTuple

PageKind = Literal[
    "article",
    "not found",
    "server error",
    "access denied",
    "challenge",
    "consent wall",
    "paywall",
    "login wall",
    "region block",
    "maintenance",
    "parked domain",
    "default page",
    "empty shell",
]

DESCRIPTIONS: Final[dict[PageKind, str]] = {
    "article": "a page with text",
    "not found": "a page that says it was not found",
    "server error": "a server's error page",
    "access denied": "a page that denies access",
    "challenge": "a check that keeps programs out",
    "consent wall": "a wall that asks for consent",
    "paywall": "only the beginning, the rest is for subscribers",
    "login wall": "a page to log in",
    "region block": "a page that is closed to this region",
    "maintenance": "a notice of maintenance",
    "parked domain": "a domain that is parked or for sale",
    "default page": "a web server's default page",
    "empty shell": "a page that scripts would have to fill",
}


class Signs(NamedTuple):
    """What gives a kind of page away: parts of titles and headings, and sentences."""

    kind: PageKind
    title: re.Pattern[str]
    sentence: re.Pattern[str]


class Walls(NamedTuple):
    """Words that stand on walls and on good pages too, and tell only together with how little else there is."""

    paid: re.Pattern[str]
    consent: re.Pattern[str]
    agreeing: re.Pattern[str]
    scriptless: re.Pattern[str]


@lru_cache(maxsize=1)
def known_signs() -> tuple[tuple[Signs, ...], Walls]:
    """Return the signs of `signs.toml`."""
    text = files("deep_research.fetch").joinpath("signs.toml").read_text(encoding="utf-8")
    data = tomllib.loads(text)
    signs = tuple(Signs(each["kind"], _any(each["titles"]), _any(each["sentences"])) for each in data["signs"])
    return signs, Walls(**{name: _any(words) for name, words in data["walls"].items()})


def _any(words: list[str]) -> re.Pattern[str]:
    return re.compile("|".join(words).replace(" ", r"\s+").replace(r"\s+?", r"\s*"), re.IGNORECASE)


# What the services that keep programs out put into their pages.
CHALLENGE_MARKS: Final = re.compile(
    rb"_cf_chl_opt|cf-chl-|cdn-cgi/challenge-platform|px-captcha|captcha-delivery\.com|_Incapsula_Resource"
    rb"|awsWafCookieDomainList|sec-if-cpt-container|hcaptcha\.com/1/api|recaptcha/api|perfdrive\.com"
)

"""Secrets in what is shown of settings: in addresses, commands, headers and environments; one function masks them all.

It goes by names (`key`, `token`, `password`, …) and, where a name says nothing, by how keys look. What it cannot know
is a secret under a harmless name that looks like a word.
"""

import logging
import re
from collections.abc import Mapping, Sequence

from deep_research.value import Json

MASK = "***"
# In a name such as `x-api-key`, `accessToken` or `API_KEY`.
_SECRET_WORDS = frozenset(
    """key apikey accesskey secretkey token accesstoken authtoken secret password passwd passphrase pass pwd pin auth
    authorization credential credentials signature sig jwt bearer cookie session sessionid sid appid otp""".split()
)
# Between two words of a name: what is no letter, and where a small letter meets a capital one.
_SEAM = re.compile(r"[^A-Za-z]+|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# Keys as services give them.
_KEY_LIKE = re.compile(
    r"\b(?:(?:sk|pk|rk|gh[opsu]|github_pat|glpat|hf|xox[abps]|tvly|dr)[-_]|AIza|eyJ)[-_A-Za-z0-9.]{8,}"
)
# So many letters and digits in a row; in a text of ours it may be the id of a run.
_LONG = re.compile(r"\b(?=[A-Za-z_]*[0-9])(?=[0-9_]*[A-Za-z])[A-Za-z0-9_]{20,}\b")
_USER = re.compile(r"(?<=://)[^\s/?#'\"]*@")
# A password that should have been written otherwise.
_UNQUOTED_USER = re.compile(r"(?<=://)[^\s/?#'\"@]*:[^\s'\"]*@")
_HEADER = re.compile(r"(?i)\b((?:proxy-)?authorization|cookie)(['\"]?\s*[:=]\s*)(['\"]?)[^'\"\r\n]+")
_BEARER = re.compile(r"(?i)\b(bearer|basic)(\s+)(?=[^\s'\"]*[0-9=]|[^\s'\"]{16})[^\s'\",;]+")
# `name=value`, `name: value`, `"name": "value"`, `--name value`; not the colon of `https://`.
_NAME = re.compile(r"""(?<![\w.-])(?P<name>-{0,2}[A-Za-z][\w.-]*+)(?P<mark>['"]?(?:=|:\s*(?!//))|\s+)['"]?""")
_VALUE = re.compile(r"""[^\s'"&,;)}\]#]+""")


def masked(text: str) -> str:
    """Return a text as it may be shown."""
    text = _USER.sub(f"{MASK}@", text)
    text = _HEADER.sub(rf"\1\2\3{MASK}", text)
    text = _BEARER.sub(rf"\1\2{MASK}", text)
    return _KEY_LIKE.sub(MASK, _without_named(text))


def masked_data(data: object) -> Json:
    """Return a setting as it may be shown: what stands under a secret's name, or after one in a command, is masked.

    It goes further than in a text of ours: in an address and in a command, what may be a key is taken for one.
    """
    if isinstance(data, Mapping):
        return {str(name): MASK if data[name] and is_secret(str(name)) else masked_data(data[name]) for name in data}
    if isinstance(data, Sequence) and not isinstance(data, str):
        return _masked_list(data)
    if isinstance(data, int | float | bool | None):
        return data
    text = str(data)
    return masked(_LONG.sub(MASK, _UNQUOTED_USER.sub(f"{MASK}@", text)) if "://" in text else text)


class MaskedFormatter(logging.Formatter):
    """Masks what a log says, traces included."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        return masked(super().format(record))


def is_secret(name: str) -> bool:
    """Return whether what has this name is not to be shown."""
    words = [word.lower() for word in _SEAM.split(name) if word]
    return any(word in _SECRET_WORDS for word in (*words, "".join(words)))


def _masked_list(items: Sequence[object]) -> list[Json]:
    shown: list[Json] = []
    is_named = False
    for item in items:
        if not isinstance(item, str):
            shown.append(masked_data(item))
            is_named = False
            continue
        shown.append(MASK if is_named else masked_data(_LONG.sub(MASK, item)))
        is_named = item.startswith("-") and "=" not in item and is_secret(item)
    return shown


def _without_named(text: str) -> str:
    """Mask each value that stands after a secret's name; a value that is none may hold the next name."""
    shown, at = "", 0
    for found in _NAME.finditer(text):
        if found.start() < at or not is_secret(found["name"]):
            continue
        value = _VALUE.match(text, found.end())
        if value is not None and _is_value(found, value.group()):
            shown += text[at : found.end()] + MASK
            at = value.end()
    return shown + text[at:]


def _is_value(found: re.Match[str], value: str) -> bool:
    """Return whether a name and what comes after it belong together."""
    name, mark = found["name"], found["mark"]
    if mark.isspace():
        return name.startswith("-") and not value.startswith("-")
    # "It needs a key: set …" is a sentence.
    is_sentence = mark.startswith(":") and name.isalpha() and value.isalpha() and len(value) < 16
    return not is_sentence

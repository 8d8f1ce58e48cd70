"""The fixed words of one language, by key; a new word is a line in `en.toml` and one in `zh-Hans.toml`."""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from string import Formatter

from deep_research.text.messages.language import LANGUAGES


class _Plurals(Formatter):
    """Fills in a template; `{count:source/sources}` is the first word where the count is one, else the second."""

    def format_field(self, value: object, format_spec: str) -> str:
        one, slash, many = format_spec.partition("/")
        if slash:
            return one if str(value) == "1" else many
        return str(super().format_field(value, format_spec))


_FORMATTER = _Plurals()


@dataclass(frozen=True)
class Words:
    """The fixed words of a text, English ones where its language has none: `words("report.cited_share", share=80)`."""

    language: str
    templates: Mapping[str, str]

    def __call__(self, key: str, **values: object) -> str:
        """Return the words of a key; an unknown key is a `KeyError`, values that do not fit it are a `TypeError`."""
        template = self.templates[key]
        if placeholders(template) != values.keys():
            wanted = ", ".join(sorted(placeholders(template))) or "no values"
            raise TypeError(f"{key} takes {wanted}, not {', '.join(sorted(values)) or 'nothing'}")
        return _FORMATTER.vformat(template, (), values)

    def listed(self, names: Iterable[str]) -> str:
        """Return names in one line."""
        return self("report.list_separator").join(names)


@cache
def placeholders(template: str) -> frozenset[str]:
    """Return the names that a template leaves open."""
    return frozenset(name for _, name, _, _ in Formatter().parse(template) if name is not None)


@cache
def words_in(language: str) -> Words:
    """Return the fixed words of a text in a language."""
    return words_from(files("deep_research.text.messages"), language)


def words_from(folder: Traversable, language: str) -> Words:
    """Return the words that a folder holds in a language.

    Traditional Chinese is converted from simplified, but for the words that its own file holds.
    """
    if language != "zh-Hant":
        return Words(language, _templates(folder, language if language in LANGUAGES else "en"))
    import opencc

    to_traditional = opencc.OpenCC("s2twp").convert
    converted = {key: to_traditional(text) for key, text in _templates(folder, "zh-Hans").items()}
    return Words(language, converted | _templates(folder, language))


def _templates(folder: Traversable, language: str) -> dict[str, str]:
    tables: dict[str, dict[str, str]] = tomllib.loads(folder.joinpath(f"{language}.toml").read_text(encoding="utf-8"))
    return {f"{table}.{name}": text for table, texts in tables.items() for name, text in texts.items()}

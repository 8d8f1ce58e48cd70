"""A user's own rules for the intake: read from a TOML file (the setting `clarify_rules`), and applied to a question."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, NoReturn, TypeVar

from pydantic import ValidationError

from deep_research.errors import ConfigurationError
from deep_research.reasoning.values import Strings
from deep_research.request import IntakeRules, Language
from deep_research.text.folding import to_simplified
from deep_research.text.messages.words import Words, placeholders

# The kinds of doubt whose question and options a user may word; `docs/intake.md` says when each is asked.
ASKED_KINDS = ("topic", "reference", "aspect", "meaning", "limits", "term", "vague")
NO_RULES = IntakeRules()
_MAX_CHARS = 200
_MAX_FOCUSES = 5
Wording = TypeVar("Wording", str, Strings)


def load_rules(path: Path | None) -> IntakeRules:
    """Read a file of rules; what does not fit is refused with its key and what would."""
    if not path:
        return NO_RULES
    try:
        data = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as exc:
        raise ConfigurationError(f"The rules {path} (clarify_rules) cannot be read: {exc.strerror}.") from exc
    except UnicodeDecodeError as exc:
        raise ConfigurationError(f"The rules {path} (clarify_rules) are not UTF-8 text; save them as UTF-8.") from exc
    except tomllib.TOMLDecodeError as exc:
        raise ConfigurationError(f"The rules {path} (clarify_rules) are not valid TOML: {exc}.") from exc
    try:
        rules = IntakeRules.from_json(data)
    except ValidationError as exc:
        _refuse(path, *_first_problem(exc))
    _check(rules, path)
    return rules


def focus_by_rule(rules: IntakeRules, text: str) -> Strings:
    """Return the focuses of the first rule whose pattern fits the question, in either Chinese script."""
    simple = to_simplified(text)
    return next((rule.focus for rule in rules.focus if _pattern(rule.pattern).search(simple)), ())


def worded(given: Mapping[str, Wording | dict[Language, Wording]], kind: str, language: Language) -> Wording | None:
    """Return the user's wording for a kind of doubt in a language, if there is one."""
    wording = given.get(kind)
    return wording.get(language) if isinstance(wording, dict) else wording


class SpelledOut(NamedTuple):
    """A question in which the user's terms say what they mean."""

    text: str
    assumptions: Strings
    is_known: bool


def spelled_out(text: str, rules: IntakeRules, words: Words) -> SpelledOut:
    """Add to the user's own terms what they mean, so that a search finds it too."""
    assumptions, is_known = [], False
    for term, meaning in rules.terms.items():
        found = _whole(term).search(text)
        is_known = is_known or found is not None
        if found and meaning and meaning.casefold() not in text.casefold():
            text = f"{text[: found.end()]} ({meaning}){text[found.end() :]}"
            assumptions.append(words("clarify.assume_reference", phrase=term, name=meaning))
    return SpelledOut(text, tuple(assumptions), is_known)


def find_vague_word(rules: IntakeRules, text: str) -> tuple[int, int] | None:
    """Return where one of the user's own vague words stands, in either Chinese script."""
    simple = to_simplified(text)
    found = (match.span() for word in rules.vague_words if (match := _whole(to_simplified(word)).search(simple)))
    return min(found, default=None)


def _whole(word: str) -> re.Pattern[str]:
    """Return the pattern of a word that is not a part of a longer one; Chinese has no such edges."""
    return re.compile(rf"(?i)(?<![A-Za-z0-9]){re.escape(word)}(?![A-Za-z0-9])")


def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(to_simplified(pattern), re.IGNORECASE)


def _first_problem(error: ValidationError) -> tuple[str, str]:
    problem = error.errors(include_input=False, include_url=False)[0]
    # Behind the key of a wording pydantic names the branch of the union it tried.
    place = [str(part) for part in problem["loc"] if not re.search(r"[\[(]|^str$", str(part))]
    if problem["type"] == "extra_forbidden":
        return ".".join(place), f"there is no such key; choose from {', '.join(IntakeRules.model_fields)}"
    return ".".join(place), problem["msg"][0].lower() + problem["msg"][1:]


def _check(rules: IntakeRules, path: Path) -> None:
    """Refuse what has the right type and still cannot be used."""
    for table, wordings in (("questions", rules.questions), ("options", rules.options)):
        for kind, wording in wordings.items():
            key = f"{table}.{kind}"
            if kind not in ASKED_KINDS:
                _refuse(path, key, f"there is no such kind of question; choose from {', '.join(ASKED_KINDS)}")
            for text in wording.values() if isinstance(wording, dict) else (wording,):
                _check_wording(path, key, text)
    for number, rule in enumerate(rules.focus, start=1):
        key = f"focus {number}"
        try:
            _pattern(rule.pattern)
        except re.error as exc:
            _refuse(path, f"{key}: pattern", f"it is no regular expression ({exc})")
        if not rule.pattern:
            _refuse(path, f"{key}: pattern", "it is empty and would fit every question; use default_focus")
        _check_focus(path, f"{key}: focus", rule.focus)
    if rules.default_focus:
        _check_focus(path, "default_focus", rules.default_focus)
    for key, words in (("vague_words", rules.vague_words), ("terms", tuple(rules.terms))):
        if not all(word.strip() for word in words):
            _refuse(path, key, "one of its words is empty")


def _check_wording(path: Path, key: str, wording: str | Strings) -> None:
    texts = (wording,) if isinstance(wording, str) else wording
    if not texts or not all(text.strip() and len(text) <= _MAX_CHARS for text in texts):
        _refuse(path, key, f"give texts of 1 to {_MAX_CHARS} characters")
    for text in texts:
        try:
            names = placeholders(text)
        except ValueError as exc:
            _refuse(path, key, f"its braces do not pair ({exc})")
        if names - {"topic"}:
            _refuse(path, key, f"{{{min(names - {'topic'})}}} is not known; the only placeholder is {{topic}}")


def _check_focus(path: Path, key: str, focus: Strings) -> None:
    if not 0 < len(focus) <= _MAX_FOCUSES or not all(one.strip() for one in focus):
        _refuse(path, key, f"give 1 to {_MAX_FOCUSES} focuses, none of them empty")


def _refuse(path: Path, key: str, why: str) -> NoReturn:
    raise ConfigurationError(f"In the rules {path} (clarify_rules), {key}: {why}.")

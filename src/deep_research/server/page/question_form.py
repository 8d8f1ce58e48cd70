"""The form of a new research: what was typed, and the run that it asks for."""

import re
from collections.abc import Mapping
from typing import Final

from pydantic import ValidationError

from deep_research.service.new_run import MAX_QUESTION_CHARS, NewRun, searches_web
from deep_research.settings import Settings

# Fields whose value goes on as it is; empty means that the server decides.
_PLAIN: Final = ("documents", "strategy", "depth", "length", "language", "clarify", "since", "until")
_LIMITS: Final = ("usd", "queries", "pages", "minutes")
FIELDS: Final = ("question", *_PLAIN, "shared_documents", "confirm_plan", "sites", *_LIMITS)
_BETWEEN_SITES = re.compile(r"[\s,;，；、]+")


class QuestionForm(dict[str, str]):
    """Every field as typed; missing ones are empty."""

    @classmethod
    def of(cls, typed: Mapping[str, object]) -> "QuestionForm":
        """Return the form that was sent."""
        return cls({name: str(typed.get(name, "")).strip() for name in FIELDS})

    @classmethod
    def first(cls, settings: Settings, question: str) -> "QuestionForm":
        """Return the form before anything is typed: as the server would decide."""
        chosen = {name: getattr(settings, name) for name in ("depth", "length", "clarify", "language")}
        chosen |= {"strategy": settings.strategy if searches_web(settings) else "local", "shared_documents": "yes"}
        return cls.of({name: value or "" for name, value in chosen.items()} | {"question": question})


def read_form(form: QuestionForm) -> tuple[NewRun | None, set[str]]:
    """Return the run that a form asks for, or the names of the fields that do not fit."""
    given: dict[str, object] = {name: form[name] for name in _PLAIN if form[name]}
    budget = {kind: form[kind] for kind in ("usd", "queries", "pages") if form[kind]}
    wrong = set()
    if form["minutes"]:
        try:
            budget["seconds"] = str(float(form["minutes"]) * 60)
        except ValueError:
            wrong.add("minutes")
    sites = [site for site in _BETWEEN_SITES.split(form["sites"]) if site]
    own: dict[str, object] = {"question": form["question"], "sites": sites, "budget": budget}
    own |= {name: bool(form[name]) for name in ("confirm_plan", "shared_documents")}
    new = None
    try:
        # Somebody sits at the page, to approve a costly or complex plan.
        new = NewRun.model_validate({**given, **own, "interactive": True})
    except ValidationError as exc:
        for error in exc.errors():
            match error["loc"]:
                case ():  # The dates are the wrong way round.
                    wrong.add("until")
                case ("budget",):
                    wrong.update(budget)
                case ("budget", kind, *_):
                    wrong.add(str(kind))
                case (name, *_):
                    wrong.add(str(name))
    wrong = {"minutes" if name == "seconds" else name for name in wrong}
    form["question"] = form["question"][:MAX_QUESTION_CHARS]
    return (None if wrong else new), wrong

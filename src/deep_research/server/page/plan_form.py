"""The plan as a form: what is shown, and what was made of it."""

import re
from typing import Any

from starlette.datastructures import FormData

from deep_research.value import JsonObject

_BETWEEN_FOCUSES = re.compile(r"[;；,，、\n]+")


def plan_shown(pending: JsonObject) -> JsonObject:
    """Return the plan that waits for approval as the form shows it: title and sections, queries in plain words."""
    plan: Any = pending.get("plan") or {}
    return {
        "research_title": _line(plan.get("research_title", "")),
        "sections": [
            {
                "title": _line(section["title"]),
                "description": _text(section.get("description", "")),
                "search_queries": [str(query["query"]).strip() for query in section.get("search_queries", ())],
            }
            for section in plan.get("sections", ())
        ],
    }


def plan_sent(form: FormData) -> JsonObject:
    """Return the plan that the form spells."""
    fields = (form.getlist(f"section_{name}") for name in ("title", "description", "queries"))
    return {
        "research_title": _line(form.get("research_title", "")),
        "sections": [
            {
                "title": _line(title),
                "description": _text(description),
                "search_queries": [line.strip() for line in str(queries).splitlines() if line.strip()],
            }
            for title, description, queries in zip(*fields, strict=False)
        ],
    }


def focuses_sent(form: FormData) -> tuple[str, ...]:
    """Return the sides of the question that somebody wants to be looked at instead."""
    parts = map(str.strip, _BETWEEN_FOCUSES.split(str(form.get("focus", ""))))
    return tuple(dict.fromkeys(part for part in parts if part))


def _line(value: object) -> str:
    return " ".join(str(value).split())


def _text(value: object) -> str:
    # Browsers send line ends as CR LF.
    return str(value).replace("\r\n", "\n").strip()

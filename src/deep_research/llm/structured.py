"""Answers of a given form: a schema that every provider takes, and the ways in which an endpoint is asked for it."""

from deep_research.llm.registry import AnswerWay
from deep_research.llm.vendor import ModelEndpoint
from deep_research.value import Json, JsonObject

ANSWER_NAME = "answer"
# Each provider knows only some of these bounds and refuses the others; our own validation holds them all.
_DROPPED = frozenset(
    "title default examples minLength maxLength pattern format minimum maximum exclusiveMinimum exclusiveMaximum "
    "multipleOf minItems maxItems uniqueItems minProperties maxProperties".split()
)

# The way that an endpoint was found to take, by its name and address; learned once for all runs of this process.
_known: dict[tuple[str, str], AnswerWay] = {}


def ways_of(endpoint: ModelEndpoint) -> tuple[AnswerWay, ...]:
    """Return the ways to ask an endpoint for a form, the best it is not known to refuse first."""
    ways = endpoint.provider.answer_ways
    known = _known.get((endpoint.name, endpoint.address), ways[0])
    return ways[ways.index(known) :]


def remember_way(endpoint: ModelEndpoint, way: AnswerWay) -> None:
    """Keep that the endpoint takes this way, so that none it refuses is tried again."""
    _known[endpoint.name, endpoint.address] = way


def plain_schema(schema: JsonObject) -> JsonObject:
    """Return a schema without bounds, in which every object is closed and every field is there."""
    plain: JsonObject = {}
    for key, value in schema.items():
        if key in ("properties", "$defs", "definitions") and isinstance(value, dict):
            plain[key] = {name: _plain(part) for name, part in value.items()}
        elif key not in _DROPPED:
            plain[key] = _plain(value)
    properties = plain.get("properties")
    if isinstance(properties, dict):
        plain |= {"additionalProperties": False, "required": list(properties)}
    return plain


def _plain(value: Json) -> Json:
    if isinstance(value, dict):
        return plain_schema(value)
    return [_plain(part) for part in value] if isinstance(value, list) else value

"""Schemas lose what providers refuse, and keep what the answer needs."""

from deep_research.llm.vendor import plain_schema
from deep_research.value import JsonObject


def test_bounds_go_and_every_field_is_required():
    schema: JsonObject = {
        "title": "Plan",
        "type": "object",
        "properties": {
            "title": {"type": "string", "maxLength": 9, "default": ""},
            "format": {"enum": ["a", "b"], "title": "Format"},
            "parts": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/Part"}},
            "note": {"anyOf": [{"type": "string", "pattern": "x"}, {"type": "null"}]},
        },
        "required": ["title"],
        "$defs": {"Part": {"type": "object", "properties": {"default": {"type": "integer", "minimum": 1}}}},
    }
    assert plain_schema(schema) == {
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "format": {"enum": ["a", "b"]},
            "parts": {"type": "array", "items": {"$ref": "#/$defs/Part"}},
            "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        },
        "required": ["title", "format", "parts", "note"],
        "additionalProperties": False,
        "$defs": {
            "Part": {
                "type": "object",
                "properties": {"default": {"type": "integer"}},
                "required": ["default"],
                "additionalProperties": False,
            }
        },
    }


def test_schema_itself_is_left_alone():
    schema: JsonObject = {"type": "object", "properties": {"a": {"type": "string", "maxLength": 3}}}
    plain_schema(schema)
    assert schema == {"type": "object", "properties": {"a": {"type": "string", "maxLength": 3}}}

"""The base of every value that is stored, sent or handed between parts: frozen, strict about its fields, plain JSON."""

import hashlib
import json
from collections.abc import Collection
from typing import Any, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, JsonValue

Json: TypeAlias = JsonValue
JsonObject: TypeAlias = dict[str, JsonValue]
Strings: TypeAlias = tuple[str, ...]


class Value(BaseModel):
    """A frozen value that round-trips through plain JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def to_json(self) -> JsonObject:
        """Return the value as plain JSON data."""
        data: JsonObject = self.model_dump(mode="json")
        return data

    def replace(self, **fields: object) -> Self:
        """Return the value with other values in some fields."""
        return self.model_copy(update=fields)

    def keys(self) -> Collection[str]:
        """Return the names of the fields: a value may be read like the JSON that describes it."""
        return type(self).model_fields.keys()

    def __getitem__(self, name: str) -> Any:
        return getattr(self, name)

    def get(self, name: str, default: object = None) -> Any:
        """Return a field, or the default where there is none of that name."""
        return getattr(self, name, default)

    @classmethod
    def from_json(cls, data: object) -> Self:
        """Return the value that plain JSON data describes."""
        return cls.model_validate(data)


def canonical_json(data: object) -> str:
    """Return the one spelling of plain JSON data that hashes and golden files rely on."""
    return json.dumps(data, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def json_of(text: bytes | str) -> Json:
    """Return the plain JSON data that a text spells; `ValueError` where it spells none, or nests without end."""
    try:
        data: Json = json.loads(text)
    except RecursionError as exc:
        raise ValueError("The text nests too deeply.") from exc
    return data


def value_at(data: Json, *path: str) -> Json:
    """Return what stands at a path of nested objects, None where there is nothing."""
    for name in path:
        data = data.get(name) if isinstance(data, dict) else None
    return data


def digest(*parts: object) -> str:
    """Return the SHA-256 of the canonical JSON of the parts."""
    return digest_of(canonical_json(parts))


def digest_of(text: str) -> str:
    """Return the SHA-256 of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

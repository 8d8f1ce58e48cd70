"""The kinds of values that settings have, beyond plain ones."""

import re
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr
from pydantic_settings import NoDecode

from deep_research.masking import masked

# It stands in brackets in a header of every request.
_CONTACT = re.compile(r"https?://[^\s()<>]+\.[^\s()<>]+|[^\s()<>@:/]+@[^\s()<>@:/]+\.[^\s()<>@:/]+", re.ASCII)


def _contact(value: str) -> str:
    if not (value.isascii() and _CONTACT.fullmatch(value)):
        raise ValueError("give a mail address such as me@example.org, or a web address such as https://example.org/bot")
    return value


def _expand(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError as exc:
        raise ValueError("the user named after ~ has no home folder") from exc


def _listed(value: object) -> object:
    """Return the names of a text that parts them by commas, as a variable spells a list."""
    return tuple(name.strip() for name in value.split(",") if name.strip()) if isinstance(value, str) else value


def _hosts(entries: tuple[str, ...]) -> tuple[str, ...]:
    """Return hosts in the spelling in which they are compared, or say which entry can never match, and why."""
    from deep_research.net.guard import allowed_host

    hosts = []
    for entry in entries:
        try:
            hosts.append(allowed_host(entry))
        except ValueError as exc:
            raise ValueError(f"no address matches the entry {masked(entry)!r}: {exc}") from None
    return tuple(hosts)


Key = SecretStr | None
Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_listed)]
Contact = Annotated[str, AfterValidator(_contact)]
Hosts = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_listed), AfterValidator(_hosts)]
Folder = Annotated[Path, AfterValidator(_expand)]
AbsoluteFolder = Annotated[Path, AfterValidator(_expand), AfterValidator(Path.absolute)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Duration = Annotated[float, Field(gt=0, allow_inf_nan=False)]

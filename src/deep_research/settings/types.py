"""The kinds of values that settings have, beyond plain ones."""

import re
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr
from pydantic_settings import NoDecode

from deep_research.request import is_collection
from deep_research.text.masking import masked

# It stands in brackets in a header of every request.
_CONTACT = re.compile(r"https?://[^\s()<>]+\.[^\s()<>]+|[^\s()<>@:/]+@[^\s()<>@:/]+\.[^\s()<>@:/]+", re.ASCII)
# Of those that RFC 5321 allows the ones that people have; nothing in them can begin another header or recipient.
_MAIL_ADDRESS = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*", re.ASCII)
_MAX_MAIL_ADDRESS = 254


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
    from deep_research.web.net.guard import allowed_host

    hosts = []
    for entry in entries:
        try:
            hosts.append(allowed_host(entry))
        except ValueError as exc:
            raise ValueError(f"no address matches the entry {masked(entry)!r}: {exc}") from None
    return tuple(hosts)


def _absolute_or_collection(path: Path) -> Path:
    return path if is_collection(path) else path.absolute()


def mail_address(value: str) -> str:
    """Return a mail address as it can stand in the head of a mail; `ValueError` says that it is none."""
    if len(value) > _MAX_MAIL_ADDRESS or not _MAIL_ADDRESS.fullmatch(value):
        raise ValueError("give one mail address such as me@example.org")
    return value


def _database_url(value: SecretStr | None) -> SecretStr | None:
    address = value.get_secret_value() if value else ""
    if address and not address.startswith(("postgresql://", "postgres://")):
        raise ValueError("give an address such as postgresql://user:password@host:5432/name")
    return value if address else None


def _blob_location(value: str) -> str:
    if value.startswith(S3):
        if not value.removeprefix(S3).strip("/"):
            raise ValueError("give a bucket, as in s3://bucket/prefix")
        return value
    if "://" in value:
        raise ValueError("give a folder, or an address such as s3://bucket/prefix")
    return str(_expand(Path(value)).absolute()) if value else ""


S3 = "s3://"
Key = SecretStr | None
DatabaseUrl = Annotated[Key, AfterValidator(_database_url)]
BlobLocation = Annotated[str, AfterValidator(_blob_location)]
MailAddress = Annotated[str, AfterValidator(mail_address)]
Names = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_listed)]
Contact = Annotated[str, AfterValidator(_contact)]
Hosts = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_listed), AfterValidator(_hosts)]
Folder = Annotated[Path, AfterValidator(_expand)]
DocumentsPath = Annotated[Path, AfterValidator(_expand), AfterValidator(_absolute_or_collection)]
AbsoluteFolder = Annotated[Path, AfterValidator(_expand), AfterValidator(Path.absolute)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Duration = Annotated[float, Field(gt=0, allow_inf_nan=False)]

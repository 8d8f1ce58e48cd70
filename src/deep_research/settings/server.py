"""Settings of `deep-research serve`."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field

from deep_research.documents.readers.port import MAX_FILE_BYTES
from deep_research.settings.types import Hosts, Key, MailAddress, Names


class ServerSettings(BaseModel, use_attribute_docstrings=True):
    """The part of the settings that `service/` and `server/` are built from."""

    server_runs_at_once: int = Field(default=4, ge=1)
    """Most runs that a server works on at once; others wait for their turn."""
    server_hosts: Hosts = ()
    """Names, beside those of loopback, under which the server is reached (`research.example.org`); a request for
    another name is refused, so that no web page can point a name of its own at this machine."""
    server_behind_proxy: bool = False
    """Whether a reverse proxy stands before the server: only then are `X-Forwarded-For` and `X-Forwarded-Proto`
    believed, by their last entry."""
    upload_max_file_mb: int = Field(default=100, ge=1, le=MAX_FILE_BYTES // 1_000_000)
    """Most megabytes of one uploaded file."""
    upload_max_collection_mb: int = Field(default=500, ge=1)
    """Most megabytes of one collection of uploaded files."""
    upload_max_user_mb: int = Field(default=2_000, ge=1)
    """Most megabytes that one user may upload in all."""
    upload_max_files: int = Field(default=1_000, ge=1)
    """Most files of one collection."""
    upload_max_collections: int = Field(default=100, ge=1)
    """Most collections of one user."""
    schedules_max: int = Field(default=20, ge=0)
    """Most schedules of one user."""
    server_address: str = Field(default="", pattern=r"^(https?://[^\s/?#]+(/[^\s?#]*)?)?$")
    """Address under which people open the server (`https://research.example.org`), for links in notifications; not set,
    they have none."""
    webhook_secret: Key = None
    """Secret that notifications to webhooks are signed with; not set, they are unsigned."""
    webhook_hosts: Hosts = ()
    """Internal hosts that webhooks may lead to, as `host` or `host:port`; all others are refused."""
    smtp_host: str = ""
    """Mail server that notifications are sent through; not set, no mail is sent."""
    smtp_port: int = Field(default=587, ge=1, le=65_535)
    """Port of the mail server."""
    smtp_tls: Literal["starttls", "tls", "off"] = "starttls"
    """How the connection to the mail server is kept secret: `starttls`, `tls` from the beginning, or `off` for one on
    this machine."""
    smtp_ca: Path | None = None
    """File with the certificate of the authority that vouches for the mail server; not set, the system's authorities
    do."""
    smtp_user: str = ""
    """Account at the mail server; not set, none is used."""
    smtp_password: Key = None
    """Password of the account at the mail server."""
    mail_recipients: Names = ()
    """Mail addresses, or domains as `@example.org`, that schedules of accounts without the scope admin may write to."""
    smtp_from: MailAddress | None = None
    """Mail address that notifications come from."""

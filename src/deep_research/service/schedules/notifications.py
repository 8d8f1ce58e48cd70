"""Tells people what became of a schedule: a signed request to a web address, or a mail. Tries again until it arrives.

A notification is a row of `server.db`, so that a restart loses none; several servers do not send it twice.
"""

import asyncio
import base64
import binascii
import hashlib
import hmac
import json
import logging
import smtplib
import ssl
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime
from typing import Any, Literal
from uuid import uuid4

from deep_research.errors import AddressRefused, CallFailed, NetworkError, SourceError
from deep_research.report.escaping import one_line
from deep_research.service.database import Records, ServerDatabase
from deep_research.service.schedules.schedules import every_of
from deep_research.settings import Settings
from deep_research.storage.database.port import Row
from deep_research.storage.store.port import RunRow
from deep_research.text.messages.language import report_language
from deep_research.text.messages.words import Words, words_in
from deep_research.text.shortening import shortened
from deep_research.value import json_of
from deep_research.verify.changes import ChangeKind, Changes
from deep_research.web.net.client import ClientLimits, GuardedClient
from deep_research.web.net.guard import Guard
from deep_research.web.net.tls import new_context

_log = logging.getLogger(__name__)
NotificationKind = Literal["first-report", "claims-changed", "no-change", "run-failed"]
# After these many seconds it is tried again, then nobody tries any longer: all in all about two days.
WAITS_S = (60, 300, 1_800, 7_200, 21_600, 43_200, 86_400)
# A server that was killed while it sent something leaves it to others after so long.
_LEASE_S = 300
_MAX_CLAIMS = 50
_MAX_SUBJECT_CHARS = 120
_TIMEOUT_S = 15.0
_LIMITS = ClientLimits(connect_s=10, read_s=_TIMEOUT_S, total_s=30, max_bytes=65_536, max_decoded_bytes=65_536)
REPORTED_KINDS: tuple[ChangeKind, ...] = ("changed", "gone", "new")


def notification_of(
    schedule: Row,
    *,
    kind: NotificationKind,
    address: str,
    run: RunRow | None = None,
    changes: Changes | None = None,
    error: str = "",
) -> dict[str, Any]:
    """Return what is told of a schedule, as webhooks get it."""
    research: Any = json_of(schedule["request"])
    link = f"{address.rstrip('/')}/runs/{run.id}" if address and run else ""
    claims = [claim for each in REPORTED_KINDS for claim in changes.of(each)] if changes else []
    return {
        "kind": kind,
        "language": report_language(research["question"], research.get("language")),
        "schedule": {
            "id": schedule["id"],
            "question": research["question"],
            "every": every_of(schedule["every_s"]),
            "mode": schedule["mode"],
        },
        "run": run and {"id": run.id, "title": run.title, "link": link},
        "earlier_run": changes.before.run if changes else "",
        "counts": {each: len(changes.of(each)) if changes else 0 for each in (*REPORTED_KINDS, "still", "unchecked")},
        "claims": [
            {name: claim.to_json()[name] for name in ("kind", "before", "after", "edits", "section", "sources")}
            for claim in claims[:_MAX_CLAIMS]
        ],
        "claims_left_out": max(len(claims) - _MAX_CLAIMS, 0),
        "error": error,
    }


def add_notifications(records: Records, schedule: Row, run: str, news: Mapping[str, Any]) -> None:
    """Queue notifications for a schedule's people; the transaction is the caller's."""
    now = datetime.now(UTC).isoformat()
    for target in (schedule["webhook"], schedule["email"] and f"mailto:{schedule['email']}"):
        if target:
            body = json.dumps(news, ensure_ascii=False)
            row = {"id": uuid4().hex, "schedule": schedule["id"], "run": run, "target": target}
            records.run("add_notification", **row, body=body, created_at=now)


@dataclass
class Notifier:
    """Delivers what is due, whenever it is asked to."""

    settings: Settings
    database: ServerDatabase
    now: Callable[[], datetime] = lambda: datetime.now(UTC)
    _client: GuardedClient | None = None

    async def close(self) -> None:
        """Close connections."""
        if self._client is not None:
            await self._client.aclose()

    async def deliver(self) -> None:
        """Send everything that is due, one after the other."""
        now = self.now()
        times = {"now": now.isoformat(), "far": (now + timedelta(seconds=2 * WAITS_S[-1])).isoformat()}
        for row in await self.database.all("due_notifications", **times):
            until = (now + timedelta(seconds=_LEASE_S)).isoformat()
            if await self.database.run("claim_notification", id=row["id"], seen=row["next_at"], until=until):
                await self._try(row)

    async def _try(self, row: Row) -> None:
        try:
            if row["target"].startswith("mailto:"):
                await asyncio.to_thread(self._mail, row)
            else:
                await self._post(row)
        except CallFailed as exc:
            _log.warning("notification %s: %s", row["id"], exc)
            tries = row["tries"]
            is_over = isinstance(exc, AddressRefused) or tries >= len(WAITS_S)
            next_at = None if is_over else (self.now() + timedelta(seconds=WAITS_S[tries])).isoformat()
            await self.database.run("note_failed", id=row["id"], error=str(exc), next_at=next_at)
            return
        now = self.now().isoformat()
        await self.database.run("note_sent", id=row["id"], now=now)

    async def _post(self, row: Row) -> None:
        if self._client is None:
            guard = Guard(allowed=self.settings.webhook_hosts)
            self._client = GuardedClient(guard, limits=_LIMITS, contact=self.settings.contact)
        news: Any = json_of(row["body"])
        body = json.dumps({"id": row["id"], "at": row["created_at"], **news}, ensure_ascii=False).encode()
        stamp = str(int(self.now().timestamp()))
        headers = {"content-type": "application/json", "webhook-id": row["id"], "webhook-timestamp": stamp}
        if secret := self.settings.webhook_secret:
            headers["webhook-signature"] = signature(secret.get_secret_value(), row["id"], stamp, body)
        response = await self._client.post(row["target"], body=body, headers=headers)
        if not 200 <= response.status < 300:
            raise SourceError(f"The webhook answered with status {response.status}.")

    def _mail(self, row: Row) -> None:
        settings = self.settings
        if not settings.smtp_host or not settings.smtp_from:
            raise SourceError("No mail can be sent: smtp_host and smtp_from are not set.")
        message = mail_of(row, sender=settings.smtp_from)
        try:
            with self._connection() as connection:
                if settings.smtp_tls == "starttls":
                    connection.starttls(context=self._trusted())
                if settings.smtp_user and settings.smtp_password:
                    connection.login(settings.smtp_user, settings.smtp_password.get_secret_value())
                connection.send_message(message)
        except (OSError, smtplib.SMTPException) as exc:
            raise _mail_failure(exc) from exc

    def _connection(self) -> smtplib.SMTP:
        host, port = self.settings.smtp_host, self.settings.smtp_port
        if self.settings.smtp_tls == "tls":
            return smtplib.SMTP_SSL(host, port, timeout=_TIMEOUT_S, context=self._trusted())
        return smtplib.SMTP(host, port, timeout=_TIMEOUT_S)

    def _trusted(self) -> ssl.SSLContext:
        context = new_context()
        if self.settings.smtp_ca is not None:
            context.load_verify_locations(cafile=self.settings.smtp_ca)
        return context


def _mail_failure(exc: OSError | smtplib.SMTPException) -> CallFailed:
    """Return what to do about a mail that could not be sent; what the mail server says may quote addresses."""
    match exc:
        case ssl.SSLCertVerificationError():
            return SourceError(
                f"The certificate of the mail server is not to be trusted ({exc.verify_message}): check smtp_host, or "
                "name the file of its authority in smtp_ca."
            )
        case ssl.SSLError():
            return SourceError(
                "The mail server does not speak TLS at smtp_port: set smtp_tls to starttls, or to tls with its port."
            )
        case smtplib.SMTPNotSupportedError():
            return SourceError(
                "The mail server offers no STARTTLS or no sign-in that it needs: set smtp_tls to tls with its port, or "
                "to off for one on this machine."
            )
        case smtplib.SMTPAuthenticationError():
            return SourceError("The mail server refused smtp_user or smtp_password.")
        case smtplib.SMTPException():
            return SourceError(f"The mail server refused the mail ({type(exc).__name__}).")
    return NetworkError(f"The mail server could not be reached ({type(exc).__name__}).")


def signature(secret: str, id_: str, stamp: str, body: bytes) -> str:
    """Return the signature of a request, as https://www.standardwebhooks.com has it."""
    key = secret.encode()
    if secret.startswith("whsec_"):
        with suppress(binascii.Error):
            key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    digest = hmac.new(key, f"{id_}.{stamp}.".encode() + body, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"


def mail_of(row: Row, *, sender: str) -> EmailMessage:
    """Return a notification as a mail in plain text, in the language of its question."""
    news: Any = json_of(row["body"])
    words = words_in(news["language"])
    schedule, run = news["schedule"], news["run"]
    question = one_line(schedule["question"])
    subject = words(f"notification.subject_{_SUBJECTS[news['kind']]}", question=question)
    lines = [words("notification.question", question=question), ""]
    if news["kind"] == "run-failed":
        lines.append(words("notification.failed", error=one_line(news["error"])))
    elif news["kind"] == "first-report":
        lines.append(words("notification.first"))
    else:
        counts = {name: news["counts"][name] for name in ("still", "changed", "gone", "new")}
        is_same = news["kind"] == "no-change"
        lines.append(words("versions.same", still=counts["still"]) if is_same else words("versions.summary", **counts))
        for claim in news["claims"]:
            lines += ["", words(f"versions.{claim['kind']}"), *_claim_lines(claim, words)]
        if news["claims_left_out"]:
            lines += ["", words("notification.more", count=news["claims_left_out"])]
    if run:
        lines += [
            "",
            words("notification.read", link=run["link"]) if run["link"] else words("notification.run", run=run["id"]),
        ]
    lines += ["", words("notification.schedule", schedule=schedule["id"][:8], every=schedule["every"]), ""]
    message = EmailMessage(policy=SMTP)
    message["Subject"] = shortened(subject, _MAX_SUBJECT_CHARS)
    message["From"], message["To"] = sender, row["target"].removeprefix("mailto:")
    message["Date"] = format_datetime(datetime.fromisoformat(row["created_at"]))
    # The same at each try, so that a mail that arrived twice is shown once.
    message["Message-ID"] = f"<{row['id']}@{sender.rpartition('@')[2]}>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content("\n".join(lines))
    return message


def _claim_lines(claim: Mapping[str, Any], words: Words) -> list[str]:
    """Return what a claim said and says, or what its passages said and say where the claim was not made again."""
    stands = [claim] if claim["after"] or not claim["edits"] else [claim, *claim["edits"]]
    said = [(part, one_line(each[part])) for each in stands for part in ("before", "after") if each[part]]
    return [words(f"versions.{part}", text=text) for part, text in dict.fromkeys(said)]


_SUBJECTS: dict[NotificationKind, str] = {
    "first-report": "first",
    "claims-changed": "changed",
    "no-change": "same",
    "run-failed": "failed",
}

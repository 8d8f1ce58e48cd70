"""Schedules: a question is researched again and again, and who wants to know is told what changed, and nothing else."""

import asyncio
import base64
import hashlib
import hmac
import json
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from deep_research.errors import NotFound, UsageError
from deep_research.service.accounts.identity import LOCAL, Identity
from deep_research.service.schedules.notifications import WAITS_S, Notifier, add_notifications, mail_of, notification_of
from deep_research.service.schedules.scheduler import SKIPPED, Scheduler
from deep_research.service.schedules.schedules import NewSchedule, Schedule, ScheduleChange, seconds_of
from deep_research.service.service import ResearchService
from deep_research.settings import Settings
from tests.e2e.harness import User
from tests.support.authority import Authority
from tests.support.loopback import LoopbackServer, Request, head_of
from tests.support.mail_server import MailServer
from tests.support.server import Client, serving, settings_for
from tests.support.waiting import wait_until

QUESTION = "What did the Halden plant cost and produce?"
CHINESE = "青岚市海绵城市改造花了多少钱？"
BEFORE = "The Halden plant cost 30 million euros. It produced 5 GWh of heat in 2021.\n"
AFTER = "The Halden plant cost 45 million euros. It produced 5 GWh of heat in 2021.\n"
SECRET = "whsec_" + base64.b64encode(b"a secret of thirty-two bytes, yes").decode()


class Hook(LoopbackServer):
    """A web address that is told; `statuses` are its next answers, then it says 204."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[Request] = []
        self.statuses: list[int] = []
        self.location = ""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    @property
    def told(self) -> list[dict[str, Any]]:
        return [json.loads(request.body) for request in self.requests]

    async def answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        self.requests.append(request)
        status = self.statuses.pop(0) if self.statuses else 204
        headers = {"Location": self.location} if self.location else {}
        writer.write(head_of(status, {"Content-Length": "0", **headers}))


@pytest.fixture
def hook() -> Iterator[Hook]:
    with Hook() as server:
        yield server


@pytest.fixture
def mail() -> Iterator[MailServer]:
    with MailServer() as server:
        yield server


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "plant.md").write_text(f"# The Halden plant\n\n{BEFORE}")
    (folder / "城市.md").write_text("# 青岚市海绵城市改造\n\n青岚市的海绵城市改造花费三亿元。\n")
    return folder


def settings_of(tmp_path: Path, *hosts: str, **changes: Any) -> Settings:
    given = {"docs": tmp_path / "docs", "webhook_hosts": hosts, "webhook_secret": SECRET, **changes}
    return settings_for(tmp_path, server_address="https://research.example.org/", **given)


def told_by_mail(mail: MailServer) -> dict[str, Any]:
    return {"smtp_host": "127.0.0.1", "smtp_port": mail.port, "smtp_tls": "off", "smtp_from": "server@example.org"}


async def carried_out(service: ResearchService, schedule: Schedule) -> Schedule:
    """Have a schedule due, and wait until its run is over and all are told; the service does so itself meanwhile."""
    before = schedule.last_run
    due = await service.schedules.run_now(schedule.id, LOCAL)
    while True:
        await service.scheduler.check()
        await service.notifier.deliver()
        shown = await service.schedules.get(schedule.id, LOCAL)
        is_begun = shown.next_at != due.next_at and (shown.last_run != before or shown.note)
        is_over = shown.note or shown.done_run == shown.last_run
        if is_begun and is_over and all(each.tries and (each.sent_at or each.error) for each in shown.deliveries):
            return shown
        await asyncio.sleep(0.05)


@asynccontextmanager
async def resting(settings: Settings) -> AsyncIterator[ResearchService]:
    """Give a service that begins no run and looks at no schedule by itself."""
    service = ResearchService(settings)
    await service.worker.stop()
    try:
        yield service
    finally:
        await service.close()


async def runs_of(service: ResearchService) -> int:
    return len(await service.list(LOCAL, limit=100))


async def set_due(service: ResearchService, schedule: Schedule, at: datetime) -> None:
    values: dict[str, str | int] = {
        "id": schedule.id,
        "every_s": seconds_of(schedule.every),
        "is_paused": 0,
        "next_at": at.isoformat(),
    }
    await service.database.work(lambda records: records.run("change_schedule", **values))


async def test_a_change_of_claims_is_told_and_nothing_else_is(tmp_path, docs, hook, mail):
    settings = settings_of(tmp_path, f"127.0.0.1:{hook.port}", **told_by_mail(mail))
    async with ResearchService(settings) as service:
        new = NewSchedule(question=QUESTION, every="7d", webhook=hook.address, email="ann@example.org")
        schedule = await carried_out(service, await service.schedules.add(new, LOCAL))
        first = schedule.done_run
        assert first
        assert not hook.told
        assert not mail.mails
        schedule = await carried_out(service, schedule)
        assert schedule.done_run != first
        assert not hook.told
        assert not mail.mails
        (docs / "plant.md").write_text(f"# The Halden plant\n\n{AFTER}")
        schedule = await carried_out(service, schedule)
        assert (await service.changes(schedule.done_run, LOCAL)).of("changed")
    (told,) = hook.told
    assert told["kind"] == "claims-changed"
    assert told["counts"]["changed"] == 1
    assert "45 million" in json.dumps(told["claims"])
    assert "30 million" in json.dumps(told["claims"])
    assert told["run"]["link"] == f"https://research.example.org/runs/{schedule.done_run}"
    assert str(tmp_path) not in hook.requests[0].body.decode()
    (letter,) = mail.mails
    assert letter.recipients == ["ann@example.org"]
    assert letter.message["Subject"] == f"Changed: {QUESTION}"
    text = letter.message.get_content()
    assert "45 million" in text
    assert told["run"]["link"] in text
    assert [(each.kind, each.error, each.tries) for each in schedule.deliveries] == [("claims-changed", "", 1)] * 2


async def test_a_request_is_signed_so_that_its_receiver_can_check_it(tmp_path, docs, hook):
    async with resting(settings_of(tmp_path, f"127.0.0.1:{hook.port}")) as service:
        await _note_news(service, webhook=hook.address)
        at = datetime.now(UTC) + timedelta(hours=1)
        notifier = Notifier(service.settings, service.database, now=lambda: at)
        await notifier.deliver()
        await notifier.close()
    (request,) = hook.requests
    signed = f"{request.headers['webhook-id']}.{request.headers['webhook-timestamp']}.".encode() + request.body
    digest = hmac.new(base64.b64decode(SECRET.removeprefix("whsec_")), signed, hashlib.sha256).digest()
    assert request.headers["webhook-signature"] == f"v1,{base64.b64encode(digest).decode()}"
    assert int(request.headers["webhook-timestamp"]) == int(at.timestamp())
    assert request.headers["webhook-id"] == json.loads(request.body)["id"]


async def test_asked_anew_in_chinese_and_told_always(tmp_path, docs, hook, mail):
    settings = settings_of(tmp_path, f"127.0.0.1:{hook.port}", **told_by_mail(mail))
    async with ResearchService(settings) as service:
        given = {"mode": "ask", "notify": "always", "webhook": hook.address, "email": "li@example.org"}
        schedule = await service.schedules.add(NewSchedule(question=CHINESE, every="12h", **given), LOCAL)
        schedule = await carried_out(service, schedule)
        schedule = await carried_out(service, schedule)
        (docs / "城市.md").write_text("# 青岚市海绵城市改造\n\n青岚市的海绵城市改造花费五亿元。\n")
        schedule = await carried_out(service, schedule)
        rows = await service.list(LOCAL, limit=10)
        assert [row.request.update for row in rows] == [None] * 3
    assert [each["kind"] for each in hook.told] == ["first-report", "no-change", "claims-changed"]
    assert [letter.message["Subject"].partition("：")[0] for letter in mail.mails] == [
        "第一份报告",
        "没有变化",
        "有变化",
    ]
    assert "五亿元" in mail.mails[-1].message.get_content()


@pytest.mark.parametrize(
    ("every", "missed", "runs", "next_after"),
    [
        ("1d", timedelta(days=10, hours=5), 1, timedelta(days=11)),
        ("1d", -timedelta(hours=1), 0, timedelta()),
        ("1h", timedelta(days=1), 1, timedelta(hours=25)),
    ],
)
async def test_times_that_nobody_was_there_for_are_made_up_for_once(tmp_path, docs, every, missed, runs, next_after):
    async with resting(settings_of(tmp_path)) as service:
        schedule = await service.schedules.add(NewSchedule(question=QUESTION, every=every), LOCAL)
        due = datetime(2026, 3, 1, tzinfo=UTC)
        await set_due(service, schedule, due)
        scheduler = Scheduler(service.database, service, address="", now=lambda: due + missed)
        for _ in range(3):
            await scheduler.check()
        assert await runs_of(service) == runs
        next_at = (await service.schedules.get(schedule.id, LOCAL)).next_at
        assert next_at == due + next_after


async def test_a_clock_that_is_turned_back_does_not_stop_a_schedule(tmp_path, docs):
    async with resting(settings_of(tmp_path)) as service:
        schedule = await service.schedules.add(NewSchedule(question=QUESTION, every="1d"), LOCAL)
        now = datetime(2026, 3, 1, tzinfo=UTC)
        await set_due(service, schedule, now + timedelta(days=400))
        scheduler = Scheduler(service.database, service, address="", now=lambda: now)
        await scheduler.check()
        assert await runs_of(service) == 0
        assert (await service.schedules.get(schedule.id, LOCAL)).next_at == now + timedelta(days=1)


async def test_a_run_that_is_still_under_way_is_not_started_again(tmp_path, docs):
    async with resting(settings_of(tmp_path)) as service:
        schedule = await service.schedules.add(NewSchedule(question=QUESTION, every="1d"), LOCAL)
        await service.scheduler.check()
        await service.schedules.run_now(schedule.id, LOCAL)
        await service.scheduler.check()
        shown = await service.schedules.get(schedule.id, LOCAL)
        assert (await runs_of(service), shown.note) == (1, SKIPPED)
        await service.cancel(shown.last_run, LOCAL)
        await service.schedules.run_now(schedule.id, LOCAL)
        await service.scheduler.check()
        assert await runs_of(service) == 2
        assert (await service.schedules.get(schedule.id, LOCAL)).note == ""


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
async def test_several_servers_that_share_a_store_start_it_once(tmp_path, docs, request, database):
    url = SecretStr(request.getfixturevalue("database_url")) if database == "postgres" else None
    settings = settings_of(tmp_path, database_url=url)
    async with resting(settings) as one, resting(settings) as two, resting(settings) as three:
        await one.schedules.add(NewSchedule(question=QUESTION, every="1d"), LOCAL)
        await asyncio.gather(*(service.scheduler.check() for service in (one, two, three)))
        assert await runs_of(one) == 1


async def test_a_paused_schedule_rests_and_a_removed_one_leaves_its_runs(tmp_path, docs):
    async with resting(settings_of(tmp_path)) as service:
        schedule = await service.schedules.add(NewSchedule(question=QUESTION, every="1d"), LOCAL)
        await service.schedules.change(schedule.id, ScheduleChange(is_paused=True), LOCAL)
        await service.scheduler.check()
        assert await runs_of(service) == 0
        with pytest.raises(UsageError, match="paused"):
            await service.schedules.run_now(schedule.id, LOCAL)
        changed = await service.schedules.change(schedule.id, ScheduleChange(is_paused=False, every="48h"), LOCAL)
        assert (changed.every, changed.is_paused) == ("2d", False)
        assert changed.next_at - schedule.next_at == timedelta(days=1)
        await service.schedules.run_now(schedule.id[:8], LOCAL)
        await service.scheduler.check()
        await service.schedules.remove(schedule.id, LOCAL)
        await service.scheduler.check()
        assert await runs_of(service) == 1
        with pytest.raises(NotFound):
            await service.schedules.get(schedule.id, LOCAL)


async def test_a_failure_is_told_and_tried_again_the_next_time(tmp_path, docs, hook):
    settings = settings_of(tmp_path, f"127.0.0.1:{hook.port}")
    async with ResearchService(settings) as service:
        new = NewSchedule(question=QUESTION, every="1d", webhook=hook.address)
        docs.rename(tmp_path / "away")
        schedule = await carried_out(service, await service.schedules.add(new, LOCAL))
        assert schedule.note.startswith("failed")
        assert not schedule.last_run
        (tmp_path / "away").rename(docs)
        schedule = await carried_out(service, schedule)
        assert schedule.done_run
        assert not schedule.note
        for name in ("plant.md", "城市.md"):
            (docs / name).rename(tmp_path / name)
        schedule = await carried_out(service, schedule)
        assert schedule.note.startswith("failed")
        assert schedule.last_run != schedule.done_run
        (tmp_path / "plant.md").rename(docs / "plant.md")
        await service.delete(schedule.done_run, LOCAL)
        schedule = await carried_out(service, schedule)
        row = await service.get(schedule.done_run, LOCAL)
        # What it would have brought up to date was deleted: it asks anew.
        assert (row.status, row.request.update) == ("done", None)
    assert [each["kind"] for each in hook.told] == ["run-failed", "run-failed"]
    assert all(each["error"] for each in hook.told)
    assert not any(str(tmp_path) in request.body.decode() for request in hook.requests)


async def test_what_could_not_be_told_is_tried_again_by_whoever_serves_next(tmp_path, docs, hook):
    settings = settings_of(tmp_path, f"127.0.0.1:{hook.port}")
    now = datetime.now(UTC)
    hook.statuses = [500, 503, 302]
    async with resting(settings) as service:
        schedule = await _note_news(service, webhook=hook.address)
        await service.notifier.deliver()
        await service.notifier.deliver()
        await service.notifier.close()
        assert len(hook.requests) == 1
        (delivery,) = (await service.schedules.get(schedule.id, LOCAL)).deliveries
        assert "500" in delivery.error
        assert delivery.next_at
    later = now
    async with resting(settings) as service:
        for wait in WAITS_S[:3]:
            later += timedelta(seconds=wait + 5)
            notifier = Notifier(settings, service.database, now=partial(_same, later))
            await asyncio.gather(notifier.deliver(), notifier.deliver())
            await notifier.close()
        (delivery,) = (await service.schedules.get(schedule.id, LOCAL)).deliveries
    assert (delivery.tries, delivery.error, delivery.sent_at is not None) == (4, "", True)
    assert len({request.headers["webhook-id"] for request in hook.requests}) == 1
    assert len(hook.requests) == 4


async def test_what_a_webhook_answers_is_not_read(tmp_path, docs):
    class Talker(Hook):
        async def answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
            self.requests.append(request)
            writer.write(head_of(200, {"Content-Length": "1000000000"}) + b"x" * 500_000)

    with Talker() as talker:
        async with resting(settings_of(tmp_path, f"127.0.0.1:{talker.port}")) as service:
            schedule = await _note_news(service, webhook=talker.address)
            await service.notifier.deliver()
            await service.notifier.close()
            (delivery,) = (await service.schedules.get(schedule.id, LOCAL)).deliveries
        assert delivery.sent_at
        assert len(talker.requests) == 1


async def test_nobody_tries_for_ever(tmp_path, docs, hook):
    settings = settings_of(tmp_path, f"127.0.0.1:{hook.port}")
    hook.statuses = [500] * 100
    async with resting(settings) as service:
        schedule = await _note_news(service, webhook=hook.address)
        now = datetime.now(UTC)
        for _ in range(20):
            now += timedelta(days=3)
            notifier = Notifier(settings, service.database, now=partial(_same, now))
            await notifier.deliver()
            await notifier.close()
        (delivery,) = (await service.schedules.get(schedule.id, LOCAL)).deliveries
    assert len(hook.requests) == delivery.tries == len(WAITS_S) + 1
    assert delivery.next_at is None
    assert "500" in delivery.error


async def test_a_webhook_leads_to_no_internal_address_not_even_by_a_redirect(tmp_path, docs, hook):
    with Hook() as inner:
        hook.statuses, hook.location = [302, 307], inner.address
        async with resting(settings_of(tmp_path, f"127.0.0.1:{hook.port}")) as service:
            for address in (
                inner.address,
                "http://169.254.169.254/",
                "http://[::1]/",
                "file:///etc/passwd",
                "ftp://a.b",
            ):
                with pytest.raises(UsageError):
                    await service.schedules.add(NewSchedule(question=QUESTION, every="1d", webhook=address), LOCAL)
            # The setting was narrowed after the schedule was made.
            refused = await _note_news(service, webhook=inner.address)
            redirected = await _note_news(service, webhook=hook.address)
            await service.notifier.deliver()
            await service.notifier.close()
            (never,) = (await service.schedules.get(refused.id, LOCAL)).deliveries
            (later,) = (await service.schedules.get(redirected.id, LOCAL)).deliveries
        assert not inner.requests
        assert "refused" in never.error
        assert never.next_at is None
        assert "302" in later.error
        assert later.next_at is not None


async def test_a_mail_that_is_refused_is_tried_again_and_its_head_holds_no_more_than_it_should(tmp_path, docs, mail):
    settings = settings_of(tmp_path, **told_by_mail(mail))
    mail.refusals = [b"451 later\r\n"]
    question = "What\r\nBcc: eve@example.org\r\n\r\ncost? \u202e" + "很长" * 100
    async with resting(settings) as service:
        schedule = await _note_news(service, email="ann@example.org", question=question)
        await service.notifier.deliver()
        assert not mail.mails
        later = datetime.now(UTC) + timedelta(hours=1)
        await Notifier(settings, service.database, now=lambda: later).deliver()
        (delivery,) = (await service.schedules.get(schedule.id, LOCAL)).deliveries
        assert delivery.tries == 2
        assert delivery.sent_at
    (letter,) = mail.mails
    assert letter.recipients == ["ann@example.org"]
    assert letter.message["Bcc"] is None
    assert letter.message["To"] == "ann@example.org"
    assert len(letter.message["Subject"]) <= 120


async def test_mails_go_over_tls_to_a_server_that_is_trusted_and_to_no_other(tmp_path, docs):
    authority = Authority(tmp_path)
    with (
        MailServer(tls=authority.server_side("localhost")) as upgraded,
        MailServer(tls=authority.server_side("localhost"), begins_with_tls=True) as secret,
        MailServer() as plain,
    ):
        settings = settings_of(tmp_path, **told_by_mail(plain), smtp_ca=authority.file)
        async with resting(settings) as service:

            async def sent(server: MailServer, **changes: Any) -> str:
                """Return what is said of a mail to this server, "" where it arrived."""
                given = settings.with_changes(smtp_port=server.port, **{"smtp_host": "localhost", **changes})
                schedule = await _note_news(service, email="ann@example.org")
                await Notifier(given, service.database).deliver()
                (delivery,) = (await service.schedules.get(schedule.id, LOCAL)).deliveries
                assert bool(delivery.sent_at) != bool(delivery.error)
                return delivery.error

            assert await sent(upgraded, smtp_tls="starttls") == ""
            assert await sent(secret, smtp_tls="tls") == ""
            for server, mode in ((upgraded, "starttls"), (secret, "tls")):
                assert "smtp_ca" in await sent(server, smtp_tls=mode, smtp_ca=None)
                assert "smtp_host" in await sent(server, smtp_tls=mode, smtp_host="127.0.0.1")
            assert "does not speak TLS" in await sent(plain, smtp_tls="tls")
            assert "offers no STARTTLS" in await sent(plain, smtp_tls="starttls")
            assert "refused the mail" in await sent(upgraded, smtp_tls="off")
            assert "could not be reached" in await sent(plain, smtp_host="localhost.invalid")
    assert [len(server.mails) for server in (upgraded, secret, plain)] == [1, 1, 0]


@pytest.mark.parametrize("language", ["en", "zh-Hans", "zh-Hant"])
@pytest.mark.parametrize("kind", ["first-report", "claims-changed", "no-change", "run-failed"])
def test_mails_are_written_in_three_languages(language, kind):
    schedule = {"id": "abcdef", "every_s": 86_400, "mode": "update"}
    news = notification_of(
        schedule | {"request": json.dumps({"question": "Q?", "language": language})}, kind=kind, address="", error="e"
    )
    claim = {"kind": "gone", "before": "It was so.", "after": "", "edits": [], "section": "", "sources": []}
    news |= {"claims": [claim], "claims_left_out": 3, "run": {"id": "r1", "title": "", "link": ""}}
    row = {"id": "n1", "body": json.dumps(news), "target": "mailto:a@example.org", "created_at": "2026-03-01T00:00:00"}
    message = mail_of(row, sender="server@example.org")
    text = message.get_content()
    assert "Q?" in str(message["Subject"])
    assert "r1" in text
    assert ("It was so." in text) == (kind in ("claims-changed", "no-change"))
    assert message["Auto-Submitted"] == "auto-generated"


async def test_schedules_of_another_account_are_unknown_and_those_of_a_removed_one_rest(tmp_path, docs):
    ann, ben = Identity(user="ann"), Identity(user="ben")
    async with resting(settings_of(tmp_path, schedules_max=1)) as service:
        hers = await service.schedules.add(NewSchedule(question=QUESTION, every="1d"), ann)
        assert await service.schedules.list(ben) == []
        for attempt in (
            service.schedules.get(hers.id, ben),
            service.schedules.change(hers.id, ScheduleChange(is_paused=True), ben),
            service.schedules.run_now(hers.id, ben),
            service.schedules.remove(hers.id, ben),
            service.schedules.get("", ann),
        ):
            with pytest.raises(NotFound):
                await attempt
        with pytest.raises(UsageError, match="limit"):
            await service.schedules.add(NewSchedule(question=QUESTION, every="1d"), ann)
        # There is no account of this name.
        await service.scheduler.check()
        assert await runs_of(service) == 0


@pytest.mark.parametrize("every", ["", "7", "d", "0d", "-1d", "5m", "1.5d", "367d", "9999w", "7 days", "٧d", "7d\n8d"])
def test_an_interval_that_does_not_fit_is_refused(every):
    with pytest.raises(ValidationError, match="12h, 7d or 2w"):
        NewSchedule(question=QUESTION, every=every)


@pytest.mark.parametrize(
    "email", ["a@b.c\nBcc: d@e.f", "a@b.c, d@e.f", "<a@b.c>", "a b@c.d", "a@b.c\r", "@", "a" * 251 + "@b.c"]
)
def test_a_mail_address_is_one_mail_address(email):
    with pytest.raises(ValidationError):
        NewSchedule(question=QUESTION, every="1d", email=email)


def test_schedules_over_http(tmp_path, docs):
    with serving(settings_of(tmp_path)) as client:
        made = client.http.post("/api/schedules", json={"question": QUESTION, "every": "7d", "depth": "quick"})
        assert made.status_code == 201
        id_ = made.json()["id"]
        _wait_for_run(client, id_)
        client.wait(client.http.get(f"/api/schedules/{id_}").json()["last_run"], "done")
        paused = client.http.patch(f"/api/schedules/{id_}", json={"is_paused": True})
        assert paused.json()["is_paused"]
        assert client.http.post(f"/api/schedules/{id_}/run-now").status_code == 400
        assert [each["id"] for each in client.http.get("/api/schedules").json()["schedules"]] == [id_]
        for bad in ({"every": "5m"}, {"email": "x"}, {"webhook": "http://127.0.0.1/"}, {"model": "x"}, {"mode": "y"}):
            given = {"question": QUESTION, "every": "7d", **bad}
            assert client.http.post("/api/schedules", json=given).status_code in (400, 422)
        assert client.http.patch(f"/api/schedules/{id_}", json={"webhook": "http://a.b"}).status_code == 422
        assert client.http.delete(f"/api/schedules/{id_}").status_code == 204
        assert client.http.get(f"/api/schedules/{id_}").status_code == 404
        assert client.http.get("/api/runs").json()["runs"]


def test_the_command_line_keeps_schedules_that_a_server_carries_out(tmp_path):
    user = User(tmp_path)

    def command(*arguments: str) -> "subprocess.CompletedProcess[str]":
        return user.run("schedule", *arguments)

    added = command("add", "What did the plant cost and produce?", "--every", "7d")
    assert "deep-research serve" in added.stderr
    id_ = added.stdout.strip()
    assert command("add", "x", "--every", "soon").returncode == 64
    assert command("pause", id_[:6]).returncode == 0
    assert "paused" in command("list").stdout
    command("resume", id_[:6])
    with serving(settings_for(tmp_path)) as client:
        _wait_for_run(client, id_)
        client.wait(_runs(client)[0]["id"], "done")
    shown = command("show", id_, "--json")
    assert json.loads(shown.stdout)["schedule"]["last_run"]
    assert command("remove", id_).returncode == 0


async def _note_news(
    service: ResearchService, *, webhook: str = "", email: str = "", question: str = QUESTION
) -> Schedule:
    """Have somebody told something, without any run."""
    schedule = await service.schedules.add(NewSchedule(question=question, every="1d"), LOCAL)

    def add(records: Any) -> None:
        row = next(dict(row) for row in records.all("list_schedules", user=LOCAL.user) if row["id"] == schedule.id)
        row |= {"webhook": webhook, "email": email}
        add_notifications(records, row, "", notification_of(row, kind="run-failed", address="", error="It broke."))

    await service.database.work(add)
    return schedule


def _same(time: datetime) -> datetime:
    return time


def _runs(client: Client) -> list[dict[str, Any]]:
    return list(client.http.get("/api/runs").json()["runs"])


def _wait_for_run(client: Client, schedule: str) -> None:
    def shown() -> dict[str, Any]:
        return dict(client.http.get(f"/api/schedules/{schedule}").json())

    wait_until(lambda: bool(shown()["last_run"]), complaint=shown)

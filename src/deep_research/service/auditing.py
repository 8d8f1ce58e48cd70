"""Any report checked against a folder of sources, or against the pages that it links to."""

import re
from pathlib import Path
from typing import NamedTuple

from deep_research.documents.corpus.scan import ScannedFile, locate, read_bytes, scan_folder
from deep_research.documents.readers import Reading, read
from deep_research.errors import InputError, NetworkError, SourceError, UsageError
from deep_research.settings import Settings, load_settings
from deep_research.text.in_thread import in_thread
from deep_research.value import Strings
from deep_research.verify.audit import Audit, CheckedSource, audit_report
from deep_research.verify.cited_markdown import read_cited
from deep_research.wiring.search import open_web

_PAGE = re.compile(r"https?://[^\s<>\"，。；、）」]+")
_MAX_REPORT_BYTES = 20_000_000


class AuditResult(NamedTuple):
    """What an audit showed, and which sources could not be read, and why."""

    audit: Audit
    unread: Strings


async def audit_file(report: Path, sources: Path | None = None, *, settings: Settings | None = None) -> AuditResult:
    """Check a Markdown report against the documents of a folder or, without one, against the pages it refers to."""
    try:
        if report.stat().st_size > _MAX_REPORT_BYTES:
            raise InputError(f"{report.name} is larger than a report ({_MAX_REPORT_BYTES // 1_000_000} MB).")
        text = report.read_text(encoding="utf-8")
    except OSError as exc:
        raise UsageError(f"{report} cannot be read: {exc.strerror}.") from exc
    except UnicodeDecodeError as exc:
        raise InputError(f"{report.name} is no text in UTF-8.") from exc
    unread: list[str] = []
    if sources is not None:
        found = await in_thread(_of_folder, sources, report, unread)
    else:
        addresses = dict.fromkeys(
            match[0].rstrip(".,;:)") for entry in read_cited(text).entries for match in _PAGE.finditer(entry.text)
        )
        if not addresses:
            raise UsageError("The references name no page of the web: name the folder of sources with --sources.")
        found = await _of_web(list(addresses), settings or load_settings(), unread)
    if not found:
        raise InputError(f"There is no source to check against. {' '.join(unread[:3])}".strip())
    return AuditResult(await in_thread(audit_report, text, found), tuple(unread))


def _of_folder(folder: Path, report: Path, unread: list[str]) -> list[CheckedSource]:
    entries: list[ScannedFile] = []
    scan = scan_folder(folder, entries.append)
    unread += [skipped.reason for skipped in scan.skipped]
    found = []
    for entry in sorted(entries):
        try:
            address, path = locate(folder, entry.address)
            if path.resolve() == report.resolve():
                continue
            found.append(_source(address, read(read_bytes(path, address)[0], name=path.name)))
        except SourceError as exc:
            unread.append(str(exc))
    return found


async def _of_web(addresses: list[str], settings: Settings, unread: list[str]) -> list[CheckedSource]:
    web = open_web(settings)
    found = []
    try:
        if web.fetcher is None:
            raise UsageError("Nothing here may fetch a page: switch a source of the web on, or name --sources FOLDER.")
        for address in addresses:
            try:
                page = await web.fetcher.fetch(address)
                reading = await in_thread(read, page.raw, name=page.address, media_type=page.media_type)
                found.append(_source(address, reading))
            except (NetworkError, SourceError) as exc:
                unread.append(f"{address}: {exc}")
    finally:
        if web.close:
            await web.close()
    return found


def _source(address: str, reading: Reading) -> CheckedSource:
    return CheckedSource(address=address, title=reading.title, text=reading.text, published=reading.published)

"""The evidence bundle: a report with all it rests on in one ZIP file, which can be checked where its run is not known.

`manifest.json` lists every other member with its size and SHA-256. What is read here may come from anybody: nothing is
unpacked before its name, its kind and its size were looked at.
"""

import hashlib
import io
import re
import stat
import zipfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, NamedTuple

from pydantic import ValidationError

from deep_research.documents.readers.archive import (
    DAMAGE,
    ENCRYPTED,
    MAX_ARCHIVE_ENTRIES,
    METHODS,
    PIECE_BYTES,
    BoundedFile,
)
from deep_research.errors import InputError, UsageError
from deep_research.export.contents import Contents
from deep_research.export.zipped import zipped
from deep_research.report.sources.document import text_id
from deep_research.value import Value, canonical_json, json_of
from deep_research.verify.recheck import Recheck, check_again
from deep_research.verify.shipped import read_listing

_MANIFEST = "manifest.json"
_FILES = ("paragraphs.jsonl", "evidence.jsonl", "citations.json", "verify.json", "verification.md")
_NAME = re.compile(r"(?:(?:figures|documents|snapshots)/)?[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")
# Snapshots are added while all of them together are no larger.
_MAX_SNAPSHOT_BYTES = 200_000_000
MAX_BUNDLE_BYTES = 1_000_000_000
# Text is packed to a tenth or a twentieth; far more is no text. Small members may be anything.
_MAX_RATIO, _SMALL_BYTES = 300, 1_000_000
# The last record of a ZIP file.
_END_MARK, _END_BYTES = b"PK\5\6", 22


class _Member(Value):
    sha256: str
    size: int


class Manifest(Value):
    """`manifest.json`: the run, the version that made it, and every other member."""

    schema_version: int = 1
    run: str
    code_version: str
    members: dict[str, _Member]

    def to_bytes(self) -> bytes:
        """Return the one spelling that it has."""
        return (canonical_json(self.to_json()) + "\n").encode()


class DocumentFacts(Value):
    """What a bundle says of a source beside its text; the text's id is made of `extractor` and the text."""

    id: str
    address: str
    title: str
    extractor: str
    snapshot: str
    media_type: str
    published: str = ""
    author: str = ""
    language: str = ""


class CheckedBundle(NamedTuple):
    """What checking a bundle showed; `digest` is the SHA-256 of its manifest, which stands for all of its content."""

    digest: str
    run: str
    recheck: Recheck


def to_bundle(contents: Contents) -> bytes:
    """Return the report with its proofs, its sources' texts and, as far as there is room, their pages as fetched."""
    members = _members(contents)
    edition = contents.edition
    listed = {
        name: _Member(sha256=hashlib.sha256(raw).hexdigest(), size=len(raw)) for name, raw in sorted(members.items())
    }
    manifest = Manifest(run=edition.run, code_version=edition.code_version, members=listed)
    return zipped(((_MANIFEST, manifest.to_bytes()), *sorted(members.items())))


def _members(contents: Contents) -> dict[str, bytes]:
    folder, edition = Path(contents.folder), contents.edition
    names = [*_FILES, *(f"figures/{path.name}" for path in sorted(folder.glob("figures/*")))]
    try:
        members = {name: (folder / name).read_bytes() for name in names}
    except OSError as exc:
        raise UsageError(f"The run's folder is not whole: {exc.filename}: {exc.strerror}.") from exc
    members["report.md"] = contents.markdown.encode()
    members["edition.json"] = canonical_json(edition.to_json()).encode()
    address = {source.document: source.address for source in edition.citations.cited}
    for document in contents.documents:
        facts = DocumentFacts(
            address=address.get(document.id, ""), **document.model_dump(include={*DocumentFacts.model_fields})
        )
        members[f"documents/{document.id}.json"] = canonical_json(facts.to_json()).encode()
        members[f"documents/{document.id}.txt"] = document.text.encode("utf-8", "surrogatepass")
    left_bytes = _MAX_SNAPSHOT_BYTES
    for id_, raw in sorted(contents.snapshots.items(), key=lambda item: (len(item[1]), item[0])):
        left_bytes -= len(raw)
        if left_bytes >= 0:
            members[f"snapshots/{id_}"] = raw
    return members


def check_bundle(path: Path) -> CheckedBundle:
    """Check a bundle with nothing but what is in it; raise `InputError` for a file that is none or not safe to open."""
    with TemporaryDirectory(prefix="deep-research-") as temporary:
        folder = Path(temporary)
        found = _unpacked(path, folder)
        manifest, digest, problems = _manifest(folder, found)
        recheck = check_again(folder / "report.md", lambda document: _text(folder, document))
        problems += _document_problems(folder, found)
        listing = read_listing(folder / "paragraphs.jsonl")
        if listing.edition and (listing.edition.run, listing.edition.code_version) != (
            manifest.run,
            manifest.code_version,
        ):
            problems.append("manifest.json names another run or version than edition.json")
        if not recheck.has_texts:
            problems.append("the texts of the sources are not in the bundle")
        problems += recheck.problems
        return CheckedBundle(digest, manifest.run, recheck.replace(problems=tuple(problems)))


def _unpacked(path: Path, folder: Path) -> dict[str, _Member]:
    """Unpack a bundle into a folder, piece by piece; return what was found, by name."""
    try:
        if path.stat().st_size > MAX_BUNDLE_BYTES:
            raise InputError(f"{path.name} is larger than a bundle may be ({MAX_BUNDLE_BYTES // 1_000_000} MB).")
        with BoundedFile(io.FileIO(path)) as file, zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
            _refuse_unsafe(path.name, entries)
            file.seek(-len(archive.comment) - _END_BYTES, io.SEEK_END)
            if (entries and entries[0].header_offset) or file.read(len(_END_MARK)) != _END_MARK:
                raise InputError(f"{path.name} holds something before or behind the bundle; nothing was unpacked.")
            found, left_bytes = {}, MAX_BUNDLE_BYTES
            for entry in entries:
                target = folder / entry.filename
                target.parent.mkdir(exist_ok=True)
                with archive.open(entry) as packed, target.open("wb") as file_out:
                    found[entry.filename] = _copied(packed, file_out, entry, left_bytes)
                left_bytes -= found[entry.filename].size
            return found
    except zipfile.LargeZipFile as exc:
        raise InputError(f"{path.name} lists more than a bundle may hold.") from exc
    except DAMAGE as exc:
        raise InputError(f"{path.name} is no bundle, or it is damaged: it cannot be unpacked.") from exc


def _refuse_unsafe(name: str, entries: list[zipfile.ZipInfo]) -> None:
    if len(entries) > MAX_ARCHIVE_ENTRIES:
        raise InputError(f"{name} lists more than a bundle may hold.")
    for member, count in Counter(entry.filename for entry in entries).items():
        if not _NAME.fullmatch(member):
            raise InputError(f"{name} holds a name that no bundle has: {member[:100]!r}; nothing was unpacked.")
        if count > 1:
            raise InputError(f"{name} holds {member!r} more than once; nothing was unpacked.")
    for entry in entries:
        kind = stat.S_IFMT(entry.external_attr >> 16)
        if entry.flag_bits & ENCRYPTED or entry.compress_type not in METHODS or kind not in (0, stat.S_IFREG):
            raise InputError(f"{name}: {entry.filename!r} is encrypted, a link, or packed in a way that no bundle is.")


def _copied(packed: IO[bytes], target: IO[bytes], entry: zipfile.ZipInfo, left_bytes: int) -> _Member:
    digest, size = hashlib.sha256(), 0
    most = max(_SMALL_BYTES, _MAX_RATIO * entry.compress_size)
    while piece := packed.read(PIECE_BYTES):
        size += len(piece)
        if size > min(most, left_bytes):
            raise InputError(f"{entry.filename!r} unpacks to far more than a bundle may hold.")
        digest.update(piece)
        target.write(piece)
    return _Member(sha256=digest.hexdigest(), size=size)


def _manifest(folder: Path, found: Mapping[str, _Member]) -> tuple[Manifest, str, list[str]]:
    if _MANIFEST not in found:
        raise InputError(f"This is no bundle: it has no {_MANIFEST}.")
    raw = (folder / _MANIFEST).read_bytes()
    try:
        manifest = Manifest.from_json(json_of(raw))
    except (ValidationError, ValueError) as exc:
        raise InputError(f"{_MANIFEST} cannot be read; the bundle was changed or is of another version.") from exc
    others = {name: member for name, member in found.items() if name != _MANIFEST}
    problems = [] if manifest.to_bytes() == raw else [f"{_MANIFEST} is not spelled as it was written"]
    for name in sorted(others.keys() | manifest.members.keys()):
        if name not in others:
            problems.append(f"{name} is listed and is not there")
        elif name not in manifest.members:
            problems.append(f"{name} is there and is not listed")
        elif others[name] != manifest.members[name]:
            problems.append(f"{name} was changed: its SHA-256 or size is not the one listed")
    return manifest, found[_MANIFEST].sha256, problems


def _text(folder: Path, document: str) -> str:
    try:
        return (folder / "documents" / f"{document}.txt").read_bytes().decode("utf-8", "surrogatepass")
    except (OSError, ValueError) as exc:
        raise LookupError(document) from exc


def _document_problems(folder: Path, found: Mapping[str, _Member]) -> list[str]:
    """Return which texts and snapshots are not those that their names, which are made of them, stand for."""
    problems = []
    for name, member in sorted(found.items()):
        kind, _, file = name.rpartition("/")
        if kind == "snapshots" and file != member.sha256:
            problems.append(f"{name}: the page is not the one that was read")
        if kind == "documents" and file.endswith(".txt"):
            try:
                facts = DocumentFacts.from_json(json_of((folder / name).with_suffix(".json").read_bytes()))
                is_own = f"{facts.id}.txt" == file and text_id(facts.extractor, _text(folder, facts.id)) == facts.id
            except (OSError, ValueError, LookupError):
                is_own = False
            if not is_own:
                problems.append(f"{name}: the text is not the one that its id was made of")
    return problems

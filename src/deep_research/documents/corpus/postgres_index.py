"""The index in a PostgreSQL that several hosts share: found by a GIN index of our terms, scored as FTS5 does.

Knows no client library: wiring gives the database.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import TypeVar
from uuid import uuid4

from deep_research.documents.corpus.index import (
    NO_LIMIT,
    Index,
    IndexSession,
    PassageTerms,
    Scored,
    WantedTerms,
    storable,
)
from deep_research.errors import SourceError
from deep_research.storage.database.port import Column, Database

T = TypeVar("T")

# Those of FTS5, so that both kinds of an index rank alike.
_TITLE_WEIGHT, _MIN_IDF = 3, 1e-6
# PostgreSQL takes 2,046 bytes for a lexeme; what is longer is no word, and is identified by its digest.
_MAX_TERM_CHARS = 200
# A host that has not finished a file for so long may be gone: another one refreshes the folder beside it, which costs
# time and does no harm.
_LEASE_S = 10.0


class PostgresIndexSession(IndexSession):
    """One transaction."""

    def drop_folder(self) -> None:
        self.run("drop_copies")
        self.run("drop_folder")

    def put_terms(self, passages: Sequence[PassageTerms], title: Sequence[str]) -> None:
        weights = {_key(term): _TITLE_WEIGHT * count for term, count in Counter(title).items()}
        counted: Counter[str] = Counter()
        rows: list[Mapping[str, Column]] = []
        for number, body in passages:
            counts = Counter(map(_key, body))
            counts.update(weights)
            counted.update(counts.keys())
            rows.append(
                {
                    "id": number,
                    "length": len(body) + len(title),
                    "repeated": json.dumps({key: count for key, count in counts.items() if count > 1}),
                    "lexemes": " ".join(map(self._lexeme, counts)),
                }
            )
        self.many("put_terms", rows)
        self.run("change_vocabulary", counts=json.dumps(counted))

    def drop_terms(self, passages: Sequence[PassageTerms], title: Sequence[str]) -> None:
        counted: Counter[str] = Counter()
        for _, body in passages:
            counted.subtract({_key(term) for term in (*body, *title)})
        self.many("drop_terms", [{"id": number} for number, _ in passages])
        counts = json.dumps(counted)
        self.run("change_vocabulary", counts=counts)
        self.run("drop_unused_terms", counts=counts)

    def counts(self, terms: Sequence[str], limit: int = NO_LIMIT) -> dict[str, int]:
        keys = {term: _key(term) for term in terms}
        found = {row["term"]: row["passages"] for row in self.rows("counts", terms=json.dumps(list(keys.values())))}
        return {term: min(found.get(key, 0), limit) for term, key in keys.items()}

    def best(self, wanted: WantedTerms, limit: int) -> list[Scored]:
        state = self.required_row("folder_state")
        counts = self.counts([*wanted.terms, *(term for pair in wanted.pairs for term in pair)])
        asked = [(self._lexeme(_key(term)), term) for term in wanted.terms]
        for pair in wanted.pairs:
            both = " & ".join(self._lexeme(_key(term)) for term in pair)
            asked += [(both, term) for term in pair]
        listed = [
            {"query": query, "term": _key(term), "idf": _idf(state["passages"], counts[term])} for query, term in asked
        ]
        average = state["terms"] / max(1, state["passages"])
        rows = self.rows("best", asked=json.dumps(listed), average=average or 1.0, limit=limit)
        return [Scored(row["id"], row["score"]) for row in rows]

    def _own(self, values: Mapping[str, Column]) -> dict[str, Column]:
        # PostgreSQL keeps no NUL in a text.
        safe = {name: value.replace("\0", "") if isinstance(value, str) else value for name, value in values.items()}
        return super()._own(safe)

    def _lexeme(self, key: str) -> str:
        """Return a term as it is written in a vector and in a query; no term holds a quote."""
        return f"'{self.folder} {key}'"


def _key(term: str) -> str:
    """Return a term as PostgreSQL keeps it."""
    if len(term) > _MAX_TERM_CHARS:
        return sha256(term.encode("utf-8", "replace")).hexdigest()
    return storable(term)


def _idf(passages: int, holding: int) -> float:
    idf = math.log((passages - holding + 0.5) / (holding + 0.5)) if 0 <= holding <= passages else 0.0
    return idf if idf > 0 else _MIN_IDF


class PostgresIndex(Index):
    """The index of a database."""

    def __init__(self, database: Database) -> None:
        super().__init__(database, PostgresIndexSession)
        self._lease: dict[str, Column] = {"owner": uuid4().hex, "lease_s": _LEASE_S}

    def write(self, work: Callable[[IndexSession], T], folder: int = 0) -> T:
        def do(session: IndexSession) -> T:
            if folder and session.one("lock_folder") is None:
                raise SourceError("The folder was removed from the index meanwhile: refresh it again.")
            result = work(session)
            if folder:
                # A sign of life, for as long as this host refreshes the folder.
                session.run("claim_folder", **self._lease)
            return result

        return super().write(do, folder)

    def acquire(self, folder: int) -> bool:
        return bool(self.database.write(lambda session: session.run("claim_folder", folder=folder, **self._lease)))

    def release(self, folder: int) -> None:
        def let_go(session: IndexSession) -> None:
            session.run("release_folder", **self._lease)
            session.run("drop_outdated")
            session.run("sort_in_new_terms")

        super().write(let_go, folder)

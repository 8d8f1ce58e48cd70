"""The database port on PostgreSQL: pooled connections, migrations, transactions that survive a lost connection.

Knows nothing of runs. Needs the extra `postgres`. Everything lies in a schema of its own, beside whatever else the
database holds.
"""

import random
import re
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, TypeVar

import psycopg
from psycopg import errors, pq
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool, PoolTimeout

from deep_research.errors import (
    CannotWrite,
    ConfigurationError,
    DeepResearchError,
    InputError,
    NewerStore,
    StoreCorrupt,
    StoreLocked,
)
from deep_research.storage.database.port import Column, Row, Session
from deep_research.storage.database.queries import load_queries, load_scripts

T = TypeVar("T")

SCHEMA = "deep_research"
# A process that is frozen in mid-transaction holds up nobody for longer; well below the lease of a run.
_IDLE_IN_TRANSACTION_S = 10
# A host that is cut off is noticed by both sides within half a minute; an address may say otherwise.
_CONNECTION_DEFAULTS: dict[str, str | int] = {
    "application_name": "deep-research",
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 25_000,
}
MIGRATION_LOCK = 7_106_200_001
SCHEMA_NUMBERS = 'CREATE TABLE IF NOT EXISTS schema_numbers (part TEXT COLLATE "C" PRIMARY KEY, number INTEGER)'
# Each connection keeps the id of its last write in a row of its own, inside the same transaction. Numbers of
# transactions do not tell what was kept: a server that crashed gives those out again that never came to its disk.
_LAST_WRITES = """
    CREATE TABLE IF NOT EXISTS last_writes (
        connection TEXT COLLATE "C" PRIMARY KEY, id TEXT COLLATE "C" NOT NULL, at TIMESTAMPTZ NOT NULL DEFAULT now())"""
_REMEMBER_WRITE = """
    INSERT INTO last_writes (connection, id) VALUES ('{connection}', '{id}')
    ON CONFLICT (connection) DO UPDATE SET id = excluded.id, at = excluded.at"""
_FORGET_OLD_WRITES = "DELETE FROM last_writes WHERE at < now() - interval '1 day'"
# Waits for a transaction of that connection which the server has not ended yet.
_LAST_WRITE = """
    INSERT INTO last_writes (connection, id) VALUES (%s, '')
    ON CONFLICT (connection) DO UPDATE SET at = excluded.at RETURNING id"""
_CLOCK = "SELECT extract(epoch FROM clock_timestamp())::float8 AS now_s"
_BEGIN_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
Isolation = Literal["READ COMMITTED", "SERIALIZABLE"]
_MAX_PAUSE_S = 1.0
# How long a server that answers may refuse a connection (too many of them, it is starting) before that is an error.
_REFUSED_FOR_S = 2.0
_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)")

# The transaction did nothing, and doing it again may succeed: the other one won, or the connection is gone.
_TRY_AGAIN = (
    errors.SerializationFailure,
    errors.DeadlockDetected,
    errors.AdminShutdown,
    errors.CrashShutdown,
    errors.CannotConnectNow,
    errors.TooManyConnections,
    errors.IdleInTransactionSessionTimeout,
)


class PostgresConnection(psycopg.Connection[dict[str, Any]]):
    """A connection with a name for its row of `last_writes`."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.name = uuid.uuid4().hex
        self.has_written = False


class _TryAgain(Exception):
    """The transaction was lost; its cause says how."""


@cache
def load_statements(package: str) -> dict[str, str]:
    """Return every statement of a package by name, in PostgreSQL's words and psycopg's spelling of parameters."""
    present = [name for name in ("queries.sql", "queries_postgres.sql") if files(package).joinpath(name).is_file()]
    queries = {name: query for file in present for name, query in load_queries(package, file).items()}
    return {name: _PARAMETER.sub(r"%(\1)s", query.replace("%", "%%")) for name, query in queries.items()}


@dataclass
class PostgresSession(Session):
    """One transaction, which has begun, or does so with the first query."""

    trusts_indexes = True

    connection: PostgresConnection
    location: str
    statements: dict[str, str]
    begin: str

    def all(self, query: str, **values: Column) -> list[Row]:
        return list(self._execute(self.statements[query], values).fetchall())

    def run(self, query: str, **values: Column) -> int:
        return self._execute(self.statements[query], values).rowcount

    def _execute(self, statement: str, values: dict[str, Column]) -> psycopg.Cursor[dict[str, Any]]:
        with _our_errors(self.location, self.connection):
            if self.begin:
                self.connection.execute(self.begin)
                self.begin = ""
            return self.connection.execute(statement, values)

    def many(self, query: str, rows: Iterable[Mapping[str, Column]]) -> None:
        with _our_errors(self.location, self.connection), self.connection.cursor() as cursor:
            cursor.executemany(self.statements[query], rows)

    def clock_ahead_s(self) -> float:
        before_s = time.time()
        (row,) = self._execute(_CLOCK, {}).fetchall()
        return float(row["now_s"]) - (before_s + time.time()) / 2

    def corrupt(self) -> StoreCorrupt:
        return _corrupt(self.location)


class PostgresDatabase:
    """The tables of a package in a database; all of a process that use one database share its connections.

    `SERIALIZABLE` is for work that locks nothing by itself: it is as if nobody else had a transaction meanwhile.
    Locks are waited for as long as `busy_timeout_s`, and so is a database that is away, unless `patience_s` is given.
    """

    def __init__(
        self,
        url: str,
        *,
        package: str = "deep_research.storage.store",
        isolation: Isolation = "READ COMMITTED",
        busy_timeout_s: float = 30.0,
        patience_s: float | None = None,
        max_connections: int = 8,
    ) -> None:
        self._isolation = isolation
        self._url = url
        self._package = package
        # The name in the database stays when the package moves.
        self._part = f"deep_research.{package.rpartition('.')[2]}"
        self._busy_timeout_s = busy_timeout_s
        self._patience_s = busy_timeout_s if patience_s is None else patience_s
        self._max_connections = max_connections
        self._pool: ConnectionPool[PostgresConnection] | None = None
        self.location = display_name(url)

    def read(self, work: Callable[[Session], T]) -> T:
        return self._patiently(lambda connection: self._read_once(connection, work))

    def write(self, work: Callable[[Session], T]) -> T:
        return self._patiently(lambda connection: self._write_once(connection, work))

    def change(self, work: Callable[[PostgresConnection], T]) -> T:
        """Do work that names its tables by itself in one transaction."""

        def attempt(connection: PostgresConnection) -> T:
            with connection.transaction():
                return work(connection)

        return self._patiently(attempt)

    def ask(self, query: str, **values: Column) -> list[Row]:
        """Send one named statement in one round trip; it may be sent again where its answer was lost."""
        return self._patiently(lambda connection: self._session(connection).all(query, **values))

    def release_free_space(self) -> None:
        """Do nothing: the server looks after its disk by itself."""

    def close(self) -> None:
        if self._pool is not None:
            self._pool = None
            _pools.release(self._url)

    def schema_number(self) -> int:
        """Return the number of the schema as it stands."""
        pool = self._pool or self._taken_pool()
        self._pool = pool
        with pool.connection(timeout=self._patience_s) as connection:
            return self._schema_number(connection)

    def _taken_pool(self) -> "ConnectionPool[PostgresConnection]":
        return _pools.take(self._url, self._max_connections, self._busy_timeout_s, self._patience_s)

    def _opened(self) -> "ConnectionPool[PostgresConnection]":
        if self._pool is None:
            pool = self._taken_pool()
            try:
                with pool.connection(timeout=self._patience_s) as connection, _our_errors(self.location, connection):
                    self._bring_up_to_date(connection)
            except BaseException:
                _pools.release(self._url)
                raise
            self._pool = pool
        return self._pool

    def _read_once(self, connection: PostgresConnection, work: Callable[[Session], T]) -> T:
        result = work(self._session(connection, begin=_BEGIN_READ))
        if connection.info.transaction_status != pq.TransactionStatus.IDLE:
            connection.execute("COMMIT")
        return result

    def _write_once(self, connection: PostgresConnection, work: Callable[[Session], T]) -> T:
        write = uuid.uuid4().hex
        remember = _REMEMBER_WRITE.format(connection=connection.name, id=write)
        if not connection.has_written:
            connection.execute(_FORGET_OLD_WRITES)
            connection.has_written = True
        connection.execute(f"BEGIN ISOLATION LEVEL {self._isolation}; {remember}")
        result = work(self._session(connection))
        if connection.info.transaction_status == pq.TransactionStatus.INERROR:
            raise _corrupt(self.location)
        try:
            with _our_errors(self.location, connection):
                connection.execute("COMMIT")
        except _TryAgain:
            # The connection may have gone before the commit or after it.
            if not self._is_committed(connection.name, write):
                raise
        return result

    def _is_committed(self, lost: str, write: str) -> bool:
        """Return whether a write was kept whose connection was lost before its answer came."""
        return self._patiently(lambda connection: connection.execute(_LAST_WRITE, [lost]).fetchall() == [{"id": write}])

    def _session(self, connection: PostgresConnection, *, begin: str = "") -> PostgresSession:
        return PostgresSession(connection, self.location, load_statements(self._package), begin=begin)

    def _patiently(self, attempt: Callable[[PostgresConnection], T]) -> T:
        """Make attempts on connections of the pool until one is not lost, or the time is over."""
        until, pause_s = time.monotonic() + self._patience_s, 0.01
        while True:
            try:
                with self._connection(until) as connection:
                    return attempt(connection)
            except _TryAgain as lost:
                if time.monotonic() + pause_s >= until:
                    raise _away(self.location) from lost.__cause__
            time.sleep(pause_s * random.uniform(0.5, 1.5))
            pause_s = min(pause_s * 2, _MAX_PAUSE_S)

    @contextmanager
    def _connection(self, until: float) -> Iterator[PostgresConnection]:
        try:
            pool = self._opened()
            connection = pool.getconn(timeout=max(0.01, until - time.monotonic()))
        except PoolTimeout as exc:
            raise _away(self.location) from exc
        try:
            with _our_errors(self.location, connection):
                yield connection
        finally:
            _roll_back(connection)
            pool.putconn(connection)

    def _bring_up_to_date(self, connection: PostgresConnection) -> None:
        scripts = load_scripts(self._package, "migrations_postgres")
        newest, present = max(scripts), self._schema_number(connection)
        (found,) = connection.execute("SELECT to_regclass('last_writes') AS name").fetchall()
        if present < newest or found["name"] is None:
            # In a transaction of its own: only the beginning of the next one shows what was made while this one waited.
            connection.execute("SELECT pg_advisory_lock(%s)", [MIGRATION_LOCK])
            with _unlocked_at_end(connection), connection.transaction():
                # Another process may have migrated while this one waited.
                present = self._schema_number(connection)
                if present == 0:
                    connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
                    connection.execute(SCHEMA_NUMBERS)
                connection.execute(_LAST_WRITES)
                for number, script in scripts.items():
                    if number > present:
                        connection.execute(script)
                connection.execute(
                    "INSERT INTO schema_numbers (part, number) VALUES (%s, %s) "
                    "ON CONFLICT (part) DO UPDATE SET number = greatest(schema_numbers.number, excluded.number)",
                    [self._part, newest],
                )
        if present > newest:
            raise NewerStore(
                f"The database {self.location} has schema {present}, this version of Deep Research knows {newest}: "
                "upgrade Deep Research, or name another database."
            )

    def _schema_number(self, connection: PostgresConnection) -> int:
        (table,) = connection.execute("SELECT to_regclass('schema_numbers') AS name").fetchall()
        if table["name"] is None:
            return 0
        row = connection.execute("SELECT number FROM schema_numbers WHERE part = %s", [self._part]).fetchone()
        return 0 if row is None else int(row["number"])


@contextmanager
def _unlocked_at_end(connection: PostgresConnection) -> Iterator[None]:
    try:
        yield
    finally:
        # A connection that is lost has no lock any longer.
        if not connection.closed:
            connection.execute("SELECT pg_advisory_unlock(%s)", [MIGRATION_LOCK])


class _SharedPools:
    """One pool of connections for each database of this process, for as long as somebody uses it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pools: dict[str, ConnectionPool[PostgresConnection]] = {}
        self._users: dict[str, int] = {}

    def take(
        self, url: str, max_connections: int, busy_timeout_s: float, patience_s: float
    ) -> "ConnectionPool[PostgresConnection]":
        with self._lock:
            if url not in self._pools:
                _check_address(url, patience_s)
                self._pools[url] = _new_pool(url, max_connections, busy_timeout_s)
            self._users[url] = self._users.get(url, 0) + 1
            return self._pools[url]

    def release(self, url: str) -> None:
        with self._lock:
            self._users[url] -= 1
            pool = self._pools.pop(url) if self._users[url] == 0 else None
        if pool is not None:
            pool.close()


_pools = _SharedPools()


def _new_pool(url: str, max_connections: int, busy_timeout_s: float) -> "ConnectionPool[PostgresConnection]":
    lock_timeout_ms, idle_ms = int(busy_timeout_s * 1_000), _IDLE_IN_TRANSACTION_S * 1_000

    def configure(connection: PostgresConnection) -> None:
        connection.execute(
            f"SET search_path = {SCHEMA}; SET lock_timeout = {max(1, lock_timeout_ms)}; "
            f"SET idle_in_transaction_session_timeout = {idle_ms}"
        )

    return ConnectionPool(
        conninfo_of(url),
        min_size=0,
        max_size=max_connections,
        open=True,
        connection_class=PostgresConnection,
        configure=configure,
        kwargs={"autocommit": True, "row_factory": dict_row},
        max_idle=60.0,
        num_workers=1,
        name="deep-research",
    )


def _check_address(url: str, patience_s: float) -> None:
    """Connect once: what a pool would try again without end is an error at once."""
    address, location, start = conninfo_of(url), display_name(url), time.monotonic()
    while True:
        try:
            with psycopg.connect(address) as connection:
                if connection.info.parameter_status("server_encoding") != "UTF8":
                    raise ConfigurationError(
                        f"The database {location} does not keep text as UTF-8: make it with ENCODING 'UTF8'."
                    )
                return
        except psycopg.OperationalError as exc:
            waited_s = time.monotonic() - start
            is_refused = pq.PGconn.ping(address.encode()) == pq.Ping.OK
            if is_refused and waited_s > min(_REFUSED_FOR_S, patience_s):
                raise ConfigurationError(f"The database {location} refuses the connection: {_last_line(exc)}") from None
            if waited_s > patience_s:
                raise _away(location) from exc
        time.sleep(_MAX_PAUSE_S / 4)


def conninfo_of(url: str) -> str:
    """Return an address with what connections need to notice that the other side is gone."""
    settings = conninfo_to_dict(url)
    return make_conninfo(url, **{name: value for name, value in _CONNECTION_DEFAULTS.items() if name not in settings})


def display_name(url: str) -> str:
    """Return the address of a database without its password."""
    try:
        settings = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        raise ConfigurationError(
            "DEEP_RESEARCH_DATABASE_URL is no address of a database: write it as postgresql://user:password@host:5432/name."
        ) from None
    user, host, port, name = (settings.get(part) for part in ("user", "host", "port", "dbname"))
    return f"postgresql://{f'{user}@' if user else ''}{host or ''}{f':{port}' if port else ''}/{name or ''}"


def _roll_back(connection: PostgresConnection) -> None:
    """Undo what was begun and not ended; nothing where all was."""
    if connection.info.transaction_status in (pq.TransactionStatus.INTRANS, pq.TransactionStatus.INERROR):
        try:
            connection.execute("ROLLBACK")
        except psycopg.Error:
            connection.close()
    elif connection.info.transaction_status != pq.TransactionStatus.IDLE:
        connection.close()


@contextmanager
def _our_errors(location: str, connection: PostgresConnection) -> Iterator[None]:
    try:
        yield
    except UnicodeEncodeError as exc:
        raise InputError("An address, a section or another name is not valid Unicode: rename it.") from exc
    except psycopg.Error as exc:
        if isinstance(exc, _TRY_AGAIN) or connection.closed:
            raise _TryAgain from exc
        raise _translate(exc, location) from exc


def _translate(error: psycopg.Error, location: str) -> DeepResearchError:
    match error:
        case errors.LockNotAvailable() | errors.QueryCanceled():
            return StoreLocked(
                f"The database {location} stayed locked by another process: try again, or end that process."
            )
        case errors.ReadOnlySqlTransaction() | errors.InsufficientPrivilege():
            return CannotWrite(f"The database {location} does not let this user write: {_last_line(error)}")
        case errors.DiskFull() | errors.OutOfMemory() | errors.IoError():
            return CannotWrite(f"The database {location} cannot be written: {_last_line(error)}")
        case errors.DataCorrupted() | errors.IndexCorrupted():
            return _corrupt(location)
        # The last is raised by the client before anything is sent: a text with a NUL.
        case errors.CharacterNotInRepertoire() | errors.UntranslatableCharacter() | psycopg.DataError(sqlstate=None):
            return InputError("An address, a section or another name holds a character that a database cannot keep.")
    # Nothing that we send is wrong by itself. The message of the error would quote values.
    return StoreCorrupt(f"The database {location}: its tables are not as they should be ({type(error).__name__}).")


def _corrupt(location: str) -> StoreCorrupt:
    return StoreCorrupt(f"The database {location} is damaged: restore it from a copy, or name another one.")


def _away(location: str) -> StoreLocked:
    return StoreLocked(f"The database {location} could not be reached, or had no connection free: try again.")


def _last_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__

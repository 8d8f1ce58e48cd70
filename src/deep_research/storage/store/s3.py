"""Large content in an S3-compatible store, through `obstore` (extra `s3`), which finds keys as AWS's tools do."""

from datetime import timedelta

from obstore.exceptions import BaseError
from obstore.store import S3Store

from deep_research.errors import StoreLocked

_TIMEOUT = timedelta(seconds=30)


class S3Blobs:
    """Content as objects of a bucket. `place` is `s3://bucket/prefix`; `endpoint` is "" for AWS itself."""

    def __init__(self, location: str, *, endpoint: str = "") -> None:
        self._location = location
        self._store = S3Store.from_url(
            location,
            config={"endpoint": endpoint} if endpoint else {},
            client_options={"timeout": _TIMEOUT, "allow_http": endpoint.startswith("http://")},
            retry_config={"max_retries": 3, "retry_timeout": _TIMEOUT},
        )

    def put(self, name: str, raw: bytes) -> None:
        try:
            self._store.put(name, raw)
        except BaseError as exc:
            raise self._away(exc) from exc

    def get(self, name: str) -> bytes | None:
        try:
            return bytes(self._store.get(name).bytes())
        except FileNotFoundError:
            return None
        except BaseError as exc:
            raise self._away(exc) from exc

    def delete(self, name: str) -> None:
        try:
            self._store.delete(name)
        except FileNotFoundError:
            return
        except BaseError as exc:
            raise self._away(exc) from exc

    def _away(self, error: Exception) -> StoreLocked:
        return StoreLocked(
            f"The content at {self._location} could not be reached ({type(error).__name__}): check `blobs`, "
            "`blobs_endpoint` and the keys, and try again."
        )

"""What the HTTP library raises, as our own errors. Their messages name the host and nothing of the page."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager

import h2.exceptions
import httpcore2

from deep_research.errors import NetworkError, SourceError


@contextmanager
def our_errors(host: str) -> Iterator[None]:
    """Turn the library's exceptions into ours while a page is asked for and read."""
    try:
        yield
    except httpcore2.TimeoutException as exc:
        raise NetworkError(f"{host} did not answer in time.") from exc
    except httpcore2.ConnectError as exc:
        if _is_about(exc, ssl.SSLError):
            raise SourceError(f"No safe connection to {host}: its certificate or its TLS cannot be trusted.") from exc
        raise NetworkError(f"{host} could not be reached.") from exc
    except (httpcore2.NetworkError, httpcore2.ConnectionNotAvailable, OSError) as exc:
        raise NetworkError(f"{host} broke the connection.") from exc
    except httpcore2.RemoteProtocolError as exc:
        if _is_about(exc, Exception):
            raise SourceError(f"{host} does not speak HTTP.") from exc
        # The library says so itself: the server went away or gave the request back.
        raise NetworkError(f"{host} broke the connection.") from exc
    # A status that is no number is a plain ValueError over HTTP/2.
    except (httpcore2.ProtocolError, h2.exceptions.H2Error, ValueError) as exc:
        raise SourceError(f"{host} does not speak HTTP.") from exc


@contextmanager
def errors_in_mid_body(host: str) -> Iterator[None]:
    """Turn what ends a body before its time into an error that trying again may heal."""
    try:
        yield
    except (httpcore2.RemoteProtocolError, h2.exceptions.H2Error) as exc:
        raise NetworkError(f"{host} broke off in the middle of the page.") from exc


def _is_about(exc: Exception, kind: type[Exception]) -> bool:
    """Say whether the library wrapped an error of this kind; it keeps it as its argument, not as its cause."""
    return bool(exc.args) and isinstance(exc.args[0], kind)

"""One spelling for each address, so that no page is fetched or counted twice. Does not open anything."""

import re
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

# Parameters that name the referrer, never the page.
_TRACKING = frozenset({"fbclid", "gclid", "igshid", "mc_cid", "mc_eid", "msclkid", "ref_src", "spm"})
_DEFAULT_PORTS = {"http": 80, "https": 443}
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})?")


def canonical_address(address: str) -> str:
    """Return the one spelling under which an address is known: http and https cleaned, anything else as given."""
    try:
        parts = urlsplit(address.strip())
        port = parts.port
    except ValueError:
        return address.strip()
    scheme = parts.scheme.lower()
    if scheme not in _DEFAULT_PORTS:
        return address.strip()
    host = (parts.hostname or "").rstrip(".").lower()
    host = f"[{host}]" if ":" in host else host
    netloc = host if port in (None, _DEFAULT_PORTS[scheme]) else f"{host}:{port}"
    query = urlencode(
        sorted(
            (name, value)
            for name, value in parse_qsl(parts.query, keep_blank_values=True)
            if name.lower() not in _TRACKING and not name.lower().startswith("utm_")
        )
    )
    path = quote(_ESCAPE.sub(_plain, parts.path), safe="/:@!$&'()*+,;=~-._%").rstrip("/") or "/"
    return urlunsplit((scheme, netloc, path, query, ""))


def _plain(escape: re.Match[str]) -> str:
    """Undo an escape that was not needed; `%2F` and `%25` name other pages than `/` and `%` and stay."""
    if not escape[1]:
        return "%25"
    character = chr(int(escape[1], 16))
    return character if character.isascii() and (character.isalnum() or character in "-._~") else escape[0].upper()

"""What each request needs, and which ones are written down: two tables, read by `access.py` for every request."""

import re

from deep_research.service.accounts.identity import Action, Scope

# The scope that a request needs, by the first line that fits its method and path; None is open to everybody, and `/*`
# stands for everything below a path and the path itself. What no line names needs everything: a route that is forgotten
# here is closed, not open.
_NEEDED: tuple[tuple[str, str, Scope | None], ...] = (
    ("GET", "/health", None),
    ("GET", "/ready", None),
    ("GET", "/static/*", None),
    ("*", "/sign-in", None),
    ("POST", "/preferences", None),
    ("POST", "/sign-out", "read"),
    ("POST", "/sign-out-everywhere", "read"),
    ("GET", "/metrics", "admin"),
    ("*", "/mcp", "research"),
    ("GET", "/*", "read"),
    ("POST", "/", "research"),
    ("POST", "/estimate", "research"),
    ("POST", "/runs/*", "research"),
    ("POST", "/api/estimate", "research"),
    ("*", "/api/runs/*", "research"),
    ("*", "/api/schedules/*", "research"),
    ("*", "/v1/*", "research"),
    ("*", "/api/collections/*", "documents"),
)

# What is written down when it has succeeded, with the ids that stand in its path. Runs are written down where they are
# made, for not all are made by a request.
_LOGGED_ACTIONS: tuple[tuple[str, str, Action], ...] = (
    ("DELETE", "/api/runs/ID", "run-deleted"),
    ("GET", "/api/runs/ID/report.ID", "report-exported"),
    ("POST", "/api/collections", "collection-made"),
    ("DELETE", "/api/collections/ID", "collection-deleted"),
    ("POST", "/api/collections/ID/files", "document-added"),
    ("DELETE", "/api/collections/ID/files/ID", "document-deleted"),
    ("POST", "/api/schedules", "schedule-made"),
    ("DELETE", "/api/schedules/ID", "schedule-deleted"),
)
_PATTERNS = [re.compile(re.escape(path).replace("ID", r"([\w-]{1,64})")) for _, path, _ in _LOGGED_ACTIONS]


def needed_scope(method: str, path: str) -> Scope | None:
    """Return the scope that a request needs; None where it is open to everybody."""
    asked = "GET" if method == "HEAD" else method
    for of, pattern, scope in _NEEDED:
        beginning = pattern.removesuffix("/*")
        is_below = pattern.endswith("/*") and path.startswith(f"{beginning}/")
        if of in ("*", asked) and (path == beginning or is_below):
            return scope
    return "admin"


def logged_action(method: str, path: str) -> tuple[Action, str] | None:
    """Return what is written down about a request that has succeeded: the action, and what it was done to."""
    for (of, _, action), pattern in zip(_LOGGED_ACTIONS, _PATTERNS, strict=True):
        if of == method and (found := pattern.fullmatch(path)):
            return action, " ".join(found.groups())
    return None

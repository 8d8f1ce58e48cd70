"""How the API is described: the problems that it answers with, and files that it sends."""

from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from deep_research.server.problems import MEDIA_TYPE, OPENAI, Problem

_PROBLEM = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
_METHODS = ("get", "put", "post", "delete", "patch")


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the description of problems that an endpoint may answer with."""
    return {status: {"description": HTTPStatus(status).phrase, "content": _PROBLEM} for status in statuses}


def files(*media_types: str) -> dict[int | str, dict[str, Any]]:
    """Return the description of an answer that is a file."""
    content = {kind: {"schema": {"type": "string", "format": "binary"}} for kind in media_types}
    return {200: {"description": "The file.", "content": content}}


def describe(app: FastAPI) -> None:
    """Have the application describe itself with problems in their own shape."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            described = get_openapi(title=app.title, version=app.version, routes=app.routes, description=_ABOUT)
            schemas = described.setdefault("components", {}).setdefault("schemas", {})
            own = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
            schemas |= own.pop("$defs", {})
            schemas["Problem"] = own
            for path, methods in described.get("paths", {}).items():
                for operation in (methods[method] for method in _METHODS if method in methods):
                    if path.startswith(OPENAI):
                        operation["responses"].pop("422", None)
                    else:
                        _add_problems(path, operation)
            for unused in ("HTTPValidationError", "ValidationError"):
                schemas.pop(unused, None)
            app.openapi_schema = described
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]  # this is how FastAPI wants it done


def _add_problems(path: str, operation: dict[str, Any]) -> None:
    """Describe what any endpoint may answer with."""
    responses = operation.setdefault("responses", {})
    if "{" in path:
        responses.setdefault("404", problems(404)[404])
    if "422" in responses:
        responses["422"] = problems(422)[422]
    if "requestBody" in operation:
        responses.setdefault("413", problems(413)[413])
    responses.setdefault("default", {"description": "Anything else that goes wrong.", "content": _PROBLEM})


_ABOUT = """Deep research that can be checked: ask a question, steer its research, read the report and its sources.

Ids of runs may be shortened to first characters that are no other run's. Errors are problem details (RFC 9457), in the
language of `Accept-Language` (English, simplified or traditional Chinese)."""

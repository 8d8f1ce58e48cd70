"""Every view of the page."""

from fastapi import APIRouter

from deep_research.server.page import (
    api_reference,
    documents,
    history,
    new_research,
    preferences,
    report,
    run_view,
    settings,
    sign_in,
)

router = APIRouter(include_in_schema=False)
for view in (
    new_research,
    documents,
    history,
    report,
    run_view,
    settings,
    api_reference,
    preferences,
    sign_in,
):
    router.include_router(view.router)

"""Every view of the page, and what they share."""

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
router.include_router(new_research.router)
router.include_router(documents.router)
router.include_router(history.router)
router.include_router(report.router)
router.include_router(run_view.router)
router.include_router(settings.router)
router.include_router(api_reference.router)
router.include_router(preferences.router)
router.include_router(sign_in.router)

"""What is configured is shown without secrets and paths."""

from pathlib import Path

from deep_research.service.public_settings import public_settings
from tests.support.server import settings_for


def test_settings_show_no_secret_and_no_path(tmp_path: Path) -> None:
    settings = settings_for(tmp_path, tavily_api_key="tvly-secret-secret", brave_api_key="brave-secret-secret")
    shown = public_settings(settings)
    assert shown.has_documents
    assert shown.models == ()
    assert "html" in shown.formats
    text = shown.model_dump_json()
    assert "secret" not in text
    assert str(tmp_path) not in text

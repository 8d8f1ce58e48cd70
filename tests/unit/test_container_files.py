"""The image and the compose file: a normal user, a read-only root, and nothing copied that is not let in."""

import re
from pathlib import Path
from typing import Any

import yaml
from typer.main import get_group

from deep_research.cli.main import app
from deep_research.settings import Settings
from deep_research.settings.settings import variable_of

ROOT = Path(__file__).parents[2]
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
KUBERNETES = list(yaml.safe_load_all((ROOT / "deploy" / "kubernetes.yaml").read_text(encoding="utf-8")))
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")


def test_the_image_runs_as_a_normal_user_whose_files_are_in_one_place():
    *_, last = DOCKERFILE.split("\nFROM ")
    assert re.search(r"^USER 10001:10001$", last, re.MULTILINE)
    assert "DEEP_RESEARCH_HOME=/data" in last
    assert "VOLUME /data" in last
    server = COMPOSE["services"]["server"]
    assert server["read_only"] is True
    assert server["cap_drop"] == ["ALL"]
    assert server["tmpfs"] == ["/tmp"]
    assert server["volumes"] == ["data:/data"]
    assert server["ports"] == ["127.0.0.1:8700:8700"], "others reach it through a proxy only"


def test_what_is_copied_is_let_in_and_exists():
    let_in = set(re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(encoding="utf-8"), re.MULTILINE))
    copied = {
        name for line in re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE) for name in line.split()
    }
    assert copied == let_in
    assert all((ROOT / name).exists() for name in copied)


def test_the_settings_of_the_compose_file_are_settings():
    known = {variable_of(name) for name in Settings.model_fields}
    assert set(COMPOSE["services"]["server"]["environment"]) <= known


def test_searxng_is_an_option_that_answers_in_json():
    assert COMPOSE["services"]["searxng"]["profiles"] == ["searxng"]
    settings = yaml.safe_load(COMPOSE["configs"]["searxng"]["content"])
    assert "json" in settings["search"]["formats"]


def _pods() -> list[dict[str, Any]]:
    return [each["spec"]["template"]["spec"] for each in KUBERNETES if each["kind"] == "Deployment"]


def test_every_container_of_the_manifests_starts_a_command_that_exists_and_has_no_rights():
    containers = [each for pod in _pods() for each in (*pod.get("initContainers", ()), *pod["containers"])]
    assert [each["args"][0] for each in containers] == ["db", "serve", "worker"]
    group = get_group(app)
    for each in containers:
        command, *options = each["args"]
        found = group.commands[command]
        if command == "db":
            found = found.commands[options.pop()]  # type: ignore[attr-defined]
        found.make_context(command, options)
        assert each["securityContext"]["readOnlyRootFilesystem"] is True
        assert each["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert all(pod["securityContext"]["runAsNonRoot"] for pod in _pods())


def test_the_settings_of_the_manifests_are_settings():
    (config,) = [each for each in KUBERNETES if each["kind"] == "ConfigMap"]
    assert set(config["data"]) <= {variable_of(name) for name in Settings.model_fields}

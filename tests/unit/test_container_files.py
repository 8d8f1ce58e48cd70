"""The image and the compose file: a normal user, a read-only root, and nothing copied that is not let in."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml
from typer.main import get_group

from deep_research.cli.main import app
from deep_research.settings import Settings
from deep_research.settings.settings import variable_of

ROOT = Path(__file__).parents[2]
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
WORKERS = yaml.safe_load((ROOT / "deploy" / "compose-workers.yaml").read_text(encoding="utf-8"))
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


def _commands_exist(*commands: list[str]) -> None:
    """Parse commands as the command line would, without carrying them out."""
    group = get_group(app)
    for command, *options in commands:
        found = group.commands[command].loaded()  # type: ignore[attr-defined]
        if command in ("db", "users"):
            found = found.commands[options.pop(0)]
        found.make_context(command, options)


def test_workers_share_a_database_with_a_server_that_works_on_nothing():
    server, worker, postgres = (WORKERS["services"][name] for name in ("server", "worker", "postgres"))
    _commands_exist(server["command"], worker["command"])
    assert server["command"][-2:] == ["--workers", "0"]
    assert worker["deploy"]["replicas"] == 2
    assert worker["healthcheck"] == {"disable": True}, "the image's own check asks a server"
    assert server["ports"] == ["127.0.0.1:8700:8700"], "others reach it through a proxy only"
    assert not {"ports"} & (worker.keys() | postgres.keys())
    known = {variable_of(name) for name in Settings.model_fields}
    for each in (server, worker):
        assert set(each["environment"]) <= known
        assert (each["read_only"], each["cap_drop"], each["tmpfs"]) == (True, ["ALL"], ["/tmp"])
        assert each["depends_on"] == {"postgres": {"condition": "service_healthy"}}
        assert (ROOT / "deploy" / each["build"]).resolve() == ROOT
    address = urlsplit(re.sub(r"\$\{\w+:\?[^}]*\}", "secret", server["environment"]["DEEP_RESEARCH_DATABASE_URL"]))
    given = postgres["environment"]
    assert (address.username, address.path[1:]) == (given["POSTGRES_USER"], given["POSTGRES_DB"])
    assert (address.hostname, address.port, address.password) == ("postgres", 5432, "secret")
    assert postgres["volumes"][0].partition(":")[0] in WORKERS["volumes"]


def test_the_commands_in_the_heads_of_the_compose_files_exist():
    for name in ("compose.yaml", "deploy/compose-workers.yaml"):
        text = (ROOT / name).read_text(encoding="utf-8")
        shown = re.findall(r"^#.*run --rm server (.+?)(?:\s{2,}|$)", text, re.MULTILINE)
        assert shown, name
        _commands_exist(*(line.split() for line in shown))


def _pods() -> list[dict[str, Any]]:
    return [each["spec"]["template"]["spec"] for each in KUBERNETES if each["kind"] == "Deployment"]


def test_every_container_of_the_manifests_starts_a_command_that_exists_and_has_no_rights():
    containers = [each for pod in _pods() for each in (*pod.get("initContainers", ()), *pod["containers"])]
    assert [each["args"][0] for each in containers] == ["db", "serve", "worker"]
    _commands_exist(*(each["args"] for each in containers))
    for each in containers:
        assert each["securityContext"]["readOnlyRootFilesystem"] is True
        assert each["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert all(pod["securityContext"]["runAsNonRoot"] for pod in _pods())


def test_the_settings_of_the_manifests_are_settings():
    (config,) = [each for each in KUBERNETES if each["kind"] == "ConfigMap"]
    assert set(config["data"]) <= {variable_of(name) for name in Settings.model_fields}

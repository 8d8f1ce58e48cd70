"""`Docker`: a sandbox in a container, for systems without bubblewrap; its image is made by `sandbox build-image`."""

import shutil
from dataclasses import dataclass
from uuid import uuid4

from deep_research.charts.sandbox.process import SandboxLimits, Start, program, run_command
from deep_research.errors import SourceError

_BUILD_S = 1800.0
_NOBODY = "65534:65534"
# The client hands its own proxies on, which may hold a password.
_PROXIES = "http_proxy https_proxy ftp_proxy no_proxy all_proxy HTTP_PROXY HTTPS_PROXY FTP_PROXY NO_PROXY ALL_PROXY"


@dataclass
class Docker:
    """Shuts code in with a Docker engine."""

    name = "docker"

    image: str

    async def problem(self) -> str:
        if shutil.which("docker") is None:
            return "docker is not installed"
        code, said = await run_command(["docker", "image", "inspect", "--format", "{{.Id}}", self.image])
        if code == 0:
            return ""
        if "no such image" in said.lower():
            return f"there is no image {self.image}: deep-research sandbox build-image makes it"
        return said.splitlines()[-1] if said else f"docker ended with {code}"

    def start(self, limits: SandboxLimits) -> Start:
        name = f"deep-research-{uuid4().hex}"
        # The container holds the scratch files and the fork server beside the code.
        memory = f"{limits.memory_mb + limits.scratch_mb + 256}m"
        options = f"""
            --rm --interactive --name {name} --pull never --log-driver none
            --network none --read-only --ipc none --cap-drop ALL
            --tmpfs /tmp:size={limits.scratch_mb}m,nr_inodes=4096,noexec,nosuid,nodev
            --security-opt no-new-privileges --user {_NOBODY} --workdir /tmp
            --memory {memory} --memory-swap {memory} --pids-limit 64 --cpus 1
            --ulimit fsize={limits.file_mb << 20} --ulimit core=0
            {" ".join(f"--env {proxy}=" for proxy in _PROXIES.split())} --entrypoint python3
        """
        command = ["docker", "run", *options.split(), self.image, *("-I", "-B", "-c"), program("child.py")]
        # Ending the client ends no container.
        return Start(command, None, ending=["docker", "rm", "--force", name])

    async def build(self) -> str:
        """Make the image; return what Docker said."""
        dockerfile = program("Dockerfile").encode()
        code, said = await run_command(
            ["docker", "build", "--tag", self.image, "-"], within_s=_BUILD_S, input_bytes=dockerfile
        )
        if code != 0:
            raise SourceError(f"The image could not be made: {said[-2000:]}")
        return said

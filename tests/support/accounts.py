"""Accounts for tests of the server: made by the real command, used by tokens and by browsers' cookies."""

import subprocess
import sys
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from unittest.mock import patch

import httpx2

from tests.e2e.harness import User
from tests.support.server import Client

PASSWORD = "correct horse 电池"


@dataclass
class Operator:
    """Whoever runs the server, at the command line of its machine."""

    folder: Path
    env: dict[str, str] = field(default_factory=dict)

    def users(self, *arguments: str, password: str = PASSWORD) -> str:
        """Run a `users` command with a password on standard input, and return what it printed."""
        ended = self.tried(*arguments, password=password)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout.strip()

    def tried(self, *arguments: str, password: str = PASSWORD) -> "subprocess.CompletedProcess[str]":
        """Run a `users` command, whatever comes of it."""
        with patch.object(sys, "stdin", StringIO(f"{password}\n")):
            return User(self.folder, env=self.env).call("users", *arguments)

    def token(self, name: str, scopes: str = "read,research,documents", *more: str) -> str:
        return self.users("token", name, "--scopes", scopes, *more)


class Visitors:
    """Everybody who comes to a server."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._clients: list[Client] = []

    def stranger(self) -> Client:
        """Return a client that nobody knows."""
        self._clients.append(Client(self.address))
        return self._clients[-1]

    def program(self, token: str) -> Client:
        """Return a client that sends a token."""
        client = self.stranger()
        client.http.headers["authorization"] = f"Bearer {token}"
        return client

    def browser(self, name: str, password: str = PASSWORD) -> Client:
        """Return a client that has signed in, and sends what the page's own scripts send."""
        client = self.stranger()
        answer = sign_in(client, name, password)
        assert answer.status_code == 303, answer.text
        client.http.headers.update({"origin": self.address, "sec-fetch-site": "same-origin"})
        return client

    def close(self) -> None:
        for client in self._clients:
            client.http.close()


def sign_in(client: Client, name: str, password: str = PASSWORD, **more: str) -> httpx2.Response:
    """Send the form of the sign-in page."""
    headers = {"origin": client.address, "sec-fetch-site": "same-origin"}
    return client.http.post("/sign-in", data={"name": name, "password": password, **more}, headers=headers)

"""A mail server on this machine that speaks SMTP, also over TLS, and keeps what it is given."""

import socket
import socketserver
import ssl
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from io import BufferedIOBase
from types import TracebackType
from typing import Self


@dataclass
class Mail:
    """A mail as it came: whom it was sent to, and what it says."""

    recipients: list[str]
    raw: bytes

    @property
    def message(self) -> EmailMessage:
        return message_from_bytes(self.raw, policy=default)


@dataclass
class MailServer:
    """Takes mails as long as its context lasts; `refusals` are the answers to the next mails instead of 250.

    With `tls` it takes mails over TLS only, from the beginning or after STARTTLS (RFC 3207).
    """

    mails: list[Mail] = field(default_factory=list)
    refusals: list[bytes] = field(default_factory=list)
    port: int = 0
    tls: ssl.SSLContext | None = None
    begins_with_tls: bool = False

    def __enter__(self) -> Self:
        server = self

        class Talk(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                # A client that trusts nobody here goes away in the middle.
                with suppress(OSError):
                    server.talk(self.request)

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Talk)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    def talk(self, connection: socket.socket) -> None:
        """Answer one client (RFC 5321)."""
        if self.tls and self.begins_with_tls:
            connection = self.tls.wrap_socket(connection, server_side=True)
        connection.sendall(b"220 mail.test ESMTP\r\n")
        if self._take_mails(connection) and self.tls:
            connection = self.tls.wrap_socket(connection, server_side=True)
            self._take_mails(connection)
        connection.close()

    def _take_mails(self, connection: socket.socket) -> bool:
        """Answer command by command; return whether the client wants to go on over TLS."""
        lines, recipients = connection.makefile("rb"), list[str]()
        is_open = self.tls is None or isinstance(connection, ssl.SSLSocket)
        for line in lines:
            command = line.strip().upper()
            if command == b"QUIT":
                connection.sendall(b"221 bye\r\n")
                return False
            if command == b"STARTTLS":
                connection.sendall(b"220 go on\r\n" if not is_open else b"502 not here\r\n")
                return not is_open
            if command.startswith(b"EHLO"):
                connection.sendall(b"250 mail.test\r\n" if is_open else b"250-mail.test\r\n250 STARTTLS\r\n")
            elif not is_open:
                connection.sendall(b"530 Must issue a STARTTLS command first\r\n")
            elif command == b"DATA":
                connection.sendall(b"354 go on\r\n")
                connection.sendall(self._keep(lines, recipients))
            else:
                if command.startswith(b"MAIL FROM:"):
                    recipients = []
                if command.startswith(b"RCPT TO:"):
                    recipients.append(line.strip()[8:].strip(b" <>").decode())
                connection.sendall(b"250 fine\r\n")
        return False

    def _keep(self, lines: BufferedIOBase, recipients: list[str]) -> bytes:
        raw = b""
        while (part := lines.readline()) not in (b".\r\n", b""):
            raw += part.removeprefix(b".") if part.startswith(b"..") else part
        if self.refusals:
            return self.refusals.pop(0)
        self.mails.append(Mail(recipients, raw))
        return b"250 kept\r\n"

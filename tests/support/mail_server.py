"""A mail server on this machine that speaks plain SMTP and keeps what it is given."""

import socketserver
import threading
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
    """Takes mails as long as its context lasts; `refusals` are the answers to the next mails instead of 250."""

    mails: list[Mail] = field(default_factory=list)
    refusals: list[bytes] = field(default_factory=list)
    port: int = 0

    def __enter__(self) -> Self:
        server = self

        class Talk(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                server.talk(self.rfile, self.wfile)

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

    def talk(self, lines: BufferedIOBase, out: BufferedIOBase) -> None:
        """Answer one client, command by command (RFC 5321)."""
        out.write(b"220 mail.test ESMTP\r\n")
        recipients: list[str] = []
        for line in lines:
            command = line.strip().upper()
            if command == b"QUIT":
                out.write(b"221 bye\r\n")
                return
            if command == b"DATA":
                out.write(b"354 go on\r\n")
                raw = b""
                while (part := lines.readline()) not in (b".\r\n", b""):
                    raw += part.removeprefix(b".") if part.startswith(b"..") else part
                refusal = self.refusals.pop(0) if self.refusals else b""
                if not refusal:
                    self.mails.append(Mail(recipients, raw))
                out.write(refusal or b"250 kept\r\n")
                continue
            if command.startswith(b"MAIL FROM:"):
                recipients = []
            if command.startswith(b"RCPT TO:"):
                recipients.append(line.strip()[8:].strip(b" <>").decode())
            out.write(b"250 fine\r\n")

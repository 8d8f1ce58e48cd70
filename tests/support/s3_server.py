"""An S3-compatible store on this machine: objects of one bucket, written, read and deleted as S3's REST API documents.

https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutObject.html, API_GetObject and API_DeleteObjects. It checks that
requests are signed and that bodies are as their sums say.
"""

import asyncio
import hashlib
import re

from tests.support.loopback import LoopbackServer, Request, head_of

BUCKET = "bucket"


class S3Server(LoopbackServer):
    """Holds objects by key; `status` is what it answers to everything, where it is set."""

    def __init__(self) -> None:
        super().__init__()
        self.objects: dict[str, bytes] = {}
        self.status = 0

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        status, body = self._answer(request)
        headers = {"content-length": str(len(body)), "etag": '"e"', "last-modified": "Tue, 17 Nov 2026 00:00:00 GMT"}
        writer.write(head_of(status, headers) + body)

    def _answer(self, request: Request) -> tuple[int, bytes]:
        assert request.headers["authorization"].startswith("AWS4-HMAC-SHA256 ")
        assert request.headers["x-amz-content-sha256"] == hashlib.sha256(request.body).hexdigest()
        if self.status:
            return self.status, b""
        if request.target == f"/{BUCKET}?delete":
            keys = re.findall(r"<Key>(.*?)</Key>", request.body.decode())
            for key in keys:
                self.objects.pop(key, None)
            listed = "".join(f"<Deleted><Key>{key}</Key></Deleted>" for key in keys)
            return 200, f"<DeleteResult>{listed}</DeleteResult>".encode()
        key = request.target.removeprefix(f"/{BUCKET}/")
        if request.method == "PUT":
            self.objects[key] = request.body
            return 200, b""
        if key in self.objects:
            return 200, self.objects[key]
        return 404, b"<Error><Code>NoSuchKey</Code></Error>"

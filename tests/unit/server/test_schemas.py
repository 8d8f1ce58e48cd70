"""What the API answers with."""

import json

from deep_research.server.api.schemas import SourcePicture, in_json


def test_half_a_character_can_be_sent():
    for caption in ("水利 ü", "half \ud83d of one"):
        answer = in_json(SourcePicture(address="https://example.org/a.png", caption=caption), {"ETag": '"1"'})
        assert json.loads(bytes(answer.body))["caption"] == caption
        assert (answer.headers["etag"], answer.media_type) == ('"1"', "application/json")

"""What comes out of a sandbox, checked: pictures are pictures, within bounds, and an SVG holds nothing to obey."""

import base64
import binascii
import json
import re
import struct
from math import isfinite

from lxml import etree
from pydantic import ValidationError

from deep_research.errors import SourceError
from deep_research.sandbox.port import Execution
from deep_research.text.cleaning import clean_text
from deep_research.value import JsonObject

MAX_REPLY_BYTES = 64 * 1024 * 1024
_MAX_FIGURES = 5
_MAX_PICTURE_BYTES = 8 * 1024 * 1024
_MAX_PIXELS_A_SIDE = 10_000
_MAX_ERROR_CHARS = 4_000
_SIGNATURE, _FIRST_CHUNK = b"\x89PNG\r\n\x1a\n", b"\x00\x00\x00\rIHDR"
# What matplotlib writes.
_ELEMENTS = frozenset(
    """svg g defs path use text tspan style rect circle line polyline polygon clipPath linearGradient radialGradient
    stop image pattern mask filter symbol title desc metadata RDF Work type date format creator Agent""".split()
)
_DECLARATION = re.compile(r"^<\?xml\s[^?]*\?>")
_OWN_PLACE = re.compile(r"#|data:image/png;base64,")
# Of styles, what would fetch something.
_FETCHING = re.compile(r"url\s*\(\s*[\"']?(?!\s*#)|@import|expression\s*\(|\\", re.IGNORECASE)


def execution_of(answer: JsonObject) -> Execution:
    """Return what a worker's answer holds, or raise `SourceError` with what the code printed."""
    printed, ending = clean_text(str(answer.get("output", ""))), answer.get("ending")
    try:
        result = json.loads(str(answer.get("result", "")))
    except (ValueError, RecursionError):
        result = None
    if not isinstance(result, dict):
        raise _failed(f"The code ended without a result ({ending}).", printed)
    if error := result.pop("error", ""):
        raise _failed(clean_text(str(error)), printed)
    try:
        execution = Execution(stdout=printed, **result)
    except (ValidationError, TypeError) as exc:
        raise _failed("The code gave back something that is no chart.", printed) from exc
    counts = {len(execution.figures), len(execution.svgs), len(execution.plotted)}
    is_finite = all(isfinite(value) for values in execution.plotted for value in values)
    if len(counts) > 1 or max(counts) > _MAX_FIGURES or not is_finite:
        raise _failed("The code gave back something that is no chart.", printed)
    if not execution.figures:
        raise _failed("The code drew no figure.", printed)
    for png, svg in zip(execution.figures, execution.svgs, strict=True):
        if not (_is_png(png) and _is_harmless(svg)):
            raise _failed("The code gave back a picture that cannot be used.", printed)
    return execution


def _failed(reason: str, printed: str) -> SourceError:
    return SourceError(f"{printed[-_MAX_ERROR_CHARS // 2 :]}\n{reason[-_MAX_ERROR_CHARS:]}".strip())


def _is_png(encoded: str) -> bool:
    try:
        picture = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return False
    if len(picture) > _MAX_PICTURE_BYTES or not picture.startswith(_SIGNATURE + _FIRST_CHUNK):
        return False
    sides = struct.unpack_from(">II", picture, len(_SIGNATURE + _FIRST_CHUNK)) if len(picture) > 64 else (0,)
    return all(0 < side <= _MAX_PIXELS_A_SIDE for side in sides) and b"IEND" in picture[-12:]


def _is_harmless(svg: str) -> bool:
    """Return whether a picture holds drawing only: no scripts, no handlers, no addresses but places in itself."""
    if len(svg) > _MAX_PICTURE_BYTES or "<!ENTITY" in svg or "<?" in _DECLARATION.sub("", svg):
        return False
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        root = etree.fromstring(svg.encode(), parser)
    except (etree.XMLSyntaxError, ValueError):
        return False
    if etree.QName(root).localname != "svg":
        return False
    for element in root.iter():
        if element.tag is etree.Comment:
            continue
        if not isinstance(element.tag, str) or etree.QName(element).localname not in _ELEMENTS:
            return False
        if _FETCHING.search(element.text or "") and etree.QName(element).localname == "style":
            return False
        in_metadata = any(etree.QName(above).localname == "metadata" for above in element.iterancestors())
        for name, value in element.attrib.items():
            key = etree.QName(name).localname.lower()
            is_address = key in ("href", "src") and not _OWN_PLACE.match(value.strip())
            if not in_metadata and (key.startswith("on") or is_address or _FETCHING.search(value)):
                return False
    return True

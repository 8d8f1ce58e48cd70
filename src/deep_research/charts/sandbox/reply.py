"""What comes out of a sandbox, checked: pictures are pictures, within bounds, and an SVG holds nothing to obey."""

import base64
import binascii
import json
import re
import struct
from math import isfinite

from lxml import etree
from pydantic import ValidationError

from deep_research.charts.sandbox.port import Execution
from deep_research.errors import SourceError
from deep_research.text.cleaning import clean_text
from deep_research.value import JsonObject

MAX_REPLY_BYTES = 64 * 1024 * 1024
_MAX_FIGURES = 5
_MAX_PICTURE_BYTES = 8 * 1024 * 1024
_MAX_PIXELS_A_SIDE = 10_000
_MAX_ERROR_CHARS = 4_000
# The signature and the head of the first chunk, which begins with width and height.
_PNG_START = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
_MIN_PICTURE_BYTES = 65
# What matplotlib writes, beside metadata, which are dropped.
_SVG = "{http://www.w3.org/2000/svg}"
_ELEMENTS = frozenset(
    f"{_SVG}{name}"
    for name in """svg g defs path use text tspan style rect circle line polyline polygon clipPath linearGradient
    radialGradient stop image pattern mask filter symbol title desc""".split()
)
_HREFS = ("href", "{http://www.w3.org/1999/xlink}href")
_ATTRIBUTES = frozenset(
    """id class style type version viewBox width height x y x1 y1 x2 y2 dx dy cx cy r rx ry fx fy d points
    transform rotate preserveAspectRatio overflow offset opacity color display visibility gradientUnits
    gradientTransform spreadMethod patternUnits patternContentUnits patternTransform clipPathUnits maskUnits
    filterUnits clip-path clip-rule mask filter fill fill-opacity fill-rule stroke stroke-width stroke-opacity
    stroke-linecap stroke-linejoin stroke-dasharray stroke-dashoffset stroke-miterlimit stop-color stop-opacity
    text-anchor dominant-baseline baseline-shift letter-spacing font font-family font-size font-style font-weight
    font-stretch font-variant {http://www.w3.org/XML/1998/namespace}space""".split()
).union(_HREFS)
_HEADER = '<?xml version="1.0" encoding="utf-8"?>\n'
_DECLARATION = re.compile(r"^<\?xml\s[^?]*\?>")
_OWN_REFERENCE = re.compile(r"\s*(?:#.*|data:image/png;base64,[A-Za-z0-9+/=\s]*)")
# Values and styles hold no function but these, no escape, rule or comment: nothing that could fetch.
_FUNCTION = re.compile(r"([\w-]+)\s*\((\s*[\"']?\s*#)?")
_FUNCTIONS = frozenset("rgb rgba hsl hsla matrix translate rotate scale skewx skewy".split())
_ESCAPING = re.compile(r"[\\@]|/\*")


def execution_of(reply: JsonObject) -> Execution:
    """Return what a worker's answer holds, or raise `SourceError` with what the code printed."""
    printed, ending = clean_text(str(reply.get("output", ""))), reply.get("ending")
    try:
        result = json.loads(str(reply.get("result", "")))
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
    svgs = tuple(map(_harmless, execution.svgs))
    if not (all(svgs) and all(map(_is_png, execution.figures))):
        raise _failed("The code gave back a picture that cannot be used.", printed)
    return execution.replace(svgs=svgs)


def _failed(reason: str, printed: str) -> SourceError:
    return SourceError(f"{printed[-_MAX_ERROR_CHARS // 2 :]}\n{reason[-_MAX_ERROR_CHARS:]}".strip())


def _is_png(encoded: str) -> bool:
    try:
        picture = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return False
    is_whole = picture.startswith(_PNG_START) and b"IEND" in picture[-12:]
    return (
        is_whole
        and _MIN_PICTURE_BYTES <= len(picture) <= _MAX_PICTURE_BYTES
        and all(0 < side <= _MAX_PIXELS_A_SIDE for side in struct.unpack_from(">II", picture, len(_PNG_START)))
    )


def _harmless(svg: str) -> str:
    """Return a picture with its drawing only, written anew; "" for one that holds anything else.

    Comments, metadata and the document type are left out: browsers take handlers from the latter too.
    """
    if len(svg) > _MAX_PICTURE_BYTES or "<!ENTITY" in svg or "<?" in _DECLARATION.sub("", svg):
        return ""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True)
    try:
        root = etree.fromstring(svg.encode(), parser)
    except (etree.XMLSyntaxError, ValueError):
        return ""
    etree.strip_elements(root, f"{_SVG}metadata", with_tail=False)
    if root.tag != f"{_SVG}svg" or not all(map(_is_drawing, root.iter())):
        return ""
    etree.cleanup_namespaces(root)
    return f"{_HEADER}{etree.tostring(root, encoding='unicode')}"


def _is_drawing(element: etree._Element) -> bool:
    if element.tag not in _ELEMENTS or not _ATTRIBUTES.issuperset(element.attrib):
        return False
    addresses = [value for name, value in element.attrib.items() if name in _HREFS]
    values = [value for name, value in element.attrib.items() if name not in _HREFS]
    if element.tag == f"{_SVG}style":
        if len(element):
            return False
        values.append(element.text or "")
    return all(map(_OWN_REFERENCE.fullmatch, addresses)) and all(map(_fetches_nothing, values))


def _fetches_nothing(value: str) -> bool:
    functions = ((found[1].lower(), found[2]) for found in _FUNCTION.finditer(value))
    return not _ESCAPING.search(value) and all(
        name in _FUNCTIONS or (name == "url" and is_own_reference) for name, is_own_reference in functions
    )

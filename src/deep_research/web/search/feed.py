"""Atom and RSS answers as elements. Loads nothing that they point to."""

from lxml import etree

ATOM = "{http://www.w3.org/2005/Atom}"


def feed_root(text: str, tag: str) -> etree._Element | None:
    """Return the root of a feed, None where the text is no XML or has another root."""
    # Entities and outside parts are how a feed could reach into this machine.
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)
    try:
        root = etree.fromstring(text.encode(), parser)
    except (etree.XMLSyntaxError, ValueError):
        return None
    return root if root.tag == tag else None

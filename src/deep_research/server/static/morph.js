// Brings a part of the page up to date with what the server drew anew: what is the same stays the same element, so that
// scrolling, focus and folded parts are kept.

/** Change `old` into `fresh`. Children with a `data-key` are found again by it, others by their place. */
export function morph(old, fresh) {
  if (old.isEqualNode(fresh)) return;
  if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName) {
    old.replaceWith(document.importNode(fresh, true));
    return;
  }
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
    return;
  }
  sameAttributes(old, fresh);
  sameChildren(old, fresh);
}

function sameAttributes(old, fresh) {
  for (const { name } of [...old.attributes]) {
    // Whether something is unfolded is the reader's choice.
    if (!fresh.hasAttribute(name) && !(name === "open" && old.nodeName === "DETAILS")) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
}

function sameChildren(old, fresh) {
  const keyed = new Map();
  for (const child of old.children) if (child.dataset.key) keyed.set(child.dataset.key, child);
  let at = old.firstChild;
  for (const child of [...fresh.childNodes]) {
    const key = child.dataset?.key;
    const known = key ? keyed.get(key) : at && !at.dataset?.key ? at : null;
    if (known) {
      if (known === at) at = at.nextSibling;
      else old.insertBefore(known, at);
      keyed.delete(key);
      morph(known, child);
    } else old.insertBefore(document.importNode(child, true), at);
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

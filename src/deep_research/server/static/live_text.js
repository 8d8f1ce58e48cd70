// Text while a model writes it: headings, items and paragraphs, without the marks that name passages. Only appended to.

// What a writer puts behind a sentence, also in Chinese brackets: [E2, E5], [so: E2], [calc: 3 * 4 = 12; E2].
const MARK = /\s*[[【［](?:\s*(?:so|calc|none)\s*[:：][^\]】］]*|[^\]】］]*?E\s*\d[^\]】］]*)[\]】］]/gi;
const OPEN_MARK = /\s*[[【［][^\]】］]*$/;
// A line of which only the sign of a heading or an item has come.
const SIGN = /^\s*(?:#{1,6}|[-*•+]{1,2}|\d{1,2}[.)]?)\s*$/;

export class LiveText {
  constructor(place) {
    this.place = place;
    this.rest = "";
    this.line = null;
  }

  /** Add a piece; the last line goes on growing until it ends. */
  add(piece) {
    const isAtEnd = this.place.scrollHeight - this.place.scrollTop - this.place.clientHeight < 48;
    const lines = (this.rest + piece).split("\n");
    this.rest = lines.pop();
    for (const line of lines) {
      this.show(line);
      this.line = null;
    }
    if (!SIGN.test(this.rest)) this.show(this.rest.replace(OPEN_MARK, ""));
    if (isAtEnd) this.place.scrollTop = this.place.scrollHeight;
  }

  /** Begin anew. */
  clear() {
    this.place.replaceChildren();
    this.line = null;
    this.rest = "";
  }

  /** Say that something came before which nobody here has seen. */
  miss(text) {
    const note = document.createElement("p");
    note.className = "missed";
    note.textContent = text;
    this.place.append(note);
    this.line = null;
    this.rest = "";
  }

  show(raw) {
    const text = raw.replace(MARK, "").trim();
    if (!text || /^[|\s:-]+$/.test(text)) return;
    const heading = /^#{1,6}\s+(.*)/.exec(text);
    const item = /^(?:[-*•+]|\d{1,2}[.)])\s+(.*)/.exec(text);
    const name = heading ? "h3" : "p";
    if (!this.line || this.line.localName !== name) {
      const line = document.createElement(name);
      if (this.line) this.line.replaceWith(line);
      else this.place.append(line);
      this.line = line;
    }
    this.line.className = item ? "item" : "";
    const shown = (heading || item)?.[1] ?? text;
    this.line.textContent = shown.replace(/\*\*|__/g, "").replace(/^\||\|$/g, "").replaceAll("|", " · ");
  }
}

"use strict";
/* Adds comfort; without it every link still leads where it says. All words stand in the page. */
(() => {
  const root = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  /* Light or dark, against what the system prefers. */
  const theme = document.getElementById("theme");
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  theme.hidden = false;
  theme.addEventListener("click", () => {
    const isDark = (root.dataset.theme || (prefersDark.matches ? "dark" : "light")) === "dark";
    root.dataset.theme = isDark ? "light" : "dark";
    for (const source of all("picture source")) source.media = isDark ? "not all" : "screen";
  });

  /* The section that is read is marked in the contents. */
  const parts = all("#contents a[href^='#part-']").map((link) => [link, document.getElementById(link.hash.slice(1))]);
  let current = null, isAwaited = false;
  const follow = () => {
    isAwaited = false;
    const begun = parts.filter(([, section]) => section.getBoundingClientRect().top < innerHeight * 0.4);
    const [link] = begun.at(-1) ?? parts[0] ?? [null];
    if (link === current) return;
    current?.removeAttribute("aria-current");
    current = link;
    current?.setAttribute("aria-current", "true");
  };
  const followSoon = () => {
    if (!isAwaited) requestAnimationFrame(follow);
    isAwaited = true;
  };
  addEventListener("scroll", followSoon, { passive: true });
  addEventListener("resize", followSoon, { passive: true });
  follow();

  /* Sources and passages by what is typed: a source whose title or address has it is shown whole. */
  const filter = document.getElementById("filter");
  if (filter) {
    const plain = (element) => element.textContent.toLowerCase();
    let known = null;
    filter.hidden = false;
    filter.addEventListener("input", () => {
      known ??= all(".source").map((source) => ({
        source,
        head: plain(source.querySelector("h3")) + plain(source.querySelector(".meta")),
        passages: all(".passage", source).map((passage) => [passage, plain(passage)]),
      }));
      const wanted = filter.value.trim().toLowerCase();
      for (const { source, head, passages } of known) {
        const isWhole = head.includes(wanted);
        let isShown = isWhole;
        for (const [passage, text] of passages) {
          passage.hidden = !(isWhole || text.includes(wanted));
          isShown ||= !passage.hidden;
        }
        source.hidden = !isShown;
      }
      for (const more of all("#sources details")) more.open = Boolean(wanted);
    });
  }

  /* A marker opens a card with the passages of its sentence. */
  const card = document.getElementById("card");
  if (!card || !card.showPopover) return;
  const part = (name) => card.querySelector("." + name);
  let marker = null, passages = [], at = 0;

  const inCard = (element) => {
    const copy = element.cloneNode(true);
    for (const each of [copy, ...all("[id]", copy)]) each.removeAttribute("id");
    return copy;
  };
  const fill = () => {
    const passage = document.getElementById("p" + passages[at]);
    const source = passage.closest(".source");
    const ids = (marker.dataset.s || "").split(" ");
    part("title").replaceChildren(...inCard(source.querySelector("h3")).childNodes);
    const place = document.createElement("span");
    place.textContent = passage.querySelector(".place").textContent + " · ";
    place.dir = "auto";
    part("meta").replaceChildren(place, ...inCard(source.querySelector(".meta")).childNodes);
    const uses = all(".uses > li", passage).filter((use) => ids.includes(use.dataset.s));
    part("uses").replaceChildren(...uses.map(inCard));
    card.classList.toggle("several", ids.length > 1);
    const quote = inCard(passage.querySelector("blockquote"));
    for (const named of all("b", quote)) {
      named.classList.toggle("now", named.dataset.s.split(" ").some((id) => ids.includes(id)));
    }
    part("quoted").replaceChildren(quote);
    part("at").textContent = at + 1 + " / " + passages.length;
    part("steps").hidden = passages.length < 2;
    part("show").hash = "p" + passages[at];
    const shown = quote.querySelector("b.now, mark"), box = part("quoted");
    if (shown) box.scrollTop += shown.getBoundingClientRect().top - box.getBoundingClientRect().top - 80;
  };
  const place = () => {
    card.style.setProperty("--room", "80vh");
    const spot = marker.getBoundingClientRect(), own = card.getBoundingClientRect(), gap = 8;
    const hidden = spot.bottom + gap - own.top;
    if (getComputedStyle(card).position === "fixed") {
      if (hidden > 0) scrollBy({ top: hidden, behavior: "instant" });
      return;
    }
    const below = innerHeight - spot.bottom - 2 * gap, above = spot.top - 2 * gap;
    const isBelow = own.height <= below || below >= above;
    const height = Math.min(own.height, isBelow ? below : above);
    /* Beside the panel where there is one, so that both can be read. */
    const panel = document.getElementById("sources").getBoundingClientRect();
    const end = panel.top < innerHeight && panel.left > own.width ? panel.left : root.clientWidth;
    const left = Math.max(gap, Math.min(spot.left - 24, end - own.width - gap));
    card.style.setProperty("--room", height + "px");
    card.style.setProperty("--x", left + scrollX + "px");
    card.style.setProperty("--y", (isBelow ? spot.bottom + gap : spot.top - height - gap) + scrollY + "px");
  };
  const mark = (isShown) => {
    marker.setAttribute("aria-expanded", String(isShown));
    for (const id of (marker.dataset.s || "").split(" ")) document.getElementById(id)?.classList.toggle("shown", isShown);
  };
  const step = (by) => {
    at = (at + by + passages.length) % passages.length;
    fill();
  };

  for (const each of all("a.cite")) each.setAttribute("aria-haspopup", "dialog");
  document.addEventListener("click", (event) => {
    const clicked = event.target.closest?.("a.cite");
    if (!clicked || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    if (card.matches(":popover-open")) card.hidePopover();
    marker = clicked;
    const group = marker.dataset.s ? all(`a.cite[data-s="${CSS.escape(marker.dataset.s)}"]`) : [marker];
    passages = [...new Set(group.flatMap((one) => one.dataset.p.split(" ")))];
    at = passages.indexOf(marker.dataset.p.split(" ")[0]);
    card.showPopover();
    fill();
    place();
    mark(true);
    card.focus({ preventScroll: true });
  });
  card.addEventListener("toggle", (event) => {
    if (event.newState !== "closed" || !marker) return;
    mark(false);
    if (card.contains(document.activeElement) || document.activeElement === document.body) marker.focus({ preventScroll: true });
  });
  card.addEventListener("keydown", (event) => {
    if (passages.length > 1 && event.key === "ArrowRight") step(1);
    if (passages.length > 1 && event.key === "ArrowLeft") step(-1);
  });
  part("close").addEventListener("click", () => card.hidePopover());
  part("previous").addEventListener("click", () => step(-1));
  part("next").addEventListener("click", () => step(1));
  part("show").addEventListener("click", () => card.hidePopover());
})();

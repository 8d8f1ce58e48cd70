"use strict";
/* Adds comfort; without it every link still leads where it says. All words stand in the page. */
(() => {
  const root = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

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
    /* It stays in sight in a long list, without a scroll of the page. */
    const list = document.getElementById("contents"), top = current ? current.offsetTop : 0;
    if (top < list.scrollTop || top > list.scrollTop + list.clientHeight - 80) list.scrollTop = top - list.clientHeight / 2;
  };
  const followSoon = () => {
    if (!isAwaited) requestAnimationFrame(follow);
    isAwaited = true;
  };
  addEventListener("scroll", followSoon, { passive: true });
  addEventListener("resize", followSoon, { passive: true });
  followSoon();

  /* The sheet of the contents closes without losing the place that was read. */
  const opener = document.querySelector(".to-contents");
  const closeContents = (event) => {
    if (location.hash !== "#contents") return;
    event.preventDefault();
    const top = scrollY;
    location.hash = "main";
    scrollTo({ top, behavior: "instant" });
    opener.focus({ preventScroll: true });
  };
  document.querySelector("#contents .close")?.addEventListener("click", closeContents);
  addEventListener("keydown", (event) => {
    if (event.key === "Escape") closeContents(event);
  });

  /* Sources and passages by what is typed, in the text that is shown: one whose title or address has it is whole. */
  const filter = document.getElementById("filter");
  const search = () => {
    const wanted = filter.value.trim().toLowerCase(), hits = [];
    let isFound = !wanted;
    const holds = (...elements) => {
      let text = "";
      const own = [];
      for (const element of elements) {
        const walk = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
        while (walk.nextNode()) {
          const node = walk.currentNode;
          if (node.parentElement.closest(".around, .uses, .unseen")) continue;
          const lower = node.data.toLowerCase();
          text += lower;
          /* Where small letters are not as many as large ones, a hit has no sure place. */
          if (!wanted || lower.length !== node.data.length) continue;
          for (let at = lower.indexOf(wanted); at >= 0; at = lower.indexOf(wanted, at + wanted.length)) {
            own.push(new StaticRange({ startContainer: node, startOffset: at, endContainer: node, endOffset: at + wanted.length }));
          }
        }
        text += "\n";
      }
      if (!text.includes(wanted)) return false;
      hits.push(...own);
      return true;
    };
    for (const source of all(".source")) {
      const isWhole = holds(source.querySelector("h3"), source.querySelector(".meta"));
      let isShown = isWhole;
      for (const passage of all(".passage", source)) {
        const isHere = holds(passage);
        passage.hidden = !(isWhole || isHere);
        isShown ||= isHere;
      }
      source.hidden = !isShown;
      isFound ||= isShown;
    }
    document.getElementById("nothing").hidden = isFound;
    for (const index of all("#sources .index")) index.hidden = Boolean(wanted);
    for (const more of all("#sources details")) {
      more.open = Boolean(wanted);
      more.hidden = all(".source", more).every((source) => source.hidden);
    }
    globalThis.CSS?.highlights?.set("found", new Highlight(...hits.slice(0, 2000)));
  };
  if (filter) {
    filter.hidden = false;
    filter.addEventListener("input", search);
  }
  const showAll = () => {
    if (!filter?.value) return;
    filter.value = "";
    search();
  };

  /* A marker opens a card with the passages of its sentence. */
  const card = document.getElementById("card");
  if (!card || !card.showPopover) return;
  const part = (name) => card.querySelector("." + name);
  /* A card that the pointer or the focus opened goes with them; one that was asked for stays until it is closed. */
  let marker = null, passages = [], at = 0, isPreview = false, isClosing = false, timer = 0;

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
    const read = part("read");
    if (read) read.href = passage.querySelector(".read").href;
  };
  const toHit = () => {
    const box = part("quoted"), shown = box.querySelector("b.now") || box.querySelector("mark");
    if (shown) box.scrollTop += shown.getBoundingClientRect().top - box.getBoundingClientRect().top - 60;
  };
  /* Never over the sentence: below it or above it, with a scroll where neither has room. */
  const place = (mayScroll) => {
    card.style.removeProperty("--room");
    const own = card.getBoundingClientRect(), spot = marker.getBoundingClientRect(), gap = 8;
    if (getComputedStyle(card).position === "fixed") {
      const hidden = spot.bottom + gap - own.top;
      if (mayScroll && hidden > 0 && spot.right > own.left) scrollBy({ top: hidden, behavior: "instant" });
      return;
    }
    const ids = (marker.dataset.s || "").split(" ");
    const boxes = () => [marker, ...ids.map((id) => document.getElementById(id))].filter(Boolean).map((each) => each.getBoundingClientRect());
    const bar = parseFloat(getComputedStyle(root).scrollPaddingTop) || 0, least = Math.min(own.height, Math.max(320, innerHeight * 0.4));
    const room = () => {
      const top = Math.min(...boxes().map((box) => box.top)), bottom = Math.max(...boxes().map((box) => box.bottom));
      return { top, bottom, above: top - bar - 2 * gap, below: innerHeight - bottom - 2 * gap };
    };
    let { top, bottom, above, below } = room();
    if (mayScroll && Math.max(above, below) < least) {
      scrollBy({ top: least - below, behavior: "instant" });
      ({ top, bottom, above, below } = room());
    }
    const isBelow = own.height <= below || below >= above;
    const height = Math.min(own.height, Math.max(least, isBelow ? below : above));
    const left = Math.max(gap, Math.min(Math.min(...boxes().map((box) => box.left)), root.clientWidth - own.width - gap));
    card.style.setProperty("--room", height + "px");
    card.style.setProperty("--x", left + scrollX + "px");
    card.style.setProperty("--y", (isBelow ? bottom + gap : top - height - gap) + scrollY + "px");
  };
  const mark = (isShown) => {
    marker.setAttribute("aria-expanded", String(isShown));
    for (const id of (marker.dataset.s || "").split(" ")) document.getElementById(id)?.classList.toggle("shown", isShown);
  };
  const step = (by) => {
    at = (at + by + passages.length) % passages.length;
    fill();
    toHit();
  };

  const isOpen = () => card.matches(":popover-open");
  const open = (target, by) => {
    clearTimeout(timer);
    if (isOpen()) {
      mark(false);
      card.hidePopover();
    }
    marker = target;
    isPreview = by !== "click";
    const group = marker.dataset.s ? all(`a.cite:not(.sign)[data-s="${CSS.escape(marker.dataset.s)}"]`) : [];
    passages = [...new Set([...group, marker].flatMap((one) => one.dataset.p.split(" ")))];
    at = passages.indexOf(marker.dataset.p.split(" ")[0]);
    card.showPopover();
    isClosing = false;
    fill();
    place(by !== "hover");
    toHit();
    mark(true);
    if (!isPreview) card.focus({ preventScroll: true });
  };
  const closePreview = () => {
    if (isPreview && isOpen()) card.hidePopover();
  };

  for (const each of all("a.cite")) each.setAttribute("aria-haspopup", "dialog");
  document.addEventListener("click", (event) => {
    const clicked = event.target.closest?.("a.cite");
    if (!clicked || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    open(clicked, "click");
  });
  document.addEventListener("pointerover", (event) => {
    const target = event.target.closest?.("a.cite, #card");
    if (event.pointerType !== "mouse" || !target) return;
    clearTimeout(timer);
    if (target === card || (isOpen() && (!isPreview || target === marker))) return;
    timer = setTimeout(() => open(target, "hover"), 250);
  });
  document.addEventListener("pointerout", (event) => {
    if (event.pointerType !== "mouse" || !event.target.closest?.("a.cite, #card")) return;
    clearTimeout(timer);
    timer = setTimeout(closePreview, 300);
  });
  document.addEventListener("focusin", (event) => {
    const target = event.target.closest?.("a.cite");
    if (target && !isClosing && target.matches(":focus-visible")) open(target, "focus");
  });
  document.addEventListener("focusout", (event) => {
    if (event.target === marker && !card.contains(event.relatedTarget)) closePreview();
  });
  for (const kind of ["pointerdown", "focusin"]) {
    card.addEventListener(kind, () => {
      isPreview = false;
    });
  }
  card.addEventListener("beforetoggle", (event) => {
    isClosing = event.newState === "closed" && !isPreview;
  });
  card.addEventListener("toggle", (event) => {
    if (event.newState !== "closed" || !marker) return;
    mark(false);
    const isLost = card.contains(document.activeElement) || document.activeElement === document.body;
    if (isLost && !isPreview) marker.focus({ preventScroll: true });
    isClosing = false;
  });
  card.addEventListener("keydown", (event) => {
    if (event.key === "Tab") {
      /* Out of the card is back at its marker. */
      const stops = all("a[href], button, [tabindex='0']", card).filter((each) => each.checkVisibility());
      const from = document.activeElement;
      if (event.shiftKey ? from === card || from === stops[0] : from === stops.at(-1)) {
        event.preventDefault();
        card.hidePopover();
      }
    }
    if (passages.length > 1 && event.key === "ArrowRight") step(1);
    if (passages.length > 1 && event.key === "ArrowLeft") step(-1);
  });
  part("close").addEventListener("click", () => card.hidePopover());
  part("previous").addEventListener("click", () => step(-1));
  part("next").addEventListener("click", () => step(1));
  part("show").addEventListener("click", () => {
    showAll();
    card.hidePopover();
  });
})();

// A run while it is under way: events say that something changed, the server draws it, and what changed is taken over.

import { follow } from "./stream.js";
import { LiveText } from "./live_text.js";
import { morph } from "./morph.js";
import { say, showLocalTimes } from "./frame.js";
import { ask } from "./request.js";
import { editPlan } from "./plan.js";

const root = document.querySelector("[data-run]");
const address = `/runs/${root.dataset.run}`;
const LEAST_PAUSE_MS = 500;
// Drawing takes at most this share of the time.
const PAUSE_PER_MS = 8;
const WRITTEN = ["draft", "recall"];

// What the server drew, taken over part by part.
let timer = 0;
let pause = LEAST_PAUSE_MS;
let isFetching = false;
let isStale = false;

function refreshSoon() {
  if (isFetching) isStale = true;
  else if (!timer) timer = setTimeout(refresh, pause);
}

async function refresh() {
  timer = 0;
  isFetching = true;
  isStale = false;
  const begun = performance.now();
  try {
    const response = await fetch(`${address}/parts`, { cache: "no-store" });
    if (response.ok) takeOver(new DOMParser().parseFromString(await response.text(), "text/html"));
    else isStale = response.status >= 500;
  } catch {
    isStale = true;
  }
  isFetching = false;
  pause = Math.max(LEAST_PAUSE_MS, PAUSE_PER_MS * (performance.now() - begun));
  if (isStale) refreshSoon();
}

function takeOver(drawn) {
  showLocalTimes(drawn);
  const connection = root.querySelector("[data-connection]").cloneNode(true);
  for (const part of root.querySelectorAll("[data-part]")) {
    const fresh = drawn.querySelector(`[data-part="${part.dataset.part}"]`);
    if (!fresh) continue;
    // What somebody is filling in stays until something else is asked.
    if ("once" in part.dataset && part.dataset.once === fresh.dataset.once) continue;
    const wasAsked = part.dataset.once;
    fresh.querySelector("[data-connection]")?.replaceWith(connection);
    const log = part.dataset.part === "log" && part.scrollHeight - part.scrollTop - part.clientHeight < 48;
    morph(part, fresh);
    if (log) part.scrollTop = part.scrollHeight;
    if (wasAsked !== undefined) {
      editPlan(root);
      const asked = part.querySelector("h2");
      if (asked) say(asked.textContent);
    }
  }
  if (root.querySelector("[data-status]").dataset.status === "done") showReport();
}

function showReport() {
  stop();
  if (!root.dataset.add) {
    window.location.replace(address);
    return;
  }
  // The report has the address of this page: another fragment alone would load nothing.
  window.history.replaceState(null, "", `${address}#added`);
  window.history.scrollRestoration = "manual";
  window.location.reload();
}

// Text while it is written.
const card = root.querySelector("[data-live]");
const text = new LiveText(card.querySelector("[data-live-text]"));
let scope = "";
// After a break the server says what was written so far, or, where it was started anew, has it written again.
let isOld = false;
function write({ scope: from, act, kind, text: piece }) {
  if (kind !== "text" || !WRITTEN.includes(act)) return;
  if (isOld) writeAnew();
  if (scope && scope !== from) text.add("\n\n");
  scope = from;
  card.hidden = false;
  text.add(piece);
}

function writeAnew() {
  isOld = false;
  scope = "";
  text.clear();
}

function bringBack({ parts, is_cut: isCut }) {
  writeAnew();
  if (isCut) text.miss(root.dataset.missed);
  for (const part of parts) write(part);
}

function miss() {
  // Other steps write too, which nobody is shown.
  if (!root.querySelector('[data-key="draft"][aria-current]')) return;
  card.hidden = false;
  text.miss(root.dataset.missed);
}

// The connection.
let isLost = false;
function connected(state) {
  const place = root.querySelector("[data-connection]");
  if (state === "lost" && !isLost) {
    place.textContent = root.dataset.lost;
    place.hidden = false;
    say(root.dataset.lost);
  } else if (state === "open" && isLost) {
    place.hidden = true;
    say(root.dataset.found);
    isOld = true;
    refreshSoon();
  }
  isLost = state === "lost";
  root.dataset.connected = String(!isLost);
}

const stop = follow(`/api${address}/events`, {
  after: Number(root.dataset.seq),
  on: {
    event({ kind, data }) {
      if (kind === "live") write(data);
      else if (kind === "written") bringBack(data);
      else if (kind === "stream-gap" && data.what === "text") miss();
      else refreshSoon();
    },
    state: connected,
    over: refreshSoon,
    refused: () => window.location.reload(),
  },
});
window.addEventListener("pagehide", stop);
window.addEventListener("pageshow", (event) => {
  if (event.persisted) window.location.reload();
});

// What is looked for is changed in place.
async function changeMap(form, sent) {
  const names = sent.get("add")?.split(/[;；\n]/).map((name) => name.trim()).filter(Boolean) ?? [];
  const change = { strike: sent.getAll("strike"), add: [...sent.getAll("again"), ...names] };
  const wrong = root.querySelector(".map-foot .wrong");
  try {
    await ask("POST", `/api${address}/map`, { ...change, section: sent.get("section") ?? "", enough: sent.has("enough") });
    form.reset();
  } catch (problem) {
    wrong.textContent = problem.message;
  }
  wrong.hidden = !wrong.textContent;
  await refresh();
}

// Buttons that were pressed are pressed once.
root.addEventListener("submit", (event) => {
  if (event.target.matches("[data-map]")) {
    event.preventDefault();
    changeMap(event.target, new FormData(event.target, event.submitter));
    return;
  }
  setTimeout(() => event.submitter?.setAttribute("disabled", ""));
});

editPlan(root);

// A report: ask on, bring it up to date, tag and delete it. Citations and sources are the work of reading.js.

import { ask } from "./request.js";
import { actOnRuns } from "./run_actions.js";

const run = document.querySelector("[data-run]").dataset.run;

actOnRuns((button) => location.assign(button.dataset.then));

/** Ask for another run and go to it, or say in a line of a place why it cannot be. */
async function begin(button, [place, line], path, asked) {
  button.disabled = true;
  place.hidden = true;
  try {
    location.assign(`/runs/${(await ask("POST", `/api/runs/${run}/${path}`, asked)).id}`);
  } catch (error) {
    line.textContent = error.message;
    place.hidden = false;
    button.disabled = false;
  }
}

const problem = document.getElementById("problem");
const update = document.querySelector("[data-update]");
update.addEventListener("click", () => begin(update, [problem, problem.querySelector("div")], "update"));

// Who has waited for a section to be added reads on there.
const added = document.querySelector("[data-added]");
if (added && location.hash === "#added") {
  location.replace(added.hash);
  addEventListener("load", () => setTimeout(() => {
    history.scrollRestoration = "auto";
  }));
}

// A report opens where its reader left it: at the sentence or row that stood at the top.
const place = `place-${run}`;
const kept = () => {
  try {
    return JSON.parse(localStorage.getItem(place));
  } catch {
    return null;
  }
};
function keepPlace() {
  const top = scrollY < innerHeight / 2 ? null : [...document.querySelectorAll(".report [id]")].find((each) => each.getBoundingClientRect().top >= 0);
  try {
    if (top) localStorage.setItem(place, JSON.stringify([top.id, top.getBoundingClientRect().top]));
    else localStorage.removeItem(place);
  } catch {
    // A browser that keeps nothing opens reports at their beginning.
  }
}
function goToPlace() {
  const [id, offset] = kept() ?? [];
  const left = id && document.getElementById(id);
  if (left) scrollBy({ top: left.getBoundingClientRect().top - offset, behavior: "instant" });
}
if (!location.hash) {
  goToPlace();
  // Pictures and fonts that come later move what is below them.
  addEventListener("load", goToPlace, { once: true });
}
let keeping = 0;
addEventListener("scroll", () => {
  clearTimeout(keeping);
  keeping = setTimeout(keepPlace, 200);
}, { passive: true });

const form = document.getElementById("follow-up");
form.addEventListener("submit", (event) => {
  event.preventDefault();
  const wrong = form.querySelector(".wrong");
  const asked = { question: form.elements.question.value, add: form.elements.add.value === "1" };
  begin(event.submitter, [wrong, wrong], "follow-up", asked);
});

// Whoever goes to the question wants to type it.
const field = form.elements.question;
document.querySelector('a[href="#ask"]').addEventListener("click", (event) => {
  // The browser's own jump would take the focus away again.
  event.preventDefault();
  field.focus();
});
if (location.hash === "#ask") field.focus();

// Charts are drawn for light and for dark pages; which one is shown follows the theme of the page.
const root = document.documentElement;
const shade = () => {
  const media = { light: "not all", dark: "screen" }[root.dataset.theme] || "screen and (prefers-color-scheme: dark)";
  for (const source of document.querySelectorAll("picture source")) source.media = media;
};
new MutationObserver(shade).observe(root, { attributeFilter: ["data-theme"] });
shade();

// New research: the key that sends, files that are uploaded while one types, and what the research may take.

import { ask } from "./request.js";
import { say } from "./frame.js";

const form = document.querySelector("[data-ask]");
const question = form.elements.question;
const start = form.querySelector("[data-start]");

question.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    form.requestSubmit(start);
  }
});
for (const example of document.querySelectorAll("[data-example]")) {
  example.addEventListener("click", (event) => {
    event.preventDefault();
    question.value = example.textContent;
    question.focus();
    estimateSoon();
  });
}

// What the browser itself finds wrong may stand in the folded options.
form.addEventListener("invalid", (event) => {
  const folded = event.target.closest("details");
  if (folded) folded.open = true;
}, true);

// Sent once, and only when every file has arrived.
let uploads = 0;
let isSentLater = false;
form.addEventListener("submit", (event) => {
  if (uploads) {
    event.preventDefault();
    isSentLater = true;
    say(form.dataset.uploading);
  }
  start.disabled = true;
});
window.addEventListener("pageshow", () => {
  start.disabled = false;
});

// What it may take.
const estimate = form.querySelector("[data-estimate]");
let timer = 0;
let asked = 0;
function estimateSoon() {
  clearTimeout(timer);
  timer = setTimeout(showEstimate, 400);
}
async function showEstimate() {
  const number = ++asked;
  const response = await fetch("/estimate", { method: "POST", body: new URLSearchParams(new FormData(form)) });
  if (response.ok && number === asked) estimate.textContent = await response.text();
}
form.addEventListener("input", estimateSoon);
form.addEventListener("change", estimateSoon);

// Files: each is sent by itself, into one collection for this question that is made with the first.
const list = form.querySelector("[data-files]");
const drop = form.querySelector("[data-drop]");
const input = form.querySelector("[data-file-input]");
form.querySelector("[data-file-button]").hidden = false;
let collection = null;
let queue = Promise.resolve();

input.addEventListener("change", () => {
  add(input.files);
  input.value = "";
});
drop.addEventListener("dragover", (event) => {
  if (![...event.dataTransfer.types].includes("Files")) return;
  event.preventDefault();
  drop.classList.add("over");
});
drop.addEventListener("dragleave", (event) => {
  if (!drop.contains(event.relatedTarget)) drop.classList.remove("over");
});
drop.addEventListener("drop", (event) => {
  if (!event.dataTransfer.files.length) return;
  event.preventDefault();
  drop.classList.remove("over");
  add(event.dataTransfer.files);
});

function add(files) {
  for (const file of files) {
    const row = rowOf(file);
    uploads += 1;
    queue = queue.then(() => upload(file, row)).finally(() => {
      uploads -= 1;
      if (!uploads) chosen();
      if (!uploads && isSentLater) form.requestSubmit(start);
    });
  }
  list.hidden = false;
}

async function upload(file, row) {
  try {
    collection ??= await ask("POST", "/api/collections", { name: file.name.slice(0, 200), for_question: true });
    const body = new FormData();
    body.append("files", file);
    const { added, refused } = await ask("POST", `/api/collections/${collection.id}/files`, body);
    if (added.length) accept(added[0], row);
    else refuse(row, form.dataset[refusalKey(refused[0].code)] || refused[0].reason);
  } catch (problem) {
    refuse(row, problem.status ? problem.message : form.dataset.refusedOther);
  }
}

function refusalKey(code) {
  return "refused" + code.split("_").map((word) => word[0].toUpperCase() + word.slice(1)).join("");
}

function rowOf(file) {
  const row = document.getElementById("file-row").content.firstElementChild.cloneNode(true);
  row.querySelector(".name").textContent = file.name;
  row.querySelector(".about").textContent = `${sized(file.size)} · ${form.dataset.uploading}`;
  row.querySelector("button").setAttribute("aria-label", `${form.dataset.remove} ${file.name}`);
  row.querySelector("button").addEventListener("click", () => row.remove());
  list.append(row);
  return row;
}

function accept(stored, row) {
  const about = `${stored.kind.toUpperCase()} · ${sized(stored.bytes)}`;
  row.querySelector(".about").textContent = about;
  say(`${stored.name}: ${about}`);
  const remove = () => ask("DELETE", `/api/collections/${collection.id}/files/${stored.id}`).catch(() => null).then(chosen);
  if (!row.isConnected) return remove();
  row.dataset.kept = "";
  row.querySelector("button").addEventListener("click", remove);
  chosen();
  watch(stored.id, row, remove);
}

// A file is read once it has arrived; one that cannot be used says so, and is taken out.
async function watch(id, row, remove) {
  const address = `/api/collections/${collection.id}`;
  for (let wait = 200; row.isConnected; wait = Math.min(2 * wait, 5000)) {
    await new Promise((resolve) => setTimeout(resolve, wait));
    const { documents } = await ask("GET", address).catch(() => ({ documents: [] }));
    const file = documents.find((each) => each.id === id);
    if (file?.state === "reading") continue;
    if (file?.state !== "unreadable" || !row.isConnected) return;
    delete row.dataset.kept;
    refuse(row, `${form.dataset.unusable} ${file.reason}`);
    return remove();
  }
}

function refuse(row, reason) {
  row.classList.add("refused");
  row.querySelector(".about").textContent = reason;
  say(`${row.querySelector(".name").textContent}: ${reason}`);
}

// The collection is searched as long as a file is in it.
function chosen() {
  list.hidden = !list.children.length;
  if (!collection) return;
  const select = form.elements.documents;
  let option = [...select.options].find((each) => each.value === collection.id);
  const first = list.querySelector("[data-kept] .name");
  if (first) {
    if (!option) {
      option = new Option("", collection.id);
      select.append(option);
      select.value = collection.id;
    }
    // Named after a file that is in it: the one that it was made with may have been refused.
    option.text = first.textContent;
    const name = first.textContent.slice(0, 200);
    if (name !== collection.name) {
      collection.name = name;
      ask("PATCH", `/api/collections/${collection.id}`, { name }).catch(() => null);
    }
  } else {
    option?.remove();
    if (!uploads) {
      ask("DELETE", `/api/collections/${collection.id}`).catch(() => null);
      collection = null;
    }
  }
  estimateSoon();
}

function sized(bytes) {
  const units = ["B", "KB", "MB", "GB"];
  let size = bytes;
  let unit = 0;
  while (size >= 1000 && unit < units.length - 1) {
    size /= 1000;
    unit += 1;
  }
  return `${new Intl.NumberFormat(document.documentElement.lang, { maximumFractionDigits: unit ? 1 : 0 }).format(size)} ${units[unit]}`;
}

showEstimate();

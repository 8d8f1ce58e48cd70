// Documents: collections are made, filled file by file, renamed and deleted; the list follows what is being read.

import { say } from "./frame.js";
import { ask } from "./request.js";
import { confirmDelete } from "./run_actions.js";

const collection = document.querySelector("[data-collection]")?.dataset.collection;
const address = `/api/collections/${collection}`;
const files = document.getElementById("files");

/** Send a form as a name, and say below it why that cannot be. */
function named(form, send) {
  form?.addEventListener("submit", async (event) => {
    event.preventDefault();
    const wrong = form.querySelector(".wrong");
    wrong.hidden = true;
    try {
      await send(form.elements.name.value);
    } catch (problem) {
      wrong.textContent = problem.errors[0]?.problem || problem.message;
      wrong.hidden = false;
    }
  });
}
named(document.getElementById("create"), async (name) => {
  location.assign(`/documents/${(await ask("POST", "/api/collections", { name })).id}`);
});
named(document.getElementById("rename"), async (name) => {
  await ask("PATCH", address, { name });
  location.reload();
});

/** Show the files as they are now; again after a while as long as some are being read. */
let timer = 0;
async function refresh() {
  clearTimeout(timer);
  const response = await fetch(`/documents/${collection}/files`, { headers: { accept: "text/html" } });
  if (response.ok) {
    // Escaped by the server, like the page itself.
    const shown = new DOMParser().parseFromString(await response.text(), "text/html");
    const held = document.activeElement?.dataset.deleteFile;
    files.replaceChildren(...shown.body.childNodes);
    if (held) files.querySelector(`[data-delete-file="${CSS.escape(held)}"]`)?.focus();
  }
  if (files.querySelector("[data-reading]")) timer = setTimeout(refresh, 1000);
}
if (files?.querySelector("[data-reading]")) timer = setTimeout(refresh, 1000);

/* Each file is sent by itself, one after the other, so that one that is refused holds up no other. */
const uploads = document.getElementById("uploads");
let queue = Promise.resolve();
function add(chosen) {
  for (const row of uploads.querySelectorAll("[data-added]")) row.remove();
  for (const file of chosen) {
    const row = document.getElementById("upload-row").content.firstElementChild.cloneNode(true);
    const [name, state, bar] = row.children;
    name.textContent = file.name;
    uploads.append(row);
    queue = queue.then(() => upload(file, { row, state, bar })).then(refresh);
  }
}
async function upload(file, { row, state, bar }) {
  const told = (text, kind) => {
    state.textContent = text;
    state.className = `small ${kind}`;
    say(`${file.name}: ${text}`);
  };
  const refusal = (code) => uploads.getAttribute(`data-refused-${code.replaceAll("_", "-")}`);
  state.textContent = uploads.dataset.sending;
  const [status, answer] = await send(file, (share) => {
    bar.value = share;
  });
  bar.remove();
  const refused = answer.refused?.[0];
  if (refused) {
    told(refusal(refused.code) || refused.reason, "wrong");
    state.title = refused.reason;
    return;
  }
  if (status !== 201) return told(answer.detail || refusal("other"), "wrong");
  told(uploads.dataset.added, "good");
  row.dataset.added = "";
}
/** Send one file and tell how much of it has gone; `fetch` cannot. */
function send(file, onShare) {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    const body = new FormData();
    body.append("files", file);
    request.upload.addEventListener("progress", (event) => event.lengthComputable && onShare(event.loaded / event.total));
    request.addEventListener("loadend", () => {
      let answer = {};
      try {
        answer = JSON.parse(request.responseText);
      } catch {
        // Nothing came back, or no JSON: the status says so.
      }
      resolve([request.status, answer]);
    });
    request.open("POST", `${address}/files`);
    request.setRequestHeader("accept", "application/json");
    request.send(body);
  });
}

const drop = document.getElementById("drop");
if (drop) {
  const choose = document.getElementById("choose");
  choose.addEventListener("change", () => {
    add([...choose.files]);
    choose.value = "";
  });
  for (const kind of ["dragenter", "dragover"]) {
    document.addEventListener(kind, (event) => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      drop.classList.add("over");
    });
  }
  document.addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) drop.classList.remove("over");
  });
  document.addEventListener("drop", (event) => {
    drop.classList.remove("over");
    if (!event.dataTransfer?.files.length) return;
    event.preventDefault();
    add([...event.dataTransfer.files]);
  });
}

document.addEventListener("click", (event) => {
  const file = event.target.closest("[data-delete-file]");
  if (file) confirmDelete(file.dataset.name, `${address}/files/${file.dataset.deleteFile}`, refresh);
  const whole = event.target.closest("[data-delete-collection]");
  if (whole) confirmDelete(whole.dataset.name, address, () => location.assign("/documents"));
});

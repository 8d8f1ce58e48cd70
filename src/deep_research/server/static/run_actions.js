// What can be done with a run wherever it is shown: its tags are edited in place, and it is deleted after a question.

import { say } from "./frame.js";
import { ask } from "./request.js";

/** Words between commas, each once. */
const tagsIn = (text) => [...new Set(text.split(/[,，、;；]/).map((tag) => tag.trim()).filter(Boolean))];

function showTags(box, tags) {
  box.dataset.tags = JSON.stringify(tags);
  for (const chip of box.querySelectorAll("a.chip")) chip.remove();
  const chips = tags.map((tag) => {
    const chip = document.getElementById("tag-chip").content.firstElementChild.cloneNode(true);
    chip.href = box.dataset.to + encodeURIComponent(tag);
    chip.firstElementChild.textContent = tag;
    return chip;
  });
  box.prepend(...chips);
}

function editTags(box, button) {
  const form = document.getElementById("tag-form").content.firstElementChild.cloneNode(true);
  const field = form.elements.tags;
  const close = () => {
    form.remove();
    box.hidden = false;
    button.focus();
  };
  field.value = JSON.parse(box.dataset.tags).join(", ");
  form.querySelector("[data-cancel]").addEventListener("click", close);
  form.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const run = await ask("PATCH", `/api/runs/${box.dataset.run}`, { tags: tagsIn(field.value) });
      showTags(box, run.tags);
      close();
      say(run.tags.join(", "));
    } catch (problem) {
      field.setCustomValidity(problem.message);
      field.reportValidity();
      field.addEventListener("input", () => field.setCustomValidity(""), { once: true });
    }
  });
  box.after(form);
  box.hidden = true;
  field.focus();
  field.select();
}

/** Ask before something is deleted; `address` is deleted where the answer is yes, and `then` is called. */
export function confirmDelete(name, address, then) {
  const dialog = document.getElementById("confirm-delete");
  const wrong = dialog.querySelector(".wrong");
  wrong.hidden = true;
  dialog.querySelector(".named").textContent = name;
  const form = dialog.querySelector("form");
  form.onsubmit = async (event) => {
    if (event.submitter?.value !== "delete") return;
    event.preventDefault();
    event.submitter.disabled = true;
    try {
      await ask("DELETE", address);
      dialog.close();
      then();
    } catch (problem) {
      wrong.textContent = problem.message;
      wrong.hidden = false;
    } finally {
      event.submitter.disabled = false;
    }
  };
  dialog.showModal();
}

/** Make the buttons of every run on the page work. */
export function actOnRuns(deleted) {
  document.addEventListener("click", (event) => {
    const edit = event.target.closest("[data-edit-tags]");
    if (edit) editTags(edit.closest("[data-tags]"), edit);
    const remove = event.target.closest("[data-delete]");
    if (remove) confirmDelete(remove.dataset.name, `/api/runs/${remove.dataset.delete}`, () => deleted(remove));
  });
}

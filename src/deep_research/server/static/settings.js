// Settings: schedules are paused and deleted, the checks come when they are done, the table is filtered.

import { ask } from "./request.js";
import { confirmDelete } from "./run_actions.js";

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-schedule] button");
  if (!button) return;
  const address = `/api/schedules/${button.closest("[data-schedule]").dataset.schedule}`;
  if (button.dataset.paused === undefined) {
    confirmDelete(button.dataset.name, address, () => location.reload());
    return;
  }
  try {
    await ask("PATCH", address, { is_paused: button.dataset.paused === "true" });
    location.reload();
  } catch (error) {
    const problem = document.getElementById("problem");
    problem.querySelector("div").textContent = error.message;
    problem.hidden = false;
  }
});

const checks = document.getElementById("checks");
if (checks) {
  try {
    const response = await fetch("/settings/checks", { headers: { accept: "text/html" } });
    if (!response.ok) throw new Error(String(response.status));
    // Escaped by the server, like the page itself.
    checks.replaceChildren(...new DOMParser().parseFromString(await response.text(), "text/html").body.childNodes);
  } catch {
    checks.textContent = checks.dataset.failed;
  }
  checks.removeAttribute("aria-busy");
}

const filter = document.getElementById("filter");
if (filter) {
  filter.hidden = false;
  filter.addEventListener("input", () => {
    const wanted = filter.value.trim().toLowerCase();
    for (const row of document.querySelectorAll(".settings tbody tr")) {
      row.hidden = !row.textContent.toLowerCase().includes(wanted);
    }
  });
}

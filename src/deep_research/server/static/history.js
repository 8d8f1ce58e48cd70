// The history: tags are edited in place, runs are deleted, and a choice of status needs no button.

import { say } from "./frame.js";
import { actOnRuns } from "./run_actions.js";

actOnRuns((button) => {
  const run = button.closest(".run");
  const next = run.nextElementSibling || run.previousElementSibling;
  run.remove();
  say(button.dataset.name);
  if (next) next.querySelector("a").focus();
  else location.reload();
});

const status = document.getElementById("status");
status?.addEventListener("change", () => status.form.requestSubmit());

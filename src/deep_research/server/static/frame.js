// What every view has: the theme changes without a reload, and menus close as one expects.

const root = document.documentElement;

document.querySelector("[data-theme-switch]")?.addEventListener("submit", (event) => {
  event.preventDefault();
  const form = event.currentTarget;
  const theme = event.submitter.value;
  if (theme === "auto") delete root.dataset.theme;
  else root.dataset.theme = theme;
  for (const button of form.querySelectorAll("button")) {
    const isCurrent = button.dataset.themeOf === theme;
    button.toggleAttribute("data-current", isCurrent);
    if (isCurrent) button.focus();
  }
  fetch(form.action, { method: "POST", body: new URLSearchParams({ theme }), redirect: "manual" });
});

document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("[data-menu][open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const menu of document.querySelectorAll("[data-menu][open]")) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
});

/** Say something to those who listen instead of look. */
export function say(text) {
  document.getElementById("said").textContent = text;
}

// Moments are shown in the reader's own time.
export function showLocalTimes(root = document) {
  for (const time of root.querySelectorAll("time[data-local]")) {
    const at = new Date(time.dateTime);
    const [month, day, hour, minute] = [at.getMonth() + 1, at.getDate(), at.getHours(), at.getMinutes()].map((part) => String(part).padStart(2, "0"));
    time.textContent = `${at.getFullYear()}-${month}-${day} ${hour}:${minute}`;
    time.removeAttribute("data-local");
  }
}
showLocalTimes();

"use strict";
/* Light or dark, against what the system prefers. */
(() => {
  const root = document.documentElement;
  const theme = document.getElementById("theme");
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  theme.hidden = false;
  theme.addEventListener("click", () => {
    const isDark = (root.dataset.theme || (prefersDark.matches ? "dark" : "light")) === "dark";
    root.dataset.theme = isDark ? "light" : "dark";
    for (const source of document.querySelectorAll("picture source")) source.media = isDark ? "not all" : "screen";
  });
})();

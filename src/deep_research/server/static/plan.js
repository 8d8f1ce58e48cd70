// The plan editor: sections are added, removed and moved; everything else is a plain form.

/** Make the plan in a part of the page editable, if there is one. */
export function editPlan(root) {
  const form = root.querySelector("[data-plan]:not([data-edited])");
  if (!form) return;
  form.dataset.edited = "";
  const list = form.querySelector("[data-sections]");
  const add = form.querySelector("[data-add-section]");
  const most = Number(form.dataset.most);

  function settle() {
    const sections = [...list.children];
    sections.forEach((section, number) => {
      section.querySelector("[data-move=up]").disabled = number === 0;
      section.querySelector("[data-move=down]").disabled = number === sections.length - 1;
      section.querySelector("[data-move=remove]").disabled = sections.length === 1;
    });
    add.disabled = sections.length >= most;
  }

  list.addEventListener("click", (event) => {
    const button = event.target.closest("[data-move]");
    if (!button) return;
    const section = button.closest("[data-section]");
    const move = button.dataset.move;
    if (move === "up") section.previousElementSibling?.before(section);
    else if (move === "down") section.nextElementSibling?.after(section);
    else {
      const next = section.nextElementSibling || section.previousElementSibling;
      section.remove();
      next.querySelector("textarea").focus();
    }
    settle();
    if (move !== "remove") {
      // At the end of the list the button is of no more use; the other one is.
      const other = section.querySelector(`[data-move=${move === "up" ? "down" : "up"}]`);
      (button.disabled ? other : button).focus();
    }
  });
  add.addEventListener("click", () => {
    const template = document.getElementById("section-row");
    list.append(template.content.cloneNode(true));
    settle();
    list.lastElementChild.querySelector("textarea").focus();
  });
  form.addEventListener("keydown", (event) => {
    // A title is one line, however long.
    if (event.key === "Enter" && event.target.classList.contains("line")) event.preventDefault();
  });
  add.hidden = false;
  settle();
}

// The plan editor: sections are added, removed and moved. What was changed is kept in the browser until it is sent.

const FIELDS = ["section_title", "section_description", "section_queries"];

/** What the browser keeps of a run's plan; nothing where its owner forbids that. */
const draftOf = (run) => ({
  read: () => attempt((storage) => JSON.parse(storage.getItem(`plan-${run}`))) || {},
  write: (draft) => attempt((storage) => storage.setItem(`plan-${run}`, JSON.stringify(draft))),
  forget: () => attempt((storage) => storage.removeItem(`plan-${run}`)),
});

function attempt(work) {
  try {
    return work(window.sessionStorage);
  } catch {
    return null;
  }
}

/** Make the plan in a part of the page editable, if there is one; forget what was typed for one that is settled. */
export function editPlan(root) {
  const run = root.dataset.run;
  const draft = draftOf(run);
  if (!root.querySelector("[data-plan]")) draft.forget();
  const form = root.querySelector("[data-plan]:not([data-edited])");
  if (!form) return;
  form.dataset.edited = "";
  const list = form.querySelector("[data-sections]");
  const add = form.querySelector("[data-add-section]");
  const discard = form.querySelector("[data-discard]");
  const most = Number(form.dataset.most);
  // A plan that is made anew is another question of the run.
  const asked = form.closest("[data-once]").dataset.once;

  function settle() {
    const sections = [...list.children];
    sections.forEach((section, number) => {
      for (const button of section.querySelectorAll("[data-move]")) {
        button.title = button.ariaLabel = button.dataset.label.replace("#", number + 1);
      }
      section.querySelector("[data-move=up]").disabled = number === 0;
      section.querySelector("[data-move=down]").disabled = number === sections.length - 1;
      section.querySelector("[data-move=remove]").disabled = sections.length === 1;
    });
    add.disabled = sections.length >= most;
  }

  function newSection(texts = []) {
    const section = document.getElementById("section-row").content.firstElementChild.cloneNode(true);
    FIELDS.forEach((name, number) => {
      section.querySelector(`[name=${name}]`).value = texts[number] ?? "";
    });
    return section;
  }

  function keep() {
    const sections = [...list.children].map((section) => FIELDS.map((name) => section.querySelector(`[name=${name}]`).value));
    draft.write({ asked, title: form.elements.research_title.value, sections });
    discard.hidden = false;
  }

  function bringBack() {
    const typed = draft.read();
    if (typed.asked !== asked) return;
    form.elements.research_title.value = typed.title;
    list.replaceChildren(...typed.sections.map(newSection));
    discard.hidden = false;
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
    keep();
    if (move !== "remove") {
      // At the end of the list the button is of no more use; the other one is.
      const other = section.querySelector(`[data-move=${move === "up" ? "down" : "up"}]`);
      (button.disabled ? other : button).focus();
    }
  });
  add.addEventListener("click", () => {
    list.append(newSection());
    settle();
    keep();
    list.lastElementChild.querySelector("textarea").focus();
  });
  discard.addEventListener("click", () => {
    draft.forget();
    window.location.assign(`/runs/${run}`);
  });
  form.addEventListener("input", keep);
  form.addEventListener("keydown", (event) => {
    // A title is one line, however long.
    if (event.key === "Enter" && event.target.classList.contains("line")) event.preventDefault();
  });
  bringBack();
  add.hidden = false;
  settle();
}

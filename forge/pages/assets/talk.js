// Ticking tasks, and collecting comments on lines into one review.
"use strict";

(() => {
  document.addEventListener("change", async (event) => {
    const box = event.target;
    if (!box.matches("input.task")) return;
    const path = box.closest("[data-text]")?.dataset.text;
    if (!path) return;
    box.disabled = true;
    const fields = { line: box.dataset.line, label: box.dataset.label, checked: box.checked ? "1" : "0" };
    const done = await forge.post(`${path}/ticks`, fields);
    if (!done) box.checked = !box.checked;
    box.disabled = false;
  });
})();

(() => {
  const page = document.querySelector("[data-review]");
  const form = document.querySelector(".review-box");
  if (!page || !form) return;
  const kept = `review ${page.dataset.review}`;
  const blank = document.getElementById("line-form");

  const pending = () => [...page.querySelectorAll("tr.pending")].map((row) => ({
    path: row.dataset.path, line: Number(row.dataset.line), side: row.dataset.side, body: row.querySelector("textarea").value,
  }));

  function keep() {
    const comments = pending();
    sessionStorage.setItem(kept, JSON.stringify(comments));
    const count = document.getElementById("pending-count");
    count.hidden = comments.length === 0;
    count.textContent = comments.length === 1 ? "1 comment on a line" : `${comments.length} comments on lines`;
  }

  function open(row, body) {
    const made = blank.content.firstElementChild.cloneNode(true);
    made.dataset.path = row.closest("[data-path]").dataset.path;
    made.dataset.line = row.dataset.line;
    made.dataset.side = row.dataset.side;
    const area = made.querySelector("textarea");
    area.value = body;
    row.after(made);
    return area;
  }

  function rowOf(comment) {
    const file = [...page.querySelectorAll("[data-path]")].find((one) => one.dataset.path === comment.path);
    return [...(file?.querySelectorAll("tr[data-line]:not(.pending)") ?? [])].find(
      (row) => Number(row.dataset.line) === comment.line && row.dataset.side === comment.side);
  }

  page.addEventListener("click", (event) => {
    const adder = event.target.closest(".add-line");
    if (adder) {
      const area = open(adder.closest("tr"), "");
      area.focus({ preventScroll: true });
      area.scrollIntoView({ block: "center" });  // else the box of the review may cover it
      keep();
    }
    const dropper = event.target.closest("[data-drop]");
    if (dropper) { dropper.closest("tr").remove(); keep(); }
  });
  page.addEventListener("input", keep);
  form.addEventListener("submit", () => {
    form.elements.comments.value = JSON.stringify(pending().filter((comment) => comment.body.trim()));
    sessionStorage.removeItem(kept);
  });

  for (const comment of JSON.parse(sessionStorage.getItem(kept) ?? "[]")) {
    const row = rowOf(comment);
    if (row) open(row, comment.body);
  }
  keep();
})();

"use strict";
// A click on the number of a line opens the form for a remark there; shift and a click extend it to a range.
// With the keyboard: j and k in a file's lines, then Enter; Escape puts the form back. Without this, the form
// below each file has a field for the line.
(() => {
  let row = null, home = null, form = null, first = null;

  
  // Side by side a row has both numbers: a line of the new file is meant where there is one.
  function lineOf(row, cell) {
    const split = row.closest(".split"), [old, fresh] = split ? [row.cells[0], row.cells[2]] : [row.cells[0], row.cells[1]];
    const removed = old?.textContent && (!fresh?.textContent || (split && cell === old && row.cells[1].className === "del"));
    return removed ? {side: "-", number: Number(old.textContent)} : {side: "", number: Number(fresh?.textContent)};
  }

  function open(at, cell, extends_) {
    const line = lineOf(at, cell), path = at.closest("details.file").querySelector("summary bdi").textContent;
    if (!line.number) return;
    const own = at.closest("details.file").querySelector("form.act") ?? form ?? document.querySelector("details.remark form");
    if (!own) return;
    if (own !== form) close();
    const range = extends_ && first?.path === path && first.side === line.side && first.number < line.number;
    if (!range) first = {...line, path};
    home ??= {form: own, place: own.parentElement, path: own.elements.path.value};
    form = own;
    form.elements.path.value = path;
    form.elements.lines.value = line.side + (range ? `${first.number}-${line.number}` : line.number);
    row?.remove();
    row = at.closest("table").insertRow(at.rowIndex + 1);
    row.className = "remark";
    const place = row.insertCell();
    place.colSpan = 4;
    place.append(form);
    form.elements.text.focus();
  }

  function close() {
    if (!home) return;
    home.place.append(home.form);
    home.form.elements.path.value = home.path;
    row?.remove();
    row = home = form = first = null;
  }

  document.addEventListener("click", (event) => {
    const cell = event.target.closest?.(".diff td");
    if (cell && /^\d+$/.test(cell.textContent)) open(cell.parentElement, cell, event.shiftKey);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && form?.contains(event.target)) {
      const wide = row.closest(".wide");
      close();
      wide.focus();
    }
    if (!event.target.matches?.(".wide") || event.ctrlKey || event.metaKey || event.altKey) return;
    const rows = [...event.target.querySelectorAll("tr:not(.hunk, .remark)")], at = rows.findIndex((it) => it.matches(".chosen"));
    const to = {j: at + 1, k: at - 1}[event.key];
    if (event.key === "Enter" && at >= 0) open(rows[at], null, event.shiftKey);
    else if (to === undefined || !rows[to]) return;
    else {
      rows[at]?.classList.remove("chosen");
      rows[to].classList.add("chosen");
      rows[to].scrollIntoView({block: "nearest"});
    }
    event.preventDefault();
  });
})();

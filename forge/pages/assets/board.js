// Dragging cards. The select on each card does the same without a mouse.
"use strict";

(() => {
  const board = document.querySelector("[data-board]");
  if (!board) return;
  const line = document.createElement("div");
  line.className = "drop-line";
  let dragged = null;
  let from = null;

  const columnAt = (event) => event.target.closest?.(".column");

  function cardBelow(cards, y) {
    return [...cards.querySelectorAll(".card")].find((card) => {
      const box = card.getBoundingClientRect();
      return card !== dragged && y < box.top + box.height / 2;
    });
  }

  function clear() {
    line.remove();
    board.querySelectorAll(".over").forEach((column) => column.classList.remove("over"));
  }

  board.addEventListener("dragstart", (event) => {
    dragged = event.target.closest?.(".card");
    if (!dragged) return;
    const name = dragged.closest(".column").getAttribute("aria-label");
    from = { home: dragged.parentElement, next: dragged.nextElementSibling, name };
    forge.pause(true);
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", dragged.dataset.item);
    requestAnimationFrame(() => dragged?.classList.add("dragging"));
  });

  board.addEventListener("dragover", (event) => {
    const column = dragged && columnAt(event);
    if (!column) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = "move";
    board.querySelectorAll(".over").forEach((one) => one !== column && one.classList.remove("over"));
    column.classList.add("over");
    const cards = column.querySelector(".cards");
    cards.insertBefore(line, cardBelow(cards, event.clientY) ?? null);
  });

  board.addEventListener("drop", async (event) => {
    const column = dragged && columnAt(event);
    if (!column) return;
    event.preventDefault();
    const cards = column.querySelector(".cards");
    const below = cardBelow(cards, event.clientY) ?? null;
    const [card, { home, next, name }] = [dragged, from]; // `dragend` comes before the answer
    cards.insertBefore(card, below);
    const fields = { item: card.dataset.item, column: column.dataset.column, before: below?.dataset.item ?? "" };
    const done = await forge.post(`${board.dataset.board}/drops`, fields, `The card is back in ${name}.`);
    // Unless a refresh has put it back already.
    if (!done && card.isConnected) home.insertBefore(card, home.contains(next) ? next : null);
  });

  board.addEventListener("dragend", () => {
    clear();
    dragged?.classList.remove("dragging");
    dragged = null;
    forge.pause(false);
    forge.refresh(true);
  });
})();

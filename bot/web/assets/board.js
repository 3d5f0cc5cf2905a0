"use strict";
// Drags a card to another column: what that does is said while it is over it. The card's page has the same by form.
(() => {
  const LATE_MS = 10_000, SHOWN_MS = 6_000;
  const list = document.getElementById("moves"), toast = document.getElementById("toast");
  let moves = null, card = null, hiding = 0;

  function say(text) {
    toast.textContent = text;
    toast.hidden = !text;
    clearTimeout(hiding);
    hiding = setTimeout(() => { toast.hidden = true; }, SHOWN_MS);
  }
  const arm = () => list.querySelectorAll("li.card[data-card]").forEach((part) => { part.draggable = true; });
  new MutationObserver(arm).observe(list, {childList: true, subtree: true});
  arm();

  async function ask(id) {
    const answer = await fetch(list.dataset.moves + id, {signal: AbortSignal.timeout(LATE_MS)});
    if (!answer.ok) throw new Error(answer.statusText || answer.status);
    return answer.json();
  }

  list.addEventListener("dragstart", (event) => {
    card = event.target.closest("li.card[data-card]");
    if (!card) return;
    event.dataTransfer.effectAllowed = "move";
    event.dataTransfer.setData("text/plain", card.dataset.card);
    moves = ask(card.dataset.card).catch((error) => ({columns: [], why: `The card cannot be moved: ${error.message}.`}));
  });

  const over = (event) => event.target.closest?.("section[data-column]");
  list.addEventListener("dragover", (event) => {
    const column = over(event);
    if (!column || !card || column.contains(card)) return;
    event.preventDefault();
    if (column.classList.contains("over")) return;
    list.querySelector(".over")?.classList.remove("over");
    column.classList.add("over");
    say(`${column.dataset.column}: ${column.dataset.effect || "nothing happens there"}`);
  });
  list.addEventListener("dragend", () => { list.querySelector(".over")?.classList.remove("over"); });

  list.addEventListener("drop", async (event) => {
    const column = over(event), moved = card;
    if (!column || !moved || !moves) return;
    event.preventDefault();
    const {name, token, columns, why} = await moves, to = column.dataset.column;
    card = moves = null;
    if (!columns.includes(to)) return say(why || "The card cannot be moved there.");
    say(`Moving to ${to} …`);
    const body = new URLSearchParams({card: moved.dataset.card, name, token, text: to, back: list.dataset.back});
    try {
      const answer = await fetch("/act", {method: "POST", body, signal: AbortSignal.timeout(LATE_MS)});
      const html = new DOMParser().parseFromString(await answer.text(), "text/html");
      const told = html.querySelector("main [role=status].answer, main > p");
      say(told?.textContent.trim() || (answer.ok ? `Moved to ${to}.` : "Nothing was moved: try again."));
    } catch (error) {
      say(`The card may not have moved (${error.message}): check its column.`);
    }
  });
})();

"use strict";
// Keeps what an open page shows as it would be if it were loaded now. The page works without this.
// A list comes by its stream, without decisions: those stay, and those of other rows are fetched when they
// are opened. Any other page is loaded anew when its stream says that there is news.
(() => {
  const AGAIN_MS = 10_000, SPREAD_MS = 40_000;
  const state = document.getElementById("live"), main = document.querySelector("main");
  const list = () => document.getElementById("list");
  let busy = false, wanted = false, held = "", shown = "", again = 0;

  const isChanged = (field) => field.type === "select-one"
    ? field.selectedIndex !== Math.max(0, [...field.options].findIndex((option) => option.defaultSelected))
    : field.value !== field.defaultValue;
  const isTyped = (within) => (within.contains(document.activeElement)
      && document.activeElement.matches("form :is(input, textarea, select, button)"))
    || [...within.querySelectorAll("input, textarea, select")].some(isChanged);
  const parsed = (html) => new DOMParser().parseFromString(html, "text/html");

  function hold(then) {
    state.textContent = "updates available: shown once you send or clear your text";
    clearTimeout(again);
    again = setTimeout(then, AGAIN_MS);
  }

  function put(html) {
    held = html;
    if (held === shown) return;
    if (isTyped(list())) return void hold(() => put(held));
    const fresh = parsed(html).body;
    const offers = (part) => part.querySelector("[data-offers]")?.dataset.offers;
    if (offers(fresh) !== offers(list())) setTimeout(renew, Math.random() * SPREAD_MS);
    replace(list(), fresh);
    shown = html;
    tick();
    offerRetries();
    const waiting = list().querySelector("[data-waiting]");
    if (waiting) dispatchEvent(new CustomEvent("waiting", {detail: Number(waiting.dataset.waiting)}));
    state.textContent = "live";
  }

  // A row's decision fits while its card is as it was.
  const rowOf = (row) => `${row.querySelector("a")?.href} ${row.dataset.at} ${row.querySelector(".why")?.textContent}`;
  function keepForms(fresh) {
    const there = new Map([...list().querySelectorAll("li:has(form)")].map((row) => [rowOf(row), row]));
    for (const part of fresh.querySelectorAll("li > details"))
      part.replaceWith(there.get(rowOf(part.parentElement))?.querySelector("details") ?? part);
  }

  // Fills a row that has been opened with its decision: that is its reader's own, and in no stream.
  async function fetchDecision(event) {
    const part = event.target, row = part.closest("li[data-decide]"), place = part.querySelector(":scope > .decide");
    if (!part.open || row !== part.parentElement || !place || part.dataset.filled || place.querySelector("form, ol, .text")) return;
    part.dataset.filled = "asked";
    place.innerHTML = '<p class="skeleton">Loading the decision</p>';
    try {
      place.innerHTML = await decisionOf(row);
      if (!place.children.length) place.append("There is nothing to decide here any more.");
    } catch (error) {
      delete part.dataset.filled;
      place.replaceChildren();
      part.open = false;
      state.textContent = `the decision could not be loaded (${error.message}): open it again`;
    }
    part.dispatchEvent(new Event("filled"));
  }
  async function decisionOf(row) {
    const answer = await fetch(`/decide/${encodeURIComponent(row.dataset.decide)}`, {signal: AbortSignal.timeout(AGAIN_MS)});
    if (!answer.ok) throw new Error(answer.statusText || answer.status);
    const made = document.createElement("template"), here = new URL(location.href);
    made.innerHTML = await answer.text();  // made by the server
    here.searchParams.delete("acted");  // the answer to what was done before
    for (const form of made.content.querySelectorAll("form")) form.elements.namedItem("back").value = here.pathname + here.search;
    return made.innerHTML;
  }
  main.addEventListener("toggle", fetchDecision, true);

  // Retries the cards of one cause: each by its own form, one after the other, until one is refused.
  async function retryAll(button) {
    const rows = [...button.closest("li").querySelectorAll("li[data-decide]")];
    let done = 0;
    button.disabled = true;
    try {
      for (const row of rows) {
        const made = document.createElement("template");
        made.innerHTML = await decisionOf(row);
        const form = made.content.querySelector("form:has([name=name][value^='retry'])");
        if (!form) continue;
        const answer = await fetch(form.getAttribute("action"), {method: "POST", body: new URLSearchParams(new FormData(form)), redirect: "manual"});
        if (answer.type !== "opaqueredirect") throw new Error(answer.statusText || answer.status);
        done += 1;
        button.textContent = `${done} of ${rows.length} retried`;
      }
    } catch (error) {
      button.textContent = `${done} of ${rows.length} retried, then: ${error.message}. Retry the rest`;
      button.disabled = false;
    }
  }
  const offerRetries = () => document.querySelectorAll("[data-retry-all]").forEach((button) => { button.hidden = false; });
  main.addEventListener("click", (event) => { if (event.target.matches("[data-retry-all]")) retryAll(event.target); });
  offerRetries();

  async function renew() {
    wanted = true;
    if (busy) return;
    busy = true;
    try {
      while (wanted) {
        const html = isTyped(main) ? "" : await load();
        if (isTyped(main)) return void hold(renew);
        replace(main, parsed(html).querySelector("main"));
        state.textContent = "live";
      }
    } catch (error) {
      state.textContent = `out of date (${error.message}): retrying`;
      setTimeout(renew, AGAIN_MS);
    } finally {
      busy = false;
    }
  }

  async function load() {
    wanted = false;
    const answer = await fetch(location.href, {signal: AbortSignal.timeout(AGAIN_MS)});
    if (answer.status === 401 || answer.status === 404) location.reload();  // it says why
    if (!answer.ok) throw new Error(answer.statusText || answer.status);
    return answer.text();
  }

  const nameOf = (part) => `${part.closest("li")?.querySelector("a")?.href} ${part.querySelector("summary")?.textContent}`;
  function replace(old, fresh) {
    const opened = new Set([...old.querySelectorAll("details[open]")].map(nameOf));
    const active = old.contains(document.activeElement) ? document.activeElement : null;
    const link = active?.getAttribute("href"), at = active?.localName === "summary" && nameOf(active.parentElement);
    if (old !== main) keepForms(fresh);
    old.replaceChildren(...fresh.childNodes);
    for (const part of old.querySelectorAll("details")) {
      part.open ||= opened.has(nameOf(part));
      if (at === nameOf(part)) part.querySelector("summary")?.focus();
    }
    if (link) old.querySelector(`[href="${CSS.escape(link)}"]`)?.focus();
  }

  follow(state, list() ? {list: put} : {news: renew});
})();

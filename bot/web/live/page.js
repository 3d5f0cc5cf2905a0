"use strict";
// Loads what an open page shows anew when its stream says that there is news. The page works without this.
(() => {
  const AGAIN_MS = 10_000;
  const state = document.getElementById("live"), main = document.querySelector("main");
  let busy = false, wanted = false;

  const isChanged = (field) => field.type === "select-one"
    ? field.selectedIndex !== Math.max(0, [...field.options].findIndex((option) => option.defaultSelected))
    : field.value !== field.defaultValue;
  const isTyped = () => document.activeElement.matches("main form :is(input, textarea, select, button)")
    || [...main.querySelectorAll("input, textarea, select")].some(isChanged);

  async function renew() {
    wanted = true;
    if (busy) return;
    busy = true;
    try {
      while (wanted) {
        const html = isTyped() ? "" : await load();
        if (isTyped()) {
          state.textContent = "there is news: it comes once you have sent or emptied what you write here";
          setTimeout(renew, AGAIN_MS);
          return;
        }
        replace(new DOMParser().parseFromString(html, "text/html").querySelector("main"));
        state.textContent = "live";
      }
    } catch (error) {
      state.textContent = `as of a while ago (${error.message}): the page asks again`;
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

  const nameOf = (part) => `${part.closest("li")?.querySelector("a")?.href} ${part.querySelector("summary").textContent}`;
  function replace(fresh) {
    const opened = new Set([...main.querySelectorAll("details[open]")].map(nameOf));
    const active = main.contains(document.activeElement) ? document.activeElement : null;
    const link = active?.getAttribute("href"), at = active?.localName === "summary" && nameOf(active.parentElement);
    main.replaceChildren(...fresh.childNodes);
    for (const part of main.querySelectorAll("details")) {
      part.open ||= opened.has(nameOf(part));
      if (at === nameOf(part)) part.querySelector("summary").focus();
    }
    if (link) main.querySelector(`[href="${CSS.escape(link)}"]`)?.focus();
  }

  follow(state, {news: renew});
})();

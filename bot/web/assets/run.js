"use strict";
// Keeps an open run page as it would be if it were loaded now. The page works without this.
// data-offers: another word when other forms may be offered; data-forms: the address of this reader's forms.
(() => {
  const MOST = 1000, AGAIN_MS = 10_000;
  const lines = document.getElementById("lines");
  const state = document.getElementById("live");
  const forms = document.getElementById("forms"), sent = new WeakSet();
  let shown = "";

  function addLines(html) {
    const atEnd = innerHeight + scrollY >= document.body.scrollHeight - 80;
    lines.insertAdjacentHTML("beforeend", html);
    while (lines.children.length > MOST) lines.firstElementChild.remove();
    if (atEnd) scrollTo(0, document.body.scrollHeight);
  }

  function showNow(html) {
    if (html === shown) return;
    const made = document.createElement("template");
    made.innerHTML = shown = html;
    for (const fresh of [...made.content.children]) {
      const old = document.getElementById(fresh.id);
      const link = old.contains(document.activeElement) && document.activeElement.getAttribute("href");
      old.replaceWith(fresh);
      if (link) fresh.querySelector(`[href="${CSS.escape(link)}"]`)?.focus();
    }
    renewForms();
  }

  const offers = () => document.querySelector("[data-offers]").dataset.offers;
  let offered = offers(), asking = false, failed = false;

  async function renewForms() {
    if (asking || offers() === offered) return;
    asking = true;
    const wanted = offers();
    try {
      const answer = await fetch(forms.dataset.forms, {signal: AbortSignal.timeout(AGAIN_MS)});
      if (answer.status >= 500) throw new Error(answer.statusText);
      if (answer.ok) replaceForms(await answer.text());
      if (failed) state.textContent = page.over ? "ended" : "live";
      failed = false;
      offered = wanted;  // whoever may not see them any more is told so where the page is loaded again
    } catch (error) {
      failed = true;
      state.textContent = `the forms are out of date (${error.message}): retrying`;
      setTimeout(renewForms, AGAIN_MS);
      return;
    } finally {
      asking = false;
    }
    renewForms();  // what changed meanwhile
  }

  // A form that is offered still stays as it is, with the reader's words in it.
  const kind = (form) => form.elements.namedItem("name").value + form.textContent;
  function replaceForms(html) {
    const made = document.createElement("template");
    made.innerHTML = html;
    const fresh = new Map([...made.content.querySelectorAll("form")].map((form) => [kind(form), form]));
    for (const form of forms.querySelectorAll("form")) {
      if (!fresh.has(kind(form))) remove(form);
      else fresh.set(kind(form), form);
    }
    let place = forms.querySelector("form");
    for (const form of fresh.values()) {
      if (form === place) place = form.nextElementSibling;
      else forms.insertBefore(form, place);
    }
  }

  function remove(form) {
    const words = form.querySelector("textarea")?.value;
    form.remove();
    if (!words || sent.has(form)) return;
    const note = forms.appendChild(document.createElement("p"));
    note.className = "text";
    note.textContent = `This is no longer needed, so it was not sent:\n${words}`;
  }
  forms.addEventListener("submit", (event) => sent.add(event.target));

  const page = follow(state, {lines: addLines, now: showNow});
})();

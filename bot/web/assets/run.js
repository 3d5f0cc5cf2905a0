"use strict";
// Keeps an open run page as it would be if it were loaded now. The page works without this.
// data-offers: another word when other forms may be offered; data-forms: the address of this reader's forms.
(() => {
  const MOST = 1000, AGAIN_MS = 10_000;
  const lines = document.getElementById("lines");
  const state = document.getElementById("live");
  const forms = document.getElementById("forms"), sent = new WeakSet();
  const shown = new Map();

  const parsed = (html) => {
    const made = document.createElement("template");
    made.innerHTML = html;
    return made.content;
  };

  // The newest line is the first of its chapter, and the newest chapter the first of all.
  function addLines(html) {
    for (const line of [...parsed(html).children])
      (line.dataset.chapter ? chapterOf(line) : lines.querySelector("ol") ?? lines).prepend(line);
    const all = lines.querySelectorAll("ol > li");
    for (const line of [...all].slice(MOST)) line.remove();
    for (const chapter of lines.querySelectorAll(".chapter")) {
      const count = chapter.querySelectorAll("ol > li").length;
      if (count) chapter.querySelector("summary .quiet").textContent = count;
      else chapter.remove();
    }
  }

  function chapterOf(line) {
    const id = `c${line.dataset.chapter}`, old = document.getElementById(id);
    if (old) {
      old.querySelector("summary bdi").textContent = line.dataset.name;
      return old.querySelector("ol");
    }
    const made = parsed('<li class="chapter"><details open><summary><bdi></bdi> <span class="quiet"></span></summary><ol></ol></details></li>').firstChild;
    made.firstChild.id = id;
    made.querySelector("bdi").textContent = line.dataset.name;
    lines.prepend(made);
    return made.querySelector("ol");
  }

  function showNow(html) {
    for (const fresh of [...parsed(html).children]) {
      if (shown.get(fresh.id) === fresh.outerHTML) continue;
      shown.set(fresh.id, fresh.outerHTML);
      replace(document.getElementById(fresh.id), fresh);
    }
    renewForms();
  }

  function replace(old, fresh) {
    const active = old.contains(document.activeElement) ? document.activeElement : null;
    const link = active?.getAttribute("href"), fold = active?.localName === "summary" && active.parentElement.id;
    const folds = new Map([...old.querySelectorAll("details[id]")].map((part) => [part.id, part.open]));
    old.replaceWith(fresh);
    for (const part of fresh.querySelectorAll("details[id]")) part.open = folds.get(part.id) ?? part.open;
    if (link) fresh.querySelector(`[href="${CSS.escape(link)}"]`)?.focus();
    if (fold) document.getElementById(fold)?.querySelector("summary").focus();
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
      if (answer.ok) for (const fresh of parsed(await answer.text()).children) replaceForms(document.getElementById(fresh.id), fresh);
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
  function replaceForms(place, part) {
    const fresh = new Map([...part.querySelectorAll("form")].map((form) => [kind(form), form]));
    for (const form of place.querySelectorAll("form")) {
      if (!fresh.has(kind(form))) remove(form);
      else fresh.set(kind(form), form);
    }
    let next = place.querySelector("form");
    for (const form of fresh.values()) {
      if (form === next) next = form.nextElementSibling;
      else place.insertBefore(form, next);
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
  document.addEventListener("submit", (event) => sent.add(event.target));

  const page = follow(state, {lines: addLines, now: showNow});
})();

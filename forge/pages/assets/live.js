// Keeps a page as new as the forge, without taking away what somebody is reading or typing.
"use strict";

const forge = (() => {
  const EVERY_MS = 1000;
  const token = document.querySelector('meta[name="forge-token"]').content;
  const seen = new Map(); // key of an element -> its HTML as the server sent it
  let tag = null;
  let busy = false;
  let again = false;
  let paused = false;
  let lost = false;
  let posting = 0;
  let posts = 0; // a page that was asked for before the last of them is older than what the browser shows

  const lists = (root) => [...root.querySelectorAll("[data-list]")];
  const keyed = (list) => [...list.children].filter((child) => child.dataset.key);
  const name = (list, child) => `${list.dataset.list}/${child.dataset.key}`;

  // The HTML of an element without the lists inside it: those are compared for themselves.
  function shell(element) {
    const copy = element.cloneNode(true);
    lists(copy).forEach((list) => list.replaceChildren());
    return copy.outerHTML;
  }

  function remember(root) {
    lists(root).forEach((list) => keyed(list).forEach((child) => seen.set(name(list, child), shell(child))));
  }

  function isInUse(element) {
    const typing = document.activeElement;
    if (typing && element.contains(typing) && typing.matches("textarea, input:not(.task), select")) return true;
    if (element.querySelector("details.edit[open], tr.pending")) return true;
    return [...element.querySelectorAll("textarea")].some((area) => area.value !== area.defaultValue);
  }

  const summaryOf = (details) => details.querySelector("summary")?.textContent ?? "";

  function keepOpen(before, after) {
    const known = new Map([...before.querySelectorAll("details")].map((one) => [summaryOf(one), one.open]));
    after.querySelectorAll("details").forEach((one) => {
      if (known.has(summaryOf(one))) one.open = known.get(summaryOf(one));
    });
  }

  // Returns whether everything could be brought up to date.
  function follow(mine, theirs) {
    let whole = true;
    const here = new Map(keyed(mine).map((child) => [child.dataset.key, child]));
    let place = null;
    for (const fresh of keyed(theirs)) {
      const old = here.get(fresh.dataset.key);
      here.delete(fresh.dataset.key);
      const html = shell(fresh);
      let kept = old;
      if (!old) {
        kept = document.importNode(fresh, true);
        remember(wrap(kept.cloneNode(true), mine));
        ready(kept);
      } else if (seen.get(name(mine, old)) !== html) {
        if (isInUse(old)) { whole = false; } else {
          kept = document.importNode(fresh, true);
          keepOpen(old, kept);
          old.replaceWith(kept);
          remember(wrap(kept.cloneNode(true), mine));
          ready(kept);
        }
      } else {
        for (const list of lists(old)) {
          const match = lists(fresh).find((one) => one.dataset.list === list.dataset.list);
          if (match) whole = follow(list, match) && whole;
        }
      }
      const next = place ? place.nextSibling : mine.firstChild;
      if (kept !== next && kept !== skipText(next)) mine.insertBefore(kept, next);
      place = kept;
    }
    for (const [, old] of here) {
      if (isInUse(old)) { whole = false; continue; }
      seen.delete(name(mine, old));
      old.remove();
    }
    return whole;
  }

  function skipText(node) {
    while (node && node.nodeType !== Node.ELEMENT_NODE) node = node.nextSibling;
    return node;
  }

  function wrap(element, list) {
    const holder = document.createElement("div");
    const inner = holder.appendChild(list.cloneNode(false));
    inner.append(element);
    return holder;
  }

  function apply(html) {
    const fresh = new DOMParser().parseFromString(html, "text/html");
    const focus = whereFocusIs();
    let whole = true;
    const tops = lists(document).filter((list) => !list.parentElement.closest("[data-list]"));
    for (const list of tops) {
      const match = fresh.querySelector(`[data-list="${CSS.escape(list.dataset.list)}"]`);
      if (match) whole = follow(list, match) && whole;
    }
    if (focus && document.activeElement === document.body) focusAgain(focus);
    return whole;
  }

  const FOCUSABLE = "a[href], button, select, input, textarea, summary";

  // What has the keyboard's focus: which kind of thing of which element, for that element may be replaced.
  function whereFocusIs() {
    const element = document.activeElement;
    const keys = [];
    for (let at = element?.closest("[data-key]"); at; at = at.parentElement.closest("[data-key]")) keys.push(at);
    if (!keys.length) return null;
    const same = [...keys[0].querySelectorAll(element.tagName)];
    return { keys: keys.map((one) => one.dataset.key), tag: element.tagName, place: same.indexOf(element) };
  }

  // The same thing again; else the first of its element, or of what that was in: never the page's beginning.
  function focusAgain({ keys, tag, place }) {
    for (const key of keys) {
      const holder = document.querySelector(`[data-key="${CSS.escape(key)}"]`);
      const same = key === keys[0] ? holder?.querySelectorAll(tag)[place] : null;
      const usable = [same, ...(holder?.querySelectorAll(FOCUSABLE) ?? [])].find((one) => one && !one.disabled);
      if (usable) return usable.focus({ preventScroll: true });
    }
  }

  // `force`: also when nobody looks at the page, because something was just done on it.
  async function refresh(force = false) {
    if (posting || !document.querySelector("[data-list]")) return; // a post refreshes when it is done
    if (busy) { again = again || force; return; }
    if (!force && (paused || document.hidden)) return;
    busy = true;
    const before = posts;
    try {
      const headers = tag ? { "If-None-Match": tag } : {};
      const answer = await fetch(location.pathname + location.search, { headers, cache: "no-store", signal: AbortSignal.timeout(8000) });
      setLost(false);
      if (answer.status === 200) {
        const html = await answer.text();
        if (!paused && before === posts) tag = apply(html) ? answer.headers.get("ETag") : null;
      } else if (answer.status !== 304) {
        notice(answer.status === 404 ? "This is gone." : `The forge answered ${answer.status}.`);
      }
    } catch (error) {
      if (!(error instanceof TypeError) && error.name !== "TimeoutError") throw error;
      setLost(true); // the next round tries again
    } finally {
      busy = false;
    }
    if (again) { again = false; await refresh(true); }
  }

  function setLost(now) {
    if (lost === now) return;
    lost = now;
    document.getElementById("lost").hidden = !now;
  }

  let hideNotice = 0;
  function notice(text) {
    const place = document.getElementById("notice");
    place.textContent = text;
    place.hidden = false;
    clearTimeout(hideNotice);
    hideNotice = setTimeout(() => { place.hidden = true; }, 6000);
  }

  // Returns whether the forge did it; says why not otherwise, and `undone`, what became of it on the page.
  async function post(path, fields, undone = "") {
    let answer;
    posting += 1;
    posts += 1;
    try {
      answer = await fetch(path, {
        method: "POST",
        headers: { "X-Forge-Quiet": "1", "X-Forge-Token": token },
        body: new URLSearchParams(fields),
        signal: AbortSignal.timeout(20000),
      });
      if (!answer.ok) notice(`${await answer.text()} ${undone}`.trim());
    } catch (error) {
      if (!(error instanceof TypeError) && error.name !== "TimeoutError") throw error;
      notice(`The forge does not answer. ${undone}`.trim());
      setLost(true);
      return false;
    } finally {
      posting -= 1;
    }
    await refresh(true);
    return answer.ok;
  }

  async function submitQuietly(form, submitter) {
    const buttons = [...form.querySelectorAll("button:not([type=button])")];
    const fields = new FormData(form, submitter);
    buttons.forEach((button) => { button.disabled = true; });
    const typed = [...form.querySelectorAll("textarea, input[name=title]")];
    const was = typed.map((field) => field.value);
    const moved = form.matches(".move") ? form.closest("[data-key]").dataset.key : null;
    document.activeElement?.blur();
    const edit = form.closest("details.edit, details.add-card");
    // What was sent is no longer "being typed", so the refresh may replace it.
    if (form.closest("details.edit")) { edit.open = false; typed.forEach((field) => { field.defaultValue = field.value; }); }
    if (form.hasAttribute("data-clear")) typed.forEach((field) => { field.value = ""; field.defaultValue = ""; });
    const done = await post(form.action, fields);
    if (!done) { typed.forEach((field, i) => { field.value = was[i]; }); if (edit) edit.open = true; }
    else if (edit) edit.open = false;
    buttons.forEach((button) => { button.disabled = false; });
    if (moved) document.querySelector(`[data-key="${CSS.escape(moved)}"] .move select`)?.focus({ preventScroll: true });
  }

  function ago(moment) {
    const seconds = Math.max(0, (Date.now() - moment.getTime()) / 1000);
    if (seconds < 45) return "just now";
    if (seconds < 3300) return `${Math.max(1, Math.round(seconds / 60))} min ago`;
    if (seconds < 79200) return `${Math.round(seconds / 3600)} h ago`;
    return null;
  }

  function sayAges(root) {
    root.querySelectorAll("time").forEach((one) => {
      const words = ago(new Date(one.dateTime));
      if (words) one.textContent = words;
    });
  }

  const readiers = [sayAges];
  const ready = (root) => readiers.forEach((make) => make(root));

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.hasAttribute("data-quiet")) return;
    event.preventDefault();
    submitQuietly(form, event.submitter);
  });
  document.addEventListener("change", (event) => {
    event.target.closest("form[data-submit-on-change]")?.requestSubmit();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && event.target.matches("textarea")) {
      event.target.form?.requestSubmit();
    }
  });
  document.addEventListener("click", (event) => {
    const open = document.querySelector("details.menu[open]");
    if (open && !open.contains(event.target)) open.open = false;
    const cancel = event.target.closest("[data-cancel]");
    if (cancel) { cancel.form.reset(); cancel.closest("details").open = false; }
  });
  document.addEventListener("visibilitychange", () => refresh());
  document.getElementById("retry").addEventListener("click", () => refresh(true));

  remember(document);
  ready(document);
  setInterval(refresh, EVERY_MS);
  setInterval(() => sayAges(document), 20000);

  return {
    post, notice, refresh,
    pause(on) { paused = on; },
    whenReady(make) { readiers.push(make); make(document); },
  };
})();

"use strict";
// What every page has of its reader: times in their own zone, counts beside the links, keys, and the palette.
// Pages work without this: everything here is a link or a form of theirs.
(() => {
  const AGAIN_MS = 10_000, EVERY_MS = 60_000, TYPED_MS = 120;
  const one = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const make = (name, more = {}, ...parts) => {
    const made = Object.assign(document.createElement(name), more);
    made.append(...parts);
    return made;
  };
  const get = async (path) => {
    const answer = await fetch(path, {signal: AbortSignal.timeout(AGAIN_MS)});
    if (!answer.ok) throw new Error(answer.statusText || answer.status);
    return answer;
  };

  // Times.
  const named = (at) => `${at.toLocaleString(undefined, {dateStyle: "medium", timeStyle: "long"})} (${at.toISOString().slice(11, 19)} UTC)`;
  const local = (part) => {
    const at = new Date(part.dateTime);
    if (Number.isNaN(at.getTime())) return;
    part.title = named(at);
    const today = at.toDateString() === new Date().toDateString();
    part.textContent = at.toLocaleString(undefined, today ? {timeStyle: "medium"} : {dateStyle: "medium", timeStyle: "short"});
    part.dataset.done = "";
  };
  const times = () => {
    all("time[datetime]:not([data-done])").forEach(local);
    all("[data-since]:not([title])").forEach((part) => { part.title = `since ${named(new Date(part.dataset.since))}`; });
  };
  new MutationObserver(times).observe(document.body, {childList: true, subtree: true});
  times();

  // Counts: one number in the side bar, the title, the icon and the head of the inbox.
  const sprite = one(".side use").getAttribute("href").split("#")[0];
  const icon = (name) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const use = made.appendChild(document.createElementNS(made.namespaceURI, "use"));
    made.setAttribute("class", "icon");
    made.setAttribute("aria-hidden", "true");
    use.setAttribute("href", `${sprite}#${name}`);
    return made;
  };
  const number = (count) => count ? count.toLocaleString("en") : "";
  const title = document.title.replace(/^\([\d,]+\) /, ""), links = one("link[rel=icon]");
  function showWaiting(count) {
    one(".side [data-nav='/'] small").textContent = number(count);
    document.title = count ? `(${number(count)}) ${title}` : title;
    links.href = count ? links.dataset.waiting : links.dataset.calm;
    const head = document.getElementById("waiting");
    if (!head) return;
    head.hidden = !count;
    head.textContent = `${number(count)} waiting on you`;
  }
  function showBoards(boards) {
    const parts = boards.map((board) => {
      const link = make("a", {className: "board", href: board.path}, icon("kanban"), make("bdi", {}, board.name), make("small", {}, number(board.waiting)));
      if (board.path === location.pathname) link.setAttribute("aria-current", "page");
      return link;
    });
    const place = document.getElementById("boards"), every = one("a:not(.board)", place);  // of a narrow window
    place.classList.toggle("full", parts.length > 0);
    place.replaceChildren(every, ...(parts.length ? [make("p", {className: "heading"}, "Boards")] : []), ...parts);
  }
  const KEPT = `nav ${one(".side .who").textContent}`;
  const kept = () => JSON.parse(sessionStorage.getItem(KEPT) || "null");
  function show(nav) {
    showWaiting(nav.waiting);
    showBoards(nav.boards);
  }
  async function renew() {
    if (document.hidden) return;
    try {
      const nav = await (await get("/nav.json")).json();
      sessionStorage.setItem(KEPT, JSON.stringify({...nav, at: Date.now()}));
      show(nav);
    } catch {
      // What stood there stays: the next look is in a minute.
    }
  }
  const before = kept(), listed = one("[data-waiting]:not(link)");
  if (before) show(listed ? {...before, waiting: Number(listed.dataset.waiting)} : before);
  if (!before || listed || Date.now() - before.at > AGAIN_MS) renew();
  setInterval(renew, EVERY_MS);
  addEventListener("waiting", (event) => showWaiting(event.detail));

  // Rows of the inbox: one is chosen, and its decision is open or opens.
  const rows = () => all(".inbox > li").filter((row) => !row.parentElement.closest("details:not([open])"));
  // A row that goes takes no other's place: keys then wait until one is chosen.
  let last = "";
  const idOf = (row) => row?.dataset.decide || (row && one("a", row)?.href) || "";
  if (navigator.platform.startsWith("Mac")) one(".side .find kbd").textContent = "⌘K";
  const chosen = () => one(".inbox > li.chosen") || rows().find((row) => last && idOf(row) === last) || null;
  // The stream replaces the list: the chosen row stays chosen.
  const list = document.getElementById("list");
  if (list) new MutationObserver(() => chosen()?.classList.add("chosen")).observe(list, {childList: true});
  const details = (row) => row && one(":scope > details", row);
  const stop = (row) => one(":scope > details > summary", row) || one("a", row);
  function choose(row) {
    chosen()?.classList.remove("chosen");
    row?.classList.add("chosen");
    last = idOf(row) || last;
  }
  function step(by) {
    const there = rows(), at = there.indexOf(chosen());
    const row = there[at < 0 ? (by > 0 ? 0 : there.length - 1) : Math.min(there.length - 1, Math.max(0, at + by))];
    if (!row) return;
    choose(row);
    stop(row).focus();
    row.scrollIntoView({block: "nearest"});
  }
  addEventListener("focusin", (event) => {
    const row = event.target.closest(".inbox > li");
    if (row && document.activeElement !== document.body) choose(row);
  });
  const first = () => (last ? null : one(".inbox > li:has(> details[open])") || rows()[0]);
  // Opens the decision, and gives its part that fits once it is there.
  async function within(row, selector) {
    const part = details(row);
    if (!part) return null;
    if (!part.open) {
      part.open = true;
      if (!one("form.act", part)) await new Promise((done) => part.addEventListener("filled", done, {once: true}));
    }
    return one(selector, part);
  }
  const isShown = (row) => Boolean(details(row)?.open && one("form.act", details(row)));
  async function approve(row) {
    const shown = isShown(row), button = await within(row, "form.act:has([name=name][value^='approve']) button");
    if (!button) return;
    if (shown) button.click();  // what is approved has been on the screen
    else button.focus();
  }
  async function reply(row) {
    (await within(row, "form.act textarea"))?.focus();
  }
  document.querySelector("main").addEventListener("click", (event) => {
    const row = event.target.closest(".inbox > li > .row")?.parentElement;
    if (!row || event.target.closest("a") || !getSelection().isCollapsed) return;
    choose(row);
    if (details(row)) details(row).open = !details(row).open;
  });

  // Dialogs.
  const HELP = [["j, k", "next, previous card"], ["Enter", "open or close the decision"], ["1 to 9", "give that answer to the open question"],
    ["a", "approve the open plan"], ["r", "reply in your own words"], ["⌘ or Ctrl Enter", "send them"], ["/", "search the list"], ["g i, g b", "go to the inbox, the first board"], ["⌘K or Ctrl K", "find or do anything"], ["?", "this list"]];
  const OFF = "keys-off";
  function dialog(label, ...parts) {
    const made = make("dialog", {}, ...parts);
    made.setAttribute("aria-label", label);
    made.addEventListener("close", () => made.remove());
    made.addEventListener("click", (event) => { if (event.target === made) made.close(); });
    document.body.append(made);
    made.showModal();
    return made;
  }
  function help() {
    const list = make("dl", {}, ...HELP.flatMap(([keys, does]) => [make("dt", {}, make("kbd", {}, keys)), make("dd", {}, does)]));
    const off = make("input", {type: "checkbox", checked: keysAct()});
    off.addEventListener("change", () => off.checked ? localStorage.removeItem(OFF) : localStorage.setItem(OFF, "1"));
    dialog("Keys", make("h2", {}, "Keys"), list, make("label", {}, off, "Single keys act (⌘K and ? always do)"));
  }

  // The palette: what it finds is the server's word.
  const here = () => one("a", chosen() || document.createElement("p"))?.getAttribute("href") || location.pathname;
  function palette() {
    const field = make("input", {type: "text", placeholder: "Find a card, run, board or command", autocomplete: "off", maxLength: 100});
    const list = make("ul", {id: "found"}), hint = make("p", {className: "quiet hint"}, "Searching …");
    const at = here();
    let found = [], forms = [], place = 0, asked = 0, timer = 0;
    for (const [name, value] of Object.entries({role: "combobox", "aria-expanded": "true", "aria-controls": "found", "aria-label": "Find or do"})) field.setAttribute(name, value);
    list.setAttribute("role", "listbox");
    list.setAttribute("aria-label", "Found");
    hint.setAttribute("role", "status");
    const made = dialog("Find or do", field, list, hint);

    function mark(next) {
      if (!found.length) return field.removeAttribute("aria-activedescendant");
      place = (next + found.length) % found.length;
      [...list.children].forEach((item, index) => item.setAttribute("aria-selected", index === place));
      field.setAttribute("aria-activedescendant", `found-${place}`);
      list.children[place].scrollIntoView({block: "nearest"});
    }
    async function look() {
      const mine = ++asked;
      try {
        const answer = await (await get(`/find.json?${new URLSearchParams({q: field.value, at})}`)).json();
        if (mine !== asked) return;
        ({found, forms} = answer);
        list.replaceChildren(...found.map((it, index) => {
          const item = make("li", {id: `found-${index}`}, icon(it.icon), make("bdi", {}, it.name), make("small", {}, it.note));
          item.setAttribute("role", "option");
          item.addEventListener("click", () => take(it));
          return item;
        }));
        hint.textContent = found.length ? "" : "Nothing found that you may see.";
        mark(0);
      } catch (error) {
        if (mine === asked) hint.textContent = `The search failed (${error.message}): type again.`;
      }
    }
    function take(it) {
      if (it.path) return void location.assign(it.path);
      const part = make("div", {className: "found"});
      part.innerHTML = forms[it.form];  // made by the server, as on the card's page
      all("details", part).forEach((fold) => { fold.open ||= Boolean(it.choice); });
      if (it.choice) one("select", part).value = it.choice;
      made.replaceChildren(make("h2", {}, it.name), part);
      one("textarea, input:not([type=hidden]), button", part).focus();
    }
    field.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(look, TYPED_MS); });
    field.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown" || event.key === "ArrowUp") mark(place + (event.key === "ArrowDown" ? 1 : -1));
      else if (event.key === "Enter" && found[place]) take(found[place]);
      else return;
      event.preventDefault();
    });
    look();
  }
  one(".side button.find").addEventListener("click", (event) => { event.preventDefault(); palette(); });

  // Keys. They never act while somebody types, nor behind a dialog.
  let went = false;
  const keysAct = () => !localStorage.getItem(OFF);
  document.documentElement.toggleAttribute("data-keys", keysAct());
  if (keysAct()) choose(first());
  const pick = (key) => all("form.act fieldset button", details(chosen() || first()) || document.createElement("p"))[key - 1];
  const KEYS = {
    j: () => step(1), k: () => step(-1), a: () => approve(chosen() || first()), r: () => reply(chosen() || first()),
    "/": () => (one("input[type=search]") || {focus: palette}).focus(), "?": help,
    Enter: () => { const part = details(chosen() || first()); if (part) part.open = !part.open; },
  };
  addEventListener("keydown", (event) => {
    const {key} = event, types = event.target.closest?.("input, textarea, select, [contenteditable]");
    if (key === "Enter" && (event.metaKey || event.ctrlKey) && event.target.matches?.("form.act textarea")) {
      event.preventDefault();
      return void event.target.form.requestSubmit();
    }
    if (one("dialog[open]")) return;
    if ((event.metaKey || event.ctrlKey) && !event.altKey && key.toLowerCase() === "k") {
      event.preventDefault();
      return void palette();
    }
    if (types || event.metaKey || event.ctrlKey || event.altKey || event.isComposing || event.repeat && !"jk".includes(key)) return;
    if (!keysAct() && key !== "?") return;
    const goes = went && {i: "/", b: kept()?.boards[0]?.path}[key];
    went = key === "g";
    if (goes) return void location.assign(goes);
    if (key === "Enter" && event.target.closest?.("a, button, summary")) return;
    const act = KEYS[key] || (/^[1-9]$/.test(key) && isShown(chosen() || first()) && (() => pick(Number(key))?.click()));
    if (!act) return;
    event.preventDefault();
    act();
  });
})();

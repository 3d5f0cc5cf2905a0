"use strict";
// Keeps an open page as it would be if it were loaded now. The page works without this.
// data-live: the address of the page's stream; data-after: the last event that the page shows.
(() => {
  const MOST = 1000, LONGEST_S = 60;
  const SILENT_MS = 90_000;  // longer than a stream lives: the connection is gone without a word
  const lines = document.getElementById("lines"), now = document.getElementById("now");
  const state = document.getElementById("live"), {live, after} = state.dataset;
  let seen = after, source = null, shown = "", wait_s = 1, again = 0, guard = 0, over = false;

  const close = () => { source?.close(); source = null; clearTimeout(again); clearTimeout(guard); };
  const reopen = () => { close(); open(); };
  const alive = () => { clearTimeout(guard); guard = setTimeout(reopen, SILENT_MS); };

  function open() {
    if (source || over || document.hidden) return;
    source = new EventSource(`${live}?after=${seen}`);
    alive();
    source.onopen = () => { wait_s = 1; alive(); state.textContent = "live"; };
    source.onerror = () => {
      if (source.readyState !== EventSource.CLOSED) {  // the browser comes back by itself
        state.textContent = "connecting again …";
        return;
      }
      close();
      state.textContent = "not live just now: load the page again for what is new";
      again = setTimeout(open, wait_s * 1000);
      wait_s = Math.min(LONGEST_S, wait_s * 2);
    };
    source.addEventListener("lines", (event) => {
      const atEnd = innerHeight + scrollY >= document.body.scrollHeight - 80;
      lines.insertAdjacentHTML("beforeend", event.data);
      while (lines.children.length > MOST) lines.firstElementChild.remove();
      seen = event.lastEventId;
      alive();
      if (atEnd) scrollTo(0, document.body.scrollHeight);
    });
    source.addEventListener("now", (event) => {
      seen = event.lastEventId;
      alive();
      if (event.data === shown) return;
      const link = now.contains(document.activeElement) && document.activeElement.getAttribute("href");
      now.innerHTML = shown = event.data;
      if (link) now.querySelector(`[href="${CSS.escape(link)}"]`)?.focus();
    });
    source.addEventListener("over", () => { over = true; close(); state.textContent = "over"; });
  }

  // As `brief` in rules/text.py.
  const brief = (s) => s < 120 ? `${s} s` : s < 7200 ? `${Math.floor(s / 60)} min`
    : s < 172800 ? `${Math.floor(s / 3600)} h` : `${Math.floor(s / 86400)} days`;
  setInterval(() => {
    for (const place of now.querySelectorAll("[data-since]"))
      place.textContent = brief(Math.max(0, Math.floor((Date.now() - new Date(place.dataset.since)) / 1000)));
  }, 1000);

  // A hidden page follows nothing: browsers have six connections for all pages of one address.
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  open();
})();

"use strict";
// Holds the stream of an open page while the page is visible. `on`: what to do with each kind of message.
// data-live: the stream's address; data-after: the last event that the page shows.
/* exported follow, tick -- the page's own script calls them */

// As `brief` in rules/text.py.
const brief = (s) => s < 120 ? `${s} s` : s < 7200 ? `${Math.floor(s / 60)} min`
  : s < 172800 ? `${Math.floor(s / 3600)} h` : `${Math.floor(s / 86400).toLocaleString("en")} days`;
function tick() {
  for (const place of document.querySelectorAll("[data-since]"))
    place.textContent = brief(Math.max(0, Math.floor((Date.now() - new Date(place.dataset.since)) / 1000)));
}
setInterval(tick, 1000);

function follow(state, on) {
  const LONGEST_S = 60, SILENT_MS = 90_000;  // longer than a stream lives: the connection is gone without a word
  const {live, after} = state.dataset, page = {over: false};
  let seen = after, source = null, wait_s = 1, again = 0, guard = 0;

  const close = () => { source?.close(); source = null; clearTimeout(again); clearTimeout(guard); };
  const reopen = () => { close(); open(); };
  const alive = () => { clearTimeout(guard); guard = setTimeout(reopen, SILENT_MS); };

  function open() {
    if (source || page.over || document.hidden) return;
    source = new EventSource(`${live}${live.includes("?") ? "&" : "?"}after=${seen}`);
    alive();
    source.onopen = () => { wait_s = 1; alive(); state.textContent = "live"; };
    source.onerror = () => {
      if (source.readyState !== EventSource.CLOSED) {  // the browser comes back by itself
        state.textContent = "reconnecting …";
        return;
      }
      close();
      state.textContent = "not live right now: reload for updates";
      again = setTimeout(open, wait_s * 1000);
      wait_s = Math.min(LONGEST_S, wait_s * 2);
    };
    for (const [kind, take] of Object.entries(on)) {
      source.addEventListener(kind, (event) => {
        seen = event.lastEventId;
        alive();
        take(event.data);
      });
    }
    source.addEventListener("over", () => { page.over = true; close(); state.textContent = "ended"; });
  }

  // A hidden page follows nothing: browsers have six connections for all pages of one address.
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  open();
  return page;
}

"use strict";
// Says that an open list of cards is old, and loads it again while its reader does nothing with it.
// data-live: the address of the list's stream; data-after: the last event that the list shows.
(() => {
  const LEAST_MS = 15_000, AGAIN_MS = 2_000;
  const state = document.getElementById("live"), {live, after} = state.dataset, loaded = performance.now();
  let source = null, seen = after, old = false;

  const idle = () => !document.hidden && [document.body, null].includes(document.activeElement)
    && !document.querySelector(".cards details[open]")
    && [...document.querySelectorAll("input, textarea")].every((field) => field.value === field.defaultValue);

  function reload() {
    if (idle()) location.reload();
    else setTimeout(reload, AGAIN_MS);
  }

  function open() {
    if (source || old || document.hidden) return;
    source = new EventSource(`${live}?after=${seen}`);
    source.onopen = () => { state.textContent = "Live."; };
    source.onerror = () => {
      if (source.readyState !== EventSource.CLOSED) return;  // the browser comes back by itself
      state.textContent = "Not live just now: load the page again for what is new.";
    };
    source.addEventListener("changed", () => {
      old = true;
      close();
      const link = document.createElement("a");
      link.href = location.href;
      link.textContent = "Load it again";
      state.replaceChildren("Something changed. ", link);
      setTimeout(reload, Math.max(0, LEAST_MS - (performance.now() - loaded)));
    });
  }
  function close() { source?.close(); source = null; }

  // A hidden page follows nothing: browsers have six connections for all pages of one address.
  document.addEventListener("visibilitychange", () => (document.hidden ? close() : open()));
  open();
})();

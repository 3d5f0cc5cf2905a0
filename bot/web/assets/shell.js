"use strict";
// What every page has of its reader: times in their own zone. Pages work without this.
(() => {
  const local = (part) => {
    const at = new Date(part.dateTime);
    if (Number.isNaN(at.getTime())) return;
    part.title ||= `${part.textContent} (UTC)`;
    const today = at.toDateString() === new Date().toDateString();
    part.textContent = at.toLocaleString(undefined, today ? {timeStyle: "medium"} : {dateStyle: "medium", timeStyle: "short"});
    part.dataset.done = "";
  };
  const all = () => document.querySelectorAll("time[datetime]:not([data-done])").forEach(local);
  new MutationObserver(all).observe(document.body, {childList: true, subtree: true});
  all();
})();

// Keeps every element with data-live=URL as new as the server's fragment: one conditional request a second.
// The browser sends If-None-Match by itself; an unchanged fragment costs a 304. Says so when the server is lost.
"use strict";

const PERIOD_MS = 1000;
const LOST_AFTER_MS = 3000;

function follow(element) {
  let shown = null;
  let heard = Date.now();
  async function look() {
    try {
      const answer = await fetch(element.dataset.live, {cache: "no-cache", signal: AbortSignal.timeout(5000)});
      if (answer.status === 401) { location.reload(); return; }
      if (answer.ok) {
        const text = await answer.text();
        heard = Date.now();
        if (text !== shown) {
          shown = text;
          Idiomorph.morph(element, text, {morphStyle: "innerHTML", ignoreActiveValue: true});
          element.dispatchEvent(new CustomEvent("live", {bubbles: true}));
        }
      }
    } catch { /* it is tried again */ }
    document.documentElement.classList.toggle("is-lost", Date.now() - heard > LOST_AFTER_MS);
    setTimeout(look, PERIOD_MS);
  }
  look();
}

for (const element of document.querySelectorAll("[data-live]")) follow(element);

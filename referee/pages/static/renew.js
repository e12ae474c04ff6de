// Renews the content of a published page each data-renew seconds; an unchanged page costs the web server a 304.
"use strict";

const GIVE_UP_MS = 60000;
const seconds = Number(document.querySelector("main[data-renew]").dataset.renew);

async function renew() {
  try {
    const answer = await fetch(location.pathname, {cache: "no-cache", signal: AbortSignal.timeout(GIVE_UP_MS)});
    if (!answer.ok) throw new Error(answer.statusText);
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("main");
    const shown = document.getElementById("main");
    if (fresh && fresh.textContent !== shown.dataset.text) {
      fresh.dataset.text = fresh.textContent;
      shown.replaceWith(fresh);
      document.dispatchEvent(new CustomEvent("live"));
    }
  } catch { /* the next time may find it */ }
  setTimeout(renew, seconds * 1000);  // only now: on a slow line requests do not pile up
}

setTimeout(renew, seconds * 1000);

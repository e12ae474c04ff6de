// Keeps the element with data-live=URL as new as the server's fragment: one conditional request each data-every ms.
// The browser sends If-None-Match by itself; an unchanged fragment costs a 304. What a person has opened, focused or
// typed stays, and so does what scripts drew in [data-keep]; what is new in [data-arrives] is lit for a moment. Says so
// when the server is lost, and how old all of it is. A part with data-version is asked for only when it has changed. Each new content is announced by the event "live"; the event
// "look" asks for it at once.
"use strict";

// What a page draws or asks for before its first paint only delays that.
const painted = new Promise(done => new PerformanceObserver(done).observe({type: "paint", buffered: true}));
const LOST_AFTER_MS = 3000, GIVE_UP_MS = 5000;
let heard = Date.now();
const MORPH = {
  morphStyle: "innerHTML",
  callbacks: {
    beforeNodeMorphed: (old, fresh) => !isKept(old, fresh) && (old.value ?? "") === (old.defaultValue ?? old.value ?? ""),
    beforeAttributeUpdated: name => name !== "open",
    afterNodeAdded: node => {
      if (node.matches?.("[data-arrives]")) node.animate([{backgroundColor: "color-mix(in srgb, currentcolor 25%, transparent)"}, {}], 3000);
    },
  },
};

// A part with data-version that has not changed comes back empty, with data-same; a time already shown as local stays.
function isKept(old, fresh) {
  if (!old.dataset) return false;
  return "keep" in old.dataset || "same" in (fresh.dataset ?? {}) || (old.title && old.dateTime && old.dateTime === fresh.dateTime);
}

async function follow(element) {
  let shown = null, wake = () => {};
  element.addEventListener("look", () => wake());
  document.addEventListener("visibilitychange", () => wake());
  for (;;) {
    await new Promise(done => { wake = done; setTimeout(done, Number(element.dataset.every ?? 1000)); });
    const text = await newest(element.dataset.live + versions(element));
    if (text !== null) heard = Date.now();
    if (text !== null && text !== shown) show(element, shown = text);
  }
}

function versions(element) {
  const parts = [...element.querySelectorAll("[data-version]")].map(part => [part.id, part.dataset.version]);
  return parts.length ? `?${new URLSearchParams(parts)}` : "";
}

async function newest(url) {
  try {
    const answer = await fetch(url, {cache: "no-cache", signal: AbortSignal.timeout(GIVE_UP_MS)});
    if (answer.status === 401) location.reload();
    return answer.ok ? await answer.text() : null;
  } catch { return null; }
}

function show(element, text) {
  const focused = document.activeElement?.id;
  Idiomorph.morph(element, text, MORPH);
  if (focused && document.activeElement === document.body) document.getElementById(focused)?.focus();
  setClocks();
  element.dispatchEvent(new CustomEvent("live", {bubbles: true}));
}

function tellAge() {
  const ms = Date.now() - heard, lost = ms > LOST_AFTER_MS;
  document.documentElement.classList.toggle("is-lost", lost);
  document.getElementById("lost").hidden = !lost;
  if (lost) document.getElementById("age").textContent = `What you see is ${Math.round(ms / 1000)} s old.`;
}

// Clocks: data-left = seconds left when the fragment was made, data-key = what they are left of. They count between two
// answers; an answer that was on its way longer never sets one back.
const ends = new Map();
function setClocks() {
  const now = performance.now() / 1000;
  for (const {dataset} of document.querySelectorAll("[data-left]")) {
    const end = now + Number(dataset.left), known = ends.get(dataset.key);
    ends.set(dataset.key, known === undefined || Math.abs(end - known) > 2 ? end : Math.min(end, known));
  }
  tick();
}
function tick() {
  for (const clock of document.querySelectorAll("[data-left]")) {
    const left = Math.floor(Math.max(0, ends.get(clock.dataset.key) - performance.now() / 1000));
    const text = `${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")}`;
    if (clock.textContent !== text) clock.textContent = text;
  }
}

// The button #theme changes between light and dark; the server reads the cookie, so that no page flashes.
document.getElementById("theme")?.addEventListener("click", () => {
  const {dataset} = document.documentElement;
  const dark = dataset.theme ? dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  dataset.theme = dark ? "light" : "dark";
  document.cookie = `theme=${dataset.theme}; Path=/; Max-Age=31536000; SameSite=Lax`;
});

setClocks();
setInterval(tick, 100);
setInterval(tellAge, 500);
follow(document.querySelector("[data-live]"));

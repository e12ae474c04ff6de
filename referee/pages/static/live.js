// Keeps the element with data-live=URL as new as the server's fragment: one conditional request each data-every ms.
// The browser sends If-None-Match by itself; an unchanged fragment costs a 304. What a person has opened, focused or
// typed stays, and so does what scripts drew in [data-keep]; what is new in [data-arrives] is lit for a moment. Says so
// when the server is lost, and how old all of it is; when the log-in has ended, and when the server is of a new version. A part with data-version is asked for only when it has changed. Each new content is announced by the event "live"; the event
// "look" asks for it at once.
"use strict";

// What a page draws or asks for before its first paint only delays that.
const painted = new Promise(done => new PerformanceObserver(done).observe({type: "paint", buffered: true}));
const LOST_AFTER_MS = 3000, GIVE_UP_MS = 5000, MOST_PAUSE_MS = 5000, MOST_WAIT_MS = 60000;
const RENEW_WITHIN_MS = 5000, RENEW_EACH_MS = 60000;
let heard = Date.now(), lostAfter_ms = LOST_AFTER_MS, giveUp_ms = GIVE_UP_MS, isOver = false;
const {dataset: {pageVersion}} = document.currentScript;
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

// One request at a time: on a slow line at most half of the time is spent on them, and they are given up later. The
// longer the server is away, the rarer it is asked.
const every = element => Number(element.dataset.every ?? 1000);
async function follow(element) {
  let shown = null, pause_ms = every(element), wake = () => {};
  const hurry = () => wake();
  element.addEventListener("look", hurry);
  document.addEventListener("visibilitychange", hurry);
  addEventListener("online", hurry);
  while (!isOver) {
    await new Promise(done => { wake = done; setTimeout(done, pause_ms); });
    const since = performance.now(), text = await newest(element.dataset.live + versions(element));
    const took_ms = performance.now() - since;
    if (text === null) { pause_ms = Math.min(2 * pause_ms, MOST_PAUSE_MS); continue; }
    heard = Date.now();
    pause_ms = Math.max(every(element), took_ms);
    giveUp_ms = Math.max(GIVE_UP_MS, 3 * took_ms);
    lostAfter_ms = Math.max(LOST_AFTER_MS, pause_ms + 3 * took_ms);
    if (text !== shown) show(element, shown = text);
  }
}

function versions(element) {
  const parts = [...element.querySelectorAll("[data-version]")].map(part => [part.id, part.dataset.version]);
  return parts.length ? `?${new URLSearchParams(parts)}` : "";
}

// Who logs out is not told that the log-in has ended: a request on its way is dropped first.
const leaving = new AbortController();
addEventListener("submit", event => {
  if (!event.target.matches("[action$='/logout']")) return;
  isOver = true;
  leaving.abort();
});

async function newest(url) {
  try {
    const timeout = AbortSignal.timeout(giveUp_ms);
    const signal = AbortSignal.any?.([timeout, leaving.signal]) ?? timeout;
    const answer = await fetch(url, {cache: "no-cache", signal});
    if (answer.status === 401) end("Your log-in has ended; what you see is no longer renewed.", "Log in again");
    if (!answer.ok) return null;
    const version = answer.headers.get("Page-Version");
    if (version && version !== pageVersion && !isOver) meetNewVersion();
    return await answer.text();
  } catch (error) {
    if (error.name === "TimeoutError") giveUp_ms = Math.min(2 * giveUp_ms, MOST_WAIT_MS);
    return null;
  }
}

// A server of another version may answer with what these scripts and styles do not know: the page is loaded again, or,
// where that would lose what somebody types or was just done, says so.
function meetNewVersion() {
  const isTyped = document.querySelector("dialog[open]") || [...document.querySelectorAll("input, textarea")].some(
    one => one === document.activeElement || one.value !== one.defaultValue);
  const isLoop = Date.now() - Number(sessionStorage.getItem("renewed")) < RENEW_EACH_MS;
  if (isTyped || isLoop) { end("The referee has a new version; this page is no longer renewed.", "Load it again"); return; }
  isOver = true;
  sessionStorage.setItem("renewed", Date.now());
  setTimeout(() => location.reload(), Math.random() * RENEW_WITHIN_MS);  // a hall of phones does not come at once
}

// Asks no more, and says why, with a link to this page.
function end(sentence, way) {
  isOver = true;
  const why = Object.assign(document.createElement("span"), {role: "alert", textContent: sentence});
  const link = Object.assign(document.createElement("a"), {href: location.pathname + location.search, textContent: way});
  const lost = document.getElementById("lost");
  lost.replaceChildren(why, " ", link);
  lost.hidden = false;
  document.documentElement.classList.add("is-lost");
}

function show(element, text) {
  const focused = document.activeElement?.id;
  Idiomorph.morph(element, text, MORPH);
  if (focused && document.activeElement === document.body) document.getElementById(focused)?.focus();
  setClocks();
  element.dispatchEvent(new CustomEvent("live", {bubbles: true}));
}

function tellAge() {
  if (isOver) return;
  const ms = Date.now() - heard, lost = ms > lostAfter_ms;
  document.documentElement.classList.toggle("is-lost", lost);
  document.getElementById("lost").hidden = !lost;
  if (lost) document.getElementById("age").textContent = `What you see is ${Math.round(ms / 1000)} s old.`;
}

// A browser that goes back shows a page as it was left, perhaps before a log-out.
addEventListener("pageshow", event => { if (event.persisted) location.reload(); });

// Clocks: data-left = seconds left when the fragment was made, data-key = what they are left of. They count between two
// answers; an answer that was on its way longer never sets one back.
const ends = new Map();
function setClocks() {
  const now = performance.now() / 1000, clocks = [...document.querySelectorAll("[data-left]")];
  for (const key of ends.keys()) if (!clocks.some(clock => clock.dataset.key === key)) ends.delete(key);
  for (const {dataset} of clocks) {
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

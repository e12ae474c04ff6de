// The projector: the announcement line by line; below the leaders one page of the others after the other.
"use strict";

const PAGE_MS = 10000, LINE_MS = 5000, TURN_MS = 30000, RUNS_AT_ONCE = 4;

function turn() {
  turnLine(document.querySelector(".line"));
  showPage(document.querySelectorAll(".runs article"), document.getElementById("runs-page"), RUNS_AT_ONCE);
  const rest = document.querySelector(".rest");
  if (!rest) return;
  const rows = rest.querySelectorAll("tr");
  for (const row of rows) row.hidden = false;
  const isCeremony = "first" in rest.dataset;
  showPage(rows, document.getElementById("rest-page"), fitting(rows), isCeremony ? 0 : null);
}

function turnLine(line) {
  if (!line) return;
  const lines = Math.round(line.scrollHeight / line.clientHeight);
  line.scrollTop = Math.floor(Date.now() / LINE_MS) % lines * line.clientHeight;
}

// How many rows fit below the place of the first, above the screen's margin, where they would be cut.
function fitting(rows) {
  if (!rows.length) return 1;
  const {top, height} = rows[0].getBoundingClientRect();
  const margin = parseFloat(getComputedStyle(document.querySelector("main")).paddingBottom);
  return Math.max(1, Math.floor((innerHeight - margin - top + .5) / height));
}

// Hides all but one page of the items: page `chosen`, or one after the other.
function showPage(items, note, count, chosen = null) {
  const pages = Math.max(1, Math.ceil(items.length / count));
  const page = chosen ?? Math.floor(Date.now() / PAGE_MS) % pages;
  items.forEach((item, at) => { item.hidden = Math.floor(at / count) !== page; });
  if (!note) return;
  note.hidden = pages === 1;
  note.textContent = pages === 1 ? "" : `Page ${page + 1} of ${pages}`;
}

// With data-turn=ADDRESS the screen goes there, once no team has run and nothing was unveiled for TURN_MS, if the list at
// data-turn-if has something to show; that page leads back.
let idleSince = null;
async function turnToReplays() {
  const turn = document.querySelector("[data-turn]")?.dataset;
  const isIdle = turn && document.querySelector(".idle") && !document.documentElement.classList.contains("is-lost");
  idleSince = isIdle ? idleSince ?? Date.now() : null;
  if (!isIdle || Date.now() - idleSince < TURN_MS) return;
  idleSince = null;
  const answer = await fetch(turn.turnIf, {cache: "no-cache"}).catch(() => null);
  if (answer?.ok && (await answer.json()).items.length) location.replace(turn.turn);
}

document.addEventListener("live", turn);
addEventListener("resize", turn);
setInterval(turn, 500);
setInterval(turnToReplays, 1000);
painted.then(turn);

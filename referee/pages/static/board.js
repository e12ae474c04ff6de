// The public board: local times, and on a projector one page of the ranking after the other.
"use strict";

const PAGE_MS = 10000;
const SHORT = {hour: "2-digit", minute: "2-digit"};

function dress() {
  for (const time of document.querySelectorAll("[data-time]")) time.textContent = new Date(time.dataset.time).toLocaleTimeString([], SHORT);
  if (document.body.classList.contains("projector")) turn();
}

// As many rows as fit; while the board is unveiled, the page with the newest place.
function turn() {
  const body = document.querySelector(".ranking tbody"), note = document.querySelector(".pages");
  if (!body) return;
  const rows = [...body.rows];
  rows.forEach(row => { row.hidden = false; });
  const tallest = Math.max(...rows.map(row => row.offsetHeight));
  const space = innerHeight - body.getBoundingClientRect().top - 2.2 * parseFloat(getComputedStyle(note).fontSize);
  const each = Math.max(1, Math.floor(space / tallest)), pages = Math.ceil(rows.length / each);
  const newest = rows.findIndex(row => row.classList.contains("newest"));
  const page = newest >= 0 ? Math.floor(newest / each) : Math.floor(Date.now() / PAGE_MS) % pages;
  rows.forEach((row, at) => { row.hidden = Math.floor(at / each) !== page; });
  note.hidden = pages === 1;
  note.textContent = `Page ${page + 1} of ${pages}`;
}

document.addEventListener("live", dress);
addEventListener("resize", dress);
if (document.body.classList.contains("projector")) setInterval(turn, 500);
painted.then(dress);

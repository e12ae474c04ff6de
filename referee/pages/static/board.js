// The public board: local times, and on a projector one page of the ranking after the other.
"use strict";

const PAGE_MS = 10000;
const SHORT = {hour: "2-digit", minute: "2-digit"};

function dress() {
  for (const time of document.querySelectorAll("[data-time]")) time.textContent = new Date(time.dataset.time).toLocaleTimeString([], SHORT);
  if (document.body.classList.contains("projector")) turn();
}

// As many rows, and as many announcements, as fit; while the board is unveiled, the page with the newest place.
function turn() {
  const body = document.querySelector(".ranking tbody"), notices = document.querySelector(".notices");
  if (notices) {
    const note = notices.querySelector(".pages");
    showPage([...notices.querySelectorAll(".notice")], notices.getBoundingClientRect().top + innerHeight / 5, note);
  }
  if (!body) return;
  const rows = [...body.rows], newest = rows.findIndex(row => row.classList.contains("newest"));
  showPage(rows, innerHeight, document.querySelector(".ranking .pages"), newest);
}

// Hides all but one page of the items, which begin where the first one lies and may reach down to `bottom`: the page
// with the item `chosen`, or one after the other.
function showPage(items, bottom, note, chosen = -1) {
  items.forEach(item => { item.hidden = false; });
  const tallest = Math.max(...items.map(item => item.offsetHeight));
  const space = bottom - items[0].getBoundingClientRect().top - 2.2 * parseFloat(getComputedStyle(note).fontSize);
  const each = Math.max(1, Math.floor(space / tallest)), pages = Math.ceil(items.length / each);
  const page = chosen >= 0 ? Math.floor(chosen / each) : Math.floor(Date.now() / PAGE_MS) % pages;
  items.forEach((item, at) => { item.hidden = Math.floor(at / each) !== page; });
  note.hidden = pages === 1;
  note.textContent = pages === 1 ? "" : `Page ${page + 1} of ${pages}`;
}

document.addEventListener("live", dress);
addEventListener("resize", dress);
if (document.body.classList.contains("projector")) setInterval(turn, 500);
painted.then(dress);

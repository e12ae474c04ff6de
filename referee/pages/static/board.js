// The public board: on a projector one page of the ranking after the other.
"use strict";

const PAGE_MS = 10000, RUNS_AT_ONCE = 4;

function dress() {
  if (document.body.classList.contains("projector")) turn();
}

// As many rows and announcements as fit, and four of those who run; while the board is unveiled, the page with the
// newest place.
function turn() {
  const runs = document.querySelectorAll(".now article"), notices = document.querySelectorAll(".notice");
  const rows = document.querySelectorAll(".ranking tbody tr");
  if (runs.length) showPage(runs, ".now .pages", () => RUNS_AT_ONCE);
  if (notices.length) {
    const bottom = document.querySelector(".notices").getBoundingClientRect().top + innerHeight / 5;
    showPage(notices, ".notices .pages", note => fitting(notices, bottom, note));
  }
  const newest = [...rows].findIndex(row => row.classList.contains("newest"));
  if (rows.length) showPage(rows, ".ranking .pages", note => fitting(rows, innerHeight, note), newest);
}

// How many of the items, each as high as the tallest, fit above `bottom` with the note below them.
function fitting(items, bottom, note) {
  const tallest = Math.max(...[...items].map(item => item.offsetHeight));
  const space = bottom - items[0].getBoundingClientRect().top - 2.2 * parseFloat(getComputedStyle(note).fontSize);
  return Math.max(1, Math.floor(space / tallest));
}

// Hides all but one page of the items: that with the item `chosen`, or one after the other.
function showPage(items, where, count, chosen = -1) {
  const note = document.querySelector(where);
  items.forEach(item => { item.hidden = false; });
  const each = count(note), pages = Math.ceil(items.length / each);
  const page = chosen >= 0 ? Math.floor(chosen / each) : Math.floor(Date.now() / PAGE_MS) % pages;
  items.forEach((item, at) => { item.hidden = Math.floor(at / each) !== page; });
  note.hidden = pages === 1;
  note.textContent = pages === 1 ? "" : `Page ${page + 1} of ${pages}`;
}

document.addEventListener("live", dress);
addEventListener("resize", dress);
if (document.body.classList.contains("projector")) setInterval(turn, 500);
painted.then(dress);

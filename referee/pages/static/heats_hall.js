// The standings in a hall: one page of the table after the other, each as many rows as fit.
"use strict";

const TABLE_PAGE_MS = 10000;

function turnTable() {
  const section = document.querySelector(".heats-hall section:has(table)");
  if (!section) return;
  const rows = [...section.querySelectorAll("tbody tr")];
  for (const row of rows) row.hidden = false;
  const [first] = rows, note = document.getElementById("table-page");
  if (!first) return;
  const {top, height} = first.getBoundingClientRect();
  const room = section.getBoundingClientRect().bottom - top;
  const count = Math.max(1, Math.floor(room / height)), pages = Math.ceil(rows.length / count);
  const page = Math.floor(Date.now() / TABLE_PAGE_MS) % pages;
  rows.forEach((row, at) => { row.hidden = Math.floor(at / count) !== page; });
  note.textContent = pages === 1 ? "" : `Page ${page + 1} of ${pages}`;
}

document.addEventListener("live", turnTable);
addEventListener("resize", turnTable);
setInterval(turnTable, 500);
painted.then(turnTable);

// Set-up and settings: the page that waits for the next worker goes on by itself, and a form that takes long says so.
"use strict";

for (const button of document.querySelectorAll("[data-prints]")) button.addEventListener("click", () => print());

const waiting = document.getElementById("waiting");

async function look() {
  try {
    const answer = await fetch(waiting.dataset.address, {redirect: "manual", cache: "no-store"});
    if (answer.type === "opaqueredirect") { location.href = waiting.dataset.address; return; }
  } catch { /* no worker answers yet */ }
  setTimeout(look, 250);
}
if (waiting) setTimeout(look, 600);

// A second click would send the form again.
document.addEventListener("submit", event => {
  const button = event.submitter;
  if (!button) return;
  if (event.target.dataset.sent) { event.preventDefault(); return; }
  event.target.dataset.sent = "yes";
  button.setAttribute("aria-busy", "true");
});
addEventListener("pageshow", () => { for (const one of document.querySelectorAll("[data-sent]")) delete one.dataset.sent; });

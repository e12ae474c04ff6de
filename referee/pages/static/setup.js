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

// A second click would send the form again; what takes long says for how long.
document.addEventListener("submit", event => {
  const button = event.submitter;
  if (!button) return;
  if (event.target.dataset.sent) { event.preventDefault(); return; }
  const others = [...document.forms].filter(one => one !== event.target && is_edited(one));
  if (others.length && !confirm("Other edits on this page are not written, and would be lost. Go on?")) { event.preventDefault(); return; }
  event.target.dataset.sent = "yes";
  button.setAttribute("aria-busy", "true");
  setTimeout(() => show_progress(button), 0);  // the browser has made the request by then
});

function show_progress(button) {
  button.disabled = true;
  const word = button.dataset.busy;
  if (!word) return;
  button.dataset.label = button.textContent;
  const typed = Number(button.form.elements[button.dataset.secondsOf]?.value || 0);
  const expected = Number(button.dataset.seconds || 0) + typed;
  const begun = Date.now();
  const say = () => {
    const spent = Math.round((Date.now() - begun) / 1000);
    const left = expected ? (expected > spent ? `, ${expected - spent} s` : ", a moment more") : spent ? `, for ${spent} s` : "";
    button.textContent = word + left;
  };
  say();
  const timer = setInterval(say, 1000);
  addEventListener("pagehide", () => clearInterval(timer), {once: true});
}
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("[data-sent]")) delete form.dataset.sent;
  for (const button of document.querySelectorAll("button[aria-busy]")) {
    button.disabled = false;
    button.removeAttribute("aria-busy");
    if (button.dataset.label) button.textContent = button.dataset.label;
  }
});

// Edits that are not written are lost with the page, so the browser asks first.
function is_edited(form) {
  if (form.dataset.sent) return false;
  return [...form.elements].some(one => {
    if (!one.name || one.type === "hidden") return false;
    const was = form.elements[`was.${one.name}`];
    if (one.type === "checkbox") return was ? one.checked !== (was.value !== "") : one.checked !== one.defaultChecked;
    if (was) return one.value !== was.value;
    return one.type !== "radio" && one.tagName !== "SELECT" && "defaultValue" in one && one.value !== one.defaultValue;
  });
}
addEventListener("beforeunload", event => {
  if (document.querySelector("form[data-sent]")) return;
  if ([...document.forms].some(is_edited)) event.preventDefault();
});

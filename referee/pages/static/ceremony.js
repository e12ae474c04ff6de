// The keys of an operator who is logged in: while places are unveiled, Space, Enter, the right arrow or Page Down (as
// presenters' remote controls send it) shows the next one. [data-seen] says how many the page shows.
"use strict";

const KEYS = [" ", "Enter", "ArrowRight", "PageDown"];
let forget, underWay = false;

addEventListener("keydown", event => {
  const shown = document.querySelector("[data-seen]");
  if (!shown || event.repeat || !KEYS.includes(event.key) || event.target.closest("a")) return;
  event.preventDefault();
  unveilNext(shown.dataset.seen);
});
document.addEventListener("click", event => {
  const button = event.target.closest("button[data-unveils]");
  if (button) unveilNext(button.dataset.unveils);
});

async function unveilNext(seen) {
  if (underWay) return;
  underWay = true;
  const headers = {"Content-Type": "application/json", "X-CSRF-Token": document.querySelector("meta[name=csrf]").content};
  try {
    const answer = await fetch("/operator/board/unveil", {method: "POST", headers, body: JSON.stringify({seen})});
    if (!answer.ok) say((await answer.json()).detail);
  } catch {
    say("No answer came, so it may have happened or not: look before you repeat it.");
  }
  underWay = false;
  document.querySelector("[data-live]").dispatchEvent(new Event("look"));
}

function say(sentence) {
  const said = document.getElementById("said");
  said.textContent = sentence;
  clearTimeout(forget);
  forget = setTimeout(() => { said.textContent = ""; }, 8000);
}

// The console's actions: a button with data-path opens the dialog #ask, which says what will happen and takes the
// fields; its confirmation is POSTed once, and the answer is said, in the dialog when it failed.
"use strict";

const part = name => document.getElementById(name);
const ask = part("ask"), form = ask.querySelector("form"), failure = part("ask-failure");
let asked = null, underWay = false, forget;

function field({name, label, options, value, kind = "text", optional = false, must = false}) {
  const around = document.createElement("label"), input = document.createElement(options ? "select" : kind === "lines" ? "textarea" : "input");
  input.name = name;
  const choices = optional && options ? ["", ...options] : options;
  if (options) input.append(...choices.map(one => new Option(one || "none", one, one === value, one === value)));
  else { if (kind !== "lines") input.type = kind; input.value = value ?? ""; input.autocomplete = "off"; }
  if (kind === "number") input.min = 0;
  input.required = must || !optional && kind !== "checkbox";
  around.append(...(kind === "checkbox" ? [input, label] : [label, input]));
  return around;
}

document.addEventListener("click", event => {
  const button = event.target.closest("button[data-path]");
  if (!button) return;
  asked = {title: button.ariaLabel, fields: "[]", send: "{}", ...button.dataset, id: button.id};
  part("ask-title").textContent = asked.title;
  part("ask-says").textContent = asked.says;
  part("ask-fields").replaceChildren(...JSON.parse(asked.fields).map(field));
  part("ask-do").textContent = asked.title;
  part("ask-do").classList.toggle("destroys", button.classList.contains("destroys"));
  failure.hidden = true;
  ask.showModal();
  (part("ask-fields").querySelector(":is(input, textarea):required") ?? part("ask-do")).focus();
});

// A field "sides/station-1" goes into the object "sides".
function put(sent, name, value) {
  const slash = name.indexOf("/");
  if (slash < 0) sent[name] = value;
  else (sent[name.slice(0, slash)] ??= {})[name.slice(slash + 1)] = value;
}

form.addEventListener("submit", async event => {
  event.preventDefault();
  if (underWay) return;
  const sent = {...JSON.parse(asked.send)};
  for (const [name, value] of new FormData(form)) if (value !== "") put(sent, name, value);
  if (asked.later) { ask.close(); say(asked.later); say((await post(asked, sent))[1]); return; }
  setUnderWay(true);
  const [ok, sentence] = await post(asked, sent);
  setUnderWay(false);
  if (ok) { ask.close(); say(sentence); } else { failure.textContent = sentence; failure.hidden = false; }
  part("live").dispatchEvent(new Event("look"));
});

async function post({path, done}, body) {
  const headers = {"Content-Type": "application/json", "X-CSRF-Token": document.querySelector("meta[name=csrf]").content};
  try {
    const answer = await fetch(path, {method: "POST", headers, body: JSON.stringify(body)});
    const document_ = await answer.json().catch(() => ({}));
    if (answer.ok) return [true, [document_.sentence ?? done, document_.config_changed].filter(Boolean).join(" ")];
    return [false, document_.detail ?? `The server answered ${answer.status}.`];
  } catch {
    return [false, "No answer came, so it may have happened or not: look before you repeat it."];
  }
}

function setUnderWay(now) {
  underWay = now;
  form.setAttribute("aria-busy", now);
  part("ask-do").disabled = part("ask-cancel").disabled = now;
}

function say(sentence) {
  part("said").textContent = sentence;
  clearTimeout(forget);
  forget = setTimeout(() => { part("said").textContent = ""; }, 12000);
}

// With two people who decide, no one publishes what the same person has confirmed: a word stands in place of the button.
const viewer = document.querySelector("meta[name=operator]")?.content;
function bar() {
  for (const button of document.querySelectorAll("[data-not-by]")) {
    button.hidden = JSON.parse(button.dataset.notBy).includes(viewer);
    button.parentElement.querySelector("[data-instead]").hidden = !button.hidden;
    const way = document.querySelector(`[data-presses="${button.querySelector("button").id}"]`);
    if (way) way.hidden = button.hidden;
  }
}
document.addEventListener("live", bar);
bar();

// The server's time of day, from when it made the page, in the operator's time zone.
if (part("utc")) {
  const made_ms = Date.parse(part("utc").dataset.utc) - performance.now();
  setInterval(() => { part("utc").textContent = new Date(made_ms + performance.now()).toLocaleTimeString(); }, 250);
}

part("ask-cancel").addEventListener("click", () => ask.close());
ask.addEventListener("keydown", event => { if (event.repeat && event.key === "Enter") event.preventDefault(); });
ask.addEventListener("cancel", event => { if (underWay) event.preventDefault(); });
ask.addEventListener("close", () => (document.getElementById(asked.id) ?? part("main")).focus());

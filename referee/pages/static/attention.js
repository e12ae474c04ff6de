// What needs attention, in #attention: the title shows how many there are; a new one that needs a person makes a short
// sound, once the operator has allowed it by the button #sound (a browser remembers it; until its first click or key on
// a page it may stay silent). A button with data-presses presses the button of that id, whose dialog asks as always.
"use strict";

const REMEMBERED = "referee-sound", TONES = [[880, 0], [660, .18]], TONE_S = .16;
const title = document.title, sound = document.getElementById("sound");
let known = null, audio = null;

function look() {
  const items = [...document.querySelectorAll("#attention [data-severity]")];
  document.title = items.length ? `(${items.length}) ${title}` : title;
  const urgent = items.filter(one => one.dataset.severity === "person-needed").map(one => one.id);
  if (known && urgent.some(id => !known.has(id))) play();
  known = new Set(urgent);
}

function isOn() { return localStorage.getItem(REMEMBERED) === "on"; }

function play() {
  if (!isOn()) return;
  audio ??= new AudioContext();
  audio.resume();
  for (const [frequency, after_s] of TONES) {
    const tone = audio.createOscillator(), volume = audio.createGain(), at = audio.currentTime + after_s;
    tone.frequency.value = frequency;
    volume.gain.setValueAtTime(.2, at);
    volume.gain.exponentialRampToValueAtTime(.001, at + TONE_S);
    tone.connect(volume).connect(audio.destination);
    tone.start(at);
    tone.stop(at + TONE_S);
  }
}

function showSound() { sound?.setAttribute("aria-pressed", isOn()); }

sound?.addEventListener("click", () => {
  localStorage.setItem(REMEMBERED, isOn() ? "off" : "on");
  showSound();
  play();
});

// A browser lets a page sound only after a click or a key on it.
addEventListener("pointerdown", () => { if (isOn()) (audio ??= new AudioContext()).resume(); }, {once: true});

document.addEventListener("click", event => {
  const button = event.target.closest("button[data-presses]");
  if (button) document.getElementById(button.dataset.presses)?.click();
});

document.addEventListener("live", look);
showSound();
look();

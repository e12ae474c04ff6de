// The public board: local times.
"use strict";

const SHORT = {hour: "2-digit", minute: "2-digit"};

function dress() {
  for (const time of document.querySelectorAll("[data-time]")) time.textContent = new Date(time.dataset.time).toLocaleTimeString([], SHORT);
}

document.addEventListener("live", dress);
painted.then(dress);

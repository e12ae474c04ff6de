// Shows each <time data-time=FORM datetime=UTC> in the reader's own time zone; the server writes UTC, and says so.
"use strict";

const CLOCK = {hour: "2-digit", minute: "2-digit"};
const FORMS = {
  minute: CLOCK,
  time: {...CLOCK, second: "2-digit"},
  date: {...CLOCK, year: "numeric", month: "short", day: "numeric"},
};

function showLocalTimes() {
  for (const time of document.querySelectorAll("time[data-time]:not([title])")) {
    time.title = time.textContent;
    time.textContent = new Date(time.dateTime).toLocaleString([], FORMS[time.dataset.time]);
  }
}

document.addEventListener("live", showLocalTimes);
requestAnimationFrame(() => setTimeout(showLocalTimes));  // after the first paint

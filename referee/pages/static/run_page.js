// Draws a run over time by uPlot, which power.js loads: power, images answered as steps, posts as ticks at the bottom, and
// events as upright lines: [data-timeline] with a .chart within.
"use strict";

let timeline = null, timelineLine = "";

function ticks(plot, seconds, top, colour) {
  const {ctx, bbox} = plot;
  ctx.save();
  ctx.lineWidth = devicePixelRatio;
  ctx.strokeStyle = colour;
  ctx.beginPath();
  for (const at_s of seconds) {
    if (at_s > plot.scales.x.max) continue;
    const x = Math.round(plot.valToPos(at_s, "x", true));
    ctx.moveTo(x, bbox.top + bbox.height * top);
    ctx.lineTo(x, bbox.top + bbox.height);
  }
  ctx.stroke();
  ctx.restore();
}

function drawTimeline(element, course) {
  const colours = getComputedStyle(element), line = colours.color, text = colours.outlineColor, quiet = colours.borderTopColor;
  const size = {width: element.clientWidth, height: element.clientHeight};
  const data = withGaps(course.elapsed_s, course.power_w, course.answered);
  if (timeline && timelineLine === line) {
    timeline.course = course;
    timeline.setSize(size);
    timeline.setData(data);
    return;
  }
  timeline?.destroy();
  const font = `11px ${colours.fontFamily}`;
  const axis = (unit, more) => ({stroke: text, font, ticks: {show: false}, grid: {stroke: quiet, width: 1}, values: (_, all) => all.map(v => v + unit), ...more});
  timeline = new uPlot({
    ...size, cursor: {show: false}, legend: {show: false}, padding: [6, 8, 0, 0],
    scales: {x: {time: false, range: (_, low, high) => [0, high || 1]}, y: {range: (_, low, high) => [0, (high || 1) * 1.15]}, images: {range: (_, low, high) => [0, (high || 1) * 1.15]}},
    axes: [axis(" s", {size: 24, space: 70, gap: 6}), axis(" W", {size: 48, space: 28, gap: 3}), axis("", {scale: "images", side: 1, size: 52, space: 28, gap: 3, grid: {show: false}})],
    series: [{}, {stroke: line, width: 1.5, points: {show: false}}, {scale: "images", stroke: text, width: 1.5, dash: [4, 3], paths: uPlot.paths.stepped({align: 1}), points: {show: false}}],
    hooks: {drawAxes: [plot => { const {posts_s, events_s} = plot.course ?? course; ticks(plot, events_s, 0, text); ticks(plot, posts_s, .95, text); }]},
  }, data, element);
  timelineLine = line;
}

async function drawRun() {
  await loaded();
  const around = document.querySelector("[data-timeline]"), course = JSON.parse(around.dataset.timeline);
  if (course.elapsed_s.length > 1) drawTimeline(around.querySelector(".chart"), course);
}

document.addEventListener("live", drawRun);
addEventListener("resize", drawRun);
drawRun();

// Uploads the client's timeline as it is, once a file is chosen, and says what the referee says.
document.getElementById("timeline-file")?.addEventListener("change", async ({target}) => {
  const said = document.getElementById("timeline-said"), [file] = target.files;
  if (!file) return;
  said.textContent = "Reading the file …";
  const headers = {"X-CSRF-Token": document.querySelector("meta[name=csrf]").content};
  try {
    const answer = await fetch(target.dataset.to, {method: "POST", headers, body: file}), told = await answer.json();
    said.textContent = told.sentence ?? told.detail;
  } catch { said.textContent = "The referee does not answer; choose the file again."; }
  target.value = "";
});

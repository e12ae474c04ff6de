// Draws power over time by uPlot: [data-course={"elapsed_s": [...], "power_w": [...]}] in the .chart within, which
// keeps what is drawn: give it an id and data-keep.
"use strict";

const charts = new WeakMap(), {dataset: {uplot}} = document.currentScript;
const loaded = painted.then(() => new Promise(done => {
  document.head.append(Object.assign(document.createElement("script"), {src: uplot, onload: done}));
}));

// Where nothing was read, as while the meter or the referee was away, the power is null and no line is drawn; `others`
// stay as they were. A gap is four times the usual distance, and a second at least.
function withGaps(elapsed_s, power_w, ...others) {
  const steps = elapsed_s.slice(1).map((at, before) => at - elapsed_s[before]).sort((a, b) => a - b);
  const longest_s = Math.max(1, 4 * steps[steps.length >> 1]), columns = [[], [], ...others.map(() => [])];
  const put = values => values.forEach((value, at) => columns[at].push(value));
  elapsed_s.forEach((at, i) => {
    const before = elapsed_s[i - 1];
    if (i && at - before > longest_s) put([(before + at) / 2, null, ...others.map(one => one[i - 1])]);
    put([at, power_w[i], ...others.map(one => one[i])]);
  });
  return columns;
}

function drawPower(element, {elapsed_s, power_w}) {
  const colours = getComputedStyle(element), line = colours.color, text = colours.outlineColor;
  const size = {width: element.clientWidth, height: element.clientHeight};
  const data = withGaps(elapsed_s, power_w), known = charts.get(element);
  if (known && known.line === line) {
    if (known.plot.width !== size.width || known.plot.height !== size.height) known.plot.setSize(size);
    known.plot.setData(data);
    return;
  }
  known?.plot.destroy();
  const font = `11px ${colours.fontFamily}`, grid = {stroke: colours.borderTopColor, width: 1};
  const axis = (unit, more) => ({stroke: text, font, grid, ticks: {show: false}, values: (_, all) => all.map(v => v + unit), ...more});
  const plot = new uPlot({
    ...size, cursor: {show: false}, legend: {show: false}, padding: [6, 8, 0, 0],
    scales: {x: {time: false, range: (_, low, high) => [0, high || 1]}, y: {range: (_, low, high) => [0, (high || 1) * 1.15]}},
    axes: [axis(" s", {size: 24, space: 70, gap: 6}), axis(" W", {size: 48, space: 28, gap: 3})],
    series: [{}, {stroke: line, width: 1.5, fill: `color-mix(in srgb, ${line} 12%, transparent)`, points: {show: false}}],
  }, data, element);
  charts.set(element, {plot, line});
}

async function drawAll() {
  await loaded;
  for (const run of document.querySelectorAll("[data-course]")) {
    const chart = run.querySelector(".chart"), course = JSON.parse(run.dataset.course);
    if (chart && course.elapsed_s.length > 1) drawPower(chart, course);
  }
}

document.addEventListener("live", drawAll);
addEventListener("resize", drawAll);
drawAll();

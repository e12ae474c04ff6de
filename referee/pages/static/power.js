// Draws power over time by uPlot: [data-course={"elapsed_s": [...], "power_w": [...]}] in the .chart within, which
// keeps what is drawn: give it an id and data-keep. Charts within one [data-one-scale] have the same axes.
"use strict";

const charts = new Map(), {dataset: {uplot}} = document.currentScript;
let loading = null;

// Loads uPlot, which is half of all that a page of the hall loads, once the page has something to draw.
function loaded() {
  loading ??= painted.then(() => new Promise(done => {
    document.head.append(Object.assign(document.createElement("script"), {src: uplot, onload: done}));
  }));
  return loading;
}

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

function drawPower(element, {elapsed_s, power_w}, most) {
  const colours = getComputedStyle(element), line = colours.color, text = colours.outlineColor;
  const size = {width: element.clientWidth, height: element.clientHeight};
  const data = withGaps(elapsed_s, power_w), known = charts.get(element);
  const px = Math.max(11, Math.round(parseFloat(getComputedStyle(document.documentElement).fontSize) * .62));
  if (known && known.line === line && known.px === px) {
    Object.assign(known.most, most);
    if (known.plot.width !== size.width || known.plot.height !== size.height) known.plot.setSize(size);
    known.plot.setData(data);
    return;
  }
  known?.plot.destroy();
  const font = `${px}px ${colours.fontFamily}`, grid = {stroke: colours.borderTopColor, width: 1};
  const axis = (unit, more) => ({stroke: text, font, grid, ticks: {show: false}, values: (_, all) => all.map(v => v + unit), ...more});
  const plot = new uPlot({
    ...size, cursor: {show: false}, legend: {show: false}, padding: [6, px * 2, 0, 0],
    scales: {x: {time: false, range: () => [0, most.elapsed_s || 1]}, y: {range: () => [0, (most.power_w || 1) * 1.15]}},
    axes: [axis(" s", {size: px * 2.2, space: px * 6.4, gap: 6}), axis(" W", {size: px * 4.4, space: px * 2.6, gap: 3})],
    series: [{}, {stroke: line, width: 1.5, fill: `color-mix(in srgb, ${line} 12%, transparent)`, points: {show: false}}],
  }, data, element);
  charts.set(element, {plot, line, px, most});
}

// A chart listens to the window: one that has left the page is ended, else it would stay for ever.
function endGone(known) {
  for (const [element, {plot}] of known) {
    if (element.isConnected) continue;
    plot.destroy();
    known.delete(element);
  }
}

async function drawAll() {
  endGone(charts);
  if (!document.querySelector("[data-course] .chart")) return;
  await loaded();
  for (const run of document.querySelectorAll("[data-course]")) {
    const chart = run.querySelector(".chart"), course = JSON.parse(run.dataset.course);
    if (chart && course.elapsed_s.length > 1) drawPower(chart, course, highest(run, course));
  }
}

// The ends of the axes: those of the highest values of all that share them.
function highest(run, course) {
  const around = run.closest("[data-one-scale]");
  const all = around ? [...around.querySelectorAll("[data-course]")].map(one => JSON.parse(one.dataset.course)) : [course];
  const most = name => Math.max(0, ...all.flatMap(one => one[name]));
  return {elapsed_s: most("elapsed_s"), power_w: most("power_w")};
}

document.addEventListener("live", drawAll);
addEventListener("resize", drawAll);
drawAll();

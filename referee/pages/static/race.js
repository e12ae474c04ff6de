// Draws the lines of a heat on one axis by uPlot: [data-race={"x_unit", "y_unit", "lines": [{"side", "x", "y"}]}], in the
// .chart within. A line has the colour of its side's [data-swatch] and a dash of its own.
"use strict";

const DASHES = [[], [10, 5], [2, 4], [12, 4, 2, 4]], races = new Map();

function drawRace(element, {x_unit, y_unit, lines}) {
  const style = getComputedStyle(element), text = style.outlineColor;
  const colours = lines.map(line => getComputedStyle(document.querySelector(`[data-swatch="${line.side}"]`)).color);
  const data = uPlot.join(lines.map(line => [line.x, line.y]));
  const size = {width: element.clientWidth, height: element.clientHeight};
  const key = JSON.stringify([colours, lines.map(line => line.side)]), known = races.get(element);
  if (known && known.key === key) {
    if (known.plot.width !== size.width || known.plot.height !== size.height) known.plot.setSize(size);
    known.plot.setData(data);
    return;
  }
  known?.plot.destroy();
  const px = Math.max(11, Math.round(parseFloat(getComputedStyle(document.documentElement).fontSize) * .7));
  const font = `${px}px ${style.fontFamily}`, grid = {stroke: style.borderTopColor, width: 1};
  const axis = (unit, more) => ({stroke: text, font, grid, ticks: {show: false}, values: (_, all) => all.map(v => v + unit), ...more});
  const wide = Math.max(2, px / 6);
  const series = lines.map((line, at) => ({
    stroke: colours[at], width: wide, dash: DASHES[line.side % 4], spanGaps: true, points: {show: line.x.length < 40, size: wide * 3},
  }));
  const plot = new uPlot({
    ...size, cursor: {show: false}, legend: {show: false}, padding: [6, px * 2.5, 0, 0],
    scales: {x: {time: false, range: (_, low, high) => [0, high || 1]}, y: {range: (_, low, high) => [0, (high || 1) * 1.15]}},
    axes: [axis(x_unit, {size: px * 2.2, space: px * 7, gap: 6}), axis(y_unit, {size: px * 4.5, space: px * 2.6, gap: 3})],
    series: [{}, ...series],
  }, data, element);
  races.set(element, {plot, key});
}

async function drawRaces() {
  endGone(races);
  if (!document.querySelector("[data-race]")) return;
  await loaded();
  for (const figure of document.querySelectorAll("[data-race]")) {
    drawRace(figure.querySelector(".chart"), JSON.parse(figure.dataset.race));
  }
}

document.addEventListener("live", drawRaces);
addEventListener("resize", drawRaces);
new MutationObserver(drawRaces).observe(document.documentElement, {attributes: true, attributeFilter: ["data-theme"]});
drawRaces();

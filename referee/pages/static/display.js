// The camera track: asks the referee which image to show, shows it, and says so with the next question.
// Twelve rows divide the height: corner markers in the first and the last, ten bits of the image's number between them,
// 19 to 10 down the left edge and 9 to 0 down the right one. A square is two thirds of a row. Without an image a test
// card with the number 0 stands between the same markers, so that a camera can be aimed, focused and exposed.
"use strict";

const RETRY_MS = 200;
const GREYS = 11, SECTORS = 36, LINE_PIXELS = [1, 2, 3, 4];
const address = `/display/${document.body.dataset.station}`;
const canvas = document.getElementById("frame");
let picture = null;
let shown = null;  // {run, image}

function draw() {
  const width = canvas.width = Math.round(innerWidth * devicePixelRatio);
  const height = canvas.height = Math.round(innerHeight * devicePixelRatio);
  const context = canvas.getContext("2d");
  context.fillStyle = "#fff";
  const row = Math.floor(Math.min(width, height) / 12);
  drawMarkers(context, width, height, row, shown?.image ?? 0);
  if (shown) placePicture(width, height, row);
  else drawCard(context, {left: row, top: 0, width: width - 2 * row, height}, row);
}

function drawMarkers(context, width, height, row, number) {
  const side = Math.floor(row * 2 / 3);
  const margin = Math.floor((row - side) / 2);
  for (let place = 0; place < 12; place++) {
    const top = Math.floor(place * height / 12) + margin;
    const isCorner = place === 0 || place === 11;
    if (isCorner || number >> (20 - place) & 1) context.fillRect(margin, top, side, side);
    if (isCorner || number >> (10 - place) & 1) context.fillRect(width - margin - side, top, side, side);
  }
}

function placePicture(width, height, row) {
  const scale = Math.min((width - 2 * row) / picture.naturalWidth, height / picture.naturalHeight);
  const wide = Math.round(picture.naturalWidth * scale), high = Math.round(picture.naturalHeight * scale);
  const place = {left: Math.floor((width - wide) / 2), top: Math.floor((height - high) / 2), width: wide, height: high};
  for (const [name, pixels] of Object.entries(place)) picture.style[name] = `${pixels / devicePixelRatio}px`;
}

// The card fills the area of an image: a frame of one pixel, grey steps, and what shows the focus.
function drawCard(context, area, row) {
  context.strokeStyle = "#fff";
  context.lineWidth = 1;
  context.strokeRect(area.left + 0.5, area.top + 0.5, area.width - 1, area.height - 1);
  drawGreys(context, area, row);
  drawStar(context, area.left + area.width / 2, area.height / 2, 2.5 * row);
  for (const top of [row / 2, area.height - row * 3 / 2]) {
    drawLines(context, area.left + row / 2, Math.floor(top), row, 1);
    drawLines(context, area.left + area.width - row * 3 / 2, Math.floor(top), row, 1);
  }
  LINE_PIXELS.forEach((pixels, at) => {
    const top = Math.floor(area.height / 2 + (at - 2) * 1.25 * row);
    drawLines(context, area.left + row, top, row, pixels);
    drawLines(context, area.left + area.width - 2 * row, top, row, pixels);
  });
}

// From black on the left to white on the right, each step a tenth of the pixel values.
function drawGreys(context, area, row) {
  const wide = Math.floor((area.width - 4 * row) / GREYS), left = Math.floor(area.left + (area.width - GREYS * wide) / 2);
  for (let step = 0; step < GREYS; step++) {
    const value = Math.floor(255 * step / (GREYS - 1));
    context.fillStyle = `rgb(${value} ${value} ${value})`;
    context.fillRect(left + step * wide, row, wide, row);
  }
  context.fillStyle = "#fff";
  context.strokeRect(left - 0.5, row - 0.5, GREYS * wide + 1, row + 1);
}

function drawStar(context, x, y, radius) {
  const angle = 2 * Math.PI / SECTORS;
  for (let sector = 0; sector < SECTORS; sector += 2) {
    context.beginPath();
    context.moveTo(x, y);
    context.arc(x, y, radius, sector * angle, (sector + 1) * angle);
    context.fill();
  }
}

// A square: its left half has upright lines so many pixels wide, its right half lines across.
function drawLines(context, left, top, side, pixels) {
  const half = Math.floor(side / 2), start = Math.floor(left);
  for (let at = 0; at + pixels <= half; at += 2 * pixels) context.fillRect(start + at, top, pixels, 2 * half);
  for (let at = 0; at + pixels <= 2 * half; at += 2 * pixels) context.fillRect(start + half, top + at, half, pixels);
}

async function show(wanted) {
  if (wanted.image === undefined) {
    shown = null;
  } else {
    const next = Object.assign(new Image(), {
      src: `${address}/runs/${wanted.run}/images/${wanted.image}`, alt: "The image of the camera track"
    });
    await next.decode();
    picture?.remove();
    canvas.after(picture = next);
    shown = wanted;
  }
  document.body.classList.toggle("is-showing", shown !== null);
  draw();
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));  // it is painted
}

async function follow() {
  try {
    const query = shown ? `?run=${shown.run}&image=${shown.image}` : "";
    const answer = await fetch(`${address}/next${query}`);
    if (answer.status === 401) { location.reload(); return; }
    if (!answer.ok) throw new Error(answer.statusText);
    const wanted = await answer.json();
    if (wanted.run !== shown?.run || wanted.image !== shown?.image) await show(wanted);
    follow();
  } catch {
    setTimeout(follow, RETRY_MS);  // what is shown stays: the team's camera may be at it
  }
}

addEventListener("resize", draw);
draw();
follow();

// The camera track: asks the referee which image to show, shows it, and says so with the next question.
// Twelve rows divide the height: corner markers in the first and the last, ten bits of the image's number between them,
// 19 to 10 down the left edge and 9 to 0 down the right one. A square is two thirds of a row.
"use strict";

const RETRY_MS = 200;
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
  const side = Math.floor(row * 2 / 3);
  const margin = Math.floor((row - side) / 2);
  for (let place = 0; place < 12; place++) {
    const top = Math.floor(place * height / 12) + margin;
    const isCorner = place === 0 || place === 11;
    if (isCorner || shown.image >> (20 - place) & 1) context.fillRect(margin, top, side, side);
    if (isCorner || shown.image >> (10 - place) & 1) context.fillRect(width - margin - side, top, side, side);
  }
  const scale = Math.min((width - 2 * row) / picture.naturalWidth, height / picture.naturalHeight);
  const wide = Math.round(picture.naturalWidth * scale), high = Math.round(picture.naturalHeight * scale);
  const place = {left: Math.floor((width - wide) / 2), top: Math.floor((height - high) / 2), width: wide, height: high};
  for (const [name, pixels] of Object.entries(place)) picture.style[name] = `${pixels / devicePixelRatio}px`;
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
  if (shown) draw();
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

addEventListener("resize", () => { if (shown) draw(); });
follow();

// Draws one run of a replay at a time of its clock: the picture with its boxes, the course of power and score, the figures.
// replay.js plays it.
"use strict";

// No picture is held for less than this: faster changes are flashes, which may cause seizures.
const HOLD_MS = 400, CALM_MS = 1000, KEPT_PICTURES = 40, MOST_NAMED = 4;
const RIGHT = ["#7cc7ff", [2, 3]], WRONG = ["#ff6b5e", [6, 4]];
const calm = matchMedia("(prefers-reduced-motion: reduce)");

const clockText = s => `${Math.floor(s / 60)}:${String(Math.floor(s % 60)).padStart(2, "0")}`;
const figure = (value, digits) => value === null || value === undefined ? "–" : value.toFixed(digits);

// The index of the last of the ascending times that is not after t, or -1.
function lastAt(times, t) {
  let low = 0, high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] <= t) low = middle + 1; else high = middle;
  }
  return low - 1;
}

// When each image is in view: from its answer on; those that one POST answered share the time until the next one.
function viewsOf(run) {
  const answered = run.frames.answered_s, order = [...answered.keys()].filter(one => answered[one] !== null);
  order.sort((one, other) => answered[one] - answered[other] || one - other);
  const views = {frame: [], at_s: []};
  for (let first = 0; first < order.length;) {
    const since = answered[order[first]];
    let next = first;
    while (next < order.length && answered[order[next]] === since) next++;
    const until = next < order.length ? answered[order[next]] : run.elapsed_s;
    for (let one = first; one < next; one++) {
      views.frame.push(order[one]);
      views.at_s.push(since + (until - since) * (one - first) / (next - first));
    }
    first = next;
  }
  return views;
}

function byFrame(frames) {
  const found = new Map();
  (frames ?? []).forEach((frame, one) => found.set(frame, [...found.get(frame) ?? [], one]));
  return found;
}

class Lane {
  constructor(template, run, source) {
    this.run = run;
    this.pictures = source.pictures;
    this.element = template.content.firstElementChild.cloneNode(true);
    this.canvas = this.element.querySelector("[data-picture]");
    this.course = this.element.querySelector("[data-course-over-time]");
    this.caption = this.element.querySelector("[data-caption]");
    this.name = `Run ${run.run} of ${run.team}`;
    this.element.querySelector("[data-name]").textContent = this.name;
    this.views = viewsOf(run);
    this.boxes = byFrame(run.boxes?.frame);
    this.objects = byFrame(run.truth?.frame);
    this.showsTruth = false;
    this.answers = run.frames.answered_s.filter(one => one !== null).sort((one, other) => one - other);
    this.loaded = new Map();
    this.shown = null;
    this.changed = -Infinity;
    this.scores = run.steps.at_s.map(t => this.scoreAt(t) ?? null);
    const hasCourse = run.moments.score.some(one => one !== null);
    this.element.querySelector("[data-score-key]").hidden = !hasCourse;
    if (!hasCourse) this.element.querySelector("[data-score-name]").textContent = "score at the end";
    this.tell(this.element.querySelector("[data-notices]"), [...run.missing, ...leftOut(run)]);
  }

  tell(list, sentences) {
    list.replaceChildren(...sentences.map(text => Object.assign(document.createElement("li"), {textContent: text})));
    list.hidden = sentences.length === 0;
  }

  get hasPictures() { return this.run.boxes !== null; }

  // The figures at t, each the newest that is known by then; at the end those of the whole run.
  at(t) {
    const {steps, moments, final, elapsed_s} = this.run, step = lastAt(steps.at_s, t), isOver = t >= elapsed_s;
    const moment = lastAt(moments.at_s, t), power = lastAt(steps.power_at_s, t);
    return {
      isOver,
      power: isOver ? null : steps.power_w[power],
      energy: isOver ? final.energy_wh : steps.energy_wh[step],
      map: isOver ? final.map : moments.map[moment],
      score: isOver ? final.score : this.scoreAt(t),
      served: steps.served[step], answered: steps.answered[step], detections: steps.detections[step],
    };
  }

  // The score of a log-out at t: the newest mAP over the energy until then, so that it falls while nothing comes.
  scoreAt(t) {
    const {steps, moments} = this.run, moment = lastAt(moments.at_s, t), known = moments.score[moment];
    const energy = steps.energy_wh[lastAt(steps.at_s, t)];
    if (known === null || known === undefined || !energy) return known;
    return Math.min(known, moments.map[moment] / energy);
  }

  draw(t, end, now, isStill) {
    const figures = this.at(t);
    this.write(figures);
    if (this.hasPictures) this.drawImage(t, now, isStill); else this.drawTally(t);
    this.drawCourse(t, end);
    this.element.classList.toggle("is-over", figures.isOver);
  }

  write(found) {
    const texts = {
      power: figure(found.power, 2), energy: figure(found.energy, 4), map: figure(found.map, 4),
      score: figure(found.score, 4), served: found.served, answered: found.answered, detections: found.detections,
      state: found.isOver ? `Over at ${clockText(this.run.elapsed_s)}` : "",
    };
    for (const [name, text] of Object.entries(texts)) {
      const element = this.element.querySelector(`[data-figure="${name}"]`);
      if (element && element.textContent !== String(text ?? "–")) element.textContent = text ?? "–";
    }
  }

  drawImage(t, now, isStill) {
    const view = lastAt(this.views.at_s, t);
    let frame = view < 0 ? lastAt(this.run.frames.served_s, t) : this.views.frame[view];
    if (view < 0 && frame > 0) frame = 0;
    const isHeld = !isStill && now - this.changed < (calm.matches ? CALM_MS : HOLD_MS);
    if (frame !== this.shown && !isHeld && this.isReady(frame)) {
      this.shown = frame;
      this.changed = now;
    }
    if (this.shown === null || this.shown < 0) return this.describe("No image was served yet.", this.blank());
    const came = (this.boxes.get(this.shown) ?? []).filter(box => this.run.boxes.at_s[box] <= t);
    this.paint(this.shown, came);
    const words = came.map(box => this.label(box)).join(", ");
    const boxes = `${came.length} ${came.length === 1 ? "box" : "boxes"}`;
    const image = `Image ${this.run.frames.image[this.shown]}, ${boxes}`;
    this.describe(image, `${image}${words && ": "}${words}`);
  }

  describe(caption, words) {
    if (this.caption.textContent !== caption) this.caption.textContent = caption;
    const label = `${this.name}. ${words}`;
    if (this.canvas.getAttribute("aria-label") !== label) this.canvas.setAttribute("aria-label", label);
  }

  label(box) {
    const {category, confidence} = this.run.boxes;
    return `${this.run.categories[category[box]] ?? `category ${category[box]}`} ${confidence[box].toFixed(2)}`;
  }

  // Is there a picture of the frame to draw, or is it known that there is none?
  isReady(frame) {
    const address = this.address(frame);
    if (address === null) return true;
    const known = this.loaded.get(frame);
    if (known) return known.complete;
    if (this.loaded.size >= KEPT_PICTURES) this.loaded.delete(this.loaded.keys().next().value);
    const picture = new Image();
    this.loaded.set(frame, picture);
    picture.onload = picture.onerror = () => this.element.dispatchEvent(new Event("picture", {bubbles: true}));
    picture.src = address;
    return picture.complete;
  }

  address(frame) {
    const number = this.run.frames.image[frame];
    if (this.run.pictures) return this.run.pictures[number] ?? null;
    return this.pictures && this.run.frames.width.length && number !== undefined ? `${this.pictures}${number}` : null;
  }

  blank() {
    const {context, width, height} = sized(this.canvas);
    context.clearRect(0, 0, width, height);
    return "No image was served yet.";
  }

  paint(frame, came) {
    const {context, width, height} = sized(this.canvas), colours = getComputedStyle(this.canvas);
    const boxes = this.run.boxes, picture = this.loaded.get(frame);
    const [wide, high] = this.sizeOf(frame);
    const scale = Math.min(width / wide, height / high), left = (width - wide * scale) / 2, top = (height - high * scale) / 2;
    context.clearRect(0, 0, width, height);
    if (picture?.naturalWidth) context.drawImage(picture, left, top, wide * scale, high * scale);
    else outline(context, colours.borderTopColor, 1, left + 0.5, top + 0.5, wide * scale - 1, high * scale - 1);
    context.font = `600 ${Math.max(12, height / 28)}px ${colours.fontFamily}`;
    if (this.showsTruth) this.paintObjects(context, frame, scale, left, top, height);
    // The most confident boxes come last, on top of the others, and only they have words beside them.
    const confident = [...came].sort((one, other) => boxes.confidence[one] - boxes.confidence[other]);
    confident.forEach((box, at) => {
      const isNamed = at >= confident.length - MOST_NAMED;
      const place = [left + boxes.x[box] * scale, top + boxes.y[box] * scale, boxes.width[box] * scale, boxes.height[box] * scale];
      const [colour, dashes] = this.showsTruth ? boxes.right[box] ? RIGHT : WRONG : ["#ffd54a", []];
      outline(context, "#000", 4, ...place);
      context.setLineDash(dashes);
      outline(context, colour, isNamed ? 2.5 : 1.2, ...place);
      context.setLineDash([]);
      if (isNamed) written(context, this.label(box), place[0] + 3, Math.max(place[1] - 4, height / 26));
    });
  }

  // The objects of the image, as in the report: the missed ones with their names.
  paintObjects(context, frame, scale, left, top, height) {
    const {truth} = this.run;
    for (const one of this.objects.get(frame) ?? []) {
      const place = [left + truth.x[one] * scale, top + truth.y[one] * scale, truth.width[one] * scale, truth.height[one] * scale];
      outline(context, "#000", 6, ...place);
      outline(context, truth.found[one] ? "#fff" : "#ffd54a", truth.found[one] ? 1.5 : 4, ...place);
      if (!truth.found[one]) written(context, `missed: ${truth.name[one]}`, place[0] + 3, Math.min(place[1] + place[3] + height / 26, height - 4));
    }
  }

  // Without the image's size the frame is as large as its boxes reach.
  sizeOf(frame) {
    const {width, height} = this.run.frames, boxes = this.run.boxes;
    if (width.length) return [width[frame], height[frame]];
    const all = this.boxes.get(frame) ?? [];
    return [Math.max(1, ...all.map(box => boxes.x[box] + boxes.width[box])), Math.max(1, ...all.map(box => boxes.y[box] + boxes.height[box]))];
  }

  // One cell for each image, where no picture may be shown: small once it is served, whole once it is answered.
  drawTally(t) {
    const {context, width, height} = sized(this.canvas), colours = getComputedStyle(this.canvas);
    const {served_s} = this.run.frames, all = served_s.length, answered = lastAt(this.answers, t) + 1;
    const served = lastAt(served_s, t) + 1;
    const columns = Math.max(1, Math.ceil(Math.sqrt(all * width / height))), side = Math.min(width / columns, height / Math.ceil(all / columns));
    context.clearRect(0, 0, width, height);
    for (let cell = 0; cell < all; cell++) {
      const x = cell % columns * side, y = Math.floor(cell / columns) * side;
      context.fillStyle = cell < answered ? colours.color : cell < served ? colours.outlineColor : colours.borderTopColor;
      const share = cell < answered ? 0.86 : cell < served ? 0.5 : 0.2, gap = side * (1 - share) / 2;
      context.fillRect(x + gap, y + gap, side * share, side * share);
    }
    const words = `${served} images served, ${answered} answered`;
    this.describe(words, `${words}, of ${all} shown, one cell each.`);
  }

  drawCourse(t, end) {
    const {context, width, height} = sized(this.course), colours = getComputedStyle(this.course);
    const {steps, posts} = this.run, top = height * 0.14, x = at => at / (end || 1) * width;
    context.clearRect(0, 0, width, height);
    const drawn = (times, values, colour, thick) => {
      const most = Math.max(...values.filter(one => one !== null), 1e-9);
      context.beginPath();
      let isBroken = true;
      times.forEach((at, one) => {
        if (at > t) return;
        const y = height - (height - top) * values[one] / most;
        if (values[one] !== null) context[isBroken ? "moveTo" : "lineTo"](x(at), y);
        isBroken = values[one] === null;
      });
      Object.assign(context, {strokeStyle: colour, lineWidth: thick});
      context.stroke();
    };
    context.fillStyle = colours.outlineColor;
    for (const at of posts.at_s) if (at <= t) context.fillRect(x(at), height - 5, 1, 5);
    drawn(steps.power_at_s, steps.power_w, colours.outlineColor, 1.5);
    drawn(steps.at_s, this.scores, colours.color, 2.5);
    context.fillRect(x(Math.min(t, this.run.elapsed_s)), 0, 1, height);
    this.drawScales(context, width, height, end, colours);
  }

  // What the height of each line is at the top, and the end of the time; both lines begin at 0.
  drawScales(context, width, height, end, colours) {
    const {power_w} = this.run.steps, size = Math.max(11 * devicePixelRatio, height * 0.13);
    const most = values => Math.max(0, ...values.filter(one => one !== null));
    const word = (text, x, y, align, colour) => {
      Object.assign(context, {font: `${size}px ${colours.fontFamily}`, textAlign: align, fillStyle: colour});
      context.fillText(text, x, y);
    };
    if (most(power_w)) word(`${most(power_w).toFixed(1)} W`, 3, size, "left", colours.outlineColor);
    if (most(this.scores)) word(`score ${most(this.scores).toFixed(4)}`, width - 3, size, "right", colours.color);
    word("0", 3, height - 7, "left", colours.outlineColor);
    word(clockText(end), width - 3, height - 7, "right", colours.outlineColor);
    context.textAlign = "start";
  }
}

function sized(canvas) {
  const width = Math.round(canvas.clientWidth * devicePixelRatio), height = Math.round(canvas.clientHeight * devicePixelRatio);
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, {width, height});
  return {context: canvas.getContext("2d"), width, height};
}

function outline(context, colour, thick, ...place) {
  Object.assign(context, {strokeStyle: colour, lineWidth: thick * devicePixelRatio});
  context.strokeRect(...place);
}

function written(context, text, x, y) {
  Object.assign(context, {strokeStyle: "#000", lineWidth: 4, lineJoin: "round", fillStyle: "#fff"});
  context.strokeText(text, x, y);
  context.fillText(text, x, y);
}

function leftOut({left_out: left, boxes}) {
  const found = [];
  if (left.images) found.push(`${left.images} images are left out, evenly spaced.`);
  if (left.boxes && boxes) found.push(`${left.boxes} less confident boxes are left out; the least confident one shown has ${left.least_confidence.toFixed(2)}.`);
  if (left.pictures) found.push(`${left.pictures} of the images are shown without their picture.`);
  return found;
}

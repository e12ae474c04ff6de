// Plays stored runs from their replay documents (form lpirc-replay-1), one or two on one clock: in [data-replay].
// data-sources=[{"src": document's address, "pictures": address before an image's number}], or data-inline = the id of
// a script element with the document itself, or data-playlist = where to ask which runs to play one after the other, or the first one alone before data-then is opened.
// What it shows are the document's figures: the newest one at each moment. Text is set as text, never as markup.
// One run is drawn by replay_lane.js, which is loaded before.
"use strict";

const SPEEDS = [1, 2, 5, 10, 20], STEP_S = 5, REST_MS = 9000, RETRY_MS = 5000;

class Player {
  constructor(root) {
    this.root = root;
    this.lanes = [];
    this.end = this.time = 0;
    this.isPlaying = false;
    this.speed = Number(root.dataset.speed ?? 1);
    for (const name of ["play", "seek", "speed", "clock", "status", "table", "lanes", "finish", "truth"]) this[`${name}Element`] = root.querySelector(`[data-${name}-element]`);
    this.playElement.addEventListener("click", () => this.toggle());
    this.seekElement.addEventListener("input", () => this.seek(Number(this.seekElement.value)));
    this.speedElement.addEventListener("change", () => { this.speed = Number(this.speedElement.value); });
    this.truthElement.addEventListener("change", () => this.showTruth());
    (root.dataset.keys === "page" ? document : root).addEventListener("keydown", event => this.press(event));
    root.addEventListener("picture", () => this.draw());
    root.querySelector("details").addEventListener("toggle", () => this.fillTable());
    addEventListener("resize", () => this.draw());
  }

  async start() {
    const {inline, sources, playlist} = this.root.dataset;
    if (inline) this.show([[JSON.parse(document.getElementById(inline).textContent), {}]]);
    else if (playlist) this.playAll(playlist);
    else await this.load(JSON.parse(sources));
  }

  async load(sources) {
    try {
      const answers = await Promise.all(sources.map(({src}) => fetch(src)));
      const refused = answers.find(answer => !answer.ok);
      if (refused) throw new Error((await refused.json()).detail);
      const runs = await Promise.all(answers.map(answer => answer.json()));
      this.show(runs.map((run, one) => [run, sources[one]]));
      return true;
    } catch (problem) {
      this.say(problem.message || "The replay cannot be loaded.", true);
      return false;
    }
  }

  show(runs) {
    const template = this.root.querySelector("template");
    this.lanes = runs.map(([run, source]) => new Lane(template, run, source));
    this.lanesElement.replaceChildren(...this.lanes.map(lane => lane.element));
    this.lanesElement.classList.toggle("is-pair", this.lanes.length > 1);
    this.finishElement.hidden = this.lanes.length !== 2;
    this.end = Math.max(...this.lanes.map(lane => lane.run.elapsed_s));
    this.seekElement.max = Math.ceil(this.end);
    for (const element of [this.playElement, this.seekElement, this.speedElement]) element.disabled = this.end === 0;
    this.speedElement.value = this.speed;
    this.root.querySelector("[data-truth-label]").hidden = !this.lanes.some(lane => lane.run.truth);
    this.say("", false);
    this.seek(0);
    this.root.dataset.ready = this.lanes.map(lane => lane.run.run).join(" ");
  }

  // What the hall sees between runs: one item after the other, then the list anew.
  async playAll(playlist) {
    for (let item = 0; ; item++) {
      const answer = await fetch(playlist, {cache: "no-cache"}).catch(() => null);
      const items = answer?.ok ? (await answer.json()).items : [];
      if (!items.length) this.say(this.root.dataset.empty, true);
      if (items.length && await this.load(items[item % items.length])) {
        await new Promise(done => { this.onEnd = done; this.play(); });
        await new Promise(done => setTimeout(done, REST_MS));
      } else await new Promise(done => setTimeout(done, RETRY_MS));
      if (this.root.dataset.then) return location.replace(this.root.dataset.then);
    }
  }

  // For the jury only: other documents have no ground truth.
  showTruth() {
    for (const lane of this.lanes) {
      lane.showsTruth = this.truthElement.checked && Boolean(lane.run.truth);
      lane.element.querySelector("[data-truth-key]").hidden = !lane.showsTruth;
    }
    this.draw();
  }

  toggle() { if (this.isPlaying) this.pause(); else this.play(); }

  play() {
    if (this.time >= this.end) this.time = 0;
    this.isPlaying = true;
    this.last = performance.now();
    this.drawn = -Infinity;
    this.playElement.textContent = "Pause";
    requestAnimationFrame(now => this.tick(now));
  }

  pause() {
    this.isPlaying = false;
    this.playElement.textContent = "Play";
    this.draw();
    this.say(this.words(), false);
  }

  tick(now) {
    if (!this.isPlaying) return;
    this.time += Math.min(Math.max(now - this.last, 0), 1000) / 1000 * this.speed;
    this.last = now;
    if (this.time >= this.end) {
      this.time = this.end;
      this.pause();
      this.onEnd?.();
      return;
    }
    if (!calm.matches || now - this.drawn >= CALM_MS) this.draw(this.drawn = now);
    requestAnimationFrame(next => this.tick(next));
  }

  seek(time) {
    this.time = Math.min(Math.max(time, 0), this.end);
    this.draw();
    if (!this.isPlaying && this.lanes.length) this.say(this.words(), false);
  }

  press(event) {
    const {key, target} = event;
    if (event.ctrlKey || event.altKey || event.metaKey || target.matches?.("select, textarea, a, summary, input:not([type=range])")) return;
    const isSlider = target === this.seekElement, steps = {ArrowLeft: -STEP_S, ArrowRight: STEP_S};
    if (isSlider) Object.assign(steps, {ArrowDown: -STEP_S, ArrowUp: STEP_S});
    if (key === " " && target.matches?.("button")) return;
    if (key === " ") this.toggle();
    else if (key in steps) this.seek(this.time + steps[key]);
    else if (key === "ArrowUp" || key === "ArrowDown") this.changeSpeed(key === "ArrowUp" ? 1 : -1);
    else if (key === "Home") this.seek(0);
    else if (key === "End") this.seek(this.end);
    else return;
    event.preventDefault();
  }

  changeSpeed(by) {
    const place = SPEEDS.indexOf(this.speed) + by;
    this.speed = SPEEDS[Math.min(Math.max(place, 0), SPEEDS.length - 1)];
    this.speedElement.value = this.speed;
  }

  draw(now = performance.now()) {
    if (!this.lanes.length) return;
    for (const lane of this.lanes) lane.draw(this.time, this.end, now, !this.isPlaying);
    const finish = this.finish();
    if (this.finishElement.textContent !== finish) this.finishElement.textContent = finish;
    const clock = `${clockText(this.time)} of ${clockText(this.end)}`;
    if (this.clockElement.textContent !== clock) {
      this.clockElement.textContent = clock;
      this.seekElement.setAttribute("aria-valuetext", clock);
    }
    this.seekElement.value = this.time;
  }

  words() {
    const lanes = this.lanes.map(lane => {
      const found = lane.at(this.time);
      return `${lane.name}: ${found.answered} images answered, ${figure(found.energy, 4)} Wh, score ${figure(found.score, 4)}`;
    });
    const finish = this.finish();
    return `At ${clockText(this.time)}. ${lanes.join(". ")}.${finish && " "}${finish}`;
  }

  // Of two runs: who leads, by the scores that are known at this moment, and the photo finish once both are over.
  finish() {
    if (this.lanes.length !== 2) return "";
    const [{run}, {run: rival}] = this.lanes;
    const nameOf = lane => run.team === rival.team ? lane.name : lane.run.team;
    const found = this.lanes.map(lane => ({name: nameOf(lane), isInReview: lane.run.final.needs_review, ...lane.at(this.time)}));
    const isOver = found.every(one => one.isOver), isKnown = one => one.score !== null && one.score !== undefined;
    const lacking = found.find(one => !isKnown(one));
    if (lacking) return isOver ? `No photo finish: ${lacking.name} has no score.` : "";
    const isLessBetter = this.lanes.some(lane => lane.run.final.less_is_better);
    const isFirst = isLessBetter ? found[0].score <= found[1].score : found[0].score >= found[1].score;
    const [first, other] = isFirst ? found : [found[1], found[0]];
    const apart = figure(Math.abs(first.score - other.score), 4);
    if (!isOver) return first.score === other.score ? "" : `${apart} ahead: ${first.name}`;
    const review = found.some(one => one.isInReview) ? " A run is in review." : "";
    if (first.score === other.score) return `Photo finish: both have the score ${figure(first.score, 4)}.${review}`;
    return `Photo finish: ${apart} ahead: ${first.name}.${review}`;
  }

  say(text, isShown) {
    this.statusElement.classList.toggle("unseen", !isShown);
    this.statusElement.textContent = text;
  }

  // The whole run as a table, for those who do not see the pictures: made when it is opened.
  fillTable() {
    const rows = [];
    for (const lane of this.lanes) {
      for (let tenth = 0; tenth <= 10; tenth++) {
        const t = lane.run.elapsed_s * tenth / 10, found = lane.at(t);
        const cells = [lane.name, clockText(t), figure(found.power, 2), figure(found.energy, 4), figure(found.map, 4), figure(found.score, 4), found.served, found.answered];
        const row = document.createElement("tr");
        row.append(...cells.map(text => Object.assign(document.createElement("td"), {textContent: text ?? "–"})));
        rows.push(row);
      }
    }
    this.tableElement.replaceChildren(...rows);
  }
}

for (const root of document.querySelectorAll("[data-replay]")) new Player(root).start();

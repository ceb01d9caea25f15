// Agents as lanes over time. A bar is a request to a model or a tool at work; a mark is any other event.
// Two scales: time, and order of events, for runs on virtual time in which much happens at one instant.
//
// Only what can be seen is made: what lies in the window, and sticks out by DENSE pixels from what was made
// before it, or is bad. So a long run costs no more than a short one; zooming in shows the rest.

const DENSE = 3;
const MOST_ZOOM = 256;

class Timeline {
  #run;
  #view; // the window on the lanes, which scrolls
  #readout;
  #tracks = [];
  #items = []; // bands, bars and marks, by position
  #nodes = new Map(); // item -> element, of those made so far
  #scale = "time";
  #zoom = 1;

  constructor(run, root) {
    this.#run = run;
    this.#view = root.querySelector(".lanes");
    this.#readout = root.querySelector(".readout");
    this.#buttons(root);
    this.#tracks = run.lanes.map((lane) => this.#lane(lane));
    this.#collect();
    this.#view.addEventListener("keydown", (event) => this.#move(event));
    this.#view.addEventListener("scroll", () => this.#paint());
    new ResizeObserver(() => this.#paint()).observe(this.#view);
    this.#show(run.ended > run.started ? "time" : "order", 1);
  }

  #buttons(root) {
    this.scales = [...root.querySelectorAll("[data-scale]")];
    this.zooms = [...root.querySelectorAll("[data-zoom]")];
    for (const button of this.scales) button.addEventListener("click", () => this.#show(button.dataset.scale, this.#zoom));
    for (const button of this.zooms) {
      button.addEventListener("click", () => this.#show(this.#scale, this.#zoom * Number(button.dataset.zoom)));
    }
    this.scales.find((button) => button.dataset.scale === "time").disabled = !(this.#run.ended > this.#run.started);
  }

  #lane({ name, slots }) {
    const track = el("div", { class: "track" });
    track.style.setProperty("--slots", Math.max(slots, 1));
    this.#view.append(el("div", { class: "lane", role: "group", "aria-label": name },
      el("div", { class: "lane-name", title: name }, name), track));
    return track;
  }

  #collect() {
    const run = this.#run;
    for (const [lane, { runs }] of run.lanes.entries()) {
      for (const [start, end] of runs) {
        this.#items.push({ kind: "band", lane, slot: 0, row: run.at(start), end: run.at(end) ?? null });
      }
    }
    for (const bar of run.bars) this.#items.push({ ...bar, kind: bar.tool ? "bar tool" : "bar step" });
    for (const { lane, row } of run.marks) this.#items.push({ kind: "mark", lane, slot: 0, row, end: row, bad: row.tone });
    this.#items.sort((a, b) => a.row.position - b.row.position);
  }

  #show(scale, zoom) {
    const middle = (this.#view.scrollLeft + this.#view.clientWidth / 2) / this.#view.scrollWidth;
    const focused = this.#focused();
    this.#scale = scale;
    this.#zoom = Math.min(Math.max(zoom, 1), MOST_ZOOM);
    for (const button of this.scales) button.setAttribute("aria-pressed", String(button.dataset.scale === scale));
    for (const button of this.zooms) button.disabled = this.#zoom === (button.dataset.zoom > 1 ? MOST_ZOOM : 1);
    this.#view.style.setProperty("--zoom", this.#zoom);
    this.#view.scrollLeft = middle * this.#view.scrollWidth - this.#view.clientWidth / 2;
    for (const node of this.#nodes.values()) node.remove();
    this.#nodes.clear();
    this.#ticks();
    this.#paint();
    if (focused) this.#nodes.get(focused)?.focus();
  }

  // Where an event is on the scale, from 0 to 1.
  #place(row) {
    const run = this.#run;
    if (this.#scale === "order") return run.lastOrder > 1 ? (row.order - 1) / run.lastOrder : 0;
    return (row.time - run.started) / (run.ended - run.started || 1);
  }

  #paint() {
    const width = this.#tracks[0]?.clientWidth ?? 0;
    const from = (this.#view.scrollLeft - this.#view.clientWidth / 2) / width;
    const to = from + (2 * this.#view.clientWidth) / width;
    const last = new Map();
    for (const item of this.#items) {
      const start = this.#place(item.row);
      const end = item.end ? Math.max(this.#place(item.end), start) : 1;
      if (end < from || start > to) continue;
      const place = `${item.lane} ${item.slot} ${item.kind}`;
      if (!item.bad && end * width < (last.get(place) ?? -DENSE) + DENSE) continue;
      last.set(place, Math.max(end * width, last.get(place) ?? 0));
      if (!this.#nodes.has(item)) this.#add(item, start, end);
    }
    this.#keepTabStop();
  }

  #add(item, start, end) {
    const node = item.kind === "band" ? el("div", { class: "band" }) : this.#link(item);
    node.style.setProperty("--from", start);
    node.style.setProperty("--size", end - start);
    if (item.slot) node.style.setProperty("--slot", item.slot);
    const { first } = item.row;
    if (item.kind === "bar step" && first && this.#scale === "time" && end > start) {
      node.style.setProperty("--wait", (this.#place(first) - start) / (end - start));
    }
    this.#tracks[item.lane].append(node);
    this.#nodes.set(item, node);
  }

  #link(item) {
    const { kind, row, bad, end, tool, label } = item;
    const text = this.#label(item);
    const node = el("a", { class: `${kind}${bad ? " bad" : ""}${end ? "" : " open"}`, href: `#${this.#run.id(row)}`,
      tabindex: "-1", "aria-label": text, "data-hue": row.source % 8 },
    tool ? el("span", { class: "bar-label" }, label) : null);
    const show = () => { this.#readout.textContent = text; };
    node.addEventListener("pointerenter", show);
    node.addEventListener("focus", show);
    return node;
  }

  #label({ kind, row, end, tool, label }) {
    const run = this.#run;
    const text = `#${row.position} ${run.types[row.type]}, ${run.sources[row.source] || "no source"}: ${row.line}`;
    if (kind === "mark") return text;
    const parts = [tool ? `#${row.position} tool ${label}` : text];
    parts.push(end ? `took ${duration(end.time - row.time)}` : "did not end");
    if (!tool && row.first) parts.push(`first token after ${duration(row.first.time - row.time)}`);
    return parts.join("; ");
  }

  #ticks() {
    const run = this.#run;
    const time = this.#scale === "time";
    const [start, end] = time ? [run.started, run.ended] : [1, run.lastOrder + 1];
    const wanted = (window.innerWidth < 640 ? 3 : 7) * this.#zoom;
    const step = time ? niceTime((end - start) / wanted) : Math.max(niceStep((end - start) / wanted), 1);
    const labels = [];
    for (let at = Math.ceil(start / step - 1e-9) * step; at < end - (end - start) * 0.03 / this.#zoom; at += step) {
      const label = el("span", { class: "tick" }, time ? duration(at) : `#${run.events[Math.round(at) - 1].position}`);
      label.style.setProperty("--from", (at - start) / (end - start));
      labels.push(label);
    }
    this.#view.querySelector(".ticks").replaceChildren(...labels);
  }

  // Bars and marks that are made, in order.
  #targets() {
    return this.#items.filter((item) => item.kind !== "band" && this.#nodes.has(item));
  }

  #focused() {
    return this.#targets().find((item) => this.#nodes.get(item) === document.activeElement);
  }

  #keepTabStop() {
    const targets = this.#targets();
    if (targets.length && !targets.some((item) => this.#nodes.get(item).tabIndex === 0)) {
      this.#nodes.get(targets[0]).tabIndex = 0;
    }
  }

  // One tab stop for the whole timeline: left and right along a lane, up and down between lanes.
  #move(event) {
    const here = this.#focused();
    if (!here) return;
    const targets = this.#targets();
    const lane = targets.filter((item) => item.lane === here.lane);
    const choices = {
      ArrowRight: () => lane[lane.indexOf(here) + 1],
      ArrowLeft: () => lane[lane.indexOf(here) - 1],
      ArrowDown: () => nearest(targets, here, 1),
      ArrowUp: () => nearest(targets, here, -1),
      Home: () => lane[0],
      End: () => lane.at(-1),
    };
    if (!Object.hasOwn(choices, event.key)) return;
    event.preventDefault();
    const next = choices[event.key]();
    if (!next) return;
    this.#nodes.get(here).tabIndex = -1;
    this.#nodes.get(next).tabIndex = 0;
    this.#nodes.get(next).focus();
  }
}

// The item closest in order in the next lane that has any, above or below.
function nearest(targets, here, direction) {
  const lanes = [...new Set(targets.map(({ lane }) => lane))].sort((a, b) => a - b);
  const wanted = lanes[lanes.indexOf(here.lane) + direction];
  const distance = ({ row }) => Math.abs(row.position - here.row.position);
  return targets.filter(({ lane }) => lane === wanted)
    .reduce((best, item) => !best || distance(item) < distance(best) ? item : best, undefined);
}

// 1, 2 or 5 times a power of ten, not below `least`.
function niceStep(least) {
  if (!(least > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least * 0.999);
}

// The same for seconds, which have other round numbers above a minute.
const ROUND_TIMES = [30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400];

function niceTime(least) {
  return least <= 20 ? niceStep(least) : ROUND_TIMES.find((step) => step >= least) ?? niceStep(least / 86400) * 86400;
}

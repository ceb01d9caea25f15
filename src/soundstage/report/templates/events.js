// The list of events. Rows stand in groups of a hundred; a group is empty, but as high as its rows, until it
// comes near the window. So ten rows or a hundred thousand cost the same to show and to filter.

const GROUP = 100;

class EventList {
  #run;
  #list;
  #controls;
  #shown = [];
  #open = new Set();
  #nodes = new Map(); // row -> its <li>, while its group is filled
  #active = null;
  #words = [];
  #watcher;

  constructor(run, root) {
    this.#run = run;
    this.#list = root.querySelector(".rows");
    this.#controls = this.#find(root);
    this.#watcher = new IntersectionObserver((entries) => {
      for (const entry of entries) if (entry.isIntersecting) this.#fill(entry.target);
    }, { rootMargin: "1200px 0px" });
    const sticky = root.querySelector(".sticky");
    new ResizeObserver(() => this.#list.style.setProperty("--sticky", `${sticky.offsetHeight}px`)).observe(sticky);
    this.#list.addEventListener("click", (event) => this.#clicked(event));
    this.#list.addEventListener("keydown", (event) => this.#pressed(event));
    this.filter();
  }

  #find(root) {
    const controls = {
      search: root.querySelector("input[type=search]"),
      type: root.querySelector("select"),
      chunks: root.querySelector("input.chunks"),
      sources: [...root.querySelectorAll("input.source")],
      status: root.querySelector("[role=status]"),
      clear: root.querySelector("button.clear"),
    };
    root.querySelector("button.none")?.addEventListener("click", () => {
      for (const box of controls.sources) box.checked = false;
      this.filter();
    });
    controls.search.addEventListener("input", () => this.filter());
    for (const box of [controls.type, controls.chunks, ...controls.sources]) {
      box.addEventListener("change", () => this.filter());
    }
    controls.clear.addEventListener("click", () => this.clear());
    return controls;
  }

  get search() {
    return this.#controls.search;
  }

  clearSearch() {
    this.search.value = "";
    this.filter();
  }

  clear() {
    const { search, type, chunks, sources } = this.#controls;
    search.value = "";
    type.value = "";
    chunks.checked = false;
    for (const box of sources) box.checked = true;
    this.filter();
  }

  // Show the rows that pass all filters. Several words must all occur; "quoted words" as they stand.
  filter() {
    const { search, type, chunks, sources, status, clear } = this.#controls;
    const run = this.#run;
    const words = (search.value.toLowerCase().match(/"[^"]+"|\S+/g) ?? []).map((word) => word.replaceAll('"', ""));
    const hidden = new Set(sources.filter((box) => !box.checked).map((box) => Number(box.value)));
    const wanted = type.value === "" ? null : Number(type.value);
    const withChunks = chunks.checked || wanted === run.types.indexOf("ModelChunked");
    this.#shown = run.rows.filter((row) => (withChunks || !row.isChunk) && !hidden.has(row.source)
      && (wanted === null || row.type === wanted)
      && words.every((word) => run.searchText(row).includes(word)));
    this.#words = words;
    this.#render();
    status.textContent = `${count(this.#shown.length, "event")} of ${run.rows.length.toLocaleString("en")}`;
    clear.hidden = !(words.length || hidden.size || wanted !== null || chunks.checked);
  }

  #render() {
    this.#watcher.disconnect();
    FOUND?.clear();
    this.#nodes.clear();
    this.#active = null;
    const groups = [];
    for (let start = 0; start < this.#shown.length; start += GROUP) {
      const size = Math.min(GROUP, this.#shown.length - start);
      const group = el("ol", { class: "group", role: "list", start: start + 1,
        "aria-label": `events ${start + 1} to ${start + size}` });
      group.style.setProperty("--rows", size);
      groups.push(group);
    }
    const nothing = el("p", { class: "empty" }, "No event passes these filters.");
    this.#list.replaceChildren(...(groups.length ? groups : [nothing]));
    if (groups.length) this.#fill(groups[0]);
    for (const group of groups) this.#watcher.observe(group);
    this.#activate(this.#shown[0]);
  }

  #fill(group) {
    this.#watcher.unobserve(group);
    if (group.firstChild) return;
    const start = group.start - 1;
    group.append(...this.#shown.slice(start, start + GROUP).map((row) => this.#row(row)));
    highlight(group, this.#words);
  }

  #row(row) {
    const run = this.#run;
    const source = run.sources[row.source];
    const line = el("button", { type: "button", class: "line", id: run.id(row), tabindex: "-1", "aria-expanded": "false" },
      cell("position", String(row.position)), " ", cell("time", row.time.toFixed(3)), " ",
      el("span", { class: "source", "data-hue": row.source % 8 }, source), " ",
      cell("type", run.types[row.type]), " ",
      el("span", { class: "words" }, toneWord(row), row.line), " ",
      cell("took", row.end ? duration(row.end.time - row.time) : ""), this.#share(row));
    const item = el("li", { class: `event${TONES[row.tone]}` }, line);
    item.row = row;
    this.#nodes.set(row, item);
    if (this.#open.has(row)) this.#expand(item);
    return item;
  }

  // Where in the run the event is, and how long it took, as a bar.
  #share(row) {
    const run = this.#run;
    const total = run.ended - run.started;
    const share = el("span", { class: "share", "aria-hidden": "true", "data-hue": row.source % 8 });
    if (total > 0) {
      share.style.setProperty("--from", (row.time - run.started) / total);
      share.style.setProperty("--size", row.end ? (row.end.time - row.time) / total : 0);
    }
    return share;
  }

  #clicked(event) {
    const line = event.target.closest(".line");
    if (line) this.#toggle(line.parentElement);
  }

  #toggle(item) {
    const { row } = item;
    this.#activate(row);
    if (this.#open.has(row)) {
      this.#open.delete(row);
      item.lastChild.remove();
      item.classList.remove("open");
      item.firstChild.setAttribute("aria-expanded", "false");
      item.firstChild.removeAttribute("aria-controls");
      return;
    }
    this.#expand(item);
    rememberHash(item.firstChild.id);
  }

  #expand(item) {
    this.#open.add(item.row);
    const detail = detailOf(this.#run, item.row);
    detail.id = `${item.firstChild.id}-detail`;
    item.append(detail);
    item.classList.add("open");
    highlight(detail, this.#words);
    item.firstChild.setAttribute("aria-expanded", "true");
    item.firstChild.setAttribute("aria-controls", detail.id);
  }

  #pressed(event) {
    if (!event.target.matches(".line")) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Home" || event.key === "End") {
      event.preventDefault();
      this.#focus(event.key === "Home" ? this.#shown[0] : this.#shown.at(-1));
    } else if (step) {
      event.preventDefault();
      this.step(step);
    }
  }

  // Move the focus by some rows; the first call goes to the first row that is shown.
  step(by) {
    const focused = this.#list.contains(document.activeElement);
    const here = this.#shown.indexOf(this.#active);
    const next = focused || by < 0 ? here + by : Math.max(here, 0);
    this.#focus(this.#shown[Math.min(Math.max(next, 0), this.#shown.length - 1)]);
  }

  #activate(row) {
    const before = this.#nodes.get(this.#active);
    if (before) before.firstChild.tabIndex = -1;
    this.#active = row ?? null;
    const now = this.#nodes.get(row);
    if (now) now.firstChild.tabIndex = 0;
  }

  #focus(row) {
    if (!row) return;
    this.#fill(this.#list.children[Math.floor(this.#shown.indexOf(row) / GROUP)]);
    this.#activate(row);
    const item = this.#nodes.get(row);
    item.firstChild.focus({ preventScroll: true });
    item.firstChild.scrollIntoView({ block: "nearest" });
  }

  // Open an event, whatever the filters say, and go there.
  reveal(position) {
    const row = this.#run.at(position);
    if (!row) return;
    if (!this.#shown.includes(row)) {
      this.clear();
      if (row.isChunk) {
        this.#controls.chunks.checked = true;
        this.filter();
      }
    }
    this.#focus(row);
    const item = this.#nodes.get(row);
    if (!this.#open.has(row)) this.#expand(item);
    item.firstChild.scrollIntoView({ block: "start" });
  }

  fillAll() {
    for (const group of this.#list.querySelectorAll(".group")) this.#fill(group);
  }
}

const FOUND = globalThis.Highlight && CSS.highlights ? new Highlight() : null;
if (FOUND) CSS.highlights.set("found", FOUND);

// Show where the words of the search occur below `node`, without touching its elements.
function highlight(node, words) {
  if (!FOUND || !words.length) return;
  const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    const low = text.data.toLowerCase();
    if (low.length !== text.length) continue;
    for (const word of words) {
      for (let at = low.indexOf(word); at >= 0; at = low.indexOf(word, at + word.length)) {
        const range = new Range();
        range.setStart(text, at);
        range.setEnd(text, at + word.length);
        FOUND.add(range);
      }
    }
  }
}

const TONES = ["", " concern", " bad"];
const toneWord = ({ tone }) => tone ? el("span", { class: "visually-hidden" }, tone === 2 ? "failure: " : "note: ") : null;
const cell = (kind, text) => el("span", { class: kind }, text);

// The journal of one section, as _payload.py wrote it. Records stay JSON text until somebody opens them:
// that makes a large page open fast, and the text keeps numbers exact that a browser would round.

class Run {
  constructor(root) {
    const data = JSON.parse(root.querySelector("script.data").textContent);
    this.root = root;
    this.prefix = root.dataset.prefix;
    this.sources = data.sources;
    this.types = data.types;
    this.pieces = data.pieces;
    this.lanes = data.lanes;
    this.rows = data.rows.map(([position, time, source, type, cause, tone, end, earlier, line, raw]) =>
      ({ position, time, source, type, cause, tone, end, earlier, line, raw, order: 0, first: null, isChunk: false }));
    this.byPosition = new Map(this.rows.map((row) => [row.position, row]));
    for (const row of this.rows) row.end = this.at(row.end) ?? null;
    this.bars = data.bars.map(([lane, slot, position, end, tool, bad, label]) =>
      ({ lane, slot, row: this.at(position), end: this.at(end) ?? null, tool, bad, label }));
    this.marks = data.marks.map(([lane, position]) => ({ lane, row: this.at(position) }));
    this.effects = new Map();
    this.#relate();
  }

  #relate() {
    const chunk = this.types.indexOf("ModelChunked");
    let order = 0;
    for (const row of this.rows) {
      row.isChunk = row.type === chunk;
      row.order = row.isChunk ? order : ++order;
      if (!row.cause) continue;
      const effects = this.effects.get(row.cause);
      if (effects) effects.push(row);
      else this.effects.set(row.cause, [row]);
      const cause = this.at(row.cause);
      if (row.isChunk && cause) cause.first ??= row;
    }
    this.events = this.rows.filter((row) => !row.isChunk);
    this.lastOrder = order;
    this.started = this.rows.length ? this.rows[0].time : 0;
    this.ended = this.rows.reduce((latest, row) => Math.max(latest, row.time), this.started);
  }

  at(position) {
    return this.byPosition.get(position);
  }

  id(row) {
    return `${this.prefix}e${row.position}`;
  }

  chunksOf(request) {
    return (this.effects.get(request.position) ?? []).filter((row) => row.isChunk);
  }

  // The JSON line of the journal, put together again from its pieces.
  raw(row) {
    if (typeof row.raw === "string") return row.raw;
    return row.raw.map((part) => typeof part === "string" ? part : part.map((n) => this.pieces[n]).join(",")).join("");
  }

  record(row) {
    return parseJson(this.raw(row));
  }

  // What the search looks at: everything in the record, but of a request only the messages that are new in it,
  // so that a text is found where it was first said and not in every request after that.
  searchText(row) {
    row.searchText ??= [row.position, this.sources[row.source], this.types[row.type], row.line, this.#own(row)]
      .join("\n").replace(/\\u([0-9a-f]{4})/gi, (_, code) => String.fromCharCode(parseInt(code, 16)))
      .replace(/\\(["\\/])/g, "$1").replace(/\\[nrtbf]|\s+/g, " ").toLowerCase();
    return row.searchText;
  }

  #own(row) {
    if (typeof row.raw === "string") return row.raw;
    const [head, messages, ...rest] = row.raw;
    const texts = messages.slice(row.earlier).map((n) => this.pieces[n]);
    return head + texts.join(",") + rest.filter((part) => typeof part === "string").join("");
  }
}

// JSON.parse that keeps whole numbers too long for a browser's numbers as they were written, where it can.
function parseJson(text) {
  if (!/\d{16}/.test(text) || !JSON.rawJSON) return JSON.parse(text);
  return JSON.parse(text, (_, value, context) =>
    typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value) && context?.source
      ? JSON.rawJSON(context.source) : value);
}

// JSON text with line breaks and indentation. It works on the text, so that no number changes.
function prettyJson(text) {
  const out = [];
  let depth = 0, opened = false;
  const newLine = () => out.push("\n", "  ".repeat(depth));
  for (const [token] of text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/g)) {
    const closes = token === "}" || token === "]";
    if (closes) {
      depth -= 1;
      if (!opened) newLine();
    } else if (opened) newLine();
    opened = token === "{" || token === "[";
    if (opened) depth += 1;
    out.push(token);
    if (token === ",") newLine();
    if (token === ":") out.push(" ");
  }
  return out.join("");
}

function duration(seconds) {
  const round = (value, digits) => String(Number(value.toFixed(digits)));
  if (seconds < 1e-6) return "0 s";
  if (seconds < 1e-3) return `${round(seconds * 1e6, 0)} µs`;
  if (seconds < 1) return `${round(seconds * 1e3, seconds < 0.01 ? 1 : 0)} ms`;
  if (seconds < 60) return `${round(seconds, 2)} s`;
  const whole = Math.round(seconds);
  const [amount, large, small] = whole < 3600 ? [whole, "m", "s"] : [Math.floor(whole / 60), "h", "m"];
  const rest = amount % 60;
  return `${Math.floor(amount / 60)} ${large}` + (rest ? ` ${String(rest).padStart(2, "0")} ${small}` : "");
}

const count = (number, one, many = `${one}s`) => `${number.toLocaleString("en")} ${number === 1 ? one : many}`;

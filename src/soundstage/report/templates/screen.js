// A terminal's screen. The event has its text once; places in the text say what does not look plain.

const INK = "#e4e5e7";
const GROUND = "#14161a";
const COLOURS = {
  black: "#3b4048", red: "#e0606a", green: "#8cc265", yellow: "#d9b45b",
  blue: "#4aa5f0", magenta: "#c678dd", cyan: "#42b3c2", white: "#c8ccd4",
  "bright-black": "#7a8290", "bright-red": "#ff7b86", "bright-green": "#a9e07e", "bright-yellow": "#f5d67f",
  "bright-blue": "#75bfff", "bright-magenta": "#e29bf5", "bright-cyan": "#66d9e8", "bright-white": "#ffffff",
};
const MAX_COLUMNS = 1000;
const LINES = { underline: "underline", strike: "line-through" };

function screen({ text, columns, rows: height, cursor, styles = [], label }) {
  const rows = text.split("\n");
  while (rows.length < height) rows.push("");
  const pre = el("pre", { class: "screen", tabindex: "0", "aria-label": label ? `screen: ${label}` : "screen" },
    rows.map((row, number) => [
      screenRow(row, styles.filter(([at]) => at === number), cursor?.[0] === number ? cursor[1] : -1),
      number + 1 < rows.length ? "\n" : "",
    ]));
  if (columns) pre.style.width = `calc(${Number(columns)}ch + 1.5rem)`;
  return pre;
}

// A row in pieces that look alike: cut where a look begins or ends, and around the cursor.
function screenRow(row, styles, cursor) {
  const letters = Array.from(row); // places count characters, not halves of them
  const limit = Math.max(letters.length, MAX_COLUMNS);
  const wanted = [0, letters.length, ...styles.flatMap(([, start, end]) => [start, end]), ...cursor >= 0 ? [cursor, cursor + 1] : []];
  const cuts = new Set(wanted.map((place) => Math.min(Math.max(place, 0), limit)));
  const places = [...cuts].sort((one, other) => one - other);
  return places.slice(1).map((end, index) => {
    const start = places[index];
    const beyond = end - Math.max(start, letters.length);
    const piece = letters.slice(start, end).join("") + " ".repeat(Math.max(beyond, 0));
    const words = styles.find(([, from, to]) => from <= start && start < to)?.[3] ?? "";
    if (!words && start !== cursor) return piece;
    const span = el("span", start === cursor ? { class: "cursor" } : null, piece);
    dress(span, words);
    return span;
  });
}

// "bold red on #112233" as a look of `span`. Words that mean nothing are passed over.
function dress(span, words) {
  const [front, behind] = ` ${words} `.split(" on ");
  const names = front.split(" ");
  const has = (name) => names.includes(name);
  const colour = names.map(colourOf).find(Boolean) ?? INK;
  const ground = colourOf((behind ?? "").trim()) ?? GROUND;
  const [ink, paper] = has("reverse") ? [ground, colour] : [colour, ground];
  const look = span.style;
  if (ink !== INK) look.color = ink;
  if (paper !== GROUND) look.backgroundColor = paper;
  if (has("hidden")) look.color = paper;
  if (has("dim")) look.color = `color-mix(in srgb, ${ink} 66%, ${paper})`;
  if (has("bold")) look.fontWeight = "bold";
  if (has("italic")) look.fontStyle = "italic";
  const lines = Object.keys(LINES).filter(has).map((name) => LINES[name]);
  if (lines.length) look.textDecorationLine = lines.join(" ");
}

function colourOf(name) {
  if (Object.hasOwn(COLOURS, name)) return COLOURS[name];
  return /^#[0-9a-f]{6}$/.test(name) ? name : null;
}

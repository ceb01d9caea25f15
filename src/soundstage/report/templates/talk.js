// What people said and saw: messages, what they did besides (a command, a button, an emoji), and the screens that
// have a name. TALK is the table: event type and the turn that it makes; nothing for what is not worth one.

const TALK = {
  MessageReceived: ({ text, sender, channel }) => ({ who: sender || "in", text: words(text) || "(nothing)", channel }),
  MessageSent: ({ text, sender, channel }) => text ? { who: sender || "app", text: words(text), channel, out: true } : null,
  DiscordInteracted: ({ kind, name, sender, channel, values }) => ({ who: sender, channel, aside: kind === "command"
    ? ["runs", name, ...Object.entries(values ?? {}).map(([key, value]) => `${key}=${words(value)}`)].join(" ")
    : `uses the ${words(kind)} ${words(values?.label) || words(name)}` }),
  DiscordMessageChanged: ({ change, by, sender, text, channel }) =>
    ({ who: by, channel, out: true, aside: `${words(change)} a message${by === sender ? "" : ` of ${words(sender)}`}`, text: words(text) }),
  DiscordReacted: ({ change, emoji, sender, channel }) => ({ who: sender, channel, aside: `${words(change)} ${words(emoji)}` }),
  ScreenChanged: (event) => ({ channel: event.channel, screen: event }),
};
const FIRST_TURNS = 40;

const words = (value) => typeof value === "string" ? value : value === undefined || value === null ? "" : JSON.stringify(value);

function startTalk(run, root) {
  const place = root.querySelector(".talk");
  const turns = turnsOf(run);
  if (!turns.some((turn) => turn.out || turn.screen)) return;
  place.hidden = false;
  const screens = turns.some((turn) => turn.screen);
  place.querySelector("h3").textContent = screens ? "Screens" : "Conversation";
  const list = el("ol", { class: "turns", tabindex: "0", "aria-label": screens ? "screens" : "conversation" });
  const channels = new Set(turns.map((turn) => turn.channel));
  const names = new Map();
  const add = (some) => list.append(...some.map((turn) => turnItem(run, turn, names, channels.size > 1)));
  add(turns.slice(0, FIRST_TURNS));
  place.append(list);
  const rest = turns.slice(FIRST_TURNS);
  if (!rest.length) return;
  const more = el("button", { type: "button", class: "more" }, `Show ${count(rest.length, "more turn")}`);
  more.addEventListener("click", () => {
    more.remove();
    add(rest);
    list.focus();
  });
  place.append(more);
}

// Screens come by the dozen: those that have a name are shown; without any, the last one.
function turnsOf(run) {
  const found = run.rows.filter((row) => Object.hasOwn(TALK, run.types[row.type]));
  const screens = found.filter((row) => run.types[row.type] === "ScreenChanged");
  const named = screens.filter((row) => run.raw(row).includes('"label":"'));
  const hidden = new Set(screens);
  for (const row of named.length ? named : screens.slice(-1)) hidden.delete(row);
  const turns = found.filter((row) => !hidden.has(row)).map((row) => {
    const { type, ...event } = run.record(row).event;
    const turn = TALK[type](event);
    return turn && { row, ...turn };
  });
  return turns.filter((turn) => turn && (!turn.screen || words(turn.screen.text).trim()));
}

function turnItem(run, turn, names, many) {
  const { row, who, text, aside, screen: shown, channel, out } = turn;
  const name = words(who);
  if (!names.has(name)) names.set(name, names.size % 8);
  const notes = [many ? words(channel) : "", onlyFor(run, turn)].filter(Boolean);
  return el("li", { class: `turn${out ? " out" : ""}${shown ? " shown" : ""}` },
    shown ? null : el("div", { class: "who", "data-hue": names.get(name) }, name),
    el("div", { class: "said" },
      shown ? el("div", { class: "caption" }, words(shown.label) || "the last screen") : null,
      aside ? el("div", { class: "aside" }, aside) : null,
      text ? textBlock(text) : null,
      shown ? screen(shown) : null,
      notes.length ? el("div", { class: "aside" }, notes.join(" · ")) : null),
    el("a", { class: "at", href: `#${run.id(row)}`, title: `event ${row.position}` }, duration(row.time)));
}

// A bot may answer a command or a button so that only who used it can see the answer.
function onlyFor(run, { row, out }) {
  if (!out || !row.cause) return "";
  const answer = (run.effects.get(row.cause) ?? []).find((effect) => run.types[effect.type] === "DiscordAnswered");
  if (!answer || !run.record(answer).event.ephemeral) return "";
  const cause = run.at(row.cause);
  return cause ? `only ${words(run.record(cause).event.sender)} sees this` : "";
}

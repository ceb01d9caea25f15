// Building the page. Texts of the journal only ever become text nodes; nothing here parses HTML.

function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== ""));
  return node;
}

// A fold whose content is made when it is first opened.
function fold(title, make, open = false) {
  const details = el("details", { class: "fold", open }, el("summary", null, title));
  const fill = () => details.open && details.childElementCount === 1 && details.append(make());
  details.addEventListener("toggle", fill);
  fill();
  return details;
}

const CLAMP = 2400;
const CLAMP_LINES = 30;

// A text as it is, white space included; a long one is cut, with a button that shows the rest.
function textBlock(text, kind = "prose") {
  const block = el("div", { class: `text ${kind}` });
  const short = beginning(text);
  if (short.length === text.length) {
    block.textContent = text;
    return block;
  }
  const body = el("span", null, short + " …");
  const more = el("button", { type: "button", class: "more", "aria-expanded": "false" },
    `Show all ${text.length.toLocaleString("en")} characters`);
  more.addEventListener("click", () => {
    const opens = more.getAttribute("aria-expanded") === "false";
    body.textContent = opens ? text : short + " …";
    more.setAttribute("aria-expanded", String(opens));
    more.textContent = opens ? "Show less" : `Show all ${text.length.toLocaleString("en")} characters`;
  });
  block.append(body, more);
  return block;
}

function beginning(text) {
  let end = -1;
  for (let line = 0; line < CLAMP_LINES; line += 1) {
    end = text.indexOf("\n", end + 1);
    if (end < 0 || end > CLAMP) break;
  }
  const cut = end < 0 || end > CLAMP ? CLAMP : end;
  return text.length - cut < 200 ? text : text.slice(0, cut);
}

function jsonBlock(value) {
  return textBlock(typeof value === "string" ? value : prettyJson(JSON.stringify(value)), "mono");
}

// Names and values: texts as texts, the rest as JSON.
function fieldList(object) {
  return el("dl", { class: "fields" }, Object.entries(object).map(([name, value]) => [
    el("dt", null, name), el("dd", null, typeof value === "string" ? textBlock(value, "mono") : jsonBlock(value)),
  ]));
}

// Short facts on one line: [name, text or node]; empty ones are left out.
function factLine(facts) {
  const shown = facts.filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return el("dl", { class: "facts" }, shown.map(([name, value]) =>
    el("div", null, el("dt", null, name), el("dd", null, typeof value === "number" ? String(value) : value))));
}

function copyButton(text) {
  const button = el("button", { type: "button", class: "copy" }, "Copy");
  button.addEventListener("click", async () => {
    const done = await copyText(text());
    button.textContent = done ? "Copied" : "Not allowed here";
    announce(done ? "Copied" : "The browser does not allow copying");
  });
  return button;
}

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = el("textarea", { class: "visually-hidden", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}

function announce(text) {
  document.getElementById("said").textContent = text;
}

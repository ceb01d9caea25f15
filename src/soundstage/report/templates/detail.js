// The full content of an event. DETAILS is the table: event type and what it shows besides the facts.

const DETAILS = {
  ModelRequested: requestDetail,
  ModelResponded: responseDetail,
  ModelChunked: (run, row, { chunk }) => [fieldList(chunk)],
  ModelFailed: (run, row, event) => [
    factLine([["reason", event.reason], ["status", event.status], ["kind", event.kind],
      ["served by", event.served_by]]), textBlock(event.message),
    chunkFold(run, run.at(row.cause)),
  ],
  ToolCalled: (run, row, event) => [
    factLine([["tool", code(event.name)], ["call", code(event.call_id)], ["agent", event.agent],
      ["conversation", event.conversation]]),
    fieldList(event.arguments ?? {}),
  ],
  ToolReturned: (run, row, event) => [
    factLine([["call", code(event.call_id)], ["error", event.is_error ? "yes" : ""]]), textBlock(event.text ?? "", "mono"),
  ],
  MessageReceived: said,
  MessageSent: said,
  ScreenChanged: (run, row, event) => [
    factLine([["channel", event.channel], ["name", event.label], ["size", event.columns ? `${event.columns} x ${event.rows}` : ""]]),
    screen(event),
  ],
};

function detailOf(run, row) {
  const record = run.record(row);
  const { type, ...event } = record.event;
  const known = Object.hasOwn(DETAILS, type) ? DETAILS[type](run, row, event) : [fieldList(event)];
  return el("div", { class: "detail" }, origin(run, row), known, rawFold(run, row));
}

function origin(run, row) {
  const effects = (run.effects.get(row.position) ?? []).filter((effect) => !effect.isChunk);
  return factLine([
    ["event", eventLink(run, row)],
    ["at", `${row.time.toFixed(6)} s`],
    ["took", row.end ? duration(row.end.time - row.time) : ""],
    ["first token after", row.first ? duration(row.first.time - row.time) : ""],
    ["caused by", row.cause ? eventLink(run, run.at(row.cause), row.cause) : ""],
    ["led to", effects.length ? el("span", { class: "links" }, linkList(run, effects)) : ""],
  ]);
}

const MANY = 12;

function linkList(run, rows) {
  const links = rows.slice(0, MANY).flatMap((row) => [eventLink(run, row), " "]);
  return rows.length > MANY ? [...links, `and ${rows.length - MANY} more`] : links;
}

function eventLink(run, row, position = row.position) {
  return row ? el("a", { href: `#${run.id(row)}`, title: run.types[row.type] }, `#${position}`) : `#${position}`;
}

const code = (text) => text ? el("code", null, text) : "";

function rawFold(run, row) {
  const raw = () => run.raw(row);
  return fold("Raw record", () => el("div", { class: "raw" }, copyButton(raw), textBlock(prettyJson(raw()), "mono")));
}

function requestDetail(run, row, { request, model_kind: kind }) {
  const { messages, tools = [], caller = {}, settings } = request;
  const earlier = messages.slice(0, row.earlier);
  return [
    factLine([
      ["model", request.model], ["answered by", kind], ["format", request.format], ["purpose", request.purpose],
      ["stream", request.stream ? "yes" : "no"], ["agent", caller.agent], ["conversation", caller.conversation],
      ["started by", caller.parent], ["phase", caller.phase],
    ]),
    tools.length ? fold(count(tools.length, "tool") + " on offer", () => toolList(tools)) : null,
    settings ? fold("Settings", () => fieldList(settings)) : null,
    caller.headers ? fold("Headers", () => fieldList(caller.headers)) : null,
    earlier.length ? fold(count(earlier.length, "earlier message"), () => messageList(earlier)) : null,
    messageList(messages.slice(row.earlier)),
  ];
}

function responseDetail(run, row, { response }) {
  const { parts = [], usage = {} } = response;
  return [
    factLine([
      ["finish", response.finish ?? "stop"], ["model", response.model], ["served by", response.served_by],
      ["tokens in", usage.input_tokens ?? 0], ["out", usage.output_tokens ?? 0],
      ["read from cache", usage.cache_read_tokens], ["written to cache", usage.cache_write_tokens],
    ]),
    parts.length ? messageList([{ role: "assistant", parts }]) : el("p", { class: "empty" }, "The reply is empty."),
    response.headers ? fold("Headers", () => fieldList(response.headers)) : null,
    chunkFold(run, run.at(row.cause)),
  ];
}

function chunkFold(run, request) {
  const chunks = request ? run.chunksOf(request) : [];
  if (!chunks.length) return null;
  return fold(count(chunks.length, "chunk"), () => el("table", { class: "chunks" },
    el("thead", null, el("tr", null, ["Event", "After", "Piece"].map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", null, chunks.map((chunk) => el("tr", null,
      el("td", null, `#${chunk.position}`), el("td", null, duration(chunk.time - request.time)),
      el("td", null, chunk.line))))));
}

function toolList(tools) {
  return el("dl", { class: "fields" }, tools.map((tool) => [
    el("dt", null, tool.name),
    el("dd", null, textBlock(tool.description ?? ""), tool.schema ? fold("Schema", () => jsonBlock(tool.schema)) : null),
  ]));
}

function messageList(messages) {
  return el("ol", { class: "messages" }, messages.map(({ role, parts = [] }) =>
    el("li", { class: "message", "data-role": role },
      el("div", { class: "role" }, role), el("div", { class: "parts" }, parts.map(partBlock)))));
}

const PARTS = {
  text: ({ text }) => textBlock(text),
  thinking: ({ text }) => el("div", { class: "thinking" }, tag("thinking"), textBlock(text)),
  tool_call: ({ id, name, arguments: values, raw }) => el("div", { class: "call" },
    tag("calls"), code(name), " ", el("span", { class: "call-id" }, id),
    raw ? textBlock(raw, "mono") : fieldList(values ?? {})),
  tool_result: ({ call_id: id, name, text, is_error: bad, extra }) => el("div", { class: bad ? "result bad" : "result" },
    tag(bad ? "error of" : "result of"), code(name), " ", el("span", { class: "call-id" }, id),
    textBlock(text, "mono"), extra ? fold("Further content", () => jsonBlock(extra)) : null),
  opaque: ({ type, data }) => el("div", { class: "opaque" }, fold(`Content of type ${type}`, () => jsonBlock(data ?? null))),
};

function partBlock(part) {
  return Object.hasOwn(PARTS, part.kind) ? PARTS[part.kind](part) : jsonBlock(part);
}

const tag = (text) => el("span", { class: "tag" }, text, " ");

function said(run, row, event) {
  return [factLine([["channel", event.channel], ["sender", event.sender]]), textBlock(event.text)];
}

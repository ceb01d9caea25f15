// An agent that makes the calls of a plan, on Chat Completions, with nothing but Node.
import { readFileSync } from "node:fs";

const base = process.env.OPENAI_BASE_URL;
const headers = { "content-type": "application/json", authorization: `Bearer ${process.env.OPENAI_API_KEY}` };

async function ask(call, messages) {
  const body = { model: call.model, messages, ...call.settings };
  if (call.tools.length) body.tools = call.tools.map((tool) => ({ type: "function", function: tool }));
  const named = call.agent ? { "x-soundstage-agent": call.agent } : {};
  const answer = await fetch(`${base}/chat/completions`, {
    method: "POST", headers: { ...headers, ...named }, body: JSON.stringify(body),
  });
  if (!answer.ok) { console.error(await answer.text()); process.exit(9); }
  return (await answer.json()).choices[0].message;
}

for (const call of JSON.parse(readFileSync(process.argv[2], "utf-8"))) {
  const messages = [{ role: "system", content: call.system }, { role: "user", content: call.user }];
  let reply = await ask(call, messages);
  while (reply.tool_calls?.length) {
    messages.push({ role: "assistant", content: reply.content ?? null, tool_calls: reply.tool_calls });
    for (const asked of reply.tool_calls) {
      messages.push({ role: "tool", tool_call_id: asked.id, content: call.result });
    }
    reply = await ask(call, messages);
  }
  console.log(reply.content);
}

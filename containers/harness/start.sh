#!/bin/sh
# The scripted model for the agent, and the harness as MCP tools for whoever tests. If one of them ends, so does this.
set -eu
: "${SOUNDSTAGE_MCP_TOKEN:?clients of the harness have to send a token: set SOUNDSTAGE_MCP_TOKEN}"
: "${SOUNDSTAGE_TOKEN:?clients of the model have to send a key: set SOUNDSTAGE_TOKEN}"

soundstage serve --script "$MODEL_SCRIPT" --host 0.0.0.0 --port 8000 &
model=$!
soundstage mcp --http --host 0.0.0.0 --port 3000 --isolation "${ISOLATION:-process}" &
harness=$!
trap 'kill $model $harness 2>/dev/null; exit 0' TERM INT

while kill -0 $model 2>/dev/null && kill -0 $harness 2>/dev/null; do
    sleep 1 &
    wait $! || true
done

kill $model $harness 2>/dev/null || true
echo "one of the two servers has ended" >&2
exit 1

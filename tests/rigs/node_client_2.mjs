// The client of the TypeScript SDK 2.x against one server: it prints one JSON object of what it saw.
// usage: node node_client_2.mjs COMMAND ARGS…, with the folder of its package in NODE_CLIENT
import { pathToFileURL } from "node:url";

const part = (file) => import(pathToFileURL(`${process.env.NODE_CLIENT}/dist/${file}`).href);
const { Client } = await part("index.mjs");
const { StdioClientTransport } = await part("stdio.mjs");

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: "node-client-2", version: "1" });
await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: "inherit" }));

const call = (name, args_, options) => client.callTool({ name, arguments: args_ }, options);
const made = (await call("create-session", { name: "node2", command: "cat" })).structuredContent;
await call("send-keys", { paneId: made.paneId, keys: "hello from node", enter: true });

const stop = new AbortController();
const slow = call("send-keys", { paneId: made.paneId, keys: "x".repeat(100), delayMs: 100 }, { signal: stop.signal });
stop.abort("enough");
const aborted = await slow.then(() => "answered", () => "aborted");

const failure = await call("kill-pane", { paneId: "%99" });
const missing = await client.readResource({ uri: "tmux://pane/%99" }).catch((error) => error.code);
const unknown = await call("no-such-tool", {}).catch((error) => error.code);
const read = await client.readResource({ uri: `tmux://pane/${made.paneId}` });

console.log(
  JSON.stringify({
    server: client.getServerVersion().name,
    tools: (await client.listTools()).tools.map((tool) => tool.name),
    templates: (await client.listResourceTemplates()).resourceTemplates.length,
    prompts: (await client.listPrompts()).prompts.map((prompt) => prompt.name),
    text: read.contents[0].text,
    aborted,
    failure: [failure.isError, failure.content[0].text],
    missing,
    unknown,
  }),
);
await client.close();

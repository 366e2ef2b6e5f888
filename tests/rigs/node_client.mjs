// The TypeScript SDK's client against one server: it prints one JSON object of what it saw.
// usage: node node_client.mjs COMMAND ARGS…, with the SDK's folder in NODE_SDK
import { pathToFileURL } from "node:url";

const sdk = (file) => import(pathToFileURL(`${process.env.NODE_SDK}/dist/esm/${file}`).href);
const { Client } = await sdk("client/index.js");
const { StdioClientTransport } = await sdk("client/stdio.js");
const { ResourceUpdatedNotificationSchema } = await sdk("types.js");

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: "node-client", version: "1" });
const updated = new Promise((resolve) => {
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, (notice) => resolve(notice.params.uri));
});
await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: "inherit" }));

const call = (name, args_, options) => client.callTool({ name, arguments: args_ }, undefined, options);
const made = (await call("create-session", { name: "node", command: "cat" })).structuredContent;
const uri = `tmux://pane/${made.paneId}`;

await client.subscribeResource({ uri });
await call("send-keys", { paneId: made.paneId, keys: "hello from node", enter: true });
const told = await updated;
await client.unsubscribeResource({ uri });

const stop = new AbortController();
const slow = call("send-keys", { paneId: made.paneId, keys: "x".repeat(100), delayMs: 100 }, { signal: stop.signal });
stop.abort("enough");
const aborted = await slow.then(() => "answered", () => "aborted");

const failure = await call("kill-pane", { paneId: "%99" });
const missing = await client.readResource({ uri: "tmux://pane/%99" }).catch((error) => error.code);
const unknown = await call("no-such-tool", {}).catch((error) => error.code);

console.log(
  JSON.stringify({
    server: client.getServerVersion().name,
    capabilities: client.getServerCapabilities(),
    tools: (await client.listTools()).tools.map((tool) => tool.name),
    templates: (await client.listResourceTemplates()).resourceTemplates.length,
    prompts: (await client.listPrompts()).prompts.map((prompt) => prompt.name),
    panes: (await call("list-panes", { sessionId: "node" })).structuredContent.panes.length,
    text: (await client.readResource({ uri })).contents[0].text,
    uri,
    told,
    aborted,
    failure: [failure.isError, failure.content[0].text],
    missing,
    unknown,
  }),
);
await client.close();

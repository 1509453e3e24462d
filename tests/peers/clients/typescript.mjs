// The client of the official TypeScript SDK: it lists what there is, calls what it finds, and ends.
// usage: node typescript.mjs MODE (URL | COMMAND …); MODE is what the SDK calls a mode: auto, legacy, or a revision
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [mode, ...words] = process.argv.slice(2);
const client = new Client(
  { name: "typescript", version: "1.0.0" },
  {
    capabilities: { roots: { listChanged: true }, sampling: {}, elicitation: { form: {} } },
    versionNegotiation: { mode: mode === "auto" || mode === "legacy" ? mode : { pin: mode } },
  },
);
client.setRequestHandler("roots/list", async () => ({ roots: [{ uri: "file:///home", name: "home" }] }));
client.setRequestHandler("sampling/createMessage", async () => ({
  role: "assistant",
  content: { type: "text", text: "Paris" },
  model: "m",
  stopReason: "endTurn",
}));
client.setRequestHandler("elicitation/create", async () => ({
  action: "accept",
  content: { name: "Anna", age: 30, colour: "green" },
}));

function defaults(tool) {
  const properties = Object.entries(tool.inputSchema.properties ?? {});
  return Object.fromEntries(properties.filter(([, each]) => "default" in each).map(([name, each]) => [name, each.default]));
}

await client.connect(
  words[0].startsWith("http")
    ? new StreamableHTTPClientTransport(new URL(words[0]))
    : new StdioClientTransport({ command: words[0], args: words.slice(1) }),
);
for (const tool of (await client.listTools()).tools) {
  if (tool.execution?.taskSupport === "required") continue;
  const result = await client.callTool({ name: tool.name, arguments: defaults(tool) });
  console.log(...result.content.map((item) => item.text ?? ""));
}
if (client.getServerCapabilities()?.resources) {
  for (const resource of (await client.listResources()).resources) await client.readResource({ uri: resource.uri });
  await client.listResourceTemplates();
}
if (client.getServerCapabilities()?.prompts) {
  for (const prompt of (await client.listPrompts()).prompts) {
    const given = Object.fromEntries((prompt.arguments ?? []).map((each) => [each.name, "Anna"]));
    await client.getPrompt({ name: prompt.name, arguments: given });
  }
}
await client.close();

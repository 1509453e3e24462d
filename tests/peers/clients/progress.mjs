// A client of the official TypeScript SDK that hears of progress: it makes the same call again and again.
// usage: node progress.mjs 1|2 TIMES TRANSPORT TOOL ARGUMENTS (URL | COMMAND …); 1 and 2 are the versions of the SDK
// It prints a line of JSON: for each call, the progress that was heard.
const [version, times, transport, name, text, ...words] = process.argv.slice(2);
const one = version === "1";
const load = async (first, second) => import(`@modelcontextprotocol/${one ? `sdk/client/${first}.js` : second}`);
const { Client } = await load("index", "client");
const { StdioClientTransport } = await load("stdio", "client/stdio");
const { StreamableHTTPClientTransport } = await load("streamableHttp", "client");
const { SSEClientTransport } = await load("sse", "client");

const client = new Client({ name: "progress", version: "1.0.0" }, { capabilities: {} });
await client.connect(
  transport === "stdio"
    ? new StdioClientTransport({ command: words[0], args: words.slice(1) })
    : new (transport === "http" ? StreamableHTTPClientTransport : SSEClientTransport)(new URL(words[0])),
);
const calls = [];
for (let n = 0; n < Number(times); n++) {
  const heard = [];
  const options = { onprogress: ({ progress }) => heard.push(progress) };
  await client.callTool({ name, arguments: JSON.parse(text) }, ...(one ? [undefined, options] : [options]));
  calls.push(heard);
}
console.log(JSON.stringify(calls));
await client.close();

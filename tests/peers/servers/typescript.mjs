// A server on the official TypeScript SDK, which serves both eras: on stdio, or over HTTP.
// usage: node typescript.mjs [http [PORT]]
import { createServer } from "node:http";
import {
  createMcpHandler,
  localhostAllowedOrigins,
  McpServer,
  originValidationResponse,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

function made() {
  const server = new McpServer({ name: "typescript", version: "1.0.0" });
  server.registerTool(
    "add",
    {
      description: "Add two numbers.",
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      outputSchema: z.object({ sum: z.number() }),
      annotations: { readOnlyHint: true },
    },
    async ({ a, b }) => ({ content: [{ type: "text", text: String(a + b) }], structuredContent: { sum: a + b } }),
  );
  server.registerTool("fail", { description: "Always fails." }, async () => {
    throw new Error("on purpose");
  });
  server.registerResource("static", "test://static", { description: "Some text." }, async (uri) => ({
    contents: [{ uri: uri.href, mimeType: "text/plain", text: "fixed" }],
  }));
  server.registerPrompt(
    "greet",
    { description: "Greet somebody.", argsSchema: z.object({ name: z.string() }) },
    async ({ name }) => ({ messages: [{ role: "user", content: { type: "text", text: `Say hello to ${name}` } }] }),
  );
  return server;
}

// The SDK speaks in the terms of fetch; this is all that Node's own server needs to do the same.
async function answered(handler, incoming, outgoing) {
  const body = [];
  for await (const chunk of incoming) body.push(chunk);
  const headers = Object.entries(incoming.headers).flatMap(([name, value]) => [].concat(value).map((one) => [name, one]));
  const gone = new AbortController();
  outgoing.on("close", () => gone.abort());
  const request = new Request(`http://${incoming.headers.host}${incoming.url}`, {
    method: incoming.method,
    headers,
    body: body.length ? Buffer.concat(body) : undefined,
    signal: gone.signal,
  });
  const response = originValidationResponse(request, localhostAllowedOrigins()) ?? (await handler.fetch(request));
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  outgoing.flushHeaders();
  if (response.body) for await (const chunk of response.body) outgoing.write(chunk);
  outgoing.end();
}

if (process.argv[2] === "http") {
  const handler = createMcpHandler(made);
  const web = createServer((incoming, outgoing) => {
    answered(handler, incoming, outgoing).catch((error) => outgoing.destroy(error));
  });
  web.listen(Number(process.argv[3] ?? 0), "127.0.0.1", () => console.error(`http://127.0.0.1:${web.address().port}/mcp`));
} else {
  serveStdio(made);
}

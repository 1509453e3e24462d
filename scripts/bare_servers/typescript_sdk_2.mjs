import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

serveStdio(() => {
  const server = new McpServer({ name: "hello", version: "1.0.0" });
  server.registerTool("greet", { description: "Greet by name.", inputSchema: z.object({ name: z.string() }) }, async ({ name }) => ({ content: [{ type: "text", text: `Hello, ${name}!` }] }));
  server.registerResource("world", "hello://world", {}, async (uri) => ({ contents: [{ uri: uri.href, mimeType: "text/plain", text: "Hello, world!" }] }));
  server.registerPrompt("greeting", { argsSchema: z.object({ name: z.string() }) }, async ({ name }) => ({ messages: [{ role: "user", content: { type: "text", text: `Greet ${name}.` } }] }));
  return server;
});

import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { z } from "zod";

const server = new McpServer({ name: "hello", version: "1.0.0" });
server.tool("greet", "Greet by name.", { name: z.string() }, async ({ name }) => ({ content: [{ type: "text", text: `Hello, ${name}!` }] }));
server.resource("world", "hello://world", async (uri) => ({ contents: [{ uri: uri.href, mimeType: "text/plain", text: "Hello, world!" }] }));
server.prompt("greeting", { name: z.string() }, ({ name }) => ({ messages: [{ role: "user", content: { type: "text", text: `Greet ${name}.` } }] }));
await server.connect(new StdioServerTransport());

import { FastMCP } from "fastmcp";
import { z } from "zod";

const server = new FastMCP({ name: "hello", version: "1.0.0" });
server.addTool({ name: "greet", description: "Greet by name.", parameters: z.object({ greeted: z.string() }), execute: async ({ greeted }) => `Hello, ${greeted}!` });
server.addResource({ uri: "hello://world", name: "world", mimeType: "text/plain", load: async () => ({ text: "Hello, world!" }) });
server.addPrompt({ name: "greeting", arguments: [{ name: "name", description: "greeting", required: true }], load: async ({ name }) => `Greet ${name}.` });
await server.start({ transportType: "stdio" });

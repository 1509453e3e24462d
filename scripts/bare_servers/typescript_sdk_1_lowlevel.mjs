import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { CallToolRequestSchema, ErrorCode, ListToolsRequestSchema, McpError } from "@modelcontextprotocol/sdk/types.js";

const inputSchema = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
const server = new Server({ name: "hello", version: "1.0.0" }, { capabilities: { tools: {} } });
server.setRequestHandler(ListToolsRequestSchema, async ({ params }) => {
  if (params?.cursor !== undefined) throw new McpError(ErrorCode.InvalidParams, "unknown cursor");
  return { tools: [{ name: "greet", description: "Greet by name.", inputSchema }] };
});
server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
  if (params.name !== "greet") throw new McpError(ErrorCode.InvalidParams, "unknown tool");
  const name = params.arguments?.name;
  if (typeof name !== "string") return { content: [{ type: "text", text: "name must be a string" }], isError: true };
  return { content: [{ type: "text", text: `Hello, ${name}!` }] };
});
await server.connect(new StdioServerTransport());

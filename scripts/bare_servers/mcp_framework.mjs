import { MCPServer, MCPTool } from "mcp-framework";
import { z } from "zod";

class Greet extends MCPTool {
  name = "greet";
  description = "Greet by name.";
  schema = z.object({ name: z.string().describe("Who to greet") });
  async execute({ name }) {
    return `Hello, ${name}!`;
  }
}

const server = new MCPServer({ name: "hello", version: "1.0.0" });
server.addTool(Greet);
await server.start();

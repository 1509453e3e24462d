// A server on the official TypeScript SDK that wants a token (`requireBearerAuth`), and the authorization server that issues
// it: oidc-provider, at /oidc on the same port. Its user consents to everything.
// usage: node oidc.mjs PORT
import { InvalidTokenError } from "@modelcontextprotocol/sdk/server/auth/errors.js";
import { requireBearerAuth } from "@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js";
import { getOAuthProtectedResourceMetadataUrl, mcpAuthMetadataRouter } from "@modelcontextprotocol/sdk/server/auth/router.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import express from "express";
import Provider from "oidc-provider";

const port = Number(process.argv[2]);
const origin = `http://127.0.0.1:${port}`;
const resource = new URL(`${origin}/mcp`);

const machine = (name, method) => ({
  client_id: name,
  client_secret: `the secret of ${name}: 100%`,
  grant_types: ["client_credentials"],
  redirect_uris: [],
  response_types: [],
  token_endpoint_auth_method: method,
});
const provider = new Provider(`${origin}/oidc`, {
  clients: [machine("basic", "client_secret_basic"), machine("post", "client_secret_post")],
  scopes: ["openid", "offline_access", "read"],
  routes: { authorization: "/authorize" },
  pkce: { required: () => true },
  issueRefreshToken: async (_, client) => client.grantTypeAllowed("refresh_token"),
  cookies: { keys: ["not a secret"] },
  interactions: { url: (_, interaction) => `/consent/${interaction.uid}` },
  findAccount: async (_, id) => ({ accountId: id, claims: async () => ({ sub: id }) }),
  features: {
    devInteractions: { enabled: false },
    registration: { enabled: true },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: async () => ({ scope: "read", audience: resource.href, accessTokenFormat: "opaque" }),
    },
  },
});

const app = express();
app.get("/consent/:uid", async (request, response) => {
  const { prompt, params, session } = await provider.interactionDetails(request, response);
  if (prompt.name === "login") {
    return provider.interactionFinished(request, response, { login: { accountId: "user" } });
  }
  const grant = new provider.Grant({ accountId: session.accountId, clientId: params.client_id });
  grant.addOIDCScope("openid offline_access read");
  grant.addResourceScope(resource.href, "read");
  const consent = { grantId: await grant.save() };
  return provider.interactionFinished(request, response, { consent }, { mergeWithLastSubmission: true });
});
app.use("/oidc", provider.callback());
app.use(
  mcpAuthMetadataRouter({
    oauthMetadata: { issuer: `${origin}/oidc`, response_types_supported: ["code"] },
    resourceServerUrl: resource,
    scopesSupported: ["read"],
  }),
);

const verifier = {
  async verifyAccessToken(token) {
    const found = (await provider.AccessToken.find(token)) ?? (await provider.ClientCredentials.find(token));
    if (!found) throw new InvalidTokenError("This token is not known here");
    return { token, clientId: found.clientId, scopes: [...found.scopes], expiresAt: found.exp };
  },
};
const resourceMetadataUrl = getOAuthProtectedResourceMetadataUrl(resource);
app.use("/mcp", requireBearerAuth({ verifier, resourceMetadataUrl }));
app.post("/mcp", express.json(), async (request, response) => {
  const server = new McpServer({ name: "oidc", version: "1.0.0" });
  server.registerTool("whoami", { description: "Tell whose token it is." }, async () => ({
    content: [{ type: "text", text: request.auth.clientId }],
  }));
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
  await server.connect(transport);
  await transport.handleRequest(request, response, request.body);
});
app.all("/mcp", (_, response) => response.status(405).end());
app.listen(port, "127.0.0.1", () => console.error(`Listening on ${origin}`));

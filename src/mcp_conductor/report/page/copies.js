// A request of a conversation as a command line, and as a test.

function requestButtons(group, about) {
  const { request } = group;
  const answer = [...group.entries].reverse().find((entry) => entry.answers && entry.source === "server");
  return [
    about.reach !== undefined && about.reach !== null && request.method !== "initialize" && copier("copy as command", () => commandOf(request, about)),
    request.method !== "initialize" && copier("copy as test", () => testOf(request, answer)),
  ];
}

const METHODS = {
  "tools/call": (params, text) => ["--tool-name", params.name, "--tool-args-json", memberText(text, "params", "arguments") ?? "{}"],
  "resources/read": (params) => ["--uri", params.uri],
  "resources/subscribe": (params) => ["--uri", params.uri],
  "resources/unsubscribe": (params) => ["--uri", params.uri],
  "prompts/get": (params) => ["--prompt-name", params.name, ...promptArguments(params.arguments)],
  "tools/list": () => [],
  "resources/list": () => [],
  "resources/templates/list": () => [],
  "prompts/list": () => [],
  ping: () => [],
};

const promptArguments = (given) => Object.entries(given ?? {}).flatMap(([name, value]) => ["--prompt-arg", `${name}=${value}`]);

function commandOf(request, { reach, protocol }) {
  const params = isObject(request.said.params) ? request.said.params : {};
  const known = Object.hasOwn(METHODS, request.method) ? METHODS[request.method](params, request.text) : null;
  const fits = known !== null && known.every((word) => typeof word === "string") && params.cursor === undefined;
  const call = fits ? ["--method", request.method, ...known] : ["--raw", request.text];
  const version = protocol && !protocol.includes(",") ? ["--protocol", protocol] : [];
  return ["mcp-cli", ...[...call, ...version].map(quoted), reach].filter(Boolean).join(" ");
}

// JSON is YAML. What is expected is exactly what was answered: what may vary has to be made a matcher.
function testOf(request, answer) {
  const params = isObject(request.said.params) ? request.said.params : {};
  const lines = [`  - it: ${JSON.stringify(heading(request))}`];
  if (request.method === "tools/call" && typeof params.name === "string") {
    const given = memberText(request.text, "params", "arguments");
    lines.push(`    call: {"tool": ${JSON.stringify(params.name)}${given === null ? "" : `, "args": ${given}`}}`);
  } else if (request.method === "resources/read" && typeof params.uri === "string") {
    lines.push(`    read: ${JSON.stringify(params.uri)}`);
  } else {
    const given = memberText(request.text, "params");
    lines.push(`    request: {"method": ${JSON.stringify(request.method)}${given === null ? "" : `, "params": ${given}`}}`);
  }
  const member = answer?.kind === "error" ? "error" : "result";
  const expected = answer ? memberText(answer.text, member) : null;
  if (expected === null) return `${lines.join("\n")}\n    expect: {ok: true}\n`;
  return `${lines.join("\n")}\n    expect:\n      ${member}: ${pretty(expected, "        ")}\n`;
}

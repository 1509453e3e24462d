// A request of a conversation as a command line, and as a test.

function requestButtons(group, about) {
  const { request } = group;
  const answer = [...group.entries].reverse().find((entry) => entry.answers && entry.source === "server");
  return [
    about.reach !== undefined && about.reach !== null && request.method !== "initialize" && copier("copy as command", () => commandOf(request, about)),
    request.method !== "initialize" && copier("copy as test", () => testOf(request, answer)),
  ];
}

// What mcp-cli has flags for: these members of params, and no others.
const METHODS = {
  "tools/call": { members: ["name", "arguments"], words: (params, text) => ["--tool-name", params.name, "--tool-args-json", memberText(text, "params", "arguments") ?? "{}"] },
  "resources/read": { members: ["uri"], words: (params) => ["--uri", params.uri] },
  "resources/subscribe": { members: ["uri"], words: (params) => ["--uri", params.uri] },
  "resources/unsubscribe": { members: ["uri"], words: (params) => ["--uri", params.uri] },
  "prompts/get": { members: ["name", "arguments"], words: (params) => ["--prompt-name", params.name, ...promptArguments(params.arguments)] },
  "tools/list": { members: [], words: () => [] },
  "resources/list": { members: [], words: () => [] },
  "resources/templates/list": { members: [], words: () => [] },
  "prompts/list": { members: [], words: () => [] },
  ping: { members: [], words: () => [] },
};
const OF_THE_PROTOCOL = "io.modelcontextprotocol/"; // what every request of the newest era says of its client

// null in place of a word: there is no flag for this.
function promptArguments(given) {
  const pairs = Object.entries(isObject(given) ? given : {});
  return pairs.flatMap(([name, value]) => ["--prompt-arg", typeof value === "string" && !name.includes("=") ? `${name}=${value}` : null]);
}

function flagsFor(request, params) {
  const known = Object.hasOwn(METHODS, request.method) ? METHODS[request.method] : null;
  if (!known || Object.keys(params).some((name) => name !== "_meta" && !known.members.includes(name))) return null;
  const meta = Object.keys(isObject(params._meta) ? params._meta : {});
  if (meta.some((name) => name !== "progressToken" && !name.startsWith(OF_THE_PROTOCOL))) return null;
  const words = known.words(params, request.text);
  // A word that begins with a dash could be a flag, and one with @ a file.
  const fit = words.every((word, place) => typeof word === "string" && (place % 2 === 0 || !/^[-@]/.test(word)));
  return fit ? words : null;
}

function commandOf(request, { reach, protocol }) {
  const params = isObject(request.said.params) ? request.said.params : {};
  const words = flagsFor(request, params);
  const call = words ? ["--method", request.method, ...words] : ["--raw", request.text];
  const version = protocol && !protocol.includes(",") ? ["--protocol", protocol] : [];
  return ["mcp-cli", ...[...call, ...version].map(quoted), reach].filter(Boolean).join(" ");
}

// JSON is YAML, but for characters that end a line or may not stand in a file. In values, two braces begin a placeholder.
const NOT_IN_YAML = /[\u007f-\u009f\u00ad\u2028\u2029\ufeff\ufffe\uffff]/g;
const keyText = (name) => JSON.stringify(name).replace(NOT_IN_YAML, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, "0")}`);
const inYaml = (text) => keyText(text.replaceAll("{{", "\\{{"));
const sentText = (node) => written(node, null, inYaml, keyText);

const LONGEST_KEY = 1000; // of YAML, on one line
const canBeKey = (name) => !name.startsWith("match:") && name.length <= LONGEST_KEY && !name.includes("[redacted]");

// What is expected is exactly what was answered: what may vary has to be made a matcher.
function expectedText(node, margin) {
  const odd = (each) => each.kind === "object" && each.items.some((item) => !canBeKey(item.name));
  const matching = (each) => (odd(each) ? { kind: "word", text: '"match:type:object"' } : { ...each, items: each.items?.map((item) => ({ ...item, node: matching(item.node) })) });
  const text = (value) => {
    if (value.includes("[redacted]")) return inYaml("match:type:string");
    return inYaml(value.startsWith("match:") ? `match:literal:${value}` : value);
  };
  return written(matching(node), margin, text, keyText);
}

function testOf(request, answer) {
  const params = memberNode(request.text, "params");
  const given = isObject(request.said.params) ? request.said.params : {};
  const lines = [`  - it: ${inYaml(heading(request))}`];
  const member = (name) => params?.items?.find((item) => item.name === name)?.node;
  if (request.method === "tools/call" && typeof given.name === "string") {
    const args = member("arguments");
    lines.push(`    call: {"tool": ${inYaml(given.name)}${args ? `, "args": ${sentText(args)}` : ""}}`);
  } else if (request.method === "resources/read" && typeof given.uri === "string") {
    lines.push(`    read: ${inYaml(given.uri)}`);
  } else {
    lines.push(`    request: {"method": ${inYaml(request.method)}${params ? `, "params": ${sentText(params)}` : ""}}`);
  }
  const name = answer?.kind === "error" ? "error" : "result";
  const expected = answer ? memberNode(answer.text, name) : null;
  if (expected === null) return `${lines.join("\n")}\n    expect: {ok: true}\n`;
  return `${lines.join("\n")}\n    expect:\n      ${name}: ${expectedText(expected, "        ")}\n`;
}

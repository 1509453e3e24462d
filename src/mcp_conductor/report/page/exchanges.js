// Which frames belong together: a request, its answer, and all that was said because of it or meanwhile.

const RELATED_TASK = "io.modelcontextprotocol/related-task";
const idKey = (id) => JSON.stringify(id);
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

// What a frame says, in a few words.
function readFrame(frame, index) {
  const entry = { index, at: frame.at, source: frame.source, text: frame.text, kind: frame.source, title: "", note: "" };
  if (frame.source === "http") return { ...entry, title: frame.text.split("\n", 1)[0], note: " " };
  if (frame.source !== "client" && frame.source !== "server") return entry;
  let said;
  try {
    said = JSON.parse(frame.text);
  } catch {
    return readHttpLine(entry);
  }
  if (Array.isArray(said)) return { ...entry, kind: "batch", title: `a batch of ${said.length}` };
  if (!isObject(said)) return { ...entry, kind: "stray", title: "not a message" };
  entry.said = said;
  entry.id = said.id;
  const has = (name) => Object.hasOwn(said, name);
  if (has("method")) {
    entry.kind = has("id") ? "request" : "notification";
    entry.method = String(said.method);
    entry.title = entry.method;
    entry.note = subject(said);
  } else if (has("error")) {
    entry.kind = "error";
    entry.title = `error ${said.error?.code ?? ""}`;
    entry.note = String(said.error?.message ?? "");
  } else if (has("result")) {
    entry.kind = "result";
    entry.title = said.result?.isError === true ? "result, isError" : "result";
    if (said.result?.resultType === "input_required") entry.title = "result, more input is needed";
    entry.failed = said.result?.isError === true;
    entry.note = gist(said.result);
  } else {
    entry.kind = "stray";
    entry.title = "neither request nor answer";
  }
  return entry;
}

// A line of a check that is about HTTP: "POST http://… (headers) body", or "HTTP 200 (headers) body".
function readHttpLine(entry) {
  const found = /^(HTTP \d{3}|[A-Z]+ https?:\/\/\S+)/.exec(entry.text);
  if (found) return { ...entry, kind: "http", title: found[1], note: entry.text.slice(found[1].length).trim() };
  return { ...entry, kind: "stray", title: "not JSON" };
}

function subject(said) {
  const params = isObject(said.params) ? said.params : {};
  if (said.method === "notifications/progress") {
    return `${params.progress ?? ""}${params.total === undefined ? "" : ` of ${params.total}`} ${params.message ?? ""}`.trim();
  }
  if (said.method === "notifications/message") return `${params.level ?? ""}: ${plain(params.data)}`;
  const found = params.name ?? params.uri ?? params.taskId ?? params.message ?? params.requestId ?? params.level ?? "";
  return plain(found);
}

const plain = (value) => (typeof value === "string" ? value : (JSON.stringify(value) ?? "")).slice(0, 200);

function gist(result) {
  if (!isObject(result)) return plain(result);
  const text = Array.isArray(result.content) ? result.content.find((each) => typeof each?.text === "string")?.text : null;
  if (text) return text.slice(0, 200);
  for (const [name, value] of Object.entries(result)) {
    if (Array.isArray(value) && name !== "content") return counted(value.length, name.replace(/s$/, ""));
  }
  return Object.keys(result).slice(0, 5).join(", ");
}

const heading = (entry) => (entry.note && entry.kind === "request" ? `${entry.title} ${entry.note}` : entry.title);

// All frames in groups, each group in the order in which it was said. A group has a `request`, or is one frame alone.
function grouped(frames) {
  const groups = [];
  const open = { client: new Map(), server: new Map() };
  const tasks = new Map();
  const states = new Map();
  const tokens = new Map();
  const begin = (entry) => {
    const group = { entries: [entry], request: entry.kind === "request" ? entry : null, rounds: 1, task: null };
    groups.push(group);
    return group;
  };
  const join = (group, entry) => {
    if (!group) return begin(entry);
    group.entries.push(entry);
    return group;
  };
  const asked = []; // by the client, in order; those that are answered are dropped when they are the last
  const latest = () => {
    while (asked.length && asked.at(-1).entry.answer) asked.pop();
    return asked.at(-1)?.group;
  };
  const ofTask = (params) => tasks.get(params?.taskId ?? params?._meta?.[RELATED_TASK]?.taskId);
  const take = {
    request(entry) {
      const params = entry.said.params;
      const round = entry.source === "client" && params?.requestState !== undefined ? states.get(idKey(params.requestState)) : null;
      let group = round ?? ofTask(params);
      if (entry.source === "server") group = group ?? latest();
      if (round) round.rounds += 1;
      group = join(group, entry);
      const token = params?._meta?.progressToken;
      if (token !== undefined) tokens.set(idKey(token), group);
      open[entry.source].set(idKey(entry.id), { entry, group });
      if (entry.source === "client") asked.push({ entry, group });
    },
    answer(entry) {
      const asker = entry.source === "server" ? "client" : "server";
      const question = open[asker].get(idKey(entry.id));
      open[asker].delete(idKey(entry.id));
      const group = join(question?.group ?? latest(), entry);
      if (!question) return;
      question.entry.answer = entry;
      entry.answers = question.entry;
      const result = entry.said.result;
      const task = result?.task?.taskId ?? (result?.resultType === "task" ? result.taskId : undefined);
      if (task !== undefined) {
        tasks.set(task, group);
        group.task = String(task);
      }
      if (result?.requestState !== undefined) states.set(idKey(result.requestState), group);
    },
    notification(entry) {
      const params = entry.said.params;
      const about = params?.progressToken !== undefined ? tokens.get(idKey(params.progressToken)) : ofTask(params);
      const cancelled = params?.requestId !== undefined ? open[entry.source].get(idKey(params.requestId))?.group : null;
      join(about ?? cancelled ?? (entry.source === "server" ? latest() : null), entry);
    },
  };
  frames.forEach((frame, index) => {
    const entry = readFrame(frame, index);
    if (entry.kind === "request") take.request(entry);
    else if (entry.kind === "result" || entry.kind === "error") take.answer(entry);
    else if (entry.kind === "notification") take.notification(entry);
    else if (entry.kind === "http" && entry.source !== "http") join(pairOfHttp(groups, entry), entry);
    else join(latest() ?? (entry.kind === "http" ? httpBefore(groups) : null), entry);
  });
  return groups.map(measured);
}

// Requests of HTTP without a message, such as the one that ends a session, stand together with their responses.
function httpBefore(groups) {
  const last = groups.at(-1);
  return last && !last.request && last.entries.every((entry) => entry.source === "http") ? last : null;
}

// A response of HTTP belongs to the request of HTTP before it.
function pairOfHttp(groups, entry) {
  const last = groups.at(-1);
  return entry.source === "server" && last?.entries.at(-1)?.source === "client" ? last : null;
}

function measured(group) {
  const times = extent(group.entries.map((entry) => entry.at).filter((at) => typeof at === "number"));
  group.from = times?.from ?? null;
  group.to = times?.to ?? null;
  const answer = group.request?.answer;
  const ended = [...group.entries].reverse().find((entry) => entry.answers && entry.source === "server");
  group.failed = Boolean(group.request && (!answer || ended?.kind === "error" || ended?.failed));
  return group;
}

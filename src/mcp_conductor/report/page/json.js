// JSON as it was written: numbers keep all their digits, members their order, and a name that is repeated is shown twice.

const DEEPEST = 200;
const LONG_TEXT = 600;
const MANY = 100;

function readJson(text) {
  let place = 0;
  const blank = /[ \t\n\r]*/y;
  const scalar = /"(?:[^"\\\u0000-\u001f]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
  const skip = () => {
    blank.lastIndex = place;
    blank.exec(text);
    place = blank.lastIndex;
  };
  const take = () => {
    scalar.lastIndex = place;
    const found = scalar.exec(text);
    if (!found) throw new SyntaxError("not JSON");
    place = scalar.lastIndex;
    return found[0];
  };
  const value = (depth) => {
    skip();
    const opening = text[place];
    if (opening !== "{" && opening !== "[") {
      const written = take();
      const kind = written[0] === '"' ? "string" : /[tfn]/.test(written[0]) ? "word" : "number";
      return { kind, text: kind === "string" ? JSON.parse(written) : written };
    }
    if (depth > DEEPEST) throw new SyntaxError("too deep");
    const node = { kind: opening === "{" ? "object" : "array", items: [] };
    const closing = opening === "{" ? "}" : "]";
    place += 1;
    for (skip(); text[place] !== closing; skip()) {
      if (node.items.length && text[place++] !== ",") throw new SyntaxError("not JSON");
      skip();
      let name = node.items.length;
      if (opening === "{") {
        if (text[place] !== '"') throw new SyntaxError("not JSON");
        name = JSON.parse(take());
        skip();
        if (text[place++] !== ":") throw new SyntaxError("not JSON");
      }
      node.items.push({ name, node: value(depth + 1) });
    }
    place += 1;
    return node;
  };
  const found = value(0);
  skip();
  if (place !== text.length) throw new SyntaxError("not JSON");
  return found;
}

function asJson(text) {
  try {
    return readJson(text);
  } catch {
    return null;
  }
}

// result.content[0]["odd name"] as a list of names.
function steps(path) {
  const found = [];
  for (const match of path.matchAll(/\.?([^.[\]"'\s]+)|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]/g)) {
    found.push(match[2] !== undefined ? Number(match[2]) : (match[3] ?? match[1]));
  }
  return found;
}

// A view of TEXT that folds, if it is JSON; the parts at MARKS (lists of names) are marked and unfolded.
function jsonView(text, marks = []) {
  const node = asJson(text);
  if (node === null) return el("pre", { class: "plain" }, longText(text, 5 * LONG_TEXT));
  return el("div", { class: "json" }, nodeView(node, null, "", marks, text.length < 2000 ? 6 : 2));
}

function nodeView(node, name, comma, marks, open) {
  const wrong = marks.some((each) => each.length === 0);
  const label = name === null ? null : [el("span", { class: "name" }, typeof name === "number" ? name : JSON.stringify(name)), ": "];
  if (!node.items) {
    return el("div", { class: wrong ? "leaf wrong" : "leaf" }, label, scalarView(node), comma);
  }
  const [left, right] = node.kind === "object" ? "{}" : "[]";
  if (!node.items.length) return el("div", { class: wrong ? "leaf wrong" : "leaf" }, label, left + right, comma);
  const below = el("div", { class: "below" });
  const preview = el("span", { class: "preview" }, `${previewOf(node)} ${right}${comma}`);
  const head = el("summary", { class: wrong ? "wrong" : null }, label, left, " ", preview);
  const fold = el("details", {}, head, below, el("div", { class: "closing" }, right + comma));
  let drawn = 0;
  const draw = (most) => {
    const more = below.querySelector(":scope > .more");
    if (more) more.remove();
    const end = Math.min(node.items.length, drawn + most);
    for (; drawn < end; drawn += 1) {
      const item = node.items[drawn];
      const inner = marks.filter((each) => each.length && each[0] === item.name).map((each) => each.slice(1));
      const last = drawn === node.items.length - 1;
      const shownName = node.kind === "array" ? null : item.name;
      below.append(nodeView(item.node, shownName, last ? "" : ",", inner, open - 1));
    }
    if (drawn < node.items.length) {
      const left = node.items.length - drawn;
      below.append(button(`show ${Math.min(left, 1000)} of ${left} more`, () => draw(1000), { class: "quiet more" }));
    }
  };
  const marked = new Set(marks.filter((each) => each.length).map((each) => each[0]));
  const furthest = marked.size ? node.items.findLastIndex((item) => marked.has(item.name)) : -1;
  const first = Math.max(MANY, furthest + 1);
  fold.addEventListener("toggle", () => fold.open && !drawn && draw(first));
  if (marks.some((each) => each.length) || (open > 0 && node.items.length <= MANY)) {
    fold.open = true;
    draw(first);
  }
  return fold;
}

function previewOf(node) {
  const names = node.items.slice(0, 4).map((item) => (node.kind === "object" ? item.name : brief(item.node)));
  return `${names.join(", ").slice(0, 60)}${node.items.length > 4 ? ", …" : ""} — ${node.items.length}`;
}

function brief(node) {
  if (!node.items) return node.kind === "string" ? JSON.stringify(node.text.slice(0, 20)) : node.text;
  return node.kind === "object" ? "{…}" : "[…]";
}

function scalarView(node) {
  if (node.kind !== "string") return el("span", { class: node.kind }, node.text);
  return el("span", { class: "string" }, longText(node.text.includes("\n") ? `"${node.text}"` : JSON.stringify(node.text)));
}

// TEXT, of which more than MOST characters are only shown on demand.
function longText(text, most = LONG_TEXT) {
  if (text.length <= most) return text;
  const view = el("span", {});
  const rest = text.length - most;
  const more = button(`show ${counted(rest, "more character")}`, () => fill(view, text), { class: "quiet" });
  return add(view, text.slice(0, most), "… ", more);
}

// JSON of TEXT on several lines, numbers as they were written.
function pretty(text) {
  const node = asJson(text);
  return node === null ? text : written(node, "");
}

// NODE as JSON: on several lines after MARGIN, or on one if that is null. TEXT and NAME say how texts are written.
function written(node, margin, text = JSON.stringify, name = text) {
  if (!node.items) return node.kind === "string" ? text(node.text) : node.text;
  const [left, right] = node.kind === "object" ? "{}" : "[]";
  if (!node.items.length) return left + right;
  const below = margin === null ? null : `${margin}  `;
  const inner = node.items.map((item) => `${node.kind === "object" ? `${name(item.name)}: ` : ""}${written(item.node, below, text, name)}`);
  if (margin === null) return `${left}${inner.join(", ")}${right}`;
  return `${left}\n${inner.map((each) => below + each).join(",\n")}\n${margin}${right}`;
}

// The member of the object TEXT that NAMES lead to; or null.
function memberNode(text, ...names) {
  let node = asJson(text);
  for (const name of names) node = node?.items?.find((item) => item.name === name)?.node ?? null;
  return node;
}

// The same as text, as it was written.
function memberText(text, ...names) {
  const node = memberNode(text, ...names);
  return node === null ? null : written(node, null);
}

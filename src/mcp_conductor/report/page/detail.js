// One test or requirement: what is wrong, the part of the file that says what should be, and what was said.

function detail(outcome, report) {
  const rule = report.rules[outcome.id];
  const view = el("article", { class: "detail", "aria-labelledby": "detail-title" });
  const talk = outcome.frames?.length ? conversation(outcome.frames, [...pinsOf(outcome, rule), ...remarksOn(outcome, report)], aboutServer(outcome, report)) : null;
  const reveal = talk && ((index) => talk.reveal(index));
  add(
    view,
    detailHead(outcome, report),
    outcome.reason && el("p", { class: "reason" }, el("b", {}, reasonWord(outcome)), outcome.reason),
    rule && ruleView(rule, outcome),
    findingsView(outcome, reveal),
    diffsView(outcome.diffs),
    sourceView(outcome, report),
    talk && section("Conversation", conversationNote(outcome), talk),
    !talk && traceNote(outcome, report),
    outcome.stderr?.length && !outcome.frames?.some((frame) => frame.source === "stderr") && stderrView(outcome.stderr),
  );
  return view;
}

const section = (title, ...children) => el("section", { class: "part" }, el("h3", {}, title), ...children);

function reasonWord(outcome) {
  if (outcome.status === "sdk") return "Not counted: ";
  if (outcome.known) return "Fails as expected: ";
  if (outcome.status === "skipped") return "Skipped: ";
  if (outcome.status === "not-run") return "Not run: ";
  return outcome.status === "failed" ? "Expected to fail: " : "";
}

function aboutServer(outcome, report) {
  return { reach: report.reach[outcome.file ?? ""] ?? report.reach[""], protocol: outcome.version ?? report.protocolVersion };
}

function detailHead(outcome, report) {
  const facts = [
    outcome.level && `${outcome.level}, ${outcome.severity ?? ""}`.replace(/, $/, ""),
    outcome.version && `MCP ${outcome.version}`,
    outcome.file ? `${outcome.file}:${outcome.line}` : outcome.group,
    outcome.seconds > 0 && span(outcome.seconds),
    outcome.flaky && "flaky: it passed, but not at the first try",
    outcome.after?.length && `after ${outcome.after.join(", ")}`,
  ].filter(Boolean);
  const yaml = testText(outcome, report);
  return el(
    "header",
    {},
    el("p", { class: "crumb" }, chip(outcome.status), outcome.level ? el("code", {}, outcome.id) : outcome.group),
    el("h2", { id: "detail-title", tabindex: "-1" }, outcome.title),
    el("p", { class: "facts" }, facts.map((fact) => el("span", {}, fact)), (outcome.tags ?? []).map((tag) => el("span", { class: "tag" }, tag))),
    el(
      "p",
      { class: "buttons" },
      copier("copy link", () => location.href),
      outcome.again && copier("copy command to run it again", outcome.again, { title: outcome.again }),
      yaml && copier("copy the test", () => yaml.map((line) => line.text).join("\n") + "\n"),
    ),
  );
}

function ruleView(rule, outcome) {
  return section(
    "Requirement",
    rule.statement !== outcome.title && el("p", {}, rule.statement),
    rule.remedy && outcome.status !== "passed" && el("p", { class: "remedy" }, el("b", {}, "Remedy: "), rule.remedy),
    rule.how && el("p", { class: "remedy" }, el("b", {}, "How it is checked: "), rule.how),
    rule.address && el("p", {}, outside(rule.address, "in the specification")),
  );
}

function pinsOf(outcome, rule) {
  const pins = [];
  for (const finding of outcome.findings ?? []) {
    if (finding.frame === undefined || finding.whole) continue;
    const requirement = rule && { requirement: outcome.id, level: outcome.level, statement: rule.statement, remedy: rule.remedy };
    pins.push({ ...finding, ...requirement, warning: finding.warning || outcome.status === "warned" });
  }
  return pins;
}

// What judges say of messages of this test.
function remarksOn(outcome, report) {
  if (outcome.level) return [];
  const pins = [];
  for (const remark of report.remarks) {
    const texts = new Set(remark.texts);
    const rule = report.rules[remark.requirement];
    outcome.frames.forEach((frame, index) => {
      if (frame.source !== "server" || !texts.has(frame.text)) return;
      pins.push({ frame: index, warning: true, message: remark.message, requirement: remark.requirement, statement: rule?.statement, remedy: rule?.remedy });
    });
  }
  return pins;
}

function findingsView(outcome, reveal) {
  const found = (outcome.findings ?? []).filter((finding) => !finding.whole);
  if (!found.length) return null;
  const titles = { warned: "What should be better", xfailed: "What is known to fail", sdk: "What the framework does" };
  const title = BAD.has(outcome.status) ? "What is wrong" : (titles[outcome.status] ?? "Worth knowing");
  const views = (some) => el("ol", { class: "findings" }, some.map((finding) => findingView(finding, outcome, reveal)));
  const [shownOnes, rest] = foldedFindings(found);
  return section(title, views(shownOnes), rest.length > 0 && later(counted(rest.length, "more finding"), () => views(rest)));
}

const MOST_ALIKE = 3; // findings that say the same of different things
const MOST_FINDINGS = 20;

// What is shown at once, and what only on demand.
function foldedFindings(found) {
  const kinds = new Map();
  const parts = [[], []];
  for (const finding of found) {
    const before = kinds.get(finding.kind) ?? 0;
    kinds.set(finding.kind, before + 1);
    parts[before < MOST_ALIKE && parts[0].length < MOST_FINDINGS ? 0 : 1].push(finding);
  }
  return parts;
}

// What is made when it is unfolded.
function later(label, make) {
  const fold = el("details", { class: "later" }, el("summary", {}, label));
  fold.addEventListener("toggle", () => fold.open && fold.childElementCount === 1 && fold.append(make()));
  return fold;
}

function findingView(finding, outcome, reveal) {
  return el(
    "li",
    { class: finding.warning || outcome.status === "warned" ? "finding is-warned" : "finding is-failed" },
    el("p", { class: "message" }, longText(finding.message), finding.path && !finding.message.includes(finding.path) ? [" at ", el("code", {}, finding.path)] : null),
    (finding.expected !== undefined || finding.actual !== undefined) &&
      el("dl", { class: "values" }, valuesView(finding)),
    finding.hint && el("p", { class: "remedy" }, el("b", {}, "Hint: "), finding.hint),
    el(
      "p",
      { class: "places" },
      finding.line && el("span", {}, `${finding.file}:${finding.line}:${finding.column}`),
      reveal && finding.frame !== undefined && button("show the message", () => reveal(finding.frame), { class: "quiet" }),
    ),
  );
}

// Two short texts have marks where they differ.
function valuesView({ expected, actual }) {
  const [one, other] = [expected, actual].map((value) => (value?.json?.[0] === '"' && value.json.length <= LONG_TEXT && !value.json.includes("\\n") ? value.json : null));
  if (one === null || other === null) return [valueView("expected", expected), valueView("actual", actual)];
  const line = (text, peer) => el("div", { class: "json" }, el("div", { class: "leaf string" }, changedPart(text, peer)));
  return [el("dt", {}, "expected"), el("dd", { class: "expected" }, line(one, other)), el("dt", {}, "actual"), el("dd", { class: "actual" }, line(other, one))];
}

function valueView(name, value) {
  if (value === undefined) return null;
  const view = value.words !== undefined ? el("span", {}, value.words) : jsonView(value.json);
  return [el("dt", {}, name), el("dd", { class: name }, view)];
}

// Differences: whole lines by their sign, and within two lines that replace each other, the part that differs.
function diffsView(diffs) {
  if (!diffs?.length) return null;
  return section(
    "Difference",
    diffs.map((diff) => [
      diff.path && el("p", { class: "facts" }, el("code", {}, diff.path)),
      el("div", { class: "diff", tabindex: "0", role: "group", "aria-label": "lines that differ: minus is expected, plus is actual" },
        el("div", { class: "key" }, el("span", { class: "minus" }, "− expected"), el("span", { class: "plus" }, "+ actual")),
        diffLines(diff.lines)),
    ]),
  );
}

function diffLines(lines) {
  const views = [];
  for (let place = 0; place < lines.length; ) {
    let minus = place;
    while (minus < lines.length && lines[minus][0] === "-") minus += 1;
    let plus = minus;
    while (plus < lines.length && lines[plus][0] === "+") plus += 1;
    const paired = minus - place === plus - minus ? minus - place : 0;
    for (let each = place; each < plus; each += 1) {
      const other = !paired ? null : each < minus ? lines[each + paired] : lines[each - paired];
      views.push(diffLine(lines[each], other));
    }
    if (plus === place) views.push(diffLine(lines[plus++], null));
    place = plus;
  }
  return views;
}

function diffLine(line, other) {
  const kind = line[0] === "-" ? "minus" : line[0] === "+" ? "plus" : "same";
  const [sign, text] = [line[0] === "-" ? "−" : line[0], line.slice(1)];
  if (other === null) return el("div", { class: kind }, el("span", { class: "sign" }, sign), text);
  return el("div", { class: kind }, el("span", { class: "sign" }, sign), changedPart(text, other.slice(1)));
}

// TEXT with a mark around the part that is not the same in PEER.
function changedPart(text, peer) {
  let from = 0;
  while (from < text.length && text[from] === peer[from]) from += 1;
  let end = 0;
  while (end < text.length - from && end < peer.length - from && text.at(-1 - end) === peer.at(-1 - end)) end += 1;
  return [text.slice(0, from), el("mark", {}, text.slice(from, text.length - end)), text.slice(text.length - end)];
}

function testText(outcome, report) {
  const source = report.sources[outcome.file];
  if (source === undefined || !outcome.line) return null;
  const lines = linesOf(source);
  const found = [];
  for (let number = outcome.line; number <= Math.min(outcome.last, lines.length); number += 1) {
    found.push({ number, text: lines[number - 1] });
  }
  return found;
}

const splitSources = new Map();
function linesOf(source) {
  if (!splitSources.has(source)) splitSources.set(source, source.split("\n"));
  return splitSources.get(source);
}

function sourceView(outcome, report) {
  const lines = testText(outcome, report);
  if (!lines) return null;
  const marks = (outcome.findings ?? []).filter((finding) => finding.line && finding.file === outcome.file && !finding.whole);
  const known = new Set(lines.map((line) => line.number));
  const elsewhere = [...new Set(marks.map((mark) => mark.line))].filter((number) => !known.has(number)).sort((a, b) => a - b);
  const rest = elsewhere.map((number) => ({ number, text: linesOf(report.sources[outcome.file])[number - 1] ?? "" }));
  return section(
    "Test",
    el(
      "div",
      { class: "source", tabindex: "0", role: "group", "aria-label": `${outcome.file} from line ${outcome.line} on` },
      [...lines, ...rest].map((line) => [lineView(line, marks), marks.filter((mark) => mark.line === line.number).map(markView)]),
    ),
  );
}

function lineView(line, marks) {
  const here = marks.filter((mark) => mark.line === line.number && mark.to > mark.from).sort((a, b) => a.from - b.from);
  const view = el("div", { class: here.length ? "line marked" : "line" }, el("span", { class: "number" }, line.number));
  let place = 0;
  for (const mark of here) {
    if (mark.from < place) continue;
    add(view, yamlText(line.text.slice(place, mark.from)), el("mark", {}, line.text.slice(mark.from, mark.to)));
    place = mark.to;
  }
  return add(view, yamlText(line.text.slice(place)));
}

function markView(mark) {
  const note = el("div", { class: mark.warning ? "mark-note is-warned" : "mark-note" }, el("span", {}, "↑ ", longText(mark.message, 300)));
  note.style.paddingLeft = `calc(66px + ${Math.min(mark.from ?? 0, 16)}ch)`; // long lines are wrapped, so not below the mark
  return note;
}

function yamlText(text) {
  const found = /^(\s*(?:- )*)([^\s"'#{}[\],&*!|>%@`-][^:#"'{}[\],]*|"[^"]*"|'[^']*')(:)(?=\s|$)(.*)$/.exec(text);
  if (found) return [found[1], el("span", { class: "name" }, found[2]), found[3], yamlText(found[4])];
  const comment = /^(.*?)((?:^|\s)#.*)$/.exec(text);
  if (comment && !/["']/.test(comment[1])) return [comment[1], el("span", { class: "comment" }, comment[2])];
  return [text];
}

function conversationNote(outcome) {
  if (!outcome.level) return null;
  return el("p", { class: "note" }, "The frames that prove it: what was sent, and what came.");
}

function traceNote(outcome, report) {
  if (report.kind !== "test" || outcome.status === "skipped" || outcome.status === "not-run") return null;
  const text = outcome.cause === "server" ? "Nothing was said in this test." : report.trace === "on" ? "Nothing was said in this test." : `What was said is not kept (--trace ${report.trace}); --trace on keeps it for every test.`;
  return section("Conversation", el("p", { class: "note" }, text));
}

function stderrView(lines) {
  return section("stderr of the server", el("pre", { class: "plain stderr", tabindex: "0" }, lines.join("\n")));
}

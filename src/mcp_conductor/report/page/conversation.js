// A conversation as a sequence between two lanes. It takes frames ({at, source, text}) and pins: what is wrong with one.
//
//   conversation(frames, pins, {reach, protocol})
//   a pin: {frame: INDEX, message, path?, requirement?, level?, remedy?, hint?, warning?}

const GROUPS_AT_ONCE = 200;

function conversation(frames, pins = [], about = {}) {
  const groups = grouped(frames);
  const pinned = new Map();
  for (const pin of pins) pinned.set(pin.frame, [...(pinned.get(pin.frame) ?? []), pin]);
  const scale = extent(frames.map((frame) => frame.at).filter((at) => typeof at === "number"));
  const list = el("ol", { class: "groups" });
  const view = el("div", { class: scale ? "conversation" : "conversation timeless" }, lanes(scale), list);
  let drawn = 0;
  const more = button("", () => draw(), { class: "quiet more" });
  const draw = (least = 0) => {
    const end = Math.max(least, drawn + GROUPS_AT_ONCE);
    for (; drawn < Math.min(end, groups.length); drawn += 1) list.append(groupView(groups[drawn], pinned, scale, about));
    more.textContent = `show more (${groups.length - drawn} are left)`;
    if (drawn < groups.length) view.append(more);
    else more.remove();
  };
  // Unfold the frame with this number, and go to it.
  view.reveal = (index) => {
    const place = groups.findIndex((group) => group.entries.some((entry) => entry.index === index));
    if (place >= drawn) draw(place + 1);
    const row = list.querySelector(`[data-frame="${Number(index)}"]`);
    if (!row) return;
    row.closest("details")?.setAttribute("open", "");
    if (row.open === false) row.open = true;
    row.scrollIntoView({ block: "center" });
    row.querySelector("summary")?.focus({ preventScroll: true });
  };
  draw();
  return view;
}

function lanes(scale) {
  return el(
    "div",
    { class: "lanes", "aria-hidden": "true" },
    el("span", { class: "time" }, scale ? "time" : ""),
    el("span", { class: "lane" }, "client"),
    el("span", { class: "lane server" }, "server"),
  );
}

function groupView(group, pinned, scale, about) {
  const wrong = group.entries.flatMap((entry) => pinned.get(entry.index) ?? []);
  const item = el("li", { class: `group${wrong.some((pin) => !pin.warning) ? " has-wrong" : ""}` });
  if (group.request) item.append(groupHead(group, wrong, scale, about));
  for (const entry of group.entries) item.append(rowView(entry, pinned.get(entry.index) ?? [], scale, about));
  return item;
}

function groupHead(group, wrong, scale, about) {
  const { request } = group;
  const last = [...group.entries].reverse().find((entry) => entry.answers?.source === request.source);
  const outcome = !request.answer ? "no answer" : group.failed ? "error" : "";
  const asked = group.entries.filter((entry) => entry.kind === "request" && entry.source !== request.source).length;
  const told = group.entries.filter((entry) => entry.kind === "notification").length;
  const notes = [
    group.task !== null && "task",
    group.rounds > 1 && `${group.rounds} rounds`,
    asked && counted(asked, "question"),
    told && counted(told, "notification"),
  ].filter(Boolean);
  const seconds = last && typeof last.at === "number" && typeof request.at === "number" ? last.at - request.at : null;
  return el(
    "div",
    { class: "group-head" },
    el("h4", {}, heading(request)),
    outcome && el("span", { class: "outcome" }, outcome),
    notes.map((note) => el("span", { class: "tag" }, note)),
    wrong.length > 0 && el("span", { class: "tag pinned" }, counted(wrong.length, "finding")),
    el("span", { class: "seconds" }, span(seconds)),
    waterfall(group, scale),
    el("span", { class: "buttons" }, request.source === "client" && requestButtons(group, about)),
  );
}

function waterfall(group, scale) {
  if (!scale || group.from === null || scale.to <= scale.from) return null;
  const whole = scale.to - scale.from;
  const bar = el("span", { class: group.failed ? "bar is-failed" : "bar" });
  bar.style.marginLeft = `${(100 * (group.from - scale.from)) / whole}%`;
  bar.style.width = `${Math.max(0.8, (100 * (group.to - group.from)) / whole)}%`;
  return el("span", { class: "waterfall", "aria-hidden": "true" }, bar);
}

const ROLES = {
  request: { client: "request", server: "question" },
  result: { client: "answer", server: "answer" },
  error: { client: "error", server: "error" },
};

function rowView(entry, pins, scale, about) {
  const direction = entry.source === "client" ? "to-server" : entry.source === "server" ? "to-client" : "aside";
  const role = entry.kind === "result" && entry.failed ? "error" : (ROLES[entry.kind]?.[entry.source] ?? entry.kind);
  const spoken = direction === "to-server" ? "client to server: " : direction === "to-client" ? "server to client: " : "";
  const at = typeof entry.at === "number" && scale ? span(entry.at - scale.from) : "";
  const label = el(
    "span",
    { class: "label" },
    el("span", { class: "offscreen" }, spoken),
    el("span", { class: "what" }, entry.title || (entry.kind === "note" ? "note" : entry.kind)),
    el("span", { class: "gist" }, entry.note || (entry.said ? "" : entry.text.slice(0, 300))),
  );
  const head = el("summary", {}, el("span", { class: "time" }, at ? `+${at}` : ""), el("span", { class: "track" }, label));
  const answering = entry.source === "http" && entry.title.startsWith("HTTP ") ? " of-server" : "";
  const row = el("details", { class: `row ${direction} ${role}${answering}`, "data-frame": entry.index }, head);
  const body = el("div", { class: "body" });
  row.append(body);
  row.addEventListener("toggle", () => row.open && !body.childElementCount && fill(body, bodyView(entry, pins)));
  if (pins.length) {
    fill(body, bodyView(entry, pins));
    row.open = true;
  }
  if (!pins.length) return row;
  return el("div", { class: "pinned-row" }, row, el("ul", { class: "pins" }, pins.map((pin) => pinView(pin, about))));
}

function bodyView(entry, pins) {
  const marks = pins.flatMap((pin) => (pin.path ? marksOf(pin) : []));
  const body = entry.kind === "http" && entry.source !== "http" ? httpView(entry.text) : jsonView(entry.text, marks);
  const copying = copier(entry.said ? "copy JSON" : "copy text", () => (entry.said ? pretty(entry.text) : entry.text));
  return [body, el("div", { class: "buttons" }, copying)];
}

// The paths of checks begin where the value does that they are about.
function marksOf(pin) {
  const path = steps(pin.path);
  return pin.requirement ? ["result", "error", "params"].map((part) => [part, ...path]).concat([path]) : [path];
}

function httpView(text) {
  const found = /^(.*?\))? ?([[{].*)$/s.exec(text);
  const body = found && asJson(found[2]) ? found[2] : null;
  if (body === null) return el("pre", { class: "plain" }, text);
  return [el("pre", { class: "plain" }, text.slice(0, text.length - body.length)), jsonView(body)];
}

function pinView(pin) {
  return el(
    "li",
    { class: pin.warning ? "pin is-warned" : "pin is-failed" },
    el("p", {}, el("strong", {}, longText(pin.message)), pin.path && !pin.message.includes(pin.path) ? [" at ", el("code", {}, pin.path)] : null),
    pin.requirement && el("p", { class: "requirement" }, el("code", {}, pin.requirement), pin.level ? ` (${pin.level}): ` : ": ", pin.statement ?? ""),
    pin.remedy && el("p", { class: "remedy" }, el("b", {}, "Remedy: "), pin.remedy),
    pin.hint && el("p", { class: "remedy" }, el("b", {}, "Hint: "), pin.hint),
  );
}

// The page: head, filters, the list, what is chosen, keys. What is chosen stands in the address, after #.

const data = JSON.parse(document.getElementById("data").textContent);
const KEYS = [
  ["/", "search"],
  ["j or ↓, k or ↑", "next, previous result"],
  ["n, N", "next, previous failure"],
  ["Enter", "go to the chosen result"],
  ["1 … 7", "show or hide a status, in the order of the buttons"],
  ["x", "clear all filters"],
  ["o", "overview"],
  ["l", "timeline"],
  ["e, c", "unfold, fold all messages"],
  ["t", "light, dark, or as the system"],
  ["?", "this help"],
  ["Esc", "close, or leave the search"],
];

const NARROW = matchMedia("(max-width: 900px)"); // the same in the style sheet
const THEMES = ["auto", "light", "dark"];

function applyTheme(theme) {
  document.documentElement.dataset.theme = theme;
  try {
    localStorage.setItem("mcp-conductor-theme", theme);
  } catch {
    // A page from a file may not remember anything.
  }
}

function rememberedTheme() {
  try {
    const theme = localStorage.getItem("mcp-conductor-theme");
    return THEMES.includes(theme) ? theme : "auto";
  } catch {
    return "auto";
  }
}

function helpDialog(known) {
  const dialog = el("dialog", { class: "help", "aria-labelledby": "help-title" });
  return add(
    dialog,
    el("h2", { id: "help-title" }, "Keys"),
    el("dl", {}, known.map(([key, what]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, what)])),
    button("close", () => dialog.close()),
  );
}

const themeButton = (changed) => {
  const view = button("", () => {
    const next = THEMES[(THEMES.indexOf(document.documentElement.dataset.theme) + 1) % THEMES.length];
    applyTheme(next);
    name();
    changed();
  }, { class: "quiet theme" });
  const name = () => fill(view, { auto: "◐ auto", light: "☀ light", dark: "☾ dark" }[document.documentElement.dataset.theme]);
  name();
  view.title = "colours: as the system, light or dark";
  return view;
};

function banner(lines, verdict, help, changed) {
  return el(
    "header",
    { class: "banner" },
    el("div", { class: "verdict" }, verdict, el("div", { class: "about" }, el("h1", {}, data.title), el("p", {}, lines.filter(Boolean).map((line) => el("span", {}, line))))),
    el("div", { class: "tools" }, themeButton(changed), button("? keys", () => help.showModal(), { class: "quiet", "aria-haspopup": "dialog" })),
  );
}

const LONGEST_NAME = 300; // characters
const serverName = (server) => [server?.title ?? server?.name, server?.version].filter((part) => typeof part === "string").join(" ").slice(0, LONGEST_NAME);

function unfold(open, within) {
  for (const fold of within.querySelectorAll("details.row")) fold.open = open;
}

// Conversations alone: one after the other, and a link to each frame.
function recordingPage(help) {
  const talks = [];
  const parts = data.conversations.map((each, place) => {
    const talk = conversation(each.frames, each.pins ?? [], { reach: each.reach, protocol: each.protocolVersion });
    talks.push(talk);
    const facts = [serverName(each.server), each.protocolVersion && `MCP ${each.protocolVersion}`, counted(each.frames.length, "frame"), each.note];
    const about = el("p", { class: "facts" }, facts.filter(Boolean).map((fact) => el("span", {}, fact)));
    return el("section", { class: "part", "aria-labelledby": `talk-${place}` }, el("h2", { id: `talk-${place}` }, each.title), about, talk);
  });
  const frames = data.conversations.reduce((sum, each) => sum + each.frames.length, 0);
  const lines = [data.started, counted(data.conversations.length, "conversation"), counted(frames, "frame")];
  document.body.append(
    banner(lines, null, help, () => {}),
    el("main", { class: "alone", tabindex: "-1" }, el("article", { class: "detail" }, (data.notes ?? []).map((note) => el("p", { class: "reason" }, note)), parts)),
  );
  const follow = () => {
    const found = /^#frame=(?:(\d+)\.)?(\d+)$/.exec(location.hash);
    if (found) talks[Number(found[1] ?? 1) - 1]?.reveal(Number(found[2]));
  };
  window.addEventListener("hashchange", follow);
  follow();
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    if (event.key === "?") help.showModal();
    if (event.key === "e" || event.key === "c") unfold(event.key === "e", document.body);
    if (event.key === "t") document.querySelector(".theme").click();
  });
}

function reportPage(help) {
  const counts = {};
  for (const outcome of data.outcomes) counts[outcome.status] = (counts[outcome.status] ?? 0) + 1;
  const filter = { statuses: new Set(), group: "", text: "", slowest: false };
  const present = STATUSES.filter((status) => counts[status]);
  const pane = el("main", { class: "pane", id: "result", tabindex: "-1" });
  const list = new OutcomeList(data, choose);
  const found = el("p", { class: "found", role: "status" });
  const places = [...new Set(data.outcomes.map(placeOf))];

  const toggles = present.map((status) =>
    button([glyph(status), ` ${words(status)} `, el("b", {}, counts[status].toLocaleString("en"))], () => toggle(status), {
      class: `toggle is-${status}`,
      "aria-pressed": "false",
      "data-status": status,
    }),
  );
  const search = el("input", { type: "search", id: "search", placeholder: "search ( / )", autocomplete: "off", spellcheck: "false", "aria-label": "search names, messages, paths and tags", input: () => set({ text: search.value }) });
  const group = el("select", { "aria-label": data.kind === "check" ? "area" : "file", change: () => set({ group: group.value }) }, el("option", { value: "" }, data.kind === "check" ? "all areas" : "all files"), places.map((place) => el("option", { value: place }, place)));
  const order = data.kind === "check" ? null : el("select", { "aria-label": "order", change: () => set({ slowest: order.value === "slowest" }) }, el("option", { value: "" }, "in order"), el("option", { value: "slowest" }, "slowest first"));

  function set(change) {
    Object.assign(filter, change);
    list.filter(filter);
    for (const each of toggles) each.setAttribute("aria-pressed", String(filter.statuses.has(each.dataset.status)));
    fill(found, `${list.visible.length.toLocaleString("en")} of ${counted(data.outcomes.length, data.kind === "check" ? "requirement" : "test")}`);
  }
  function toggle(status) {
    const statuses = new Set(filter.statuses);
    if (!statuses.delete(status)) statuses.add(status);
    set({ statuses });
    openList(true);
  }
  function clear() {
    search.value = "";
    group.value = "";
    if (order) order.value = "";
    set({ statuses: new Set(), group: "", text: "", slowest: false });
  }
  function choose(index) {
    if (index === null) return;
    location.hash = linkTo(data.outcomes[index]);
  }
  function show(view) {
    fill(pane, view);
    pane.scrollTop = 0;
    view.paint?.();
    openList(false);
    if (NARROW.matches && location.hash) pane.scrollIntoView();
  }
  // On a narrow screen the list is folded, so that what is chosen can be seen.
  function openList(open) {
    side.classList.toggle("is-open", open);
    lister.setAttribute("aria-expanded", String(open));
    if (open) list.draw(true);
  }
  function follow() {
    const wanted = new URLSearchParams(location.hash.slice(1).replaceAll("+", "%2B"));
    const views = { overview: () => overview(data, { narrow }), timeline: () => timeline(data, choose) };
    for (const tab of tabs) tab.removeAttribute("aria-current");
    const id = wanted.get("test");
    const index = id === null ? -1 : data.outcomes.findIndex((outcome) => outcome.id.replace(/\p{Cs}/gu, "\ufffd") === id && (!wanted.get("version") || !outcome.version || outcome.version === wanted.get("version")));
    if (index >= 0) {
      if (!list.visible.includes(index)) clear();
      const place = placeOf(data.outcomes[index]);
      if (list.folded.delete(place)) list.arrange();
      list.select(index);
      show(detail(data.outcomes[index], data));
      announce(`${words(data.outcomes[index].status)}: ${data.outcomes[index].title}`);
      document.title = `${shown(data.outcomes[index].title)} · ${shown(data.title)}`;
      return;
    }
    const name = location.hash === "#timeline" && tabs.length > 1 ? "timeline" : "overview";
    list.select(null);
    show(id === null ? views[name]() : el("article", { class: "detail" }, el("p", { class: "reason" }, "This report has no test ", el("code", {}, id))));
    tabs.find((tab) => tab.dataset.view === name)?.setAttribute("aria-current", "page");
    document.title = shown(data.title);
  }
  function narrow(place) {
    group.value = place;
    set({ group: place });
    openList(true);
    list.element.focus();
  }

  const lister = button(data.kind === "check" ? "All requirements" : "All tests", () => openList(!side.classList.contains("is-open")), { class: "tab", "aria-expanded": "false" });
  const hasTimeline = data.outcomes.some((outcome) => typeof outcome.began === "number");
  const tabs = [["overview", "Overview"], ...(hasTimeline ? [["timeline", "Timeline"]] : [])].map(([name, label]) => el("a", { href: `#${name}`, class: "tab", "data-view": name }, label));
  const verdict = el("div", { class: `seal ${data.grade ? `grade-${data.grade.letter}` : data.red ? "is-failed" : "is-passed"}` }, data.grade ? el("b", {}, data.grade.letter) : el("b", { "aria-hidden": "true" }, data.red ? "✗" : "✓"), el("span", { class: "offscreen" }, data.red ? "failed" : "passed"));
  const lines = [data.summaryLine, serverName(data.server), data.protocolVersion && `MCP ${data.protocolVersion}`, data.started];
  const side = el(
    "nav",
    { class: "side", "aria-label": "results" },
    el("div", { class: "tabs" }, tabs, lister),
    meter(counts, data.outcomes.length || 1),
    el("div", { class: "toggles", role: "group", "aria-label": "statuses to show" }, toggles),
    el("div", { class: "filters", role: "search" }, search, group, order, button("clear", clear, { class: "quiet" })),
    found,
    list.element,
  );
  document.body.append(
    el("a", { class: "skip", href: "#result", click: (event) => { event.preventDefault(); pane.focus(); } }, "skip to the result"),
    banner(lines, verdict, help, () => pane.firstElementChild?.paint?.()),
    el("div", { class: "columns" }, side, pane),
  );
  set({});
  window.addEventListener("hashchange", follow);
  window.addEventListener("resize", () => list.draw());
  follow();
  keys({ help, search, list, pane, choose, toggle, clear, present, openList });
  printing(pane, list, follow);
}

function keys({ help, search, list, pane, choose, toggle, clear, present, openList }) {
  const go = (index) => index !== null && choose(index);
  const does = {
    "/": () => {
      openList(true);
      search.focus();
    },
    "?": () => help.showModal(),
    j: () => go(list.neighbour(1)),
    k: () => go(list.neighbour(-1)),
    ArrowDown: () => go(list.neighbour(1)),
    ArrowUp: () => go(list.neighbour(-1)),
    n: () => go(list.neighbour(1, true)),
    N: () => go(list.neighbour(-1, true)),
    o: () => { location.hash = "overview"; },
    l: () => { location.hash = "timeline"; },
    e: () => unfold(true, pane),
    c: () => unfold(false, pane),
    t: () => document.querySelector(".theme").click(),
    x: () => clear(),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    const typing = event.target.matches?.("input, select, textarea");
    if (event.key === "Escape" && typing) {
      list.element.focus();
      return;
    }
    if (typing) {
      if (event.target === search && event.key === "Enter") go(list.neighbour(0) ?? null);
      return;
    }
    const inPane = pane.contains(event.target);
    if (event.key.startsWith("Arrow") && inPane) return; // which scrolls there
    if (event.key === "Enter" && [list.element, document.body].includes(event.target)) document.getElementById("detail-title")?.focus();
    const status = present[Number(event.key) - 1];
    const act = does[event.key] ?? (status && (() => toggle(status)));
    if (!act) return;
    event.preventDefault();
    act();
  });
}

// On paper: the overview, and all failures that fit the filters.
function printing(pane, list, follow) {
  const MOST = 100;
  window.addEventListener("beforeprint", () => {
    const bad = list.visible.filter((index) => BAD.has(data.outcomes[index].status));
    fill(pane, overview(data, { narrow() {} }), bad.slice(0, MOST).map((index) => detail(data.outcomes[index], data)));
    if (bad.length > MOST) pane.append(el("p", {}, `${bad.length - MOST} more failures are left out.`));
  });
  window.addEventListener("afterprint", follow);
}

function start() {
  applyTheme(rememberedTheme());
  const alone = data.kind === "recording";
  const help = helpDialog(alone ? KEYS.filter(([key]) => ["e, c", "t", "?", "Esc"].includes(key)) : KEYS);
  announcing = el("p", { class: "offscreen", role: "status" });
  (alone ? recordingPage : reportPage)(help);
  document.body.append(help, announcing);
  document.documentElement.dataset.ready = "true";
}

start();

// What came of the whole run: the grade, the parts, warnings, coverage.

function overview(report, { narrow }) {
  return el(
    "article",
    { class: "detail", "aria-labelledby": "detail-title" },
    el("header", {}, el("h2", { id: "detail-title", tabindex: "-1" }, "Overview"), el("p", { class: "facts" }, el("span", {}, report.summaryLine))),
    report.stopped && el("p", { class: "reason" }, el("b", {}, "The run ended early: "), report.stopped),
    gradeView(report),
    listed(report, "What failed", (outcome) => BAD.has(outcome.status)),
    listed(report, "What is known to fail", (outcome) => outcome.status === "xfailed"),
    listed(report, "What is warned about", (outcome) => outcome.status === "warned"),
    listed(report, `Of the ${report.framework?.title}: not counted`, (outcome) => outcome.status === "sdk"),
    partsView(report, narrow),
    warningsView(report),
    flakyView(report),
    migrationView(report),
    coverageView(report),
    slowestView(report),
  );
}

function gradeView(report) {
  const { grade, ungraded } = report;
  if (!grade && !ungraded) return null;
  if (!grade) return section("Grade", el("p", {}, el("b", {}, "No grade: "), ungraded));
  const rows = Object.entries(grade.perRevision ?? {});
  return section(
    "Grade",
    el(
      "div",
      { class: "grade" },
      el("span", { class: `letter grade-${grade.letter}` }, grade.letter),
      el(
        "div",
        {},
        el("p", {}, el("b", {}, `Grade ${grade.letter}`), ` in ${grade.revision}: ${grade.reason}.`),
        report.gradeOfAll && el("p", {}, `With what is of the ${report.framework?.title} (${report.framework?.how}): grade ${report.gradeOfAll.letter}, ${report.gradeOfAll.reason}.`),
        el("details", { class: "letters" }, el("summary", {}, "What the letters mean"), el("dl", {}, Object.entries(report.grading).map(([letter, meaning]) => [el("dt", {}, letter), el("dd", {}, meaning)]))),
      ),
    ),
    rows.length > 1 &&
      table(["revision", "grade", "why"], rows.map(([name, each]) => [name, each.letter, each.reason])),
  );
}

const MOST_LISTED = 50;

// The outcomes that FIT, each with the first thing that is wrong, and where that is not clear, its place.
function listed(report, title, fit) {
  const found = report.outcomes.filter(fit);
  if (!found.length) return null;
  const severalFiles = new Set(report.outcomes.map((outcome) => outcome.file)).size > 1;
  const rows = found.slice(0, MOST_LISTED).map((outcome) =>
    el(
      "li",
      {},
      glyph(outcome.status),
      el("a", { href: `#${linkTo(outcome)}` }, outcome.level ? outcome.id : outcome.title),
      outcome.version && el("span", { class: "tag" }, outcome.version),
      severalFiles && outcome.file && el("span", { class: "place" }, `${outcome.file}:${outcome.line}`),
      el("span", { class: "why" }, outcome.findings?.find((finding) => !finding.warning)?.message ?? outcome.reason ?? words(outcome.status)),
    ),
  );
  const more = found.length > MOST_LISTED && el("p", { class: "note" }, `${found.length - MOST_LISTED} more are in the list.`);
  return section(title, el("ol", { class: "failures" }, rows), more);
}

const SHORT = 16; // characters that stand on one line

function table(head, rows, label = head[0]) {
  return el(
    "div",
    { class: "table", tabindex: "0", role: "group", "aria-label": `table by ${label}` },
    el(
      "table",
      {},
      el("thead", {}, el("tr", {}, head.map((cell) => el("th", { scope: "col" }, cell)))),
      el("tbody", {}, rows.map((cells) => el("tr", {}, cells.map((cell, place) => el(place ? "td" : "th", { scope: place ? null : "row", class: isShort(cell) ? "short" : null }, cell))))),
    ),
  );
}

const isShort = (cell) => (typeof cell === "string" || typeof cell === "number") && String(cell).length <= SHORT;

function partsView(report, narrow) {
  const parts = new Map();
  for (const outcome of report.outcomes) {
    const name = placeOf(outcome);
    if (!parts.has(name)) parts.set(name, { total: 0, seconds: 0, counts: {} });
    const part = parts.get(name);
    part.total += 1;
    part.seconds += outcome.seconds;
    part.counts[outcome.status] = (part.counts[outcome.status] ?? 0) + 1;
  }
  const checks = report.kind === "check";
  const used = STATUSES.filter((status) => [...parts.values()].some((part) => part.counts[status]));
  const rows = [...parts].slice(0, 500).map(([name, part]) => [
    button(name, () => narrow(name), { class: "link", title: `show only ${shown(name)}` }),
    meter(part.counts, part.total),
    ...used.map((status) => part.counts[status] ?? ""),
    ...(checks ? [] : [span(part.seconds)]),
  ]);
  if (!rows.length) return null;
  return section(checks ? "Areas" : "Files", table([checks ? "area" : "file", "", ...used.map(words), ...(checks ? [] : ["time"])], rows));
}

// The shares of the statuses as one bar.
function meter(counts, total) {
  const told = STATUSES.filter((status) => counts[status]).map((status) => `${counts[status]} ${words(status)}`);
  const bar = el("span", { class: "meter", role: "img", "aria-label": told.join(", ") || "nothing" });
  for (const status of STATUSES) {
    if (!counts[status]) continue;
    const part = el("span", { class: `is-${status}` });
    part.style.flexGrow = String(counts[status] / total);
    bar.append(part);
  }
  return bar;
}

function warningsView(report) {
  if (!report.warnings.length) return null;
  return section(
    "Warnings",
    el("ul", { class: "findings" }, report.warnings.map((warning) =>
      el("li", { class: "finding is-warned" }, el("p", { class: "message" }, warning.message), warning.file && el("p", { class: "places" }, `${warning.file}:${warning.line}`)))),
  );
}

function flakyView(report) {
  const flaky = Object.entries(report.flaky ?? {});
  return flaky.length ? section("Not always the same", table(["test", "how often"], flaky.slice(0, 200))) : null;
}

function migrationView(report) {
  const found = report.migration;
  if (!found?.steps?.length) return null;
  return section(found.heading, table(["what", "how", "because", "requirements"], found.steps.map((step) => [step.name, step.what ?? "", step.because ?? "", (step.ids ?? []).join(", ")])));
}

function coverageView(report) {
  if (!report.coverage.length) return null;
  return section("Coverage", table(["kind", "used", "not used"], report.coverage.map((each) => [each.kind, `${each.touched} of ${each.total}`, each.untouched.join(", ")])));
}

function slowestView(report) {
  if (report.kind === "check") return null;
  const timed = report.outcomes.filter((outcome) => outcome.seconds > 0);
  if (timed.length < 2) return null;
  const slowest = timed.sort((a, b) => b.seconds - a.seconds).slice(0, 10);
  return section("Slowest", table(["test", "time", "file"], slowest.map((outcome) => [el("a", { href: `#${linkTo(outcome)}` }, outcome.title), span(outcome.seconds), outcome.file ?? ""])));
}

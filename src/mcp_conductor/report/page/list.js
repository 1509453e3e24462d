// All outcomes that fit the filters, in groups. Only the rows that are seen are in the page, however many there are.

const ROW = 34; // pixels; the same in the style sheet
const SPARE_ROWS = 12;

class OutcomeList {
  constructor(report, choose) {
    this.report = report;
    this.choose = choose;
    this.folded = new Set();
    this.rows = [];
    this.visible = [];
    this.inner = el("ul", { class: "rows" });
    this.element = el("div", { class: "scroller", tabindex: "0", role: "group", "aria-label": "results", scroll: () => this.draw() }, this.inner);
    this.texts = report.outcomes.map((outcome) => searchText(outcome));
    this.current = null;
  }

  // Show what FILTER lets pass: {statuses, group, text}.
  filter({ statuses, group, text, slowest }) {
    const wanted = text.toLowerCase().split(/\s+/).filter(Boolean);
    const { outcomes } = this.report;
    this.visible = [];
    for (let index = 0; index < outcomes.length; index += 1) {
      const outcome = outcomes[index];
      if (statuses.size && !statuses.has(outcome.status)) continue;
      if (group && placeOf(outcome) !== group) continue;
      if (wanted.length && !wanted.every((word) => this.texts[index].includes(word))) continue;
      this.visible.push(index);
    }
    this.slowest = slowest;
    if (slowest) this.visible.sort((a, b) => outcomes[b].seconds - outcomes[a].seconds);
    this.arrange();
  }

  arrange() {
    const { outcomes } = this.report;
    const groups = new Map();
    for (const index of this.visible) {
      const name = this.slowest ? "" : placeOf(outcomes[index]);
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(index);
    }
    this.rows = [];
    for (const [name, members] of groups) {
      if (name) this.rows.push({ group: name, members });
      if (!this.folded.has(name)) for (const index of members) this.rows.push({ index });
    }
    this.inner.style.height = `${this.rows.length * ROW}px`;
    this.element.scrollTop = Math.min(this.element.scrollTop, this.rows.length * ROW);
    this.draw(true);
  }

  draw(again = false) {
    const height = this.element.clientHeight || 600;
    const first = Math.max(0, Math.floor(this.element.scrollTop / ROW) - SPARE_ROWS);
    const last = Math.min(this.rows.length, Math.ceil((this.element.scrollTop + height) / ROW) + SPARE_ROWS);
    if (!again && first === this.first && last === this.last) return;
    [this.first, this.last] = [first, last];
    const focused = document.activeElement?.closest?.("[data-row]")?.dataset.row;
    const views = [];
    for (let place = first; place < last; place += 1) views.push(this.rowView(this.rows[place], place));
    this.inner.replaceChildren(...views);
    if (focused !== undefined) this.inner.querySelector(`[data-row="${Number(focused)}"]`)?.focus({ preventScroll: true });
    if (!this.rows.length) this.inner.append(el("li", { class: "none" }, "Nothing fits these filters."));
  }

  rowView(row, place) {
    const item = el("li", { "aria-setsize": this.rows.length, "aria-posinset": place + 1 });
    item.style.top = `${place * ROW}px`;
    return add(item, row.group === undefined ? this.outcomeRow(row.index, place) : this.groupRow(row, place));
  }

  outcomeRow(index, place) {
    const outcome = this.report.outcomes[index];
    const here = index === this.current;
    return el(
      "a",
      { class: here ? "row is-current" : "row", href: `#${linkTo(outcome)}`, "aria-current": here ? "true" : null, "data-row": place, title: outcome.title },
      glyph(outcome.status),
      el("span", { class: "offscreen" }, `${words(outcome.status)}: `),
      outcome.level ? el("code", { class: "id" }, outcome.id) : el("span", { class: "title" }, outcome.title),
      outcome.version && el("span", { class: "tag" }, outcome.version),
      outcome.level && el("span", { class: "tag" }, outcome.level),
      outcome.flaky && el("span", { class: "tag" }, "flaky"),
      !outcome.level && el("span", { class: "seconds" }, outcome.seconds > 0 ? span(outcome.seconds) : ""),
    );
  }

  groupRow(row, place) {
    const open = !this.folded.has(row.group);
    const bad = row.members.filter((index) => BAD.has(this.report.outcomes[index].status)).length;
    const press = () => {
      if (open) this.folded.add(row.group);
      else this.folded.delete(row.group);
      this.arrange();
    };
    return button(
      [
        el("span", { class: "twist", "aria-hidden": "true" }, open ? "▾" : "▸"),
        el("span", { class: "title" }, row.group),
        bad > 0 && el("span", { class: "count is-failed" }, `${bad} ✗`),
        el("span", { class: "count" }, row.members.length),
      ],
      press,
      { class: "row group-row", "aria-expanded": String(open), "data-row": place, title: row.group },
    );
  }

  // Mark the outcome INDEX, and scroll to it; null marks none.
  select(index) {
    this.current = index;
    const place = this.rows.findIndex((row) => row.index === index);
    if (place >= 0) {
      const top = place * ROW;
      const { scrollTop, clientHeight } = this.element;
      if (top < scrollTop + ROW || top > scrollTop + clientHeight - 2 * ROW) this.element.scrollTop = top - clientHeight / 2;
    }
    this.draw(true);
  }

  // The outcome that is DISTANCE after the current one, among those that fit; of those that are bad, if ONLY_BAD.
  neighbour(distance, onlyBad = false) {
    const shownOnes = this.rows.filter((row) => row.index !== undefined).map((row) => row.index);
    const fit = onlyBad ? shownOnes.filter((index) => BAD.has(this.report.outcomes[index].status)) : shownOnes;
    if (!fit.length) return null;
    const place = fit.indexOf(this.current);
    if (place >= 0) return fit[Math.min(fit.length - 1, Math.max(0, place + distance))];
    if (!onlyBad || this.current === null) return distance > 0 ? fit[0] : fit.at(-1);
    const order = new Map(shownOnes.map((index, at) => [index, at]));
    const here = order.get(this.current) ?? -1;
    const ahead = distance > 0 ? fit.find((index) => order.get(index) > here) : fit.findLast((index) => order.get(index) < here);
    return ahead ?? fit[0];
  }
}

const placeOf = (outcome) => (outcome.level ? outcome.group : (outcome.file ?? outcome.group));

function searchText(outcome) {
  const found = (outcome.findings ?? []).map((finding) => `${finding.message} ${finding.path ?? ""}`).join(" ");
  return `${outcome.id} ${outcome.title} ${outcome.group} ${(outcome.tags ?? []).join(" ")} ${outcome.reason ?? ""} ${found}`.toLowerCase();
}

// Half a character cannot stand in a link.
const named = (text) => encodeURIComponent(text.replace(/\p{Cs}/gu, "\ufffd"));

const linkTo = (outcome) => `test=${named(outcome.id)}${outcome.version ? `&version=${named(outcome.version)}` : ""}`;

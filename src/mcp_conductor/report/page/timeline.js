// When each test ran, and which worker ran it: a lane for each worker, a band for each file, a bar for each test.

const LANE = 64;
const BAND = 18;
const AXIS = 24;
const TICK_ROOM = 90; // pixels, at least, between two times

function timeline(report, choose) {
  const ran = report.outcomes.map((outcome, index) => ({ outcome, index })).filter(({ outcome }) => typeof outcome.began === "number");
  if (!ran.length) return null;
  const end = Math.max(extent(ran.map(({ outcome }) => outcome.began + outcome.seconds)).to, report.seconds ?? 0, 0.001);
  const workers = 1 + ran.reduce((most, { outcome }) => Math.max(most, outcome.worker ?? 0), 0);
  const canvas = el("canvas", { role: "img", "aria-label": `${counted(ran.length, "test")} on ${counted(workers, "worker")} in ${span(end)}; the table below names the slowest files` });
  const tip = el("p", { class: "tip", "aria-live": "off" }, "Point at a bar to see its test; click it to open the test. Where there is no bar, servers start and end, and files are set up.");
  const bands = filesOf(ran);
  const paint = () => paintTimeline(canvas, ran, bands, end, workers);
  const hit = (event) => {
    const box = canvas.getBoundingClientRect();
    return nearestBar(ran, ((event.clientX - box.left) / box.width) * end, Math.floor((event.clientY - box.top) / LANE), (3 / box.width) * end);
  };
  canvas.addEventListener("mousemove", (event) => {
    const found = hit(event);
    canvas.style.cursor = found ? "pointer" : "default";
    if (found) fill(tip, `${GLYPHS[found.outcome.status]} ${found.outcome.title}: ${span(found.outcome.seconds)}, from ${span(found.outcome.began)} on, in ${found.outcome.file}`);
  });
  canvas.addEventListener("click", (event) => {
    const found = hit(event);
    if (found) choose(found.index);
  });
  const rows = bands.sort((a, b) => b.to - b.from - (a.to - a.from)).slice(0, 100);
  const view = el(
    "article",
    { class: "detail", "aria-labelledby": "detail-title" },
    el("header", {}, el("h2", { id: "detail-title", tabindex: "-1" }, "Timeline"), el("p", { class: "facts" }, el("span", {}, counted(workers, "worker")), el("span", {}, counted(bands.length, "file")), el("span", {}, span(end)))),
    el("div", { class: "timeline" }, canvas),
    tip,
    section("Files", table(["file", "worker", "from", "time", "tests"], rows.map((band) => [band.file, band.worker + 1, span(band.from), span(band.to - band.from), band.count]))),
  );
  new ResizeObserver(paint).observe(canvas.parentElement ?? view.querySelector(".timeline"));
  view.paint = paint;
  return view;
}

function filesOf(ran) {
  const bands = new Map();
  for (const { outcome } of ran) {
    const key = `${outcome.worker} ${outcome.file}`;
    const band = bands.get(key) ?? { file: outcome.file ?? outcome.group, worker: outcome.worker ?? 0, from: Infinity, to: 0, count: 0 };
    band.from = Math.min(band.from, outcome.began);
    band.to = Math.max(band.to, outcome.began + outcome.seconds);
    band.count += 1;
    bands.set(key, band);
  }
  return [...bands.values()];
}

function nearestBar(ran, at, worker, slack) {
  let best = null;
  for (const each of ran) {
    const { began, seconds } = each.outcome;
    if ((each.outcome.worker ?? 0) !== worker || at < began - slack || at > began + seconds + slack) continue;
    const distance = Math.abs(at - (began + seconds / 2));
    if (!best || distance < best.distance) best = { ...each, distance };
  }
  return best;
}

function paintTimeline(canvas, ran, bands, end, workers) {
  const width = canvas.parentElement.clientWidth;
  const height = workers * LANE + AXIS;
  const ratio = window.devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.height = `${height}px`;
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  pen.font = "12px system-ui, sans-serif";
  const x = (seconds) => (seconds / end) * width;
  for (let worker = 0; worker < workers; worker += 1) {
    pen.fillStyle = colour(worker % 2 ? "ground" : "raised");
    pen.fillRect(0, worker * LANE, width, LANE);
    if (workers === 1) continue;
    pen.fillStyle = colour("dim");
    pen.fillText(`worker ${worker + 1}`, 6, worker * LANE + LANE - 6);
  }
  paintTimes(pen, { x, end, width, top: workers * LANE, colour });
  for (const band of bands) {
    const room = Math.max(1, x(band.to) - x(band.from));
    pen.fillStyle = colour("line");
    pen.fillRect(x(band.from), band.worker * LANE + 6, room, BAND);
    if (room < 40) continue;
    pen.save();
    pen.beginPath();
    pen.rect(x(band.from), band.worker * LANE + 6, room - 4, BAND);
    pen.clip();
    pen.fillStyle = colour("ink");
    pen.fillText(shown(band.file), x(band.from) + 6, band.worker * LANE + BAND + 1);
    pen.restore();
  }
  const bad = ran.filter(({ outcome }) => BAD.has(outcome.status));
  for (const { outcome } of [...ran, ...bad]) { // failures last, and wide enough to be seen
    pen.fillStyle = colour(outcome.status);
    const room = Math.max(BAD.has(outcome.status) ? 4 : 1, x(outcome.seconds) - 0.5);
    pen.fillRect(x(outcome.began), (outcome.worker ?? 0) * LANE + BAND + 12, room, LANE - BAND - 22);
  }
}

// Times below the lanes, and lines through them: as many as there is room for, at round numbers.
function paintTimes(pen, { x, end, width, top, colour }) {
  const least = (end * TICK_ROOM) / Math.max(width, 1);
  const power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].map((times) => times * power).find((each) => each >= least);
  pen.fillStyle = colour("soft");
  pen.fillRect(0, top, width, AXIS);
  for (let number = 0; number * step <= end; number += 1) {
    const at = number * step;
    pen.fillStyle = colour("line");
    pen.fillRect(x(at), 0, 1, top + 5);
    pen.fillStyle = colour("dim");
    if (x(at) < width - 44) pen.fillText(number ? roundSpan(at) : "0", x(at) + 4, top + 16);
  }
}

const roundSpan = (seconds) => (seconds < 1 ? `${Number((seconds * 1000).toPrecision(3))} ms` : seconds < 60 ? `${Number(seconds.toPrecision(3))} s` : span(seconds));

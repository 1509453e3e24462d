// Elements and texts. All text of others gets into the page here, as text: nothing in it is ever read as HTML.

const UNSEEN = new RegExp(
  "[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u180e\\u200b\\u200e\\u200f\\u2028-\\u202e" +
    "\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb\\ufffe\\uffff]|\\p{Cs}|[\\u{e0000}-\\u{e007f}]",
  "gu",
);

// TEXT with an escape for each character that cannot be seen, or that turns the direction of writing.
function shown(text) {
  return String(text).replace(UNSEEN, (found) => "\\u" + found.codePointAt(0).toString(16).padStart(4, "0"));
}

// An element. Functions among its attributes are listeners; `null` and `false` leave an attribute or a child out.
function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  add(element, ...children);
  return element;
}

function add(element, ...children) {
  for (const child of children.flat(3)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(shown(child)));
  }
  return element;
}

function fill(element, ...children) {
  element.replaceChildren();
  return add(element, ...children);
}

const button = (label, press, attributes = {}) => el("button", { type: "button", click: press, ...attributes }, label);

// A link that leaves the page: only what is certainly the address of a document.
function outside(address, label) {
  if (!/^https?:\/\//i.test(address)) return el("span", {}, label);
  return el("a", { href: address, rel: "noopener noreferrer", target: "_blank", class: "outside" }, label);
}

function span(seconds) {
  if (seconds === null || seconds === undefined) return "";
  if (seconds < 0.0095) return `${(seconds * 1000).toFixed(1)} ms`;
  if (seconds < 0.9995) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 59.995) return `${seconds.toFixed(2)} s`;
  const whole = Math.round(seconds);
  return `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

// The least and the greatest of NUMBERS, however many there are; null if there is none.
function extent(numbers) {
  if (!numbers.length) return null;
  let [from, to] = [Infinity, -Infinity];
  for (const number of numbers) {
    if (number < from) from = number;
    if (number > to) to = number;
  }
  return { from, to };
}

const counted = (number, thing) => `${number.toLocaleString("en")} ${thing}${number === 1 ? "" : "s"}`;

const STATUSES = ["failed", "errored", "not-run", "warned", "passed", "xfailed", "sdk", "skipped"];
const GLYPHS = { passed: "✓", failed: "✗", errored: "‼", "not-run": "○", warned: "▲", xfailed: "≈", sdk: "◇", skipped: "–" };
const BAD = new Set(["failed", "errored", "not-run"]);
const words = (status) => (status === "sdk" ? "of the SDK" : status.replace("-", " "));

function glyph(status) {
  return el("span", { class: `glyph is-${status}`, "aria-hidden": "true" }, GLYPHS[status]);
}

function chip(status, label = words(status)) {
  return el("span", { class: `chip is-${status}` }, el("span", { "aria-hidden": "true" }, `${GLYPHS[status]} `), label);
}

// Copy TEXT, and say so on the button and to screen readers. Without the permission, the text is selected in a field.
async function copy(text, pressed) {
  let done = true;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = el("textarea", { class: "offscreen", "aria-hidden": "true" });
    field.value = text;
    document.body.append(field);
    field.select();
    done = document.execCommand("copy");
    field.remove();
  }
  announce(done ? "copied" : "the browser did not allow the page to copy");
  if (!pressed || pressed.dataset.label) return;
  pressed.dataset.label = pressed.textContent;
  pressed.textContent = done ? "copied ✓" : "not allowed";
  setTimeout(() => {
    pressed.textContent = pressed.dataset.label;
    delete pressed.dataset.label;
    pressed.focus({ preventScroll: true });
  }, 1200);
}

const copier = (label, text, attributes = {}) =>
  button(label, (event) => copy(typeof text === "function" ? text() : text, event.currentTarget), {
    class: "quiet",
    ...attributes,
  });

let announcing = null;
function announce(text) {
  if (announcing) announcing.textContent = shown(text);
}

// A text for a POSIX shell.
const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`);

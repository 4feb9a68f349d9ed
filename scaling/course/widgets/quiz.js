// The quiz: grading first (pure, no page needed), then the view. Texts are set as text, never as markup.

/** @typedef {{text: string, feedback: string, correct: boolean}} Option */
/** @typedef {{id: string, kind: "single"|"multiple"|"ordering"|"numeric", prompt: string, hints: string[],
 *   solution: string, options?: Option[], items?: string[], shown?: string[], right?: string, other?: string,
 *   answer?: number, unit?: string, rtol?: number, traps?: any[]}} Question */
/** @typedef {{outcome: ""|"wrong"|"right", say: string, at?: number[]}} Verdict  `at`: options to mark as the wrong ones */

// ---- Reading numbers and units ----

const LONGEST = 100;
/** The text, or its start, without what shows nothing or turns the line around. */
function quote(text) {
  const shown = [...text.replace(/[\p{C}\p{Z}]+/gu, " ")];
  return `“${shown.length > 30 ? `${shown.slice(0, 30).join("")}…` : shown.join("")}”`;
}
const SUPER = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/** One spelling for what looks the same: full-width digits, micro signs, minus signs, spaces, superscripts. */
const plain = (text) =>
  text
    .replace(/[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻]+/g, (run) => `^${[...run].map((c) => ({ "⁺": "", "⁻": "-" })[c] ?? SUPER.indexOf(c)).join("")}`)
    .normalize("NFKC").replace(/[−–‐]/g, "-").replace(/[’‘]/g, "'").replace(/\s+/g, " ").replace(/\bper cent\b/gi, "percent").trim();

/** A run of digits and separators as a number, NaN when it can be read in no way. @param {string} run */
function digits(run) {
  let s = run.replace(/_/g, "");
  if (/[ ']/.test(s)) s = /^[+-]?\d{1,3}([ ']\d{3})+([.,]\d*)?$/.test(s) ? s.replace(/[ ']/g, "") : "NaN";
  if (/^[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?$/.test(s)) s = s.replace(/,/g, "");
  else if (/^[+-]?\d{1,3}(\.\d{3})+,\d+$/.test(s)) s = s.replace(/\./g, "").replace(",", ".");
  else if (/^[+-]?\d{1,3}(\.\d{3}){2,}$/.test(s)) s = s.replace(/\./g, "");
  else if (/^[+-]?\d+,\d+$/.test(s)) s = s.replace(",", ".");
  return Number(s);
}

/**
 * The number that `text` starts with, or what to say when there is none. Powers, products and quotients of numbers
 * are worked out. `doubt` is set where a lone comma was taken to separate thousands.
 * @param {string} text @returns {{value: number, rest: string, doubt: string} | {say: string}}
 */
export function parseNumber(text) {
  if (String(text).length > LONGEST) return { say: `That is too long for a number: use at most ${LONGEST} characters.` };
  let rest = plain(String(text)).replace(/^(?:[~≈=]|about|approx\.?|ca\.?) ?/i, "");
  if (!rest) return { say: "Type a number first." };
  let [value, divide, doubt] = [1, false, ""];
  for (;;) {
    const run = /^[+-]?(?:\d(?:[\d.,_' ]*\d)?\.?|\.\d+)/.exec(rest)?.[0];
    if (!run) return { say: `I can't read ${quote(text)} as a number. Write it like 1234.5, 1.2e3 or 1.2×10^3.` };
    let one = digits(run);
    if (Number.isNaN(one)) {
      return { say: `I can't tell which number ${quote(run)} is. Write one number, with a point for decimals.` };
    }
    if (/^[+-]?[1-9]\d{0,2},\d{3}$/.test(run)) doubt = run;
    rest = rest.slice(run.length);
    const exponent = /^e([+-]?\d+)/i.exec(rest);
    if (exponent) [one, rest] = [one * 10 ** Number(exponent[1]), rest.slice(exponent[0].length)];
    const power = /^ ?(?:\^|\*\*) ?([+-]?\d+)/.exec(rest);
    if (power) [one, rest] = [one ** Number(power[1]), rest.slice(power[0].length)];
    value = divide ? value / one : value * one;
    const operator = /^ ?([x×*·⋅/]) ?(?=[\d.])/i.exec(rest);
    if (!operator) break;
    divide = operator[1] === "/";
    rest = rest.slice(operator[0].length);
  }
  if (!Number.isFinite(value)) return { say: `${quote(text)} is beyond any number I can hold. Check the exponent.` };
  return { value, rest: rest.trim(), doubt };
}

/** name -> [dimension, size in the base unit]; a plural "s" is taken off where the name itself is not listed */
const UNITS = new Map(
  [
    ["s sec second", "s", 1], ["ms msec millisecond", "s", 1e-3], ["us μs usec microsecond", "s", 1e-6],
    ["ns nanosecond", "s", 1e-9], ["min minute", "s", 60], ["h hr hour", "s", 3600], ["d day", "s", 86400],
    ["usd $ us$ dollar", "USD", 1], ["cent ¢", "USD", 0.01],
    ["% percent pct", "", 0.01], ["x × times fold", "", 1],
    ["thousand", "", 1e3], ["million", "", 1e6], ["billion bn", "", 1e9], ["trillion", "", 1e12],
    ["token tok", "token", 1], ["sequence seq", "sequence", 1], ["chip gpu tpu device card", "chip", 1],
    ["step", "step", 1], ["way", "way", 1], ["server", "server", 1], ["query queries request", "query", 1],
  ].flatMap(([names, dimension, size]) => String(names).split(" ").map((name) => [name, [dimension, size]])),
);
const PHYSICAL = ["B", "s", "FLOP", "USD"];
const KINDS = {
  B: "an amount of data", s: "a time", "B s-1": "a bandwidth", FLOP: "a number of operations",
  "FLOP s-1": "a rate of operations", USD: "a sum of money", "USD s-1": "a price per time", "s-1": "a rate",
  "B-1 FLOP": "operations per byte", "": "a plain number",
};
const BITS = "Those are bits, and this course counts bytes (1 byte = 8 bits): write B for bytes, as in GB or KiB.";

/** One word of a unit: [dimension, size], or what to say of it. @param {string} word @returns {[string, number]|string|null} */
function lookUp(word) {
  if (word === "M") return ["", 1e6];
  if (/^k$/i.test(word)) return `${quote(word)} may be 1000 or 1024 here: write the number out.`;
  const short = word.replace(/^(kilo|mega|giga|tera|peta|exa)(?=byte|flop|bit)/i, (p) => p[0])
    .replace(/^(ki|me|gi|te)bi(?=byte)/i, (p) => `${p[0]}i`);
  if (/^[kmgtpe]?i?(bits?|bps)$/i.test(short) || /^([KMGTPE]i?)?b$/.test(short)) return BITS;
  const prefixed = /^([kmgtpe]?)(i?)(b|bytes?|flops?)$/i.exec(short);
  if (!prefixed) return UNITS.get(word.toLowerCase()) ?? UNITS.get(word.toLowerCase().replace(/s$/, "")) ?? null;
  const [, prefix, binary, unit] = prefixed;
  if (/^mb$/i.test(short) && prefix === "m") return `${quote(word)} reads as milli: write MB for megabytes (1 MB = 10^6 bytes).`;
  const size = (binary ? 1024 : 1000) ** ("kmgtpe".indexOf(prefix.toLowerCase()) + 1);
  return [/^b/i.test(unit) ? "B" : "FLOP", prefix ? size : 1];
}

/** @typedef {{size: number, dims: Record<string, number>}} Unit */
/**
 * A unit, such as "GB", "tokens/s" or "USD per million tokens". Words in `own` are taken as things that are counted;
 * with no `own`, every unknown word is. @param {string} text @param {Unit=} own @returns {Unit | {say: string}}
 */
function parseUnit(text, own) {
  const unit = { size: 1, dims: Object.create(null) };
  const parts = text.replace(/[()]/g, " ").replace(/\bper\b/gi, "/").replace(/([kmgtpe]?i?B)ps\b/gi, "$1/s").split("/");
  for (const [i, part] of parts.entries()) {
    for (const word of part.split(/[\s·⋅*-]+/).filter(Boolean)) {
      const amount = /^(\d[\d,]*)(M?)$/.exec(word);
      const name = word.toLowerCase().replace(/s$/, "");
      let found = i && amount ? ["", Number(amount[1].replace(/,/g, "")) * (amount[2] ? 1e6 : 1)] : lookUp(word);
      if (!found && (!own || name in own.dims)) found = [name, 1];
      if (!found && /\d/.test(word)) return { say: "I see more than one number: give one number with one unit." };
      if (!found) return { say: `I don't know the unit ${quote(word)}.` };
      if (typeof found === "string") return { say: found };
      const power = i ? -1 : 1;
      unit.size *= found[1] ** power;
      if (found[0]) unit.dims[found[0]] = (unit.dims[found[0]] ?? 0) + power;
    }
  }
  return unit;
}

const dimensions = (unit, physical) =>
  Object.keys(unit.dims).filter((d) => unit.dims[d] && PHYSICAL.includes(d) === physical).sort()
    .map((d) => d + (unit.dims[d] === 1 ? "" : unit.dims[d])).join(" ");

/**
 * `text` in the base of `asked` ("GB" gives bytes), or what to say. A count or ratio may come without its unit; where
 * the unit has a size, such as %, it then has two readings, and `values` holds both.
 * @param {string} text @param {string} asked @returns {{values: number[], unit: Unit, doubt: string} | {say: string}}
 */
export function parseQuantity(text, asked) {
  const dollars = /^\s*(?:us ?)?[$＄](.*)$/is.exec(text);
  const number = parseNumber(dollars ? dollars[1] : text);
  if ("say" in number) return number;
  const unit = /** @type {Unit} */ (parseUnit(asked));
  const { value, doubt } = number;
  const rest = dollars ? `USD ${number.rest}` : number.rest;
  const [kind, wanted] = [dimensions(unit, true), asked || "a plain number"];
  if (!rest && kind) return { say: `A number needs its unit here: give it in ${asked}, or any unit of that kind.` };
  if (!rest) return { values: unit.size === 1 ? [value] : [value * unit.size, value], unit, doubt };
  const counts = dimensions(unit, false);
  if (counts && !kind && /%|percent|pct/i.test(rest)) {
    return { say: `A percent sign makes that a share, not a count. This question asks for ${wanted}.` };
  }
  const typed = parseUnit(rest, unit);
  if ("say" in typed) return { say: `${typed.say} This question asks for ${wanted}.` };
  const typedKind = dimensions(typed, true);
  // What was counted must agree; of what it was counted per ("tokens/step" for "tokens") a count may say more or less.
  const other = Object.entries(typed.dims).some(([d, power]) =>
    power && !PHYSICAL.includes(d) && power !== unit.dims[d] && (kind || power > 0));
  const rate = /flops$/i.test(rest) && typedKind === "FLOP" && kind === "FLOP s-1"; // TFLOPS, as vendors write it
  if ((typedKind !== kind && !rate) || (counts && other)) {
    const what = typedKind !== kind ? (KINDS[typedKind] ?? "another kind of quantity") : "a count of something else";
    return { say: `${quote(rest)} is ${what}; this question asks for ${wanted}, or any unit of that kind.` };
  }
  return { values: [value * typed.size], unit, doubt };
}

// ---- Grading ----

/** For people: all digits of a whole number, six of any other. @param {number} value */
const show = (value) =>
  value.toLocaleString("en-US", { maximumSignificantDigits: Number.isInteger(value) && Math.abs(value) < 1e12 ? 12 : 6 });

/** How far off, without giving the answer away. */
function distance(value, answer) {
  const ratio = value / answer;
  if (ratio < 0) return "The sign is not the one it should be.";
  if (ratio === 0) return "It is not zero.";
  const [size, far] = ratio > 1 ? ["large", ratio] : ["small", 1 / ratio];
  if (far < 1.1) return `That is close, a little too ${size}: keep more digits, or look for a small term.`;
  if (far < 1.95) return `That is too ${size}, by less than a factor of two.`;
  if (far > 2e4) return `That is more than ten thousand times too ${size}: look at the prefixes first.`;
  return `That is about ${Number(far.toPrecision(1)).toLocaleString("en-US")} times too ${size}.`;
}

/** @param {Question} question @param {unknown} answer @returns {Verdict} */
function gradeNumeric(question, answer) {
  if (typeof answer !== "string") return { outcome: "", say: "Type a number first." };
  const quantity = parseQuantity(answer, question.unit);
  if ("say" in quantity) return { outcome: "", say: quantity.say };
  const off = (value, target) => Math.abs(value - target) / Math.abs(target || 1);
  const near = (target) => Math.min(...quantity.values.map((value) => off(value, target)));
  const rtol = Math.max(question.rtol, 1e-9);
  if (near(question.answer) <= rtol) {
    const exact = show(question.answer / quantity.unit.size);
    const value = quantity.values.find((v) => off(v, question.answer) <= rtol);
    if (show(value / quantity.unit.size) === exact) return { outcome: "right", say: question.right };
    const unit = question.unit === "%" ? " %" : question.unit && ` ${question.unit}`;
    return { outcome: "right", say: `Within rounding: it is ${exact}${unit}, more exactly. ${question.right}` };
  }
  const trap = [...question.traps].sort((a, b) => near(a.value) - near(b.value))[0];
  if (trap && near(trap.value) <= Math.max(rtol, 5e-3) && near(trap.value) < near(question.answer)) {
    return { outcome: "wrong", say: trap.feedback };
  }
  const doubt = quantity.doubt ? ` (I read ${quote(quantity.doubt)} as ${quantity.doubt.replace(",", "")}; decimals take a point.)` : "";
  const value = quantity.values.reduce((a, b) => (off(a, question.answer) <= off(b, question.answer) ? a : b));
  return { outcome: "wrong", say: `${distance(value, question.answer)} A hint may help.${doubt}` };
}

/**
 * What the answer is worth and what to say of it. Anything that is not an answer has the outcome "".
 * @param {Question} question @param {unknown} answer @returns {Verdict}
 */
export function grade(question, answer) {
  if (question.kind === "numeric") return gradeNumeric(question, answer);
  if (question.kind === "ordering") {
    const { items, traps, right, other } = question;
    const same = (a, b) => a.every((item, i) => item === b[i]);
    const texts = Array.isArray(answer) && answer.length === items.length && answer.every((item) => typeof item === "string");
    if (!texts || !same([...answer].sort(), [...items].sort())) {
      return { outcome: "", say: "Move the items first." };
    }
    if (same(answer, items)) return { outcome: "right", say: right };
    return { outcome: "wrong", say: traps.find((trap) => same(answer, trap.order))?.feedback ?? other };
  }
  const { options } = question;
  const chosen = [...new Set(question.kind === "single" ? [answer] : Array.isArray(answer) ? answer : [])];
  if (!chosen.length || !chosen.every((i) => Number.isInteger(i) && i >= 0 && i < options.length)) {
    return { outcome: "", say: question.kind === "single" ? "Choose one of these first." : "Choose at least one of these first." };
  }
  chosen.sort((a, b) => a - b);
  const wrong = chosen.find((i) => !options[i].correct);
  if (wrong !== undefined) return { outcome: "wrong", say: options[wrong].feedback, at: [wrong] };
  const missing = options.findIndex((option, i) => option.correct && !chosen.includes(i));
  if (question.kind === "multiple" && missing >= 0) {
    return { outcome: "wrong", say: `What you chose belongs here, and something is missing. ${options[missing].feedback}` };
  }
  return { outcome: "right", say: chosen.map((i) => options[i].feedback).join(" ") };
}

// ---- What the browser remembers ----

const unsaved = new Map(); // where storage is switched off, answers last as long as the page

/** Changes when the question does, so that an answer to an older wording is not taken for one to this. */
function fingerprint({ prompt, options, items, unit, answer }) {
  const text = JSON.stringify([prompt, options?.map((o) => [o.text, o.correct]), items, unit, answer]);
  return [...text].reduce((hash, c) => (Math.imul(hash, 31) + c.codePointAt(0)) | 0, 7);
}

/** @param {string} id @returns {{of: number, answer: unknown, outcome: string, attempts: number} | null} */
function recall(id) {
  try {
    const kept = JSON.parse(localStorage.getItem(`scaling/quiz/${id}`) ?? "null");
    if (kept && ["wrong", "right"].includes(kept.outcome)) return kept;
  } catch {} // switched off, or not what we wrote
  return unsaved.get(id) ?? null;
}

function remember(id, record) {
  if (record) unsaved.set(id, record);
  else unsaved.delete(id);
  try {
    if (record) localStorage.setItem(`scaling/quiz/${id}`, JSON.stringify(record));
    else localStorage.removeItem(`scaling/quiz/${id}`);
  } catch {} // switched off or full
  dispatchEvent(new CustomEvent("scaling-quiz", { detail: { id, outcome: record?.outcome ?? "" } }));
}

// ---- The view ----

/** An element with properties, attributes (in `attributes`) and children; strings become text. */
function h(tag, { attributes = {}, ...properties } = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

const button = (text, onclick, attributes = {}) => h("button", { type: "button", onclick, attributes }, text);
let views = 0;

/** Fields: what the reader fills in. `read` gives an answer or null, `write` shows one (null: none), `mark` marks options.
 * @typedef {{node: HTMLElement, read: () => unknown, write: (answer: any) => void, mark: (at: number[], outcome: string) => void}} Field */

/** @returns {Field} */
function choiceField(question, name) {
  const type = question.kind === "single" ? "radio" : "checkbox";
  const inputs = question.options.map((_, i) => h("input", { type, name, value: String(i) }));
  const marks = inputs.map(() => h("span", { className: "sw-mark" }));
  const rows = question.options.map((option, i) =>
    h("label", { className: "sw-option" }, inputs[i], h("span", {}, option.text), marks[i]));
  return {
    node: h("div", { className: "sw-options" }, ...rows),
    read() {
      const chosen = inputs.flatMap((input, i) => (input.checked ? [i] : []));
      return type === "radio" ? (chosen[0] ?? null) : chosen.length ? chosen : null;
    },
    write(answer) {
      inputs.forEach((input, i) => (input.checked = [answer].flat().includes(i)));
    },
    mark(at, outcome) {
      marks.forEach((mark, i) => {
        const state = at.includes(i) ? "wrong" : outcome === "right" && inputs[i].checked ? "right" : "";
        rows[i].dataset.outcome = state;
        mark.textContent = { wrong: "✗ not this", right: "✓", "": "" }[state];
      });
    },
  };
}

/** @returns {Field} */
function orderingField(question, name, announce, changed) {
  const start = question.shown ?? [...question.items].reverse();
  let [order, moved] = [start, false];
  const list = h("ol", { className: "sw-items", attributes: { "aria-label": "Your order, first to last" } });
  const rows = new Map(start.map((item) => {
    const move = (by, text, sign) => button(sign, () => shift(item, by), { "aria-label": `Move ${text}: ${item}` });
    const [up, down] = [move(-1, "up", "↑"), move(1, "down", "↓")];
    return [item, { up, down, row: h("li", {}, h("span", {}, item), up, down) }];
  }));
  const draw = () => {
    list.append(...order.map((item) => rows.get(item).row));
    order.forEach((item, i) => {
      rows.get(item).up.disabled = i === 0;
      rows.get(item).down.disabled = i === order.length - 1;
    });
  };
  function shift(item, by) {
    const i = order.indexOf(item);
    order = order.slice();
    [order[i], order[i + by]] = [order[i + by], order[i]];
    moved = true;
    draw();
    const { up, down } = rows.get(item);
    const [same, turn] = by < 0 ? [up, down] : [down, up];
    (same.disabled ? turn : same).focus();
    announce(`${item}: now ${i + by + 1} of ${order.length}.`);
    changed();
  }
  draw();
  return {
    node: list,
    read: () => (moved ? order : null),
    write(answer) {
      [order, moved] = answer ? [answer, true] : [start, false];
      draw();
    },
    mark() {},
  };
}

/** @returns {Field} */
function numericField(question, name) {
  const input = h("input", { type: "text", id: name, autocomplete: "off", spellcheck: false, attributes: { enterkeyhint: "done" } });
  const others = dimensions(parseUnit(question.unit), true) ? "; any unit of that kind works" : "";
  input.addEventListener("keydown", (event) => { // in JupyterLab the browser does nothing of its own on Enter
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    input.form.requestSubmit();
  });
  const note = question.unit ? `Your answer in ${question.unit}${others}` : "Your answer, a plain number";
  return {
    node: h("div", { className: "sw-number" }, h("label", { htmlFor: name }, note), input),
    read: () => input.value,
    write: (answer) => (input.value = answer ?? ""),
    mark: (at, outcome) => input.setAttribute("aria-invalid", String(outcome === "wrong" || outcome === "note")),
  };
}

const FIELDS = { single: choiceField, multiple: choiceField, ordering: orderingField, numeric: numericField };
const TASK = { single: "Choose one", multiple: "Choose all that apply", ordering: "Put in order", numeric: "Work it out" };
const VERDICT = { right: "✓ Right.", wrong: "✗ Not yet.", note: "! Not checked.", "": "" };
const TRAITS = ["answer", "outcome", "attempts", "cause"];

function renderQuiz(model, root) {
  /** @type {Question} */
  const question = model.get("question");
  const { id, hints } = question;
  const name = `sw-${id}-${++views}`;
  let [notice, opened, solved, dirty, painted] = ["", 0, false, false, "null"];

  const spoken = h("div", { className: "sw-spoken", attributes: { role: "status" } });
  const status = h("div", { className: "sw-status", id: `${name}-status`, attributes: { role: "status" } });
  const help = h("div", { className: "sw-help", attributes: { "aria-live": "polite" } });
  const edited = () => {
    [notice, dirty] = ["", true];
    paint();
  };
  const field = FIELDS[question.kind](question, name, (text) => (spoken.textContent = text), edited);
  const hint = button("", () => { opened = Math.min(opened + 1, hints.length); paint(); });
  const solution = button("", () => { solved = !solved; paint(); });
  const again = button("Start again", () => {
    reset();
    root.querySelector("input, .sw-items button:enabled")?.focus();
  }, { class: "sw-quiet" });
  const form = h("form", { noValidate: true, onsubmit: check, oninput: edited },
    h("fieldset", { attributes: { "aria-describedby": status.id } },
      h("legend", {}, h("span", { className: "sw-task" }, TASK[question.kind]), question.prompt), field.node),
    h("div", { className: "sw-buttons" }, h("button", { type: "submit", className: "sw-main" }, "Check"), hint, solution, again),
    status, help, spoken);

  const attempted = () => Boolean(model.get("outcome") && grade(question, model.get("answer")).outcome);
  function put(values) {
    for (const trait of TRAITS) model.set(trait, values[trait]);
    model.save_changes();
  }
  function reset() {
    [notice, opened, solved, dirty] = ["", 0, false, false];
    field.write(null);
    put({ answer: null, outcome: "", attempts: 0, cause: "" });
    remember(id, null);
    paint();
  }
  function check(event) {
    event.preventDefault();
    const answer = field.read();
    const { outcome, say } = grade(question, answer);
    notice = outcome ? "" : say;
    status.textContent = ""; // so that the same words are announced again
    if (outcome) {
      painted = JSON.stringify(answer);
      put({ answer, outcome, attempts: model.get("attempts") + 1, cause: say });
    }
    paint();
  }
  function paint() {
    const [answer, outcome] = attempted() ? [model.get("answer"), model.get("outcome")] : [null, ""];
    if (JSON.stringify(answer) !== painted) { // answered elsewhere: in another view, from Python, on the last visit
      if (answer === null) [opened, solved, dirty] = [0, false, false];
      notice = "";
      painted = JSON.stringify(answer);
      field.write(answer);
    }
    const state = notice ? "note" : outcome;
    const same = JSON.stringify(field.read()) === painted;
    field.mark((same && grade(question, answer).at) || [], notice ? "note" : same ? outcome : "");
    root.dataset.outcome = state;
    const said = [VERDICT[state], notice || (outcome && model.get("cause"))];
    if (status.textContent !== said.join(" ")) {
      status.replaceChildren(...(said[1] ? [h("strong", {}, said[0]), ` ${said[1]}`] : []));
    }
    const lines = hints.slice(0, opened).map((text, i) => [`Hint ${i + 1} of ${hints.length}`, text]);
    if (solved) lines.push(["Solution", question.solution]);
    while (help.children.length > lines.length) help.lastChild.remove();
    lines.forEach(([head, text], i) => {
      const line = h("p", {}, h("strong", {}, head), text);
      if (help.children[i]?.textContent !== line.textContent) help.insertBefore(line, help.children[i] ?? null);
    });
    const left = opened < hints.length;
    hint.textContent = left ? `Hint ${opened + 1} of ${hints.length}` : "No more hints";
    hint.setAttribute("aria-disabled", String(!left));
    solution.disabled = left && !attempted();
    solution.textContent = solved ? "Hide solution" : "Show solution";
    again.hidden = !(dirty || notice || opened || outcome);
  }
  let waiting = false;
  const changed = () => { // several traits change at once: look once, when all have
    if (waiting) return;
    waiting = true;
    queueMicrotask(() => {
      waiting = false;
      const record = TRAITS.map((trait) => [trait, model.get(trait)]);
      if (attempted()) remember(id, { of: fingerprint(question), ...Object.fromEntries(record) });
      else if (recall(id)) remember(id, null);
      paint();
    });
  };
  const clear = (event) => event.detail.ids.includes(id) && reset();

  const kept = recall(id);
  if (kept && !attempted()) {
    const { outcome, say } = grade(question, kept.answer);
    if (kept.of !== fingerprint(question) || !outcome) remember(id, null);
    else put({ answer: kept.answer, outcome, attempts: Number(kept.attempts) || 1, cause: say });
  }
  paint(); // before it is on the page, so that what was answered earlier is not announced
  root.append(form);
  if (attempted()) changed();
  for (const trait of TRAITS) model.on(`change:${trait}`, changed);
  addEventListener("scaling-quiz-clear", clear);
  return () => {
    for (const trait of TRAITS) model.off(`change:${trait}`, changed);
    removeEventListener("scaling-quiz-clear", clear);
  };
}

function renderProgress(model, root) {
  const ids = model.get("ids");
  const outcomes = new Map(ids.map((id) => [id, recall(id)?.outcome ?? ""]));
  const text = h("p", { attributes: { role: "status" } });
  const bar = h("div", { className: "sw-bar", attributes: { "aria-hidden": "true" } }, ...ids.map(() => h("span")));
  const ask = button("Clear my answers on this page", () => paint(true), { class: "sw-quiet" });
  const sure = button("Yes, clear them", () => {
    dispatchEvent(new CustomEvent("scaling-quiz-clear", { detail: { ids } }));
    ids.forEach((id) => remember(id, null));
    text.focus();
  });
  const keep = button("Keep them", () => { paint(); ask.focus(); });
  text.tabIndex = -1;
  function paint(asking = false) {
    const all = [...outcomes.values()];
    const [right, wrong] = ["right", "wrong"].map((outcome) => all.filter((o) => o === outcome).length);
    const open = wrong ? `, ${wrong} not yet` : "";
    text.textContent = asking ? `Clear ${right + wrong} of your answers? This cannot be undone.` : `${right} of ${ids.length} answered right${open}.`;
    all.forEach((outcome, i) => (bar.children[i].dataset.outcome = outcome));
    ask.hidden = asking || !(right + wrong);
    sure.hidden = keep.hidden = !asking;
    if (asking) keep.focus();
  }
  const heard = ({ detail: { id, outcome } }) => {
    if (outcomes.has(id)) outcomes.set(id, outcome);
    paint();
  };
  root.append(text, bar, h("div", { className: "sw-buttons" }, ask, sure, keep));
  paint();
  addEventListener("scaling-quiz", heard);
  return () => removeEventListener("scaling-quiz", heard);
}

/** @param {{model: any, el: HTMLElement}} context */
function render({ model, el }) {
  const kind = model.get("kind");
  const root = h(kind === "quiz" ? "div" : "section", { className: `scaling-widget sw-${kind}` });
  if (kind !== "quiz") root.setAttribute("aria-label", "Your progress");
  root.dataset.lmSuppressShortcuts = "true"; // JupyterLab's single-key shortcuts stay out of the form
  el.append(root);
  return kind === "quiz" ? renderQuiz(model, root) : renderProgress(model, root);
}

export default { render };

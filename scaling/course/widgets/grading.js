// Reading and grading an answer: pure, no page needed, tested under Node.

/**
 * A question as Python sends it (scaling/course/questions.py): what all have, and what a kind adds.
 * @typedef {{text: string, feedback: string, correct: boolean}} Option
 * @typedef {{id: string, prompt: string, hints: string[], solution: string}} Common
 * @typedef {Common & {kind: "single" | "multiple", options: Option[]}} Choice
 * @typedef {Common & {kind: "ordering", items: string[], shown?: string[], right: string, other: string,
 *   traps: {order: string[], feedback: string}[]}} Ordering
 * @typedef {{value: number, feedback: string}} Known
 * @typedef {Common & {kind: "numeric", answer: number, unit: string, rtol: number, right: string, traps: Known[],
 *   sharper: Known[]}} Numeric
 * @typedef {Choice | Ordering | Numeric} Question
 */
/**
 * What an answer is worth; `at` are the options to mark as the wrong ones.
 * @typedef {{outcome: "" | "wrong" | "right", say: string, at?: number[]}} Verdict
 */

// ---- Reading numbers and units ----

const LONGEST = 100;
/** The text, or its start, without what shows nothing or turns the line around. @param {string} text */
function quote(text) {
  const shown = [...text.replace(/[\p{C}\p{Z}]+/gu, " ")];
  return `“${shown.length > 30 ? `${shown.slice(0, 30).join("")}…` : shown.join("")}”`;
}

/** @param {string} run superscripts */
const power = (run) => `^${run.replaceAll("⁺", "").replaceAll("⁻", "-").normalize("NFKC")}`;

/**
 * One spelling for what looks the same: full-width digits, micro signs, minus signs, spaces, superscripts.
 * @param {string} text
 */
const plain = (text) =>
  text
    .replace(/[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻]+/g, power)
    .normalize("NFKC")
    .replace(/[−–‐]/g, "-")
    .replace(/[’‘]/g, "'")
    .replace(/\s+/g, " ")
    .replace(/\bper cent\b/gi, "percent")
    .trim();

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
 * @param {string} text
 * @returns {{value: number, rest: string, doubt: string} | {say: string}}
 */
export function parseNumber(text) {
  if (text.length > LONGEST) return { say: `That is too long for a number: use at most ${LONGEST} characters.` };
  let rest = plain(text).replace(/^(?:[~≈=]|about|approx\.?|ca\.?) ?/i, "");
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

/**
 * What a unit's names measure, and its size in the base unit.
 * @type {[names: string, dimension: string, size: number][]}
 */
const NAMES = [
  ["s sec second", "s", 1],
  ["ms msec millisecond", "s", 1e-3],
  ["us μs usec microsecond", "s", 1e-6],
  ["ns nanosecond", "s", 1e-9],
  ["min minute", "s", 60],
  ["h hr hour", "s", 3600],
  ["d day", "s", 86400],
  ["usd $ us$ dollar", "USD", 1],
  ["cent ¢", "USD", 0.01],
  ["% percent pct", "", 0.01],
  ["x × times fold", "", 1],
  ["thousand", "", 1e3],
  ["million", "", 1e6],
  ["billion bn", "", 1e9],
  ["trillion", "", 1e12],
  ["token tok", "token", 1],
  ["sequence seq", "sequence", 1],
  ["chip gpu tpu device card", "chip", 1],
  ["step", "step", 1],
  ["way", "way", 1],
  ["server", "server", 1],
  ["query queries request", "query", 1],
];
const UNITS = new Map(
  NAMES.flatMap(([names, ...unit]) => names.split(" ").map((name) => /** @type {const} */ ([name, unit]))),
);
const PHYSICAL = ["B", "s", "FLOP", "USD"];
/** @type {Record<string, string>} */
const KINDS = {
  B: "an amount of data",
  s: "a time",
  "B s-1": "a bandwidth",
  FLOP: "a number of operations",
  "FLOP s-1": "a rate of operations",
  USD: "a sum of money",
  "USD s-1": "a price per time",
  "s-1": "a rate",
  "B-1 FLOP": "operations per byte",
  "": "a plain number",
};
const BITS = "Those are bits, and this course counts bytes (1 byte = 8 bits): write B for bytes, as in GB or KiB.";

/**
 * One word of a unit: dimension and size, or what to say of it.
 * @param {string} word
 * @returns {[dimension: string, size: number] | string | null}
 */
function lookUp(word) {
  if (word === "M") return ["", 1e6];
  if (/^k$/i.test(word)) return `${quote(word)} may be 1000 or 1024 here: write the number out.`;
  const short = word
    .replace(/^(kilo|mega|giga|tera|peta|exa)(?=byte|flop|bit)/i, (p) => p[0])
    .replace(/^(ki|me|gi|te)bi(?=byte)/i, (p) => `${p[0]}i`);
  if (/^[kmgtpe]?i?(bits?|bps)$/i.test(short) || /^([KMGTPE]i?)?b$/.test(short)) return BITS;
  const prefixed = /^([kmgtpe]?)(i?)(b|bytes?|flops?)$/i.exec(short);
  const lower = word.toLowerCase(); // a plural "s" is taken off where the name itself is not listed
  if (!prefixed) return UNITS.get(lower) ?? UNITS.get(lower.replace(/s$/, "")) ?? null;
  const [, prefix, binary, unit] = prefixed;
  const milli = /^mb$/i.test(short) && prefix === "m";
  if (milli) return `${quote(word)} reads as milli: write MB for megabytes (1 MB = 10^6 bytes).`;
  const size = (binary ? 1024 : 1000) ** ("kmgtpe".indexOf(prefix.toLowerCase()) + 1);
  return [/^b/i.test(unit) ? "B" : "FLOP", prefix ? size : 1];
}

/** "1,000" or "1M" in "per 1M tokens". @param {string} digits @param {string} million @returns {[string, number]} */
const counted = (digits, million) => ["", Number(digits.replace(/,/g, "")) * (million ? 1e6 : 1)];

/** @typedef {{size: number, dims: Record<string, number>}} Unit */
/**
 * A unit, such as "GB", "tokens/s" or "USD per million tokens". Words in `own` are taken as things that are counted;
 * with no `own`, every unknown word is.
 * @param {string} text
 * @param {Unit} [own]
 * @returns {Unit | {say: string}}
 */
export function parseUnit(text, own) {
  /** @type {Unit} */
  const unit = { size: 1, dims: Object.create(null) };
  const parts = text
    .replace(/[()]/g, " ")
    .replace(/\bper\b/gi, "/")
    .replace(/([kmgtpe]?i?B)ps\b/gi, "$1/s")
    .split("/");
  for (const [i, part] of parts.entries()) {
    for (const word of part.split(/[\s·⋅*-]+/).filter(Boolean)) {
      const amount = /^(\d[\d,]*)(M?)$/.exec(word);
      const name = word.toLowerCase().replace(/s$/, "");
      let found = i && amount ? counted(amount[1], amount[2]) : lookUp(word);
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

/**
 * The physical dimensions of a unit, or what it counts.
 * @param {Unit | {say: string}} unit
 * @param {boolean} physical
 */
export const dimensions = (unit, physical) =>
  Object.entries("dims" in unit ? unit.dims : {})
    .filter(([name, power]) => power && PHYSICAL.includes(name) === physical)
    .sort()
    .map(([name, power]) => (power === 1 ? name : `${name}${power}`))
    .join(" ");

/**
 * `text` in the base of `asked` ("GB" gives bytes), or what to say. A number may come without its unit, and is then in
 * the unit asked; where that has no dimension but a size, such as %, it has two readings, and `values` holds both.
 * `doubt` says what was read into the text.
 * @param {string} text
 * @param {string} asked
 * @returns {{values: number[], unit: Unit, doubt: string} | {say: string}}
 */
export function parseQuantity(text, asked) {
  const dollars = /^\s*(?:us ?)?[$＄](.*)$/is.exec(text);
  const number = parseNumber(dollars ? dollars[1] : text);
  if ("say" in number) return number;
  const unit = parseUnit(asked);
  if ("say" in unit) throw new Error(`the question's own unit, ${asked}: ${unit.say}`);
  const { value } = number;
  const doubt = number.doubt
    ? `I read ${quote(number.doubt)} as ${number.doubt.replace(",", "")}; decimals take a point.`
    : "";
  const rest = dollars ? `USD ${number.rest}` : number.rest;
  const [kind, wanted] = [dimensions(unit, true), asked || "a plain number"];
  if (!rest && kind) return { values: [value * unit.size], unit, doubt: doubt || `I took it to be in ${asked}.` };
  if (!rest) return { values: unit.size === 1 ? [value] : [value * unit.size, value], unit, doubt };
  const counts = dimensions(unit, false);
  if (counts && !kind && /%|percent|pct/i.test(rest)) {
    return { say: `A percent sign makes that a share, not a count. This question asks for ${wanted}.` };
  }
  const typed = parseUnit(rest, unit);
  if ("say" in typed) return { say: `${typed.say} This question asks for ${wanted}.` };
  // "How many FLOP does a dollar buy" has the dollar in it: "5e17 FLOP" answers it as well as "5e17 FLOP/USD".
  if (unit.dims.USD === -1 && !typed.dims.USD) typed.dims.USD = -1;
  const typedKind = dimensions(typed, true);
  // What was counted must agree; of what it was counted per ("tokens/step" for "tokens") a count may say more or less.
  const other = Object.entries(typed.dims).some(
    ([d, power]) => power && !PHYSICAL.includes(d) && power !== unit.dims[d] && (kind || power > 0),
  );
  const rate = /flops$/i.test(rest) && typedKind === "FLOP" && kind === "FLOP s-1"; // TFLOPS, as vendors write it
  if ((typedKind !== kind && !rate) || (counts && other)) {
    const what = typedKind !== kind ? (KINDS[typedKind] ?? "another kind of quantity") : "a count of something else";
    const said = quote(dollars ? text.trim() : rest);
    return { say: `${said} is ${what}; this question asks for ${wanted}, or any unit of that kind.` };
  }
  return { values: [value * typed.size], unit, doubt };
}

// ---- Grading ----

/** For people: all digits of a whole number, six of any other. @param {number} value */
function show(value) {
  const digits = Number.isInteger(value) && Math.abs(value) < 1e12 ? 12 : 6;
  return value.toLocaleString("en-US", { maximumSignificantDigits: digits });
}

const off = (/** @type {number} */ value, /** @type {number} */ target) =>
  Math.abs(value - target) / Math.abs(target || 1);

/** How far off, without giving the answer away. @param {number} value @param {number} answer */
function distance(value, answer) {
  const ratio = value / answer;
  if (ratio < 0) return "The sign is not the one it should be.";
  if (ratio === 0) return "It is not zero.";
  const [size, far] = ratio > 1 ? ["large", ratio] : ["small", 1 / ratio];
  if (far < 1.1) return `That is close, a little too ${size}: keep more digits, or look for a small term.`;
  if (far > 2e4) return `That is more than ten thousand times too ${size}: look at the prefixes first.`;
  const power = Math.round(Math.log2(far)); // bits for bytes, 64 heads for 8, two bytes for one
  if (power && off(far, 2 ** power) < 0.01) {
    const factors = power > 1 ? `${power} factors of 2` : "one factor of 2";
    return `That is ${(2 ** power).toLocaleString("en-US")} times too ${size}: ${factors}, forgotten or taken twice.`;
  }
  if (far < 1.95) return `That is too ${size}, by less than a factor of two.`;
  return `That is about ${Number(far.toPrecision(2)).toLocaleString("en-US")} times too ${size}.`;
}

/** What to say of a number beside the only right, whole one. @param {number} value @param {Numeric} question */
function beside(value, { answer, unit }) {
  const things = unit.replace(/ per .*/, "") || "things";
  if (!Number.isInteger(value)) return `That is no whole number, and ${things} come whole: which way to round?`;
  return `That is close, and too ${value > answer ? "many" : "few"}: in whole ${things} only one number is right.`;
}

/**
 * Whether `value` is what a known mistake gives. Of a whole number, so is its quotient that was not rounded yet, and no
 * other whole number.
 * @param {number} value
 * @param {number} known
 * @param {number} rtol 0 where only the exact number is right
 */
function is(value, known, rtol) {
  if (rtol || !Number.isInteger(known)) return off(value, known) <= Math.max(rtol, 5e-3);
  return off(value, known) <= 1e-9 || (!Number.isInteger(value) && Math.abs(value - known) < 1);
}

/** @param {Numeric} question @param {unknown} answer @returns {Verdict} */
function gradeNumeric(question, answer) {
  if (typeof answer !== "string") return { outcome: "", say: "Type a number first." };
  const quantity = parseQuantity(answer, question.unit);
  if ("say" in quantity) return { outcome: "", say: quantity.say };
  const near = (/** @type {number} */ target) => Math.min(...quantity.values.map((value) => off(value, target)));
  const nearest = (/** @type {Known[]} */ known) => [...known].sort((a, b) => near(a.value) - near(b.value))[0];
  // Of two readings, as of a percentage, the one that is meant is the one nearer to the answer.
  const value = quantity.values.reduce((a, b) => (off(a, question.answer) <= off(b, question.answer) ? a : b));
  const ours = near(question.answer);
  const sharper = nearest(question.sharper);
  if (sharper && near(sharper.value) < Math.min(ours, Math.max(1e-9, Math.min(question.rtol, 2e-3)))) {
    return { outcome: "right", say: `And sharper than was asked. ${sharper.feedback}` };
  }
  if (ours <= Math.max(question.rtol, 1e-9)) {
    const exact = show(question.answer / quantity.unit.size);
    if (show(value / quantity.unit.size) === exact) return { outcome: "right", say: question.right };
    const unit = question.unit === "%" ? " %" : question.unit && ` ${question.unit}`;
    return { outcome: "right", say: `Within rounding: it is ${exact}${unit}, more exactly. ${question.right}` };
  }
  const only = !question.rtol && Number.isInteger(question.answer); // a whole number that has no tolerance
  const part = only && !Number.isInteger(value) && Math.abs(value - question.answer) < 1;
  const trap = nearest(question.traps);
  const known = trap && near(trap.value) < ours && !(part && Number.isInteger(trap.value));
  if (known && quantity.values.some((v) => is(v, trap.value, question.rtol))) {
    return { outcome: "wrong", say: trap.feedback };
  }
  const said = part || (only && ours < 0.1) ? beside(value, question) : distance(value, question.answer);
  return { outcome: "wrong", say: `${said} A hint may help.${quantity.doubt && ` (${quantity.doubt})`}` };
}

/** @param {Ordering} question @param {unknown} answer @returns {Verdict} */
function gradeOrdering({ items, traps, right, other }, answer) {
  const same = (/** @type {string[]} */ a, /** @type {string[]} */ b) => a.every((item, i) => item === b[i]);
  const texts = Array.isArray(answer) && answer.length === items.length && answer.every((it) => typeof it === "string");
  if (!texts || !same([...answer].sort(), [...items].sort())) return { outcome: "", say: "Move the items first." };
  if (same(answer, items)) return { outcome: "right", say: right };
  const trap = traps.find(({ order }) => same(answer, order));
  if (trap) return { outcome: "wrong", say: trap.feedback };
  const swapped = items.filter((item, i) => item !== answer[i]).length === 2;
  return { outcome: "wrong", say: swapped ? `All but two are in their places. ${other}` : other };
}

/** @param {Choice} question @param {unknown} answer @returns {Verdict} */
function gradeChoice({ kind, options }, answer) {
  const chosen = [...new Set(kind === "single" ? [answer] : Array.isArray(answer) ? answer : [])];
  if (!chosen.length || !chosen.every((i) => Number.isInteger(i) && i >= 0 && i < options.length)) {
    return { outcome: "", say: `Choose ${kind === "single" ? "one" : "at least one"} of these first.` };
  }
  chosen.sort((a, b) => a - b);
  const wrong = chosen.find((i) => !options[i].correct);
  if (wrong !== undefined) return { outcome: "wrong", say: options[wrong].feedback, at: [wrong] };
  const missing = options.filter(({ correct }) => correct).length - chosen.length; // not which ones
  if (kind === "multiple" && missing) {
    return {
      outcome: "wrong",
      say: `What you chose belongs here, and ${missing} more ${missing > 1 ? "do" : "does"}.`,
    };
  }
  return { outcome: "right", say: chosen.map((i) => options[i].feedback).join(" ") };
}

/**
 * What the answer is worth and what to say of it. Anything that is not an answer has the outcome "".
 * @param {Question} question
 * @param {unknown} answer
 * @returns {Verdict}
 */
export function grade(question, answer) {
  if (question.kind === "numeric") return gradeNumeric(question, answer);
  return question.kind === "ordering" ? gradeOrdering(question, answer) : gradeChoice(question, answer);
}

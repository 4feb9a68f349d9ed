// What the explorer knows and says: positions, figures, words. All of it is tested under Node, without a page. It holds
// no formula: Python computed every figure. With numbers it does four things only:
// it stacks heights (StepTime.total is the top of the stack), turns a time over into a rate, scales a unit or
// multiplies by the reader's price, and compares two values.
import { floats, howFar, nearest, number } from "./dom.js";

/** @import { Model } from "./dom.js" */
/** @typedef {"weights" | "compute" | "cache"} Term */
/** @typedef {{chip: string, model: string, chips: number, weights: string, kv: string, context: number, batch: number,
 *   price?: number | null}} Position */
/** @typedef {{chip: string[], model: string[], names: Record<string, string>, prices: (number | null)[],
 *   sizes: number[][][], weights: string[], kv: string[], smaller: Record<"weights" | "kv", Record<string, string>>,
 *   context: number[], batch: number[], tokens: number[][]}} Axes */
/** @typedef {Record<string, number>} Figures  In SI base units, as `Explorer.figures` names them. */
/** @typedef {{batch: number, total: number, rate: number, fits: boolean}} Point  One batch of the front. */
/** @typedef {[name: string, value: string, unit: string]} Row */
/** @typedef {{compute: string, params: string, asks: string, mfu: number, decode_tokens: number}} Assumed */

// One colour and one hatch per term, as in the book's figures (scaling.course.plots.TERMS).
/** @type {Record<Term, {colour: string, hatch: string, name: string}>} */
export const TERMS = {
  weights: { colour: "#1f6fb4", hatch: "", name: "reading the weights" },
  compute: { colour: "#c87800", hatch: "///", name: "arithmetic" },
  cache: { colour: "#1a8a5f", hatch: "\\\\\\", name: "reading the KV cache" },
};
export const MENUS = /** @type {const} */ (["model", "chip", "weights", "kv"]);
export const SLIDERS = /** @type {const} */ (["chips", "context", "batch"]);
export const MS = 1e3; // in a second
const GB = 1e-9; // in a byte

// ---- positions ------------------------------------------------------------------------------------------------------

/** A token count as a tick label: 8192 is 8K. @param {number} n */
export const short = (n) => (n >= 1024 && n % 1024 === 0 ? `${n / 1024}K` : number(n));

/** @param {Axes} axes @param {Position} at */
const places = (axes, at) => ({ c: axes.chip.indexOf(at.chip), m: axes.model.indexOf(at.model) });

/** The values that each slider may take at this position. @param {Axes} axes @param {Position} at */
export function choices(axes, at) {
  const { c, m } = places(axes, at);
  return { chips: axes.sizes[c][m], context: axes.context, batch: axes.batch };
}

/** The position with every slider on a stored value, the nearest. @param {Axes} axes @param {Position} at */
export function snap(axes, at) {
  const lists = choices(axes, at);
  const near = (/** @type {"chips" | "context" | "batch"} */ name) => lists[name][nearest(lists[name], at[name])];
  return { ...at, chips: near("chips"), context: near("context"), batch: near("batch") };
}

/**
 * Index along each axis of the grid, for a position on stored values.
 * @param {Axes} axes
 * @param {Position} at
 * @returns {Record<string, number>}
 */
export function indices(axes, at) {
  const { c, m } = places(axes, at);
  const pair = c * axes.model.length + m;
  const before = axes.sizes.flat().slice(0, pair);
  const place = before.reduce((sum, sizes) => sum + sizes.length, axes.sizes[c][m].indexOf(at.chips));
  const [context, batch] = [axes.context.indexOf(at.context), axes.batch.indexOf(at.batch)];
  const dtypes = { weights: axes.weights.indexOf(at.weights), kv: axes.kv.indexOf(at.kv) };
  return { pair, place, ...dtypes, context, batch, tokens: axes.tokens[context][batch] };
}

/**
 * The buffer as named tables; `at` gives every figure for a set of indices.
 * @param {[name: string, axes: string[], lengths: number[]][]} layout
 * @param {DataView} view
 */
export function openGrid(layout, view) {
  const values = floats(view);
  let size = 0;
  const tables = layout.map(([name, axes, lengths]) => {
    const table = { name, axes, lengths, offset: size };
    size += lengths.reduce((a, b) => a * b, 1);
    return table;
  });
  /** @param {Record<string, number>} index @returns {Figures} */
  const at = (index) =>
    Object.fromEntries(
      tables.map(({ name, axes, lengths, offset }) => {
        const place = axes.reduce((sum, axis, k) => sum * lengths[k] + index[axis], 0);
        return [name, values[offset + place]];
      }),
    );
  return { at, size };
}

const WORDS = /** @type {const} */ (["chip", "model", "chips", "weights", "kv", "context", "batch", "price"]);
export const hashParts = (/** @type {string} */ hash) => hash.replace(/^#/, "").split("&");

/**
 * A position as one part of an address; foreign parts of the hash (an anchor, another explorer) are kept.
 * @param {string} hash
 * @param {string} key
 * @param {Position} at
 */
export function encode(hash, key, at) {
  const own = `ex-${key}=`;
  const kept = hashParts(hash).filter((part) => part && !part.startsWith(own));
  const words = WORDS.filter((name) => at[name] !== null && at[name] !== undefined);
  return `#${[...kept, own + words.map((name) => `${name}:${at[name]}`).join(",")].join("&")}`;
}

/** @param {string} text */
const words = (text) => text.replace(/%3A/gi, ":").replace(/%2C/gi, ",").split(",");

/**
 * One word of an address as a name and its value, or null.
 * @param {string} word
 * @param {Axes} axes
 */
function entry(word, axes) {
  const [name, text] = word.split(":");
  const value = Number(text);
  const is = (/** @type {readonly string[]} */ names) => names.includes(name);
  if (is(MENUS) && axes[/** @type {typeof MENUS[number]} */ (name)].includes(text)) return [name, text];
  if (is(SLIDERS) && Number.isInteger(value) && value >= 1) return [name, value];
  if (name === "price" && text && value >= 0 && Number.isFinite(value)) return [name, value];
  return null;
}

/**
 * What an address says of the position. Unknown names and impossible values are left out; null when it says nothing.
 * @param {string} hash
 * @param {string} key
 * @param {Axes} axes
 * @param {Position} start
 */
export function decode(hash, key, axes, start) {
  const own = `ex-${key}=`;
  const part = hashParts(hash).find((some) => some.startsWith(own));
  if (!part) return null;
  const entries = words(part.slice(own.length)).map((word) => entry(word, axes));
  return /** @type {Position} */ ({ ...start, ...Object.fromEntries(entries.filter((some) => some !== null)) });
}

/**
 * What an address says of the position and nobody understands, in words; "" when there is nothing such.
 * @param {string} hash
 * @param {string} key
 * @param {Axes} axes
 */
export function unread(hash, key, axes) {
  const own = `ex-${key}=`;
  const parts = hashParts(hash).filter((some) => some.startsWith(own));
  const lost = parts.flatMap((part) => words(part.slice(own.length)).filter((word) => !entry(word, axes)));
  if (!lost.length) return "";
  const shown = lost[0].length > 40 ? `${lost[0].slice(0, 40)}…` : lost[0];
  return `The address says “${shown}”, which is not on offer here; the rest of it was taken.`;
}

// ---- what is said of the figures ------------------------------------------------------------------------------------

/**
 * The stack of one step: weights and compute side by side from 0, the cache on top of the longer.
 * @param {Figures} f
 */
export function stack(f) {
  /** @type {{term: Term, from: number, to: number}[]} */
  const blocks = [
    { term: "weights", from: 0, to: f.weights },
    { term: "compute", from: 0, to: f.compute },
    { term: "cache", from: f.matmul, to: f.matmul + f.cache },
  ];
  const longest = blocks.reduce((a, b) => (b.to - b.from > a.to - a.from ? b : a));
  const total = f.matmul + f.cache;
  return { blocks, total, longest: longest.term, share: (longest.to - longest.from) / total };
}

/** `need` is 0 where no number of chips is enough. @param {Figures} f @param {Position} at */
export const fits = (f, at) => f.need > 0 && f.need <= at.chips;

const percent = (/** @type {number} */ x) => `${Math.round(100 * x)} %`;
const whole = (/** @type {number} */ x) => number(Math.floor(x));
const capital = (/** @type {string} */ words) => words[0].toUpperCase() + words.slice(1);

/** "a", "a or b", "a, b or c", of those that there are. @param {(string | undefined)[]} items */
function or(...items) {
  const some = items.filter(Boolean);
  return some.length > 1 ? `${some.slice(0, -1).join(", ")} or ${some.at(-1)}` : (some[0] ?? "");
}

/** @param {Figures} f @param {Position} at */
function roomAdvice(f, at) {
  const where = f.need > 0 ? `Does not fit: needs ${f.need} chips` : "This batch fits on no number of these chips";
  const chips = at.chips === 1 ? "one chip" : `${at.chips} chips`;
  if (f.weight_bytes > f.memory) return `${where}. The weights alone are larger than the memory on ${chips}.`;
  if (f.max_batch < 1) return `${where}. Not even one sequence of this length fits on ${chips}.`;
  return `${where}. At this context ${whole(f.max_batch)} at most fit on ${chips}.`;
}

/** @param {Figures} f @param {Position} at @param {string | undefined} smaller @param {string} more */
function weightsAdvice(f, at, smaller, more) {
  const reading = `Reading the weights takes ${percent(stack(f).share)} of the step.`;
  const room = Math.min(f.max_batch, f.whole_critical);
  const end = f.max_batch < f.critical ? "then memory is full" : "the critical batch";
  const shared =
    room > at.batch
      ? `A bigger batch would share that reading, up to ${whole(room)} (${end}).`
      : "Memory has no room for a bigger batch to share that reading.";
  const help = or(smaller && `${smaller} weights`, more);
  return `${reading} ${shared}${help && ` ${capital(help)} would shorten it.`}`;
}

/**
 * One line in words: which term is the longest, and what would help.
 * @param {Figures} f
 * @param {Position} at
 * @param {Axes} axes
 */
export function advice(f, at, axes) {
  if (!fits(f, at)) return roomAdvice(f, at);
  const { longest, share } = stack(f);
  const more = choices(axes, at).chips.some((chips) => chips > at.chips) ? "more chips" : "";
  const [weights, kv] = [axes.smaller.weights[at.weights], axes.smaller.kv[at.kv]];
  if (longest === "weights") return weightsAdvice(f, at, weights, more);
  if (longest === "cache") {
    const help = capital(or("a shorter context", kv && `${kv} for the KV cache`, more));
    const reached = `throughput is at ${percent(f.rate / f.plateau)} of its plateau for this context`;
    const reading = `Reading the KV cache takes ${percent(share)} of the step.`;
    return `${reading} ${help} would help; a bigger batch would not: ${reached}.`;
  }
  const beyond = `the batch is beyond the critical ${number(f.whole_critical)}`;
  const help = `${capital(or("a smaller batch", more))} would shorten it`;
  const none = "smaller weights would not, and a bigger batch only adds latency";
  return `Arithmetic takes ${percent(share)} of the step: ${beyond}. ${help}; ${none}.`;
}

/** @typedef {{label: string, unit: string, is: string, more: string, less: string,
 *   of: (f: Figures) => number}} Asked */
/** What a question may ask for. @type {Record<string, Asked>} */
export const ASKED = {
  total: {
    ...{ label: "Your guess for the step time", unit: "ms", is: "the step takes", more: "long", less: "short" },
    of: (f) => stack(f).total * MS,
  },
  rate: {
    ...{ label: "Your guess for one chip", unit: "tokens/s", is: "one chip gives", more: "high", less: "low" },
    of: (f) => f.rate,
  },
  max_batch: {
    ...{ label: "Your guess for the room", unit: "sequences", is: "there is room for", more: "large", less: "small" },
    of: (f) => f.max_batch,
  },
};

/**
 * What is said of a guess.
 * @param {number} guess
 * @param {Figures} f
 * @param {Position} at
 * @param {string} asks
 */
export function verdict(guess, f, at, asks = "total") {
  const { unit, is, more, less, of } = ASKED[asks];
  const guessed = `You guessed ${number(guess)} ${unit}`;
  if (asks !== "max_batch" && !fits(f, at)) return `${guessed}. This does not fit, so there is no step to time.`;
  const truth = of(f);
  const said = `${guessed}; ${is} ${number(truth)} ${unit}.`;
  return truth > 0 ? `${said} Your guess is ${howFar(guess, truth, more, less)}.` : said;
}

/**
 * The same in bytes alone, for those who have not met the step yet.
 * @param {Figures} f
 * @param {Position} at
 */
export function memoryAdvice(f, at) {
  if (!fits(f, at)) return roomAdvice(f, at);
  const weights = `The weights take ${percent(f.weight_bytes / f.memory)} of the memory, and this batch's cache `;
  const left = `${percent(f.cache_bytes / f.memory)}.`;
  return f.max_batch > at.batch ? `${weights}${left} There is room for ${whole(f.max_batch)}.` : `${weights}${left}`;
}

/** What is where, in words. @param {Axes} axes @param {Position} at */
export const placeLine = ({ names }, at) =>
  `${names[at.model]} on ${at.chips} x ${names[at.chip]}, weights ${at.weights}, KV cache ${at.kv}, ` +
  `context ${number(at.context)}, batch ${number(at.batch)}`;

/** @param {Figures} f */
export const memoryLine = (f) =>
  `Memory: ${number(f.weight_bytes * GB)} GB of weights and ${number(f.cache_bytes * GB)} GB of cache, ` +
  `of ${number(f.memory * GB)} GB`;

/** @param {Figures} f */
export const memoryUse = (f) => `${number((f.weight_bytes + f.cache_bytes) * GB)} of ${number(f.memory * GB)}`;

/** The terms of a step, each with its time in ms. @param {Figures} f @returns {Row[]} */
export const termRows = (f) =>
  stack(f).blocks.map(({ term, from, to }) => [TERMS[term].name, number((to - from) * MS), "ms"]);

/**
 * What is said in numbers. Of what does not fit only the room is.
 * @param {Figures} f
 * @param {Position} at
 * @param {number | null} price [USD/h per chip]; null where there is none
 * @returns {Row[]}
 */
export function stepRows(f, at, price) {
  const { total } = stack(f);
  const show = (/** @type {number} */ x) => (fits(f, at) ? number(x) : "–");
  return [
    ["Step time (TPOT)", show(total * MS), "ms"],
    ["Per stream", show(1 / total), "tokens/s"],
    ["Per chip", show(f.rate), "tokens/s"],
    ["Cost", price === null ? "–" : show(price * f.chip_hours), "USD per million tokens"],
    ["Room for", number(f.max_batch), f.max_batch === 1 ? "sequence" : "sequences"],
    ["Critical batch", number(f.critical), "sequences"],
  ];
}

/**
 * What is said of the memory.
 * @param {Figures} f
 * @param {Position} at
 * @returns {Row[]}
 */
export const memoryRows = (f, at) => [
  ["Room for", number(f.max_batch), f.max_batch === 1 ? "sequence" : "sequences"],
  ["Weights", number(f.weight_bytes * GB), "GB"],
  [`Cache of ${number(at.batch)}`, number(f.cache_bytes * GB), "GB"],
  ["Fewest chips", f.need > 0 ? number(f.need) : "–", "for this batch"],
];

/**
 * The three numbers that a server is judged by, and the bill.
 * @param {Figures} f
 * @param {Position} at
 * @param {number | null} price [USD/h per chip]; null where there is none
 * @returns {Row[]}
 */
export function heroRows(f, at, price) {
  const show = (/** @type {number} */ x) => (fits(f, at) ? number(x, 3) : "–");
  return [
    ["one step, so one token for each sequence", show(stack(f).total * MS), "ms"],
    [`from ${at.chips === 1 ? "one chip" : `all ${at.chips} chips`} together`, show(f.rate * at.chips), "tokens/s"],
    ["per million tokens", price === null ? "–" : show(price * f.chip_hours), "USD"],
  ];
}

/**
 * The same for the prefill of the context.
 * @param {Figures} f
 * @param {Position} at
 * @param {Assumed} assumed
 * @returns {Row[]}
 */
export function prefillRows(f, at, assumed) {
  const unit = `s, at ${percent(assumed.mfu)} of peak`;
  const ok = fits(f, at);
  return [
    [`Prefill of ${short(at.context)} (TTFT)`, number(f.prefill), unit],
    ["TTFT with attention", number(f.prefill_attention), unit],
    [
      "Prefill to decode",
      ok ? `${number(f.ratio, 3)} : 1` : "–",
      `servers, ${number(assumed.decode_tokens)} tokens out`,
    ],
    ["Leaving per step", ok ? number(f.leaving) : "–", "sequences"],
  ];
}

// What the explorer knows and says: positions, figures, words, and where things lie in a drawing. All of it is tested
// under Node, without a page. It holds no formula: Python computed every figure. With numbers it does four things only:
// it stacks heights (StepTime.total is the top of the stack), turns a time over into a rate, scales a unit or
// multiplies by the reader's price, and compares two values.
import { floats, howFar, number } from "./dom.js";

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
/** @typedef {{compute: string, params: string, mfu: number, decode_tokens: number}} Assumed */

// One colour and one hatch per term, as in the book's figures (scaling.course.plots.TERMS).
/** @type {Record<Term, {colour: string, hatch: string, name: string}>} */
export const TERMS = {
  weights: { colour: "#0072B2", hatch: "", name: "reading the weights" },
  compute: { colour: "#E69F00", hatch: "///", name: "arithmetic" },
  cache: { colour: "#009E73", hatch: "...", name: "reading the KV cache" },
};
export const MENUS = /** @type {const} */ (["model", "chip", "weights", "kv"]);
export const SLIDERS = /** @type {const} */ (["chips", "context", "batch"]);
export const MS = 1e3; // in a second
const GB = 1e-9; // in a byte

// ---- positions ------------------------------------------------------------------------------------------------------

/**
 * Place of the value in an ascending list of positive numbers that is nearest by ratio.
 * @param {number[]} list
 * @param {number} value
 */
export function nearest(list, value) {
  const away = (/** @type {number} */ x) => Math.abs(Math.log(x / value));
  return list.reduce((best, x, i) => (away(x) < away(list[best]) ? i : best), 0);
}

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
  const at = { ...start };
  for (const word of part.slice(own.length).replace(/%3A/gi, ":").replace(/%2C/gi, ",").split(",")) {
    const [name, text] = word.split(":");
    const value = Number(text);
    for (const menu of MENUS) if (name === menu && axes[menu].includes(text)) at[menu] = text;
    for (const slider of SLIDERS) if (name === slider && Number.isInteger(value) && value >= 1) at[slider] = value;
    if (name === "price" && text && value >= 0 && Number.isFinite(value)) at.price = value;
  }
  return at;
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

/** What is said of a guess at the step time, in ms. @param {number} guess @param {Figures} f @param {Position} at */
export function verdict(guess, f, at) {
  if (!fits(f, at)) return `You guessed ${number(guess)} ms. This does not fit, so there is no step to time.`;
  const truth = stack(f).total * MS;
  const far = howFar(guess, truth, "long", "short");
  return `You guessed ${number(guess)} ms; the step takes ${number(truth)} ms. Your guess is ${far}.`;
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

// ---- where things are drawn -----------------------------------------------------------------------------------------

/** A round number just above `value`, and the ticks up to it. @param {number} value */
export function scale(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  const top = ([1, 2, 5].find((x) => x * power >= value * 0.999) ?? 10) * power;
  const step = top / (Math.round(top / power) === 2 ? 4 : 5);
  return { top, ticks: Array.from({ length: Math.round(top / step) + 1 }, (_, i) => i * step) };
}

// From the densest to the sparsest: what is marked within each power of ten.
const MARKS = [[1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8], [1, 1.5, 2, 3, 4, 6, 8], [1, 2, 5], [1, 3], [1]];

/**
 * Round values from `low` to `high` for a log axis of so many pixels: as many as stand `gap` pixels apart.
 * @param {number} low
 * @param {number} high
 * @param {number} pixels
 * @param {number} gap
 */
export function logTicks(low, high, pixels, gap) {
  const first = Math.floor(Math.log10(low));
  const powers = Array.from({ length: Math.floor(Math.log10(high)) - first + 1 }, (_, k) => 10 ** (first + k));
  const inside = (/** @type {number[]} */ marks) =>
    powers.flatMap((power) => marks.map((mark) => mark * power)).filter((tick) => tick >= low && tick <= high);
  const tight = (/** @type {number[]} */ ticks) =>
    ticks.some((tick, i) => i && (Math.log(tick / ticks[i - 1]) / Math.log(high / low)) * pixels < gap);
  return inside(MARKS.find((marks) => !tight(inside(marks))) ?? [1]);
}

/**
 * Every batch at this position. `figuresOf` gives the figures of a batch.
 * @param {number[]} batches
 * @param {Position} at
 * @param {(batch: number) => Figures} figuresOf
 * @returns {Point[]}
 */
export const frontPoints = (batches, at, figuresOf) =>
  batches.map((batch) => {
    const f = figuresOf(batch);
    return { batch, total: stack(f).total, rate: f.rate, fits: fits(f, at) };
  });

/** Pixels around the front: left of it, right of it, above and below. */
export const EDGE = { left: 50, right: 16, top: 30, foot: 40 };

/**
 * Where the front lies in a drawing of this width: the points that are shown, all that fit and three more, and the
 * place of a step time and of a rate, both on log axes.
 * @param {Point[]} all
 * @param {number} plateau
 * @param {number} width
 */
export function frontScale(all, plateau, width) {
  const some = all.filter((point) => point.fits).length;
  const points = all.slice(0, some ? some + 3 : all.length);
  const height = Math.round(Math.min(340, Math.max(250, width * 0.5)));
  const [across, up] = [width - EDGE.left - EDGE.right, height - EDGE.top - EDGE.foot];
  /** @param {number[]} values @param {number} room @returns {[number, number]} */
  const limits = (values, room) => [Math.min(...values) / room, Math.max(...values) * room];
  const times = limits(
    points.map((point) => point.total * MS),
    1.15,
  );
  const rates = limits([...points.map((point) => point.rate), plateau], 1.2);
  /** @param {number} value @param {[number, number]} ends */
  const along = (value, [low, high]) => Math.log(value / low) / Math.log(high / low);
  return {
    points,
    height,
    x: (/** @type {number} */ time) => EDGE.left + along(time * MS, times) * across,
    y: (/** @type {number} */ rate) => height - EDGE.foot - along(rate, rates) * up,
    timeTicks: logTicks(...times, across, 40),
    rateTicks: logTicks(...rates, up, 26),
  };
}

/**
 * A dot for each point: hollow where a bigger batch only adds latency, faint where it does not fit.
 * @param {ReturnType<typeof frontScale>} place
 * @param {Figures} f
 */
export const frontDots = ({ points, x, y }, f) =>
  points.map(({ batch, total, rate, fits: ok }) => {
    const kind = ok ? (batch > f.whole_critical ? " sx-beyond" : "") : " sx-outside";
    return { cx: x(total), cy: y(rate), r: 3, class: `sx-point${kind}` };
  });

/** The front in words. @param {Point[]} points @param {Position} at @param {Figures} f */
export function frontLine(points, at, f) {
  const inside = points.filter((point) => point.fits);
  const [first, last] = [points[0].batch, points[points.length - 1].batch];
  const room = inside.length ? `up to ${inside[inside.length - 1].batch} fit` : "none fits";
  const time = number(stack(f).total * MS);
  const now = fits(f, at) ? `Now: batch ${at.batch}, ${time} ms, ${number(f.rate)} tokens/s per chip.` : "";
  return `Throughput per chip against step time for batches ${first} to ${last}; ${room}. ${now}`;
}

// ---- where the explorer stands --------------------------------------------------------------------------------------

/** Where the explorer stands, and what is known of that position. */
export class State {
  /** @param {Model} model */
  constructor(model) {
    this.model = model;
    /** @type {Axes} */
    this.axes = model.get("axes");
    /** @type {Assumed} */
    this.assumed = model.get("assumed");
    /** @type {string[]} */
    this.views = model.get("show");
    /** @type {string} */
    this.key = model.get("key");
    this.grid = openGrid(model.get("tables"), model.get("grid"));
    this.start = snap(this.axes, model.get("start"));
    this.asked = 0; // the number of the last request
    this.wanted = this.at = this.start;
    /** @type {{at: Figures, front: Figures[]} | null} what the kernel computed, where this is no stored position */
    this.exact = null;
    this.note = "";
  }

  /**
   * Go to a position. One that is not stored is shown by its nearest, and asked of the kernel, if there is one.
   * @param {Position} next
   */
  go(next) {
    this.wanted = next;
    this.at = snap(this.axes, next);
    this.exact = null;
    this.note = "";
    const off = /** @type {const} */ (["batch", "context"]).filter((name) => this.at[name] !== next[name]);
    if (!off.length) return;
    const shown = off.map((name) => `${name} ${number(this.at[name])} for ${number(next[name])}`);
    this.note = `Without a kernel only stored values show: ${shown.join(", ")}.`;
    this.model.set("request", { ...next, chips: this.at.chips, id: ++this.asked });
    this.model.save_changes();
  }

  /** Takes what the kernel answered, unless the reader has gone on since. */
  answered() {
    const got = this.model.get("exact");
    const stored = this.at.batch === this.wanted.batch && this.at.context === this.wanted.context;
    if (got.id !== this.asked || stored) return false;
    this.note = got.error ?? "Computed by the kernel for exactly these values.";
    if (!got.error) {
      this.exact = got;
      this.at = { ...this.wanted, chips: this.at.chips };
    }
    return true;
  }

  /** The figures at a stored position. @param {Position} at */
  stored = (at) => this.grid.at(indices(this.axes, at));

  /** The price of one chip: what the reader says, or else the list price, if there is one. */
  get price() {
    return this.at.price ?? this.axes.prices[this.axes.chip.indexOf(this.at.chip)];
  }

  /** All that the parts show, for a drawing of this width. @param {number} width */
  scene(width) {
    const { at, axes, exact, price, note } = this;
    const f = exact?.at ?? this.stored(at);
    const points = frontPoints(axes.batch, at, (batch) =>
      exact ? exact.front[axes.batch.indexOf(batch)] : this.stored({ ...at, batch }),
    );
    const rows = [
      ...stepRows(f, at, price),
      ...(this.views.includes("prefill") ? prefillRows(f, at, this.assumed) : []),
    ];
    const words = { advice: advice(f, at, axes), place: placeLine(axes, at), note };
    return { at, f, price, points, rows, words, width, lists: choices(axes, at), fits: fits(f, at) };
  }
  /** What is said of a guess at the start, the position that the question asks about. @param {number} guess */
  judge = (guess) => verdict(guess, this.stored(this.start), this.start);
}

// Where the explorer stands, and what is known of that position.
import { nearest, number } from "./dom.js";
import {
  advice,
  choices,
  fits,
  heroRows,
  indices,
  memoryAdvice,
  memoryRows,
  openGrid,
  placeLine,
  prefillRows,
  snap,
  stepRows,
  verdict,
} from "./figures.js";
import { frontPoints } from "./places.js";

/** @import { Hardware } from "./hardware.js" */
/** @import { Model } from "./dom.js" */
/** @import { Assumed, Axes, Figures, Position } from "./figures.js" */

/**
 * A record of that name, or the same chip with the constants of the text.
 * @param {string[]} offered
 * @param {string} name
 */
const offer = (offered, name) => offered.find((some) => some === name || some === `${name}_TEXT`);

/**
 * Where an explorer stands for this hardware: the nearest position that it has, and what is said of that.
 * @param {Axes} axes
 * @param {Position} start
 * @param {Hardware} mine
 * @returns {{at: Position, said: string}}
 */
export function atHardware(axes, start, mine) {
  const chip = offer(axes.chip, mine.chip);
  if (!chip) return { at: start, said: `Your hardware, ${mine.chip}, is not among the chips here.` };
  const model = offer(axes.model, mine.model) ?? start.model;
  const sizes = choices(axes, { ...start, chip, model }).chips;
  const chips = sizes[nearest(sizes, mine.chips)];
  const price = mine.price ?? undefined;
  const other = model === mine.model ? "" : ` Your model, ${mine.model}, is not among those here.`;
  const exact = chips === mine.chips ? "" : `, the nearest to your ${mine.chips}`;
  return {
    at: { ...start, chip, model, chips, price },
    said: `This is your hardware: ${chips} x ${axes.names[chip] ?? chip}${exact}.${other}`,
  };
}

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
    const says = this.views.includes("memory") ? memoryAdvice(f, at) : advice(f, at, axes);
    const words = { advice: says, place: placeLine(axes, at), note };
    const rows = this.rows(f);
    return { at, f, price, points, rows, words, width, lists: choices(axes, at), fits: fits(f, at) };
  }

  /** What the views say in numbers. @param {Figures} f */
  rows(f) {
    const { at, views, price } = this;
    if (views.includes("hero")) return heroRows(f, at, price);
    if (views.includes("memory")) return memoryRows(f, at);
    return [...stepRows(f, at, price), ...(views.includes("prefill") ? prefillRows(f, at, this.assumed) : [])];
  }

  /** What is said of a guess at the start, the position that the question asks about. @param {number} guess */
  judge = (guess) => verdict(guess, this.stored(this.start), this.start, this.assumed.asks);
}

// Where the explorer's drawings have what: ticks, axes, the dots of the front, and the front in words.
import { number } from "./dom.js";
import { fits, MS, stack } from "./figures.js";

/** @import { Figures, Point, Position } from "./figures.js" */

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

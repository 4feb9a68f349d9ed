// The explorer's drawings. One unit of a view box is one pixel, so that text keeps its size on a phone.
import { number, s } from "./dom.js";
import { fits, MS, memoryUse, stack, TERMS, termRows } from "./figures.js";
import { EDGE, frontDots, frontLine, frontScale, scale } from "./places.js";

/** @import { Figures, Point, Position, Term } from "./figures.js" */

/** @param {number} x @param {number} y @param {string} words @param {"start" | "middle" | "end"} anchor */
const text = (x, y, words, anchor = "middle", kind = "") =>
  s("text", { x, y, "text-anchor": anchor, class: kind }, words);
/** @param {number} x1 @param {number} y1 @param {number} x2 @param {number} y2 @param {string} kind */
const line = (x1, y1, x2, y2, kind) => s("line", { x1, y1, x2, y2, class: kind });

/** @param {string} kind */
export const drawing = (kind) => s("svg", { role: "img", class: kind });

/** @param {SVGElement} svg @param {string} box @param {string} label @param {Node[]} nodes */
function redraw(svg, box, label, nodes) {
  svg.setAttribute("viewBox", box);
  svg.setAttribute("aria-label", label);
  svg.replaceChildren(...nodes);
}

/**
 * A block in a term's colour, with its hatch drawn over it.
 * @param {string} id
 * @param {Term} term
 * @param {number} x
 * @param {number} y
 * @param {number} width
 * @param {number} height
 */
export function block(id, term, x, y, width, height) {
  const at = { x, y, width: Math.max(width, 0), height };
  const fill = s("rect", { ...at, fill: TERMS[term].colour, class: "sx-fill" });
  return TERMS[term].hatch ? [fill, s("rect", { ...at, fill: `url(#${id}-${term})` })] : [fill];
}

/** The hatches, for the drawings of one explorer to refer to. @param {string} id */
export function patterns(id) {
  const mark = { class: "sx-hatch", "stroke-width": 1 };
  /** @param {Term} term @param {number} size @param {Node} inside */
  const tile = (term, size, inside) =>
    s("pattern", { id: `${id}-${term}`, width: size, height: size, patternUnits: "userSpaceOnUse" }, inside);
  const strokes = s("path", { d: "M-1 7L7 -1M-1 1L1 -1M5 7L7 5", ...mark });
  const others = s("path", { d: "M-1 -1L7 7M-1 5L1 7M5 -1L7 1", ...mark });
  const tiles = s("defs", {}, tile("compute", 6, strokes), tile("cache", 6, others));
  return s("svg", { width: 0, height: 0, "aria-hidden": "true", class: "sx-defs" }, tiles);
}

const LANE = 22; // height of the lane of the weights, over that of the arithmetic; the cache takes both

/** @param {SVGElement} svg @param {string} id @param {Figures} f @param {number} width */
export function drawStep(svg, id, f, width) {
  const { blocks, total } = stack(f);
  const { top, ticks } = scale(total * MS);
  const x = (/** @type {number} */ time) => ((time * MS) / top) * (width - 22);
  const axis = 2 * LANE + 10;
  const grid = ticks.flatMap((tick) => {
    const label = text(Math.max(x(tick / MS), 4), axis + 15, number(tick), tick ? "middle" : "start");
    return [line(x(tick / MS), 0, x(tick / MS), axis, "sx-grid"), label];
  });
  const terms = blocks.flatMap(({ term, from, to }) => {
    const y = term === "compute" ? LANE + 3 : 2;
    return block(id, term, x(from), y, x(to) - x(from), term === "cache" ? 2 * LANE + 1 : LANE);
  });
  const join = line(x(f.matmul), 0, x(f.matmul), axis - 3, "sx-join");
  const end = line(x(total), -2, x(total), axis, "sx-end");
  const said = termRows(f).map(([name, value, unit]) => `${name} ${value} ${unit}`);
  const label = `${said.join(", ")}; the step takes ${number(total * MS)} ms`;
  redraw(svg, `0 -4 ${width} ${axis + 26}`, label, [...grid, ...terms, join, end]);
}

/** @param {SVGElement} svg @param {string} id @param {Figures} f @param {number} width */
export function drawMemory(svg, id, f, width) {
  const used = f.weight_bytes + f.cache_bytes;
  const x = (/** @type {number} */ bytes) => (bytes / Math.max(used, f.memory)) * (width - 2) + 1;
  redraw(svg, `0 0 ${width} 22`, `Memory: ${memoryUse(f)} GB`, [
    s("rect", { x: 1, y: 4, width: x(f.memory) - 1, height: 14, class: "sx-room" }),
    ...block(id, "weights", 1, 4, x(f.weight_bytes) - 1, 14),
    ...block(id, "cache", x(f.weight_bytes), 4, x(used) - x(f.weight_bytes), 14),
    line(x(f.memory), 0, x(f.memory), 22, used > f.memory ? "sx-over" : "sx-end"),
  ]);
}

/**
 * The grid of the front, its labels and the plateau.
 * @param {ReturnType<typeof frontScale>} place
 * @param {number} plateau
 * @param {number} width
 */
function frontAxes({ height, x, y, timeTicks, rateTicks }, plateau, width) {
  const floor = height - EDGE.foot;
  const right = width - EDGE.right;
  return [
    ...timeTicks.flatMap((tick) => {
      const at = x(tick / MS);
      return [line(at, EDGE.top, at, floor, "sx-grid"), text(at, floor + 16, number(tick))];
    }),
    ...rateTicks.flatMap((tick) => [
      line(EDGE.left, y(tick), right, y(tick), "sx-grid"),
      text(EDGE.left - 6, y(tick) + 4, number(tick), "end"),
    ]),
    text((EDGE.left + right) / 2, height - 5, "step time (ms)"),
    text(2, 10, "tokens/s per chip", "start"),
    line(EDGE.left, y(plateau), right, y(plateau), "sx-plateau"),
    text(right, y(plateau) - 5, `plateau ${number(plateau)}`, "end"),
  ];
}

/**
 * A line through the points that fit, and a dashed one on to those that do not.
 * @param {ReturnType<typeof frontScale>} place
 */
function frontPaths({ points, x, y }) {
  const inside = points.filter((point) => point.fits);
  /** @param {Point[]} some @param {string} kind */
  const path = (some, kind) => {
    const corners = some.map(({ total, rate }) => `${x(total).toFixed(1)},${y(rate).toFixed(1)}`);
    return corners.length > 1 ? [s("polyline", { class: kind, points: corners.join(" ") })] : [];
  };
  const outside = points.slice(Math.max(inside.length - 1, 0));
  return [...path(outside, "sx-path sx-outside"), ...path(inside, "sx-path")];
}

/**
 * The dot of this position, and the names of the dots at both ends where they stand clear of it.
 * @param {ReturnType<typeof frontScale>} place
 * @param {Position} at
 * @param {Figures} f
 * @param {number} width
 */
function frontNames({ points, x, y }, at, f, width) {
  const now = { total: stack(f).total, rate: f.rate };
  /** @param {{total: number, rate: number}} point @param {string} words @param {string} kind @param {number} down */
  const name = ({ total, rate }, words, kind, down) => {
    const late = x(total) > EDGE.left + (width - EDGE.left) * 0.72; // no room to the right of it
    return text(x(total) + (late ? -9 : 9), y(rate) + down, words, late ? "end" : "start", kind);
  };
  const inside = points.filter((point) => point.fits);
  const ends = new Set(inside.length ? [inside[0], inside[inside.length - 1]] : []);
  const clear = [...ends].filter((p) => Math.hypot(x(p.total) - x(now.total), y(p.rate) - y(now.rate)) > 34);
  const named = clear.map((point) => name(point, number(point.batch), "", point === inside[0] ? 4 : 16));
  if (!fits(f, at)) return named;
  const dot = s("circle", { cx: x(now.total), cy: y(now.rate), r: 7, class: "sx-now" });
  return [...named, dot, name(now, `batch ${number(at.batch)}`, "sx-label", 19)];
}

/**
 * Draws the front and says where its dots are.
 * @param {SVGElement} svg
 * @param {{points: Point[], at: Position, f: Figures, width: number}} scene
 */
export function drawFront(svg, { points: all, at, f, width }) {
  const place = frontScale(all, f.plateau, width);
  const dots = frontDots(place, f);
  const circles = dots.map((dot) => s("circle", dot));
  const names = frontNames(place, at, f, width);
  redraw(svg, `0 0 ${width} ${place.height}`, frontLine(place.points, at, f), [
    ...frontAxes(place, f.plateau, width),
    ...frontPaths(place),
    ...circles,
    ...names,
  ]);
  return dots.map(({ cx, cy }, i) => ({ batch: place.points[i].batch, x: cx, y: cy }));
}

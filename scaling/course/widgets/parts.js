// The parts of an explorer: handles, numbers, drawings, tables. Each draws itself for a scene.
import { entered, h, handleForm, nearest, number, s } from "./dom.js";
import { block, drawFront, drawing, drawMemory, drawStep } from "./drawing.js";
import { MENUS, MS, memoryLine, memoryUse, SLIDERS, short, stack, termRows } from "./figures.js";

/** @import { Assumed, Axes, Position, Row } from "./figures.js" */
/** @import { State } from "./state.js" */

/** @typedef {ReturnType<State["scene"]>} Scene */
/**
 * A part is drawn at every move; what is costly or loud waits until the handles rest.
 * @typedef {{node: Element, draw?: (scene: Scene) => void, rest?: (scene: Scene) => void}} Part
 */
/** @typedef {(change: Partial<Position>) => void} Move */

const LABELS = {
  ...{ chip: "Chip", model: "Model", chips: "Chips", weights: "Weights", kv: "KV cache", context: "Context" },
  ...{ batch: "Batch", price: "Price, USD/h" },
};

/** @param {keyof typeof LABELS} name @param {Element} input */
const field = (name, input) => h("label", {}, h("span", {}, LABELS[name]), input);

/** A choice among names. @param {typeof MENUS[number]} name @param {Axes} axes @param {Move} move @returns {Part} */
function menu(name, axes, move) {
  const options = axes[name].map((value) => h("option", { value }, axes.names[value] ?? value));
  // Another chip has another price.
  const onchange = () => move({ [name]: select.value, ...(name === "chip" ? { price: null } : {}) });
  const select = h("select", { name, onchange }, ...options);
  return {
    node: field(name, select),
    draw({ at }) {
      select.value = at[name];
    },
  };
}

/** @param {Move} move @returns {Part} */
function priceField(move) {
  const enter = () => move({ price: input.value !== "" && Number(input.value) >= 0 ? Number(input.value) : null });
  const limits = { type: "number", min: 0, step: "any", inputmode: "decimal" };
  const input = h("input", { ...limits, name: "price", ...entered(enter) });
  return {
    node: field("price", input),
    draw({ price }) {
      input.value = String(price ?? "");
    },
  };
}

/**
 * A slider over the stored values, and a field for any number.
 * @param {"context" | "batch"} name
 * @param {Move} move
 * @returns {Part}
 */
function slider(name, move) {
  const label = LABELS[name];
  const enter = () => move(Number(input.value) >= 1 ? { [name]: Math.round(Number(input.value)) } : {});
  const limits = { type: "number", min: 1, step: 1, inputmode: "numeric" };
  const input = h("input", { ...limits, "aria-label": label, ...entered(enter) });
  return ranged(name, input, move);
}

/**
 * A slider with what it stands at.
 * @param {typeof SLIDERS[number]} name
 * @param {HTMLInputElement | HTMLOutputElement} shown
 * @param {Move} move
 * @returns {Part}
 */
function ranged(name, shown, move) {
  const label = LABELS[name];
  /** @type {number[]} */
  let list = [];
  const oninput = () => move({ [name]: list[Number(range.value)] });
  const range = h("input", { type: "range", min: 0, step: 1, name, "aria-label": `${label}, slider`, oninput });
  const head = h("span", { "aria-hidden": "true" }, label);
  return {
    node: h("div", { class: `sx-slider sx-${name}`, role: "group", "aria-label": label }, head, range, shown),
    draw({ at, lists }) {
      list = lists[name];
      range.max = String(list.length - 1);
      range.value = String(nearest(list, at[name]));
      range.setAttribute("aria-valuetext", name === "context" ? short(at.context) : String(at[name]));
      shown.value = String(at[name]);
    },
  };
}

/** @param {Axes} axes @param {Move} move @returns {Part} */
export function handles(axes, move, memory = false) {
  const open = MENUS.filter((name) => axes[name].length > 1); // of one there is nothing to choose
  const choosing = [...open.map((name) => menu(name, axes, move)), ...(memory ? [] : [priceField(move)])];
  const sliding = [ranged("chips", h("output"), move), slider("context", move), slider("batch", move)];
  const menus = h("div", { class: "sx-menus" }, ...choosing.map(({ node }) => node));
  return {
    node: handleForm(menus, h("div", { class: "sx-sliding" }, ...sliding.map(({ node }) => node))),
    draw: (scene) => [...choosing, ...sliding].forEach((part) => void part.draw?.(scene)),
  };
}

/** A paragraph. @param {string} kind @param {(scene: Scene) => string} words @returns {Part & {node: HTMLElement}} */
export function paragraph(kind, words) {
  const node = h("p", { class: kind });
  return {
    node,
    draw(scene) {
      node.textContent = words(scene);
      node.hidden = !node.textContent;
    },
  };
}

/** @returns {Part} */
export function numbers() {
  const node = h("dl", { class: "sx-numbers" });
  /** @param {Row} row */
  const entry = ([name, value, unit]) => h("div", {}, h("dt", {}, name), h("dd", {}, value, " ", h("small", {}, unit)));
  return { node, draw: ({ rows }) => node.replaceChildren(...rows.map(entry)) };
}

/**
 * The step, drawn and with each term's time. Of what does not fit there is no step.
 * @param {string} id
 * @returns {Part}
 */
export function stepFigure(id) {
  const svg = drawing("sx-step");
  const legend = h("ul", { class: "sx-legend" });
  const node = h("div", {}, h("p", { class: "sx-caption" }, "One decode step, in ms"), svg, legend);
  return {
    node,
    draw({ f, width, fits: ok }) {
      node.hidden = !ok;
      if (ok) drawStep(svg, id, f, width);
      const shorter = f.weights < f.compute ? "weights" : "compute";
      const lines = termRows(f).map(([name, value, unit], i) => {
        const { term } = stack(f).blocks[i];
        const swatch = { viewBox: "0 0 14 14", width: 14, height: 14, "aria-hidden": "true" };
        const words = ` ${name} ${value} ${unit}${term === shorter ? ", overlapped" : ""}`;
        return h("li", {}, s("svg", swatch, ...block(id, term, 0, 0, 14, 14)), words);
      });
      legend.replaceChildren(...lines);
    },
  };
}

/** @param {string} id @returns {Part} */
export function memoryFigure(id) {
  const svg = drawing("sx-memory");
  const caption = h("p", { class: "sx-caption" });
  return {
    node: h("div", {}, caption, svg),
    draw({ f, width }) {
      caption.textContent = memoryLine(f);
      drawMemory(svg, id, f, width);
    },
  };
}

/** The front; a click on a dot goes to its batch. @param {Move} move @returns {Part} */
export function frontFigure(move) {
  const svg = drawing("sx-front");
  /** @type {{batch: number, x: number, y: number}[]} */
  let dots = [];
  svg.onclick = (event) => {
    const box = svg.getBoundingClientRect();
    const away = (/** @type {{x: number, y: number}} */ dot) =>
      Math.hypot(dot.x - (event.clientX - box.left), dot.y - (event.clientY - box.top));
    const dot = dots.reduce((a, b) => (away(b) < away(a) ? b : a));
    if (away(dot) < 24) move({ batch: dot.batch });
  };
  const key = "Filled: a bigger batch still adds throughput. Hollow: it only adds latency. Dashed: does not fit.";
  const caption = h("p", { class: "sx-caption" }, "Every batch, from fastest to fullest");
  return {
    node: h("div", {}, caption, svg, h("p", { class: "sx-key" }, key)),
    draw(scene) {
      dots = drawFront(svg, scene);
    },
  };
}

/** A table of values. @param {string} caption @param {string[]} head @param {string[][]} body */
function grid(caption, head, body) {
  const heads = head.map((words) => h("th", { scope: "col" }, words));
  const rows = body.map(([first, ...rest]) =>
    h("tr", {}, h("th", { scope: "row" }, first), ...rest.map((words) => h("td", {}, words))),
  );
  return h("table", {}, h("caption", {}, caption), h("thead", {}, h("tr", {}, ...heads)), h("tbody", {}, ...rows));
}

/** The values as tables, filled where they are open. @param {() => void} opened @returns {Part} */
export function tables(opened, memory = false) {
  const box = h("div", { class: "sx-table" });
  const node = h("details", { ontoggle: opened }, h("summary", {}, "The values as a table"), box);
  return {
    node,
    rest({ f, rows, points, words }) {
      if (!node.open) return;
      /** @type {Row[]} */
      const all = [...(memory ? [] : termRows(f)), ...rows, ["Memory", memoryUse(f), "GB"]];
      const figures = all.map(([name, value, unit]) => [name, `${value} ${unit}`]);
      const batches = points.map((p) => [number(p.batch), number(p.total * MS), number(p.rate), p.fits ? "yes" : "no"]);
      const head = ["Batch", "Step (ms)", "Tokens/s per chip", "Fits"];
      const every = memory ? [] : [grid("Every batch", head, batches)];
      box.replaceChildren(grid(words.place, ["Figure", "Value"], figures), ...every);
    },
  };
}

/** @param {Assumed} assumed */
export const fineprint = ({ compute, params }, memory = false) => {
  const arithmetic = `arithmetic in ${compute || "the dtype that an engine would use"}`;
  const words = memory
    ? `Weights by the ${params} parameter count; nothing is kept aside for activations or the engine itself.`
    : `Serial roofline, not an estimate: peak rates, ${arithmetic}, ${params} parameter count.`;
  return h("p", { class: "sx-key" }, words);
};

// The explorer: a position, the parts that show it, and what moves them. Everything it shows comes from figures.js.
import { atRest, button, entered, guessForm, h, handleForm, number, s } from "./dom.js";
import { block, drawFront, drawing, drawMemory, drawStep, patterns } from "./drawing.js";
import {
  MENUS,
  MS,
  SLIDERS,
  State,
  decode,
  encode,
  hashParts,
  memoryLine,
  memoryUse,
  nearest,
  short,
  stack,
  termRows,
} from "./figures.js";

/** @import { Model } from "./dom.js" */
/** @import { Assumed, Axes, Position, Row } from "./figures.js" */

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
function handles(axes, move) {
  const choosing = [...MENUS.map((name) => menu(name, axes, move)), priceField(move)];
  const sliding = [ranged("chips", h("output"), move), slider("context", move), slider("batch", move)];
  const menus = h("div", { class: "sx-menus" }, ...choosing.map(({ node }) => node));
  return {
    node: handleForm(menus, ...sliding.map(({ node }) => node)),
    draw: (scene) => [...choosing, ...sliding].forEach((part) => void part.draw?.(scene)),
  };
}

/** A paragraph. @param {string} kind @param {(scene: Scene) => string} words @returns {Part & {node: HTMLElement}} */
function paragraph(kind, words) {
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
function numbers() {
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
function stepFigure(id) {
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
function memoryFigure(id) {
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
function frontFigure(move) {
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
function tables(opened) {
  const box = h("div", { class: "sx-table" });
  const node = h("details", { ontoggle: opened }, h("summary", {}, "The values as a table"), box);
  return {
    node,
    rest({ f, rows, points, words }) {
      if (!node.open) return;
      /** @type {Row[]} */
      const all = [...termRows(f), ...rows, ["Memory", memoryUse(f), "GB"]];
      const figures = all.map(([name, value, unit]) => [name, `${value} ${unit}`]);
      const batches = points.map((p) => [number(p.batch), number(p.total * MS), number(p.rate), p.fits ? "yes" : "no"]);
      const head = ["Batch", "Step (ms)", "Tokens/s per chip", "Fits"];
      box.replaceChildren(grid(words.place, ["Figure", "Value"], figures), grid("Every batch", head, batches));
    },
  };
}

/** @param {Assumed} assumed */
const fineprint = ({ compute, params }) =>
  h(
    "p",
    { class: "sx-key" },
    `Serial roofline, not an estimate: peak rates, arithmetic in ${compute}, ${params} parameter count.`,
  );

/**
 * Starts again; makes a link of where the explorer stands.
 * @param {() => void} reset
 * @param {() => void} share
 * @param {boolean} linked
 * @returns {Part}
 */
function tools(reset, share, linked) {
  const told = h("span", { class: "sx-told", role: "status" });
  const copy = button("Copy link", () => {
    share();
    const say = (/** @type {string} */ words) => () => {
      told.textContent = words;
    };
    const sent = navigator.clipboard?.writeText(location.href) ?? Promise.reject();
    sent.then(say("Link copied."), say("The address bar holds the link."));
  });
  copy.hidden = !linked;
  return {
    node: h("div", { class: "sx-tools" }, button("Reset", reset), copy, told),
    draw() {
      told.textContent = "";
    },
  };
}

// On a page of the site the address is the reader's to share; in a notebook it belongs to the editor.
const published = () => "scalingFrontEnds" in globalThis;

/** The explorer on a page: its state, its parts, and what moves them. */
class Explorer {
  /** @param {Model} model */
  constructor(model) {
    this.state = new State(model);
    this.published = published();
    this.moved = false; // by the reader: only then does the address follow, and a move is said
    this.width = 640;
    this.live = h("p", { role: "status", class: "sw-spoken" });
    this.answer = h("div", { class: "sx-answer" });
    this.root = h("section", {
      ...{ class: "scaling-widget explorer", "aria-label": "Explorer", "data-key": this.state.key },
      "data-lm-suppress-shortcuts": "true",
    });
    this.still = atRest(() => this.rest());
    this.parts = this.assemble(`sx-${this.state.key.replace(/\W/g, "-")}`);
  }

  /** Puts the parts together. @param {string} id @returns {Part[]} */
  assemble(id) {
    const { axes, assumed, views, start } = this.state;
    /** @type {Move} */
    const change = (some) => this.move({ ...this.state.wanted, ...some });
    const outside = [handles(axes, change), paragraph("sx-remark", ({ words }) => words.note)];
    const inside = [
      paragraph("sx-place", ({ words }) => words.place),
      paragraph("sx-say", ({ words }) => words.advice),
      numbers(),
      ...(views.includes("step") ? [stepFigure(id)] : []),
      memoryFigure(id),
      ...(views.includes("front") ? [frontFigure(change)] : []),
    ];
    const values = tables(() => this.still.now());
    const below = tools(
      () => this.move(start),
      () => this.share(),
      this.published,
    );
    this.answer.append(...inside.map(({ node }) => node), fineprint(assumed), values.node);
    this.root.append(patterns(id), ...outside.map(({ node }) => node), this.answer, below.node, this.live);
    return [...outside, ...inside, values, below];
  }

  /** @param {Position} next */
  move(next, quiet = false) {
    this.state.go(next);
    this.moved = !quiet;
    this.draw();
  }

  draw() {
    const began = performance.now();
    this.scene = this.state.scene(this.width);
    this.root.toggleAttribute("data-infeasible", !this.scene.fits);
    for (const part of this.parts) part.draw?.(this.scene);
    this.still.moved();
    this.root.dataset.redrawMs = (performance.now() - began).toFixed(2);
  }

  /** What waits until the handles rest: browsers limit how often an address may change, and a voice needs time. */
  rest() {
    const { scene } = this;
    if (!scene) return;
    for (const part of this.parts) part.rest?.(scene);
    if (!this.moved) return;
    if (this.published) history.replaceState(history.state, "", encode(location.hash, this.state.key, scene.at));
    const time = scene.fits ? ` Step time ${number(stack(scene.f).total * MS)} ms.` : "";
    this.live.textContent = `${scene.words.advice}${time}`;
  }

  share() {
    this.moved = true;
    this.still.now();
  }

  /** A guess first. @param {string} question */
  ask(question) {
    const about = { question, label: "Your guess for the step time", unit: "ms", judge: this.state.judge };
    this.question = guessForm(this.root, about, () => this.resize());
    this.root.insertBefore(this.question, this.answer);
  }

  /** Shows a position that a link asks for; its reader wants that, and no question. @param {Position} there */
  arrive(there) {
    this.root.classList.remove("sx-waiting");
    this.question?.remove();
    this.move(there, true);
  }

  /** Draws for the room that there is. */
  resize() {
    this.width = Math.round(this.answer.clientWidth) || this.root.clientWidth || this.width;
    this.draw();
  }

  /** Hears the page, and gives what undoes that. */
  listen() {
    const { state } = this;
    const quiet = new AbortController();
    const { signal } = quiet;
    const linked = () => {
      const there = decode(location.hash, state.key, state.axes, state.start);
      if (there && encode("", state.key, there) !== encode("", state.key, state.at)) this.arrive(there);
    };
    if (this.published) addEventListener("hashchange", linked, { signal });
    // On paper the explorer stands where the page's text left it.
    let before = state.wanted;
    const print = () => {
      before = state.wanted;
      this.move(state.start, true);
    };
    addEventListener("beforeprint", print, { signal });
    addEventListener("afterprint", () => this.move(before, true), { signal });
    const answered = () => state.answered() && this.draw();
    state.model.on("change:exact", answered);
    const resized = new ResizeObserver(() => {
      if ((Math.round(this.answer.clientWidth) || this.width) !== this.width) this.resize();
    });
    resized.observe(this.root);
    return () => {
      quiet.abort();
      state.model.off("change:exact", answered);
      resized.disconnect();
      this.still.stop();
    };
  }
}

/** @param {{model: Model, el: HTMLElement}} context */
function render({ model, el }) {
  const explorer = new Explorer(model);
  const { root, state } = explorer;
  const there = explorer.published ? decode(location.hash, state.key, state.axes, state.start) : null;
  const question = model.get("predict");
  if (question) explorer.ask(question);
  const deaf = explorer.listen();
  el.append(root);
  explorer.resize();
  if (there) {
    explorer.arrive(there);
    const anchor = hashParts(location.hash).find((part) => !part.startsWith("ex-"));
    setTimeout(() => (document.getElementById(anchor ?? "") ?? root).scrollIntoView()); // the host attaches `el` first
  }
  return () => {
    deaf();
    root.remove();
  };
}

export default { render };

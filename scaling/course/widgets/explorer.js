// The explorer's front end. It holds no formula: Python computed every figure, this file looks it up and draws it.
// With numbers it does four things only: it stacks heights (StepTime.total is the top of the stack), turns a time over
// into a rate, scales a unit or multiplies by the reader's price, and compares two values.

// One colour and one hatch per term, as in the book's figures (scaling.course.plots.TERMS).
export const TERMS = {
  weights: { colour: "#0072B2", hatch: "", name: "reading the weights" },
  compute: { colour: "#E69F00", hatch: "///", name: "arithmetic" },
  cache: { colour: "#009E73", hatch: "...", name: "reading the KV cache" },
};
const LISTS = ["chips", "weights", "kv", "context", "batch"];
const MS = 1e3, GB = 1e-9;

// ---- pure helpers (tested under Node) ------------------------------------------------------------------------------

/** Place of the value in an ascending list of positive numbers that is nearest by ratio. */
export function nearest(list, value) {
  const away = (x) => Math.abs(Math.log(x / value));
  return list.reduce((best, x, i) => (away(x) < away(list[best]) ? i : best), 0);
}

const WHOLE = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const FINE = [1, 2, 3, 4].map((digits) => new Intl.NumberFormat("en-US", { maximumSignificantDigits: digits }));

/** A number for people: at most 4 significant digits, thousands separated. */
export function number(value, digits = 4) {
  if (!Number.isFinite(value)) return value === Infinity ? "∞" : "–";
  return (Math.abs(value) >= 10 ** (digits - 1) ? WHOLE : FINE[digits - 1]).format(value);
}

/** A token count as a tick label: 8192 is 8K. */
export const short = (n) => (n >= 1024 && n % 1024 === 0 ? `${n / 1024}K` : number(n));

const bits = (dtype) => Number(/\d+$/.exec(dtype)?.[0] ?? 16);
const smaller = (list, now) => list.find((dtype) => bits(dtype) < bits(now));

/** The values that each handle may take at this position. */
export function choices(axes, at) {
  const c = axes.chip.indexOf(at.chip), m = axes.model.indexOf(at.model);
  return { chip: axes.chip, model: axes.model, chips: axes.sizes[c][m], weights: axes.weights, kv: axes.kv,
    context: axes.context, batch: axes.batch };
}

/** The position with every handle on a stored value: numbers go to the nearest. */
export function snap(axes, at) {
  const list = choices(axes, at), near = (name) => list[name][nearest(list[name], at[name])];
  return { ...at, chips: near("chips"), context: near("context"), batch: near("batch") };
}

/** Index along each axis of the grid, for a position on stored values. */
export function indices(axes, at) {
  const c = axes.chip.indexOf(at.chip), m = axes.model.indexOf(at.model), list = choices(axes, at);
  const sizes = axes.sizes.flat(), pair = c * axes.model.length + m;
  const i = Object.fromEntries(LISTS.map((name) => [name, list[name].indexOf(at[name])]));
  const before = sizes.slice(0, pair).reduce((sum, some) => sum + some.length, 0);
  return { ...i, pair, place: before + i.chips, tokens: axes.tokens[i.context][i.batch] };
}

/** The buffer as named tables; `at` gives every figure for a set of indices. */
export function openGrid(layout, view) {
  const values = new Float32Array(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength));
  let offset = 0;
  const tables = layout.map(([name, axes, lengths]) => {
    const table = { name, axes, lengths, offset };
    offset += lengths.reduce((a, b) => a * b, 1);
    return table;
  });
  const at = (index) => Object.fromEntries(tables.map((t) =>
    [t.name, values[t.offset + t.axes.reduce((sum, axis, k) => sum * t.lengths[k] + index[axis], 0)]]));
  return { at, size: offset };
}

/** The stack of one step: weights and compute side by side from 0, the cache on top of the longer. */
export function stack(f) {
  const parts = [
    { term: "weights", from: 0, to: f.weights },
    { term: "compute", from: 0, to: f.compute },
    { term: "cache", from: f.matmul, to: f.matmul + f.cache },
  ];
  const bound = parts.reduce((a, b) => (b.to - b.from > a.to - a.from ? b : a));
  const total = f.matmul + f.cache;
  return { parts, total, bound: bound.term, share: (bound.to - bound.from) / total };
}

export const fits = (f, at) => f.need > 0 && f.need <= at.chips;

/** One line in words: which term binds, and what would help. */
export function advice(f, at, list) {
  const percent = (x) => `${Math.round(100 * x)} %`, n = (x) => number(Math.floor(x));
  if (!fits(f, at)) {
    const where = f.need > 0 ? `Does not fit: needs ${f.need} chips` : "This batch fits on no number of these chips";
    const room = f.weight_bytes > f.memory ? "The weights alone are larger than the memory"
      : f.max_batch < 1 ? "Not even one sequence of this length fits" : `At this context ${n(f.max_batch)} at most fit`;
    return `${where}. ${room} on ${at.chips === 1 ? "one chip" : `${at.chips} chips`}.`;
  }
  const { bound, share } = stack(f), more = list.chips.some((x) => x > at.chips);
  const lower = { weights: smaller(list.weights, at.weights), kv: smaller(list.kv, at.kv) };
  const or = (...items) => {
    const said = items.filter(Boolean);
    return said.length > 1 ? `${said.slice(0, -1).join(", ")} or ${said.at(-1)}` : said[0];
  };
  const cap = (text) => text[0].toUpperCase() + text.slice(1);
  if (bound === "cache") {
    const help = or("a shorter context", lower.kv && `${lower.kv} for the KV cache`, more && "more chips");
    return `Reading the KV cache takes ${percent(share)} of the step. ${cap(help)} would help; a bigger batch would ` +
      `not: throughput is at ${percent(f.rate / f.ceiling)} of its ceiling for this context.`;
  }
  if (bound === "weights") {
    const room = Math.min(f.max_batch, Math.ceil(f.critical));
    const help = or(lower.weights && `${lower.weights} weights`, more && "more chips");
    const shared = room > at.batch
      ? `A bigger batch would share that reading, up to ${n(room)} ` +
        (f.max_batch < f.critical ? "(then memory is full)." : "(the critical batch).")
      : "Memory has no room for a bigger batch to share that reading.";
    return `Reading the weights takes ${percent(share)} of the step. ${shared}` +
      (help ? ` ${cap(help)} would shorten it.` : "");
  }
  const help = or("a smaller batch", more && "more chips");
  return `Arithmetic takes ${percent(share)} of the step: the batch is beyond the critical ${n(Math.ceil(f.critical))}. ` +
    `${cap(help)} would shorten it; smaller weights would not, and a bigger batch only adds latency.`;
}

/** How far a guess is off, as a ratio. */
export function verdict(guess, f, at) {
  if (!fits(f, at)) return `You guessed ${number(guess)} ms. This does not fit, so there is no step to time.`;
  const truth = stack(f).total * MS, ratio = guess / truth, off = Math.max(ratio, 1 / ratio);
  const words = off < 1.05 ? "within 5 %" : `${number(off, 3)} times too ${ratio > 1 ? "long" : "short"}`;
  return `You guessed ${number(guess)} ms; the step takes ${number(truth)} ms. Your guess is ${words}.`;
}

/** A position as one part of an address; foreign parts of the hash (an anchor, another explorer) are kept. */
export function encode(hash, key, at) {
  const own = `ex-${key}=`, kept = hash.replace(/^#/, "").split("&").filter((part) => part && !part.startsWith(own));
  const words = ["chip", "model", ...LISTS, "price"].filter((name) => at[name] !== null && at[name] !== undefined);
  return "#" + [...kept, own + words.map((name) => `${name}:${at[name]}`).join(",")].join("&");
}

/** What an address says of the position. Unknown names and impossible values are left out; null when it says nothing. */
export function decode(hash, key, axes, start) {
  const own = `ex-${key}=`, part = hash.replace(/^#/, "").split("&").find((p) => p.startsWith(own));
  if (!part) return null;
  const at = { ...start };
  for (const word of part.slice(own.length).replace(/%3A/gi, ":").replace(/%2C/gi, ",").split(",")) {
    const [name, text] = word.split(":"), value = Number(text);
    if (["chip", "model", "weights", "kv"].includes(name) && axes[name].includes(text)) at[name] = text;
    if (["chips", "context", "batch"].includes(name) && Number.isInteger(value) && value >= 1) at[name] = value;
    if (name === "price" && text && value >= 0 && Number.isFinite(value)) at.price = value;
  }
  return at;
}

/** A round number just above `value`, and the ticks up to it. */
export function scale(value) {
  const power = 10 ** Math.floor(Math.log10(value)), top = [1, 2, 5, 10].find((x) => x * power >= value * 0.999) * power;
  const step = top / (Math.round(top / power) === 2 ? 4 : 5);
  return { top, ticks: Array.from({ length: Math.round(top / step) + 1 }, (_, i) => i * step) };
}

/** Round values from `low` to `high` for a log axis of so many pixels: as many as stand `gap` pixels apart. */
export function logTicks(low, high, pixels, gap) {
  const inside = (marks) => {
    const ticks = [];
    for (let k = Math.floor(Math.log10(low)); k <= Math.log10(high); k++) {
      for (const m of marks) if (m * 10 ** k >= low && m * 10 ** k <= high) ticks.push(m * 10 ** k);
    }
    return ticks;
  };
  const tight = (ticks) => ticks.some((t, i) => i && (Math.log(t / ticks[i - 1]) / Math.log(high / low)) * pixels < gap);
  const sets = [[1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8], [1, 1.5, 2, 3, 4, 6, 8], [1, 2, 5], [1, 3], [1]];
  return inside(sets.find((marks) => !tight(inside(marks))) ?? [1]);
}

// ---- drawing ------------------------------------------------------------------------------------------------------

function h(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== false) node.setAttribute(name, value);
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

function s(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

const text = (x, y, words, anchor = "middle", kind = "") => s("text", { x, y, "text-anchor": anchor, class: kind }, words);
const line = (x1, y1, x2, y2, kind) => s("line", { x1, y1, x2, y2, class: kind });

/** A block in a term's colour, with its hatch drawn over it. */
function block(id, term, x, y, width, height) {
  const at = { x, y, width: Math.max(width, 0), height };
  const nodes = [s("rect", { ...at, fill: TERMS[term].colour, class: "sx-fill" })];
  if (TERMS[term].hatch) nodes.push(s("rect", { ...at, fill: `url(#${id}-${term})` }));
  return nodes;
}

function patterns(id) {
  const mark = { class: "sx-hatch", "stroke-width": 1 };
  const tile = (term, size, ...inside) =>
    s("pattern", { id: `${id}-${term}`, width: size, height: size, patternUnits: "userSpaceOnUse" }, ...inside);
  return s("svg", { width: 0, height: 0, "aria-hidden": "true", class: "sx-defs" }, s("defs", {},
    tile("compute", 6, s("path", { d: "M-1 7L7 -1M-1 1L1 -1M5 7L7 5", ...mark })),
    tile("cache", 6, s("circle", { cx: 3, cy: 3, r: 0.9, class: "sx-dot" }))));
}

function drawStep(svg, id, f, width) {
  const { parts, total } = stack(f), { top, ticks } = scale(total * MS), right = 22, lane = 22, x = (t) => (t * MS / top) * (width - right);
  const axis = 2 * lane + 10, nodes = [];
  for (const tick of ticks) {
    nodes.push(line(x(tick / MS), 0, x(tick / MS), axis, "sx-grid"));
    nodes.push(text(Math.max(x(tick / MS), 4), axis + 15, number(tick), tick ? "middle" : "start"));
  }
  for (const { term, from, to } of parts) {
    const y = term === "compute" ? lane + 3 : 2, tall = term === "cache" ? 2 * lane + 1 : lane;
    nodes.push(...block(id, term, x(from), y, x(to) - x(from), tall));
  }
  nodes.push(line(x(f.matmul), 0, x(f.matmul), axis - 3, "sx-join"), line(x(total), -2, x(total), axis, "sx-end"));
  svg.setAttribute("viewBox", `0 -4 ${width} ${axis + 26}`);
  svg.setAttribute("aria-label", parts.map((p) => `${TERMS[p.term].name} ${number((p.to - p.from) * MS)} ms`).join(", ") +
    `; the step takes ${number(total * MS)} ms`);
  svg.replaceChildren(...nodes);
}

function drawMemory(svg, id, f, width) {
  const used = f.weight_bytes + f.cache_bytes, x = (b) => (b / Math.max(used, f.memory)) * (width - 2) + 1;
  svg.setAttribute("viewBox", `0 0 ${width} 22`);
  svg.setAttribute("aria-label", `Memory: ${number(used * GB)} of ${number(f.memory * GB)} GB`);
  svg.replaceChildren(
    s("rect", { x: 1, y: 4, width: x(f.memory) - 1, height: 14, class: "sx-room" }),
    ...block(id, "weights", 1, 4, x(f.weight_bytes) - 1, 14),
    ...block(id, "cache", x(f.weight_bytes), 4, x(used) - x(f.weight_bytes), 14),
    line(x(f.memory), 0, x(f.memory), 22, used > f.memory ? "sx-over" : "sx-end"));
}

function drawFront(svg, all, at, f, width) {
  const some = all.filter((p) => p.fits).length, points = all.slice(0, some ? some + 3 : all.length); // a few that do not fit
  const height = Math.round(Math.min(340, Math.max(250, width * 0.5))), left = 50, right = 16, top = 30, foot = 40;
  const limits = (values, pad) => [Math.min(...values) / pad, Math.max(...values) * pad];
  const [x0, x1] = limits(points.map((p) => p.total * MS), 1.15), [y0, y1] = limits([...points.map((p) => p.rate), f.ceiling], 1.2);
  const along = (v, low, high) => Math.log(v / low) / Math.log(high / low);
  const X = (t) => left + along(t * MS, x0, x1) * (width - left - right);
  const Y = (r) => height - foot - along(r, y0, y1) * (height - top - foot);
  const nodes = [], floor = height - foot;
  for (const tick of logTicks(x0, x1, width - left - right, 40)) {
    nodes.push(line(X(tick / MS), top, X(tick / MS), floor, "sx-grid"), text(X(tick / MS), floor + 16, number(tick)));
  }
  for (const tick of logTicks(y0, y1, height - top - foot, 26)) {
    nodes.push(line(left, Y(tick), width - right, Y(tick), "sx-grid"), text(left - 6, Y(tick) + 4, number(tick), "end"));
  }
  nodes.push(text((left + width - right) / 2, height - 5, "step time (ms)"), text(2, 10, "tokens/s per chip", "start"));
  nodes.push(line(left, Y(f.ceiling), width - right, Y(f.ceiling), "sx-ceiling"),
    text(width - right, Y(f.ceiling) - 5, `ceiling ${number(f.ceiling)}`, "end"));
  const path = (part, kind) => part.length > 1 && nodes.push(s("polyline", { class: kind,
    points: part.map((p) => `${X(p.total).toFixed(1)},${Y(p.rate).toFixed(1)}`).join(" ") }));
  const inside = points.filter((p) => p.fits);
  path(points.slice(Math.max(inside.length - 1, 0)), "sx-path sx-outside");
  path(inside, "sx-path");
  for (const p of points) {
    const kind = !p.fits ? "sx-point sx-outside" : p.batch > Math.ceil(f.critical) ? "sx-point sx-beyond" : "sx-point";
    nodes.push(s("circle", { cx: X(p.total), cy: Y(p.rate), r: 3, class: kind }));
  }
  const name = (p, words, kind, dy) => {
    const late = X(p.total) > left + (width - left) * 0.72;
    nodes.push(text(X(p.total) + (late ? -9 : 9), Y(p.rate) + dy, words, late ? "end" : "start", kind));
  };
  const now = { batch: at.batch, total: f.matmul + f.cache, rate: f.rate };
  const ends = [inside[0], inside.at(-1)].filter((p) => p && Math.hypot(X(p.total) - X(now.total), Y(p.rate) - Y(now.rate)) > 34);
  for (const p of new Set(ends)) name(p, number(p.batch), "", p === inside[0] ? 4 : 16);
  if (fits(f, at)) {
    nodes.push(s("circle", { cx: X(now.total), cy: Y(now.rate), r: 7, class: "sx-now" }));
    name(now, `batch ${number(now.batch)}`, "sx-label", 19);
  }
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("aria-label", `Throughput per chip against step time for batches ${points[0].batch} to ${points.at(-1).batch}` +
    (inside.length ? `; up to ${inside.at(-1).batch} fit. ` : "; none fits. ") +
    (fits(f, at) ? `Now: batch ${at.batch}, ${number(now.total * MS)} ms, ${number(now.rate)} tokens/s per chip.` : ""));
  svg.replaceChildren(...nodes);
  return points.map((p) => ({ batch: p.batch, x: X(p.total), y: Y(p.rate) }));
}

// ---- the widget ----------------------------------------------------------------------------------------------------

/** In JupyterLab the browser does nothing of its own when Enter is pressed in a field, so that key is heard here. */
function onEnter(event, act) {
  if (event.key !== "Enter" || event.isComposing) return;
  event.preventDefault();
  act();
}

const LABELS = { chip: "Chip", model: "Model", chips: "Chips", weights: "Weights", kv: "KV cache", context: "Context",
  batch: "Batch", price: "Price, USD/h" };

function render({ model, el }) {
  const axes = model.get("axes"), start = snap(axes, model.get("start")), key = model.get("key"), views = model.get("show");
  const assumed = model.get("assumed"), grid = openGrid(model.get("tables"), model.get("grid"));
  const id = `sx-${key.replace(/\W/g, "-")}`, undo = [], controls = {};
  let at = start, wanted = start, exact = null, asked = 0, dots = [], width = 640, timer = 0, note = "", moved = false, settle = () => {};

  const listen = (target, type, act) => {
    target.addEventListener(type, act);
    undo.push(() => target.removeEventListener(type, act));
  };
  const entered = (input, act) => {
    listen(input, "change", act);
    listen(input, "keydown", (event) => onEnter(event, act));
  };
  const svg = (kind) => s("svg", { role: "img", class: kind });
  // The address belongs to the page of a book, not to a notebook that is open in an editor.
  const published = "scalingFrontEnds" in globalThis; // a page of the site: its address is the reader's to share
  const waiting = () => root.classList.contains("sx-waiting");
  const nameOf = (name, value) => axes.names[value] ?? (name === "context" ? short(value) : String(value));
  const listPrice = () => axes.prices[axes.chip.indexOf(at.chip)];

  // handles: a menu for names, a slider over the stored values for numbers, and a field for any number
  const field = (name, input) => h("label", {}, h("span", {}, LABELS[name]), input);
  const menu = (name) => {
    const options = axes[name].map((value) => h("option", { value }, nameOf(name, value)));
    controls[name] = h("select", { name }, ...options);
    listen(controls[name], "change", () => move({ ...wanted, [name]: controls[name].value }));
    return field(name, controls[name]);
  };
  const slider = (name, free) => {
    const range = h("input", { type: "range", min: 0, step: 1, name, "aria-label": `${LABELS[name]}, slider` });
    const number = free ? h("input", { type: "number", min: 1, step: 1, inputmode: "numeric", "aria-label": LABELS[name] }) : h("output");
    listen(range, "input", () => move({ ...wanted, [name]: choices(axes, at)[name][range.value] }));
    const typed = () => move(number.value >= 1 ? { ...wanted, [name]: Math.round(number.value) } : wanted);
    if (free) entered(number, typed);
    controls[name] = { range, number };
    return h("div", { class: `sx-slider sx-${name}`, role: "group", "aria-label": LABELS[name] },
      h("span", { "aria-hidden": "true" }, LABELS[name]), range, number);
  };
  const price = h("input", { type: "number", min: 0, step: "any", inputmode: "decimal", name: "price" });
  entered(price, () => move({ ...wanted, price: price.value !== "" && price.value >= 0 ? Number(price.value) : null }));
  const handles = h("form", { class: "sx-handles" },
    h("div", { class: "sx-menus" }, menu("model"), menu("chip"), menu("weights"), menu("kv"),
      field("price", price)),
    slider("chips"), slider("context", true), slider("batch", true));
  listen(handles, "submit", (event) => event.preventDefault());
  // JupyterLab takes the arrow keys for itself, unless they stop here.
  listen(handles, "keydown", (event) => event.stopPropagation());

  // the answer
  const say = h("p", { class: "sx-say" }), remark = h("p", { class: "sx-remark" }), numbers = h("dl", { class: "sx-numbers" });
  const place = h("p", { class: "sx-place" }), legend = h("ul", { class: "sx-legend" });
  const step = svg("sx-step"), memory = svg("sx-memory"), front = svg("sx-front"), memoryText = h("p", { class: "sx-caption" });
  const stepFigure = h("div", {}, h("p", { class: "sx-caption" }, "One decode step, in ms"), step, legend);
  const memoryFigure = h("div", {}, memoryText, memory);
  const frontFigure = h("div", {}, h("p", { class: "sx-caption" }, "Every batch, from fastest to fullest"), front,
    h("p", { class: "sx-key" }, "Filled: a bigger batch still adds throughput. Hollow: it only adds latency. Dashed: does not fit."));
  const table = h("div", { class: "sx-table" }), details = h("details", {}, h("summary", {}, "The values as a table"), table);
  const answer = h("div", { class: "sx-answer" }, place, say, numbers, views.includes("step") && stepFigure || null, memoryFigure,
    views.includes("front") && frontFigure || null, h("p", { class: "sx-key" }, `Bounds, not estimates: peak rates, ` +
      `arithmetic in ${assumed.compute}, ${assumed.params} parameter count.`), details);
  const live = h("p", { role: "status", class: "sw-spoken" }), told = h("span", { class: "sx-told", role: "status" });
  const reset = h("button", { type: "button" }, "Reset"), copy = h("button", { type: "button" }, "Copy link");
  const root = h("section", { class: "scaling-widget explorer", "aria-label": "Explorer", "data-key": key, "data-lm-suppress-shortcuts": "true" },
    patterns(id), handles, remark, answer, h("div", { class: "sx-tools" }, reset, copy, told), live);
  listen(reset, "click", () => move({ ...start }));
  listen(copy, "click", () => {
    moved = true;
    settle();
    const said = (words) => { told.textContent = words; };
    const sent = navigator.clipboard?.writeText(location.href) ?? Promise.reject();
    sent.then(() => said("Link copied."), () => said("The address bar holds the link."));
  });
  listen(details, "toggle", () => draw());
  listen(front, "click", (event) => {
    const box = front.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    const away = (p) => Math.hypot(p.x - x, p.y - y), dot = dots.reduce((a, b) => (away(b) < away(a) ? b : a));
    if (away(dot) < 24) move({ ...wanted, batch: dot.batch });
  });

  // a guess first, if the page asks for one
  const question = model.get("predict");
  const predict = question ? h("form", { class: "sx-predict" }) : null;
  if (predict) {
    const guess = h("input", { type: "number", min: 0, step: "any", inputmode: "decimal" });
    const skip = h("button", { type: "button", class: "sw-quiet" }, "Skip");
    predict.append(h("p", {}, question), h("label", {}, "Your guess for the step time ", guess, " ms"),
      h("button", { type: "submit", class: "sw-main" }, "Show me"), skip);
    const open = (words) => {
      predict.replaceChildren(h("p", { tabindex: "-1" }, words));
      predict.hidden = !words;
      root.classList.remove("sx-waiting");
      draw();
      predict.firstChild.focus?.();
    };
    listen(guess, "keydown", (event) => onEnter(event, () => predict.requestSubmit()));
    listen(skip, "click", () => open(""));
    listen(predict, "submit", (event) => {
      event.preventDefault();
      if (guess.value > 0) open(verdict(Number(guess.value), figures(), at)); else if (guess.value === "") guess.focus();
    });
    root.insertBefore(predict, answer);
    root.classList.add("sx-waiting");
  }

  const figures = (batch) => (exact ? (batch === undefined ? exact.at : exact.front[axes.batch.indexOf(batch)])
    : grid.at(indices(axes, batch === undefined ? at : { ...at, batch })));

  /** Go to a position. One that is not stored is shown by its nearest neighbour, and asked of the kernel, if there is one. */
  function move(next, quiet) {
    if (next.chip !== wanted.chip) next = { ...next, price: null };
    wanted = next;
    at = snap(axes, next);
    exact = null;
    note = "";
    told.textContent = "";
    const off = ["batch", "context"].filter((name) => at[name] !== next[name]);
    if (off.length) {
      note = `Without a kernel only stored values show: ${off.map((name) => `${name} ${number(at[name])} for ${number(next[name])}`).join(", ")}.`;
      model.set("request", { ...next, chips: at.chips, id: ++asked });
      model.save_changes();
    }
    moved = !quiet;
    draw();
  }

  function answered() {
    const got = model.get("exact");
    if (got.id !== asked || at.batch === wanted.batch && at.context === wanted.context) return;
    note = got.error ?? "Computed by the kernel for exactly these values.";
    if (!got.error) { exact = got; at = { ...wanted, chips: at.chips }; }
    draw();
  }

  function draw() {
    const began = performance.now(), f = figures(), list = choices(axes, at), ok = fits(f, at), words = advice(f, at, list);
    for (const name of ["model", "chip", "weights", "kv"]) controls[name].value = at[name];
    for (const name of ["chips", "context", "batch"]) {
      const { range, number: shown } = controls[name];
      range.max = list[name].length - 1;
      range.value = nearest(list[name], at[name]);
      range.setAttribute("aria-valuetext", nameOf(name, at[name]));
      shown.value = at[name];
    }
    price.value = at.price ?? listPrice() ?? "";
    remark.textContent = note;
    remark.hidden = !note;
    place.textContent = `${axes.names[at.model]} on ${at.chips} x ${axes.names[at.chip]}, weights ${at.weights}, KV cache ${at.kv}, ` +
      `context ${number(at.context)}, batch ${number(at.batch)}`;
    say.textContent = words;
    root.toggleAttribute("data-infeasible", !ok);
    const rows = values(f, ok);
    numbers.replaceChildren(...rows.map(([name, value, unit]) => h("div", {}, h("dt", {}, name), h("dd", {}, value, " ", h("small", {}, unit)))));
    stepFigure.hidden = !ok;
    if (ok) drawStep(step, id, f, width);
    const long = stack(f), shorter = f.weights < f.compute ? "weights" : "compute";
    legend.replaceChildren(...long.parts.map((p) => h("li", {}, s("svg", { viewBox: "0 0 14 14", width: 14, height: 14, "aria-hidden": "true" },
      ...block(id, p.term, 0, 0, 14, 14)), ` ${TERMS[p.term].name} ${number((p.to - p.from) * MS)} ms` + (p.term === shorter ? ", overlapped" : ""))));
    memoryText.textContent = `Memory: ${number(f.weight_bytes * GB)} GB of weights and ${number(f.cache_bytes * GB)} GB of cache, of ${number(f.memory * GB)} GB`;
    drawMemory(memory, id, f, width);
    const points = axes.batch.map((batch) => {
      const g = figures(batch);
      return { batch, total: g.matmul + g.cache, rate: g.rate, fits: fits(g, at) };
    });
    if (views.includes("front")) dots = drawFront(front, points, at, f, width);
    settle = () => {
      clearTimeout(timer);
      if (details.open) fill([...long.parts.map((p) => [TERMS[p.term].name, number((p.to - p.from) * MS), "ms"]), ...rows,
        ["Memory", `${number((f.weight_bytes + f.cache_bytes) * GB)} of ${number(f.memory * GB)}`, "GB"]], points);
      if (moved && published) history.replaceState(history.state, "", encode(location.hash, key, at));
      if (moved && !waiting()) live.textContent = `${words}${ok ? ` Step time ${number(long.total * MS)} ms.` : ""}`;
    };
    clearTimeout(timer);
    timer = setTimeout(settle, 350); // browsers limit how often an address may change, and a slider sends many moves
    root.dataset.redrawMs = (performance.now() - began).toFixed(2);
  }

  /** What is said in numbers: name, value, unit. */
  function values(f, ok) {
    const total = stack(f).total, show = (x) => (ok ? number(x) : "–"), dollars = at.price ?? listPrice();
    const all = [["Step time (TPOT)", show(total * MS), "ms"], ["Per stream", show(1 / total), "tokens/s"], ["Per chip", show(f.rate), "tokens/s"],
      ["Cost", dollars === null ? "–" : show(dollars * f.chip_hours), "USD per million tokens"],
      ["Room for", number(f.max_batch), f.max_batch === 1 ? "sequence" : "sequences"], ["Critical batch", number(f.critical), "sequences"]];
    if (views.includes("prefill")) {
      const share = `${Math.round(100 * assumed.mfu)} % of peak`;
      all.push([`Prefill of ${short(at.context)} (TTFT)`, number(f.prefill), `s, at ${share}`], ["TTFT with attention", number(f.prefill_attention), `s, at ${share}`],
        ["Prefill to decode", ok ? `${number(f.ratio, 3)} : 1` : "–", `servers, ${number(assumed.decode_tokens)} tokens out`],
        ["Leaving per step", show(f.leaving), "sequences"]);
    }
    return all;
  }

  function fill(rows, points) {
    const cell = (words, head) => h(head ? "th" : "td", head ? { scope: head } : {}, words);
    const grid = (caption, head, body) => h("table", {}, h("caption", {}, caption), h("thead", {}, h("tr", {}, ...head.map((x) => cell(x, "col")))),
      h("tbody", {}, ...body.map(([first, ...rest]) => h("tr", {}, cell(first, "row"), ...rest.map((x) => cell(x))))));
    table.replaceChildren(grid(place.textContent, ["Figure", "Value"], rows.map(([name, value, unit]) => [name, `${value} ${unit}`])),
      grid("Every batch", ["Batch", "Step (ms)", "Tokens/s per chip", "Fits"],
        points.map((p) => [number(p.batch), number(p.total * MS), number(p.rate), p.fits ? "yes" : "no"])));
  }

  const linked = published ? decode(location.hash, key, axes, start) : null;
  const arrive = () => {
    const there = decode(location.hash, key, axes, start);
    if (there && encode("", key, there) !== encode("", key, at)) move(there, true);
  };
  let before;
  if (published) listen(window, "hashchange", arrive);
  copy.hidden = !published;
  listen(window, "beforeprint", () => { before = wanted; root.classList.add("sx-print"); move({ ...start }, true); });
  listen(window, "afterprint", () => { root.classList.remove("sx-print"); move(before, true); });
  model.on("change:exact", answered);
  undo.push(() => model.off("change:exact", answered), () => clearTimeout(timer));
  const resize = new ResizeObserver(() => {
    const now = Math.round(answer.clientWidth) || width;
    if (now !== width) { width = now; draw(); }
  });
  resize.observe(root);
  undo.push(() => resize.disconnect());
  el.append(root);
  width = Math.round(answer.clientWidth) || root.clientWidth || 640;
  if (linked) {
    root.classList.remove("sx-waiting");
    predict?.remove();
    const anchor = location.hash.slice(1).split("&").find((part) => !part.startsWith("ex-"));
    setTimeout(() => (document.getElementById(anchor ?? "") ?? root).scrollIntoView()); // the host attaches `el` first
  }
  move(linked ?? start, true);
  return () => { undo.forEach((act) => act()); root.remove(); };
}

export default { render };

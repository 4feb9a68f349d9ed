// The sweep's front end. It holds no formula: Python computed the outcomes of every position, this file looks them up.
// With numbers it does two things only: it scales a bar's length and divides an outcome by its value at the start.

const WHOLE = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const FINE = [1, 2, 3, 4].map((digits) => new Intl.NumberFormat("en-US", { maximumSignificantDigits: digits }));

/** A number for people: at most 4 significant digits, thousands separated. */
export function number(value, digits = 4) {
  if (!Number.isFinite(value)) return value === Infinity ? "∞" : "–";
  return (Math.abs(value) >= 10 ** (digits - 1) ? WHOLE : FINE[digits - 1]).format(value);
}

/** The outcomes at a position, which is one index for each slider; the last slider and then the outcome run fastest. */
export function lookup(values, lengths, outcomes, at) {
  const first = outcomes * lengths.reduce((sum, length, i) => sum * length + at[i], 0);
  return Array.from(values.subarray(first, first + outcomes));
}

/** How far a guess is off, as a ratio. */
export function verdict(guess, truth, [label, unit]) {
  const said = `You guessed ${number(guess)}; ${label} is ${number(truth)}${unit ? ` ${unit}` : ""}.`;
  if (!(truth > 0 && Number.isFinite(truth))) return said;
  const ratio = guess / truth, off = Math.max(ratio, 1 / ratio);
  return `${said} Your guess is ${off < 1.05 ? "within 5 %" : `${number(off, 3)} times too ${ratio > 1 ? "large" : "small"}`}.`;
}

function h(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

/** In JupyterLab the browser does nothing of its own when Enter is pressed in a field, so that key is heard here. */
function onEnter(event, act) {
  if (event.key !== "Enter" || event.isComposing) return;
  event.preventDefault();
  act();
}

function render({ model, el }) {
  const sliders = model.get("sliders"), outcomes = model.get("outcomes"), start = model.get("start"), key = model.get("key");
  const view = model.get("grid"), lengths = sliders.map(([, , values]) => values.length);
  const values = new Float32Array(view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength));
  const outcome = (at) => lookup(values, lengths, outcomes.length, at), first = outcome(start);
  const undo = [];
  let at = [...start], timer = 0;

  const listen = (target, type, act) => {
    target.addEventListener(type, act);
    undo.push(() => target.removeEventListener(type, act));
  };
  const worded = ([, unit, list], i) => `${number(list[i])}${unit ? ` ${unit}` : ""}`;

  // handles
  const ranges = sliders.map(([label, , list], i) => {
    const range = h("input", { type: "range", min: 0, max: list.length - 1, step: 1, "aria-label": label });
    listen(range, "input", () => move(at.map((now, j) => (j === i ? Number(range.value) : now))));
    return range;
  });
  const shown = sliders.map(() => h("output", { "aria-hidden": "true" }));
  const handles = h("form", { class: "sx-handles" }, ...sliders.map(([label], i) =>
    h("div", { class: "sx-slider" }, h("span", { "aria-hidden": "true" }, label), ranges[i], shown[i])));
  listen(handles, "submit", (event) => event.preventDefault());
  // JupyterLab takes the arrow keys for itself, unless they stop here.
  listen(handles, "keydown", (event) => event.stopPropagation());

  // outcomes: a label over its bar, the value, and how it compares with the start
  const rows = outcomes.map(([label, unit]) => {
    const bar = h("span"), begin = h("i"), value = h("td"), ratio = h("td");
    const head = h("th", { scope: "row" }, label, h("span", { class: "sp-bar", "aria-hidden": "true" }, bar, begin));
    return { bar, begin, value, ratio, unit, row: h("tr", {}, head, value, ratio) };
  });
  const col = (words) => h("th", { scope: "col" }, words);
  const table = h("table", { class: "sp-table" }, h("thead", {}, h("tr", {}, col("Outcome"), col("Value"), col("÷ start"))),
    h("tbody", {}, ...rows.map(({ row }) => row)));
  const place = h("p", { class: "sx-place" }), live = h("p", { role: "status", class: "sw-spoken" });
  const answer = h("div", { class: "sx-answer" }, place, table,
    h("p", { class: "sx-key" }, "Bars of one unit share one scale; the line in a bar marks its value at the start."));
  const reset = h("button", { type: "button" }, "Reset");
  listen(reset, "click", () => move([...start]));
  const root = h("section", { class: "scaling-widget explorer sweep", "aria-label": "Sliders", "data-key": key,
    "data-lm-suppress-shortcuts": "true" }, handles, answer, h("div", { class: "sx-tools" }, reset), live);

  // a guess first, if the page asks for one
  const question = model.get("predict");
  if (question) {
    const guess = h("input", { type: "number", min: 0, step: "any", inputmode: "decimal" });
    const skip = h("button", { type: "button", class: "sw-quiet" }, "Skip");
    const [label, unit] = outcomes[0];
    const form = h("form", { class: "sx-predict" }, h("p", {}, question),
      h("label", {}, `Your guess: ${label} `, guess, ` ${unit}`), h("button", { type: "submit", class: "sw-main" }, "Show me"), skip);
    const open = (words) => {
      form.replaceChildren(h("p", { tabindex: "-1" }, words));
      form.hidden = !words;
      root.classList.remove("sx-waiting");
      if (words) form.firstChild.focus();
      else ranges[0].focus();
    };
    listen(guess, "keydown", (event) => onEnter(event, () => form.requestSubmit()));
    listen(skip, "click", () => open(""));
    listen(form, "submit", (event) => {
      event.preventDefault();
      if (guess.value > 0) open(verdict(Number(guess.value), first[0], outcomes[0]));
      else guess.focus();
    });
    root.insertBefore(form, handles);
    root.classList.add("sx-waiting");
  }

  function move(next, quiet) {
    at = next;
    const now = outcome(at), finite = (list) => list.filter(Number.isFinite);
    sliders.forEach((slider, i) => {
      ranges[i].value = at[i];
      ranges[i].setAttribute("aria-valuetext", worded(slider, at[i]));
      shown[i].value = worded(slider, at[i]);
    });
    rows.forEach(({ bar, begin, value, ratio, unit }, i) => {
      const peers = outcomes.map((other, j) => (other[1] === unit ? j : -1)).filter((j) => j >= 0);
      const longest = Math.max(...finite(peers.flatMap((j) => [now[j], first[j]])), 0);
      const part = (x) => `${longest > 0 && Number.isFinite(x) ? (100 * Math.max(x, 0)) / longest : 0}%`;
      bar.style.width = part(now[i]);
      begin.style.left = part(first[i]);
      value.replaceChildren(number(now[i]), ...(unit ? [" ", h("small", {}, unit)] : []));
      ratio.textContent = number(now[i] / first[i], 3);
    });
    const words = sliders.map((slider, i) => `${slider[0]} ${worded(slider, at[i])}`).join(", ");
    place.textContent = words;
    clearTimeout(timer);
    if (quiet) return;
    timer = setTimeout(() => { // a slider sends many moves: only where it stops is said
      live.textContent = outcomes.map(([label, unit], i) => `${label} ${number(now[i])} ${unit}`.trim()).join(", ");
    }, 350);
  }

  undo.push(() => clearTimeout(timer));
  el.append(root);
  move([...start], true);
  return () => { undo.forEach((act) => act()); root.remove(); };
}

export default { render };

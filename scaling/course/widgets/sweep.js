// The sweep's front end. It holds no formula: Python computed the outcomes of every position, this file looks them up.
// With numbers it does two things only: it scales a bar's length and divides an outcome by its value at the start.
import { atRest, button, floats, guessForm, h, handleForm, howFar, number } from "./dom.js";

/** @import { Model } from "./dom.js" */
/** @typedef {[label: string, unit: string, values: number[]]} Slider */
/** @typedef {[label: string, unit: string]} Outcome */

/**
 * The outcomes at a position, which is one index for each slider; the last slider and then the outcome run fastest.
 * @param {Float32Array} values
 * @param {number[]} lengths
 * @param {number} outcomes
 * @param {number[]} at
 */
export function lookup(values, lengths, outcomes, at) {
  const first = outcomes * lengths.reduce((sum, length, i) => sum * length + at[i], 0);
  return Array.from(values.subarray(first, first + outcomes));
}

/** What is said of a guess. @param {number} guess @param {number} truth @param {Outcome} outcome */
export function verdict(guess, truth, [label, unit]) {
  const said = `You guessed ${number(guess)}; ${label} is ${number(truth)}${unit ? ` ${unit}` : ""}.`;
  if (!(truth > 0 && Number.isFinite(truth))) return said;
  return `${said} Your guess is ${howFar(guess, truth, "large", "small")}.`;
}

/** A slider's value in words. @param {Slider} slider @param {number} i */
const worded = ([, unit, values], i) => `${number(values[i])}${unit ? ` ${unit}` : ""}`;

/**
 * For each outcome, the longest bar of its unit, now or at the start; bars of one unit share one scale.
 * @param {Outcome[]} outcomes
 * @param {number[]} now
 * @param {number[]} first
 */
export const longest = (outcomes, now, first) =>
  outcomes.map(([, unit]) => {
    const peers = outcomes.flatMap((other, i) => (other[1] === unit ? [now[i], first[i]] : []));
    return Math.max(...peers.filter(Number.isFinite), 0);
  });

/** @param {number} value @param {number} longest */
const part = (value, longest) => `${longest > 0 && Number.isFinite(value) ? (100 * Math.max(value, 0)) / longest : 0}%`;

/**
 * A range and what it stands at for each slider.
 * @param {Slider[]} sliders
 * @param {(i: number, place: number) => void} moved
 */
function handles(sliders, moved) {
  const rows = sliders.map(([label, , values], i) => {
    const oninput = () => moved(i, Number(range.value));
    const limits = { min: 0, max: values.length - 1, step: 1 };
    const range = h("input", { type: "range", ...limits, "aria-label": label, oninput });
    const shown = h("output", { "aria-hidden": "true" });
    return {
      range,
      shown,
      node: h("div", { class: "sx-slider" }, h("span", { "aria-hidden": "true" }, label), range, shown),
    };
  });
  /** @param {number[]} at */
  const draw = (at) => {
    rows.forEach(({ range, shown }, i) => {
      range.value = String(at[i]);
      range.setAttribute("aria-valuetext", worded(sliders[i], at[i]));
      shown.value = worded(sliders[i], at[i]);
    });
  };
  return { node: handleForm(...rows.map(({ node }) => node)), draw };
}

/** An outcome's row: a label over its bar, the value, and how it compares with the start. @param {Outcome} outcome */
function outcomeRow([label, unit]) {
  const [bar, begin, value, ratio] = [h("span"), h("i"), h("td"), h("td")];
  const head = h("th", { scope: "row" }, label, h("span", { class: "sp-bar", "aria-hidden": "true" }, bar, begin));
  /** @param {number} now @param {number} first @param {number} longest */
  const draw = (now, first, longest) => {
    bar.style.width = part(now, longest);
    begin.style.left = part(first, longest);
    value.replaceChildren(number(now), ...(unit ? [" ", h("small", {}, unit)] : []));
    ratio.textContent = number(now / first, 3);
  };
  return { node: h("tr", {}, head, value, ratio), draw };
}

/** @param {Outcome[]} outcomes @param {number[]} first the outcomes at the start */
function outcomeTable(outcomes, first) {
  const rows = outcomes.map(outcomeRow);
  const head = ["Outcome", "Value", "÷ start"].map((words) => h("th", { scope: "col" }, words));
  const body = h("tbody", {}, ...rows.map(({ node }) => node));
  /** @param {number[]} now */
  const draw = (now) => {
    const tops = longest(outcomes, now, first);
    for (const [i, row] of rows.entries()) row.draw(now[i], first[i], tops[i]);
  };
  return { node: h("table", { class: "sp-table" }, h("thead", {}, h("tr", {}, ...head)), body), draw };
}

/** What is computed for which position, and how it is called. @param {Model} model */
function read(model) {
  /** @type {Slider[]} */
  const sliders = model.get("sliders");
  /** @type {Outcome[]} */
  const outcomes = model.get("outcomes");
  const values = floats(model.get("grid"));
  const lengths = sliders.map(([, , list]) => list.length);
  /** @param {number[]} at */
  const outcomeAt = (at) => lookup(values, lengths, outcomes.length, at);
  return { sliders, outcomes, start: /** @type {number[]} */ (model.get("start")), outcomeAt };
}

/** The parts of a sweep, put together; `move` goes to a position. @param {Model} model */
function assemble(model) {
  const { sliders, outcomes, start, outcomeAt } = read(model);
  const first = outcomeAt(start);
  let at = start;
  const sliding = handles(sliders, (i, place) => move(at.with(i, place)));
  const table = outcomeTable(outcomes, first);
  const place = h("p", { class: "sx-place" });
  const live = h("p", { role: "status", class: "sw-spoken" });
  const key = h(
    "p",
    { class: "sx-key" },
    "Bars of one unit share one scale; the line in a bar marks its value at the start.",
  );
  const rest = atRest(() => {
    const now = outcomeAt(at);
    live.textContent = outcomes.map(([label, unit], i) => `${label} ${number(now[i])} ${unit}`.trim()).join(", ");
  });
  /** @param {number[]} next */
  function move(next, quiet = false) {
    at = next;
    sliding.draw(at);
    table.draw(outcomeAt(at));
    place.textContent = sliders.map((slider, i) => `${slider[0]} ${worded(slider, at[i])}`).join(", ");
    if (quiet) rest.stop();
    else rest.moved();
  }
  const tools = h(
    "div",
    { class: "sx-tools" },
    button("Reset", () => move(start)),
  );
  const parts = [sliding.node, h("div", { class: "sx-answer" }, place, table.node, key), tools, live];
  const judge = (/** @type {number} */ guess) => verdict(guess, first[0], outcomes[0]);
  const [label, unit] = outcomes[0];
  return {
    parts,
    start: () => move(start, true),
    stop: rest.stop,
    about: { label: `Your guess: ${label}`, unit, judge },
  };
}

/** @param {{model: Model, el: HTMLElement}} context */
function render({ model, el }) {
  const { parts, start, stop, about } = assemble(model);
  const root = h(
    "section",
    {
      class: "scaling-widget explorer sweep",
      "aria-label": "Sliders",
      "data-key": model.get("key"),
      "data-lm-suppress-shortcuts": "true",
    },
    ...parts,
  );
  const question = model.get("predict");
  if (question) root.prepend(guessForm(root, { question, ...about }, () => {}));
  el.append(root);
  start();
  return () => {
    stop();
    root.remove();
  };
}

export default { render };

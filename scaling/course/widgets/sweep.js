// The sweep's front end. It holds no formula: Python computed the outcomes of every position, this file looks them up.
// With numbers it does two things only: it scales a bar's length and divides an outcome by its value at the start.
import { atRest, button, floats, guessForm, h, handleForm, howFar, nearest, number } from "./dom.js";
import { hardware, same } from "./hardware.js";

/** @import { Model } from "./dom.js" */
/** @import { Hardware } from "./hardware.js" */
/** @typedef {[label: string, unit: string, values: number[] | string[]]} Slider  Of words it is a menu. */
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
const worded = ([, unit, values], i) => {
  const value = values[i];
  return typeof value === "string" ? value : `${number(value)}${unit ? ` ${unit}` : ""}`;
};

/**
 * Where a sweep starts for the reader's hardware: the nearest place of each slider that is about it.
 * @param {Slider[]} sliders
 * @param {number[]} start
 * @param {Hardware} mine
 */
export const startFor = (sliders, start, mine) =>
  sliders.map(([label, , values], i) => {
    const named = label === "Chip" ? mine.chip : label === "Model" ? mine.model : null;
    const found = named ? values.findIndex((value) => same(named, String(value))) : -1;
    if (label === "Chips" || label === "Ways") return nearest(/** @type {number[]} */ (values), mine.chips);
    return found < 0 ? start[i] : found;
  });

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
 * A choice among words.
 * @param {Slider} slider
 * @param {(place: number) => void} moved
 */
function menu([label, , values], moved) {
  const options = values.map((value, place) => h("option", { value: place }, String(value)));
  const select = h("select", { onchange: () => moved(Number(select.value)) }, ...options);
  const draw = (/** @type {number} */ place) => {
    select.value = String(place);
  };
  return { node: h("label", { class: "sp-menu" }, h("span", {}, label), select), draw };
}

/**
 * A range and what it stands at.
 * @param {Slider} slider
 * @param {(place: number) => void} moved
 */
function range(slider, moved) {
  const [label, , values] = slider;
  const oninput = () => moved(Number(input.value));
  const limits = { min: 0, max: values.length - 1, step: 1 };
  const input = h("input", { type: "range", ...limits, "aria-label": label, oninput });
  const shown = h("output", { "aria-hidden": "true" });
  const draw = (/** @type {number} */ place) => {
    input.value = String(place);
    input.setAttribute("aria-valuetext", worded(slider, place));
    shown.value = worded(slider, place);
  };
  return { node: h("div", { class: "sx-slider" }, h("span", { "aria-hidden": "true" }, label), input, shown), draw };
}

/**
 * The menus, and under them the sliders.
 * @param {Slider[]} sliders
 * @param {(i: number, place: number) => void} moved
 */
function handles(sliders, moved) {
  const words = sliders.map(([, , values]) => typeof values[0] === "string");
  const rows = sliders.map((slider, i) =>
    (words[i] ? menu : range)(slider, (/** @type {number} */ place) => moved(i, place)),
  );
  const nodes = (/** @type {boolean} */ kind) => rows.filter((_, i) => words[i] === kind).map(({ node }) => node);
  const menus = words.some(Boolean) ? [h("div", { class: "sx-menus sp-menus" }, ...nodes(true))] : [];
  const draw = (/** @type {number[]} */ at) => rows.forEach((row, i) => void row.draw(at[i]));
  return { node: handleForm(...menus, h("div", { class: "sx-sliding" }, ...nodes(false))), draw };
}

/** An outcome in words, such as a command, to be copied. @param {string} label @param {string[]} texts */
function outcomeText(label, texts) {
  const shown = h("pre", { class: "sp-text", tabindex: 0, "aria-label": label });
  const told = h("span", { class: "sx-told", role: "status" });
  const copy = button(`Copy ${label}`, () => {
    const say = (/** @type {string} */ words) => () => {
      told.textContent = words;
    };
    const sent = navigator.clipboard?.writeText(shown.textContent ?? "") ?? Promise.reject();
    sent.then(say("Copied."), say("This browser does not let a page copy: mark the text."));
  });
  const draw = (/** @type {number} */ place) => {
    shown.textContent = texts[place];
    told.textContent = "";
  };
  return { node: h("div", {}, shown, h("div", { class: "sx-tools" }, copy, told)), draw };
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

/**
 * The outcomes that are numbers as a table, and those that are words below it.
 * @param {Outcome[]} outcomes
 * @param {number[]} first the outcomes at the start
 * @param {string[][]} texts for each outcome the words that it takes; none for a number
 */
function outcomeTable(outcomes, first, texts) {
  const rows = outcomes.map((outcome, i) => (texts[i]?.length ? null : outcomeRow(outcome)));
  const said = outcomes.map(([label], i) => (texts[i]?.length ? outcomeText(label, texts[i]) : null));
  const head = ["Outcome", "Value", "÷ start"].map((words) => h("th", { scope: "col" }, words));
  const body = h("tbody", {}, ...rows.map((row) => row?.node));
  /** @param {number[]} now */
  const draw = (now) => {
    const tops = longest(outcomes, now, first);
    for (const [i, row] of rows.entries()) row?.draw(now[i], first[i], tops[i]);
    for (const [i, text] of said.entries()) text?.draw(now[i]);
  };
  const table = h("table", { class: "sp-table" }, h("thead", {}, h("tr", {}, ...head)), body);
  return { node: h("div", {}, table, ...said.map((text) => text?.node)), draw };
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
  const texts = /** @type {string[][]} */ (model.get("texts") ?? []);
  return { sliders, outcomes, texts, start: /** @type {number[]} */ (model.get("start")), outcomeAt };
}

/** The parts of a sweep, put together; `move` goes to a position. @param {Model} model */
function assemble(model) {
  const { sliders, outcomes, texts, start, outcomeAt } = read(model);
  const first = outcomeAt(start);
  let at = start;
  const sliding = handles(sliders, (i, place) => move(at.with(i, place)));
  const table = outcomeTable(outcomes, first, texts);
  const place = h("p", { class: "sx-place" });
  const live = h("p", { role: "status", class: "sw-spoken" });
  const key = h(
    "p",
    { class: "sx-key" },
    "Bars of one unit share one scale; the line in a bar marks its value at the start.",
  );
  const rest = atRest(() => {
    const now = outcomeAt(at);
    const said = outcomes.map(([label, unit], i) =>
      texts[i]?.length ? `${label} follows` : `${label} ${number(now[i])} ${unit}`.trim(),
    );
    live.textContent = said.join(", ");
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
    mine: () => {
      const own = "scalingFrontEnds" in globalThis ? hardware() : null;
      if (own) move(startFor(sliders, start, own), true);
    },
    stop: rest.stop,
    about: { label: `Your guess: ${label}`, unit, judge },
  };
}

/** @param {{model: Model, el: HTMLElement}} context */
function render({ model, el }) {
  const { parts, start, mine, stop, about } = assemble(model);
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
  if (question) root.prepend(guessForm(root, { question, ...about }, mine));
  el.append(root);
  start();
  if (!question) mine();
  return () => {
    stop();
    root.remove();
  };
}

export default { render };

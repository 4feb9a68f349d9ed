// What the front ends share. Python joins this file with each of them into one module and leaves the import lines out
// (`load` in _base.py); they are for tools and tests, which read the files one by one.

/** @typedef {string | number | boolean | null | undefined | ((event: any) => void)} Attribute */
/** @typedef {Node | string | null | undefined | false} Child  What is not there is left out. */
/** @typedef {{get: (name: string) => any, set: (name: string, value: unknown) => void, save_changes: () => void,
 *   on: (name: string, listener: () => void) => void, off: (name: string, listener: () => void) => void}} Model */

/**
 * Attributes and children; strings become text, never markup. A function is a listener, such as `onclick`.
 * @template {Element} E
 * @param {E} node
 * @param {Record<string, Attribute>} attributes
 * @param {Child[]} children
 */
function furnish(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") Object.assign(node, { [name]: value });
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, String(value));
  }
  node.append(...children.filter((child) => child instanceof Object || typeof child === "string"));
  return node;
}

/**
 * An element of the page.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, Attribute>} attributes
 * @param {Child[]} children
 */
export const h = (tag, attributes = {}, ...children) => furnish(document.createElement(tag), attributes, children);

/**
 * An element of a drawing.
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, Attribute>} attributes
 * @param {Child[]} children
 */
export const s = (tag, attributes = {}, ...children) =>
  furnish(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

/** @param {string} words @param {(event: MouseEvent) => void} onclick @param {Record<string, Attribute>} attributes */
export const button = (words, onclick, attributes = {}) =>
  h("button", { type: "button", onclick, ...attributes }, words);

const WHOLE = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const FINE = [1, 2, 3, 4].map((digits) => new Intl.NumberFormat("en-US", { maximumSignificantDigits: digits }));

/** A number for people: at most 4 significant digits, thousands separated. @param {number} value */
export function number(value, digits = 4) {
  if (!Number.isFinite(value)) return value === Infinity ? "∞" : "–";
  return (Math.abs(value) >= 10 ** (digits - 1) ? WHOLE : FINE[digits - 1]).format(value);
}

/**
 * How far a guess is off, as a ratio: "within 5 %" or "2 times too long".
 * @param {number} guess
 * @param {number} truth
 * @param {string} more what a guess above the truth is too much of
 * @param {string} less
 */
export function howFar(guess, truth, more, less) {
  const ratio = guess / truth;
  const off = Math.max(ratio, 1 / ratio);
  return off < 1.05 ? "within 5 %" : `${number(off, 3)} times too ${ratio > 1 ? more : less}`;
}

/**
 * Place of the value in an ascending list of positive numbers that is nearest by ratio.
 * @param {number[]} list
 * @param {number} value
 */
export function nearest(list, value) {
  const away = (/** @type {number} */ x) => Math.abs(Math.log(x / value));
  return list.reduce((best, x, i) => (away(x) < away(list[best]) ? i : best), 0);
}

/**
 * The bytes of a grid as numbers. They are copied, because a view need not begin where a number may.
 * @param {DataView} view
 */
export const floats = (view) => {
  const { buffer, byteOffset, byteLength } = view;
  return new Float32Array(buffer.slice(byteOffset, byteOffset + byteLength));
};

/**
 * In JupyterLab the browser does nothing of its own when Enter is pressed in a field, so that key is heard here.
 * @param {KeyboardEvent} event
 * @param {() => void} act
 */
export function onEnter(event, act) {
  if (event.key !== "Enter" || event.isComposing) return;
  event.preventDefault();
  act();
}

/** The listeners of a field whose value counts once it is entered. @param {() => void} act */
export const entered = (act) => ({
  onchange: act,
  onkeydown: (/** @type {KeyboardEvent} */ event) => onEnter(event, act),
});

/** A form of handles: nothing is submitted, and JupyterLab does not get its arrow keys. @param {Child[]} children */
export const handleForm = (...children) =>
  h(
    "form",
    {
      class: "sx-handles",
      onsubmit: (event) => event.preventDefault(),
      onkeydown: (event) => event.stopPropagation(),
    },
    ...children,
  );

/** Calls `act` when nothing has moved for a moment, since a slider sends many moves. @param {() => void} act */
export function atRest(act) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const stop = () => clearTimeout(timer);
  const moved = () => {
    stop();
    timer = setTimeout(act, 350);
  };
  const now = () => {
    stop();
    act();
  };
  return { moved, now, stop };
}

/**
 * A question to answer with a number. Until it is answered or skipped the widget waits: what would answer it is hidden,
 * and so is what would move it away from the position that the question asks about.
 * @param {HTMLElement} root the widget
 * @param {{question: string, label: string, unit: string, judge: (guess: number) => string}} about
 * @param {() => void} done
 */
export function guessForm(root, { question, label, unit, judge }, done) {
  const guess = h("input", {
    type: "number",
    min: 0,
    step: "any",
    inputmode: "decimal",
    onkeydown: (event) => onEnter(event, () => form.requestSubmit()),
  });
  /** @param {string} words */
  const close = (words) => {
    const said = h("p", { tabindex: -1 }, words);
    form.replaceChildren(said);
    form.hidden = !words;
    root.classList.remove("sx-waiting");
    done();
    const first = words ? said : root.querySelector(".sx-handles :is(select, input)");
    if (first instanceof HTMLElement) first.focus();
  };
  const form = h(
    "form",
    {
      class: "sx-predict",
      onsubmit: (event) => {
        event.preventDefault();
        if (Number(guess.value) > 0) close(judge(Number(guess.value)));
        else guess.focus();
      },
    },
    h("p", {}, question),
    h("label", {}, `${label} `, guess, ` ${unit}`),
    h("button", { type: "submit", class: "sw-main" }, "Show me"),
    button("Skip", () => close(""), { class: "sw-quiet" }),
  );
  root.classList.add("sx-waiting");
  return form;
}

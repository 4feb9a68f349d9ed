/* Starts the widgets of a page with no kernel: each .scaling-fallback holds a widget's data as JSON and names its front
   end, and gives way to what that shows. When all have, <html> has data-widgets="ready". */
(() => {
  "use strict";
  /** What a front end sees of its model: the stored data, and nobody on the other side. */
  class Model {
    /** @param {Record<string, unknown>} data */
    constructor(data) {
      this.data = data;
      /** @type {Map<string, Set<() => void>>} */
      this.listeners = new Map();
    }

    /** @param {string} name */
    get(name) {
      return this.data[name];
    }

    /** @param {string} name @param {unknown} value */
    set(name, value) {
      if (Object.is(this.data[name], value)) return;
      this.data[name] = value;
      for (const listener of [...(this.listeners.get(`change:${name}`) ?? [])]) listener();
    }

    /** @param {string} event @param {() => void} listener */
    on(event, listener) {
      this.listeners.set(event, (this.listeners.get(event) ?? new Set()).add(listener));
    }

    /** @param {string} event @param {() => void} listener */
    off(event, listener) {
      this.listeners.get(event)?.delete(listener);
    }

    save_changes() {}
  }

  /**
   * Bytes are kept as {"base64": text}, and front ends get them as a kernel sends them.
   * @param {string} _
   * @param {any} value
   */
  const revive = (_, value) =>
    typeof value?.base64 === "string"
      ? new DataView(Uint8Array.from(atob(value.base64), (c) => c.charCodeAt(0)).buffer)
      : value;

  /** @type {Record<string, {render: (context: {model: Model, el: HTMLElement}) => unknown}>} */
  const frontEnds = Reflect.get(globalThis, "scalingFrontEnds");

  /** @param {HTMLElement} fallback */
  async function show(fallback) {
    try {
      const el = document.createElement("div");
      const model = new Model(JSON.parse(fallback.querySelector("script")?.textContent ?? "", revive));
      await frontEnds[fallback.dataset.frontEnd ?? ""].render({ model, el });
      fallback.replaceWith(el);
    } catch (error) {
      console.error(error);
      const note = Object.assign(document.createElement("p"), { className: "scaling-note" });
      note.textContent = "The interactive version of this could not start here. What you see is its text.";
      fallback.append(note);
    }
  }

  /** Questions that are answered, and those that the reader has skipped on this visit. */
  const answered = new Set();
  const skipped = new Set();
  /** @type {HTMLElement[]} what would answer a question, and is covered until every one that it answers is done with */
  const places = [...document.querySelectorAll("[data-answers]")].filter((place) => place instanceof HTMLElement);
  const idsOf = (/** @type {HTMLElement} */ place) => (place.dataset.answers ?? "").split(" ");

  function cover() {
    for (const place of places) {
      const open = idsOf(place).every((id) => answered.has(id) || skipped.has(id));
      place.toggleAttribute("data-open", open);
      // The theme lets the keyboard into code that scrolls, but only where it sees that when the page is loaded.
      for (const code of place.querySelectorAll("pre")) if (code.scrollWidth > code.clientWidth) code.tabIndex = 0;
    }
  }

  /** @param {HTMLElement} place */
  function skip(place) {
    for (const id of idsOf(place)) skipped.add(id);
    cover();
  }

  /** The cover itself: one line in place of what it hides. @param {HTMLElement} place */
  function addCover(place) {
    const note = Object.assign(document.createElement("p"), { className: "answers-cover" });
    const show = Object.assign(document.createElement("button"), { type: "button", textContent: "show it" });
    show.addEventListener("click", () => {
      skip(place);
      place.focus({ preventScroll: true }); // the button is gone: the keyboard goes on from here
    });
    note.append("Answer first, or ", show);
    place.tabIndex = -1;
    place.prepend(note);
  }

  /** Opens the place that the address points into: who follows a link wants to see what it leads to. */
  function uncoverTarget() {
    let target = null;
    try {
      target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    } catch {} // an address that is no text
    const place = target?.closest("[data-answers]");
    if (place instanceof HTMLElement) skip(place);
  }

  function startCovers() {
    for (const place of places) addCover(place);
    cover();
    uncoverTarget();
    addEventListener("hashchange", uncoverTarget);
    addEventListener("scaling-quiz", (event) => {
      const { id, outcome } = /** @type {CustomEvent} */ (event).detail;
      if (outcome) answered.add(id);
      else answered.delete(id);
      cover();
    });
  }

  async function main() {
    startCovers();
    /** @type {NodeListOf<HTMLElement>} */
    const fallbacks = document.querySelectorAll(".scaling-fallback");
    await Promise.all([...fallbacks].map(show));
    document.documentElement.dataset.widgets = "ready";
    arrive();
  }

  /** Widgets and figures are taller than what stood in for them, so what the address points to has moved on. */
  function arrive() {
    const [visit] = performance.getEntriesByType("navigation");
    if (!(visit instanceof PerformanceNavigationTiming) || visit.type !== "navigate" || moved) return;
    document.querySelector(":target")?.scrollIntoView({ behavior: "instant" });
  }

  // From its first own move on the page is the reader's, and a page that was left and comes back is where it was.
  let moved = false;
  for (const move of ["wheel", "touchmove", "keydown", "pointerdown"]) {
    const leave = () => {
      moved = true;
    };
    addEventListener(move, leave, { once: true, passive: true });
  }
  addEventListener("load", arrive, { once: true });
  addEventListener("load", () => document.fonts.ready.then(arrive), { once: true }); // formulas change height with them

  main(); // a deferred script: the page is there
})();

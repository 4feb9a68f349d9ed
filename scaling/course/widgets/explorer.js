// The explorer: a position, the parts that show it, and what moves them. Everything it shows comes from figures.js.
import { atRest, button, guessForm, h, number } from "./dom.js";
import { patterns } from "./drawing.js";
import { ASKED, decode, encode, hashParts, MS, stack, unread } from "./figures.js";
import { hardware, keepHardware } from "./hardware.js";
import { fineprint, frontFigure, handles, memoryFigure, numbers, paragraph, stepFigure, tables } from "./parts.js";
import { atHardware, State } from "./state.js";

/** @import { Model } from "./dom.js" */
/** @import { Position } from "./figures.js" */
/** @import { Move, Part } from "./parts.js" */

/**
 * Starts again; makes a link of where the explorer stands, or the reader's hardware.
 * @param {() => void} reset
 * @param {() => void} share
 * @param {() => void} settle
 * @param {boolean} linked
 * @returns {Part}
 */
function tools(reset, share, settle, linked) {
  const told = h("span", { class: "sx-told", role: "status" });
  const copy = button("Copy link", () => {
    share();
    const say = (/** @type {string} */ words) => () => {
      told.textContent = words;
    };
    const sent = navigator.clipboard?.writeText(location.href) ?? Promise.reject();
    sent.then(say("Link copied."), say("The address bar holds the link."));
  });
  const keep = button("Make this my hardware", () => {
    try {
      settle();
      told.textContent = "Kept in this browser: every explorer of the course now starts here.";
    } catch {
      told.textContent = "This browser keeps nothing, so your hardware lasts no longer than this page.";
    }
  });
  copy.hidden = keep.hidden = !linked;
  return {
    node: h("div", { class: "sx-tools" }, button("Reset", reset), copy, keep, told),
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
    this.home = this.state.start;
    this.moved = false; // by the reader: only then does the address follow, and a move is said
    this.width = 640;
    this.live = h("p", { role: "status", class: "sw-spoken" });
    this.answer = h("div", { class: "sx-answer" });
    this.root = h("section", {
      ...{
        class: `scaling-widget explorer${this.state.views.includes("hero") ? " sx-hero" : ""}`,
        "aria-label": "Explorer",
        "data-key": this.state.key,
      },
      "data-lm-suppress-shortcuts": "true",
    });
    this.still = atRest(() => this.rest());
    this.parts = this.assemble(`sx-${this.state.key.replace(/\W/g, "-")}`);
  }

  /** Puts the parts together. @param {string} id @returns {Part[]} */
  assemble(id) {
    const { axes, assumed, views } = this.state;
    /** @type {Move} */
    const change = (some) => this.move({ ...this.state.wanted, ...some });
    const memory = views.includes("memory");
    const outside = [handles(axes, change, memory), paragraph("sx-remark", ({ words }) => words.note)];
    const inside = [
      paragraph("sx-place", ({ words }) => words.place),
      ...(views.includes("hero") ? [numbers()] : []),
      paragraph("sx-say", ({ words }) => words.advice),
      ...(views.includes("hero") ? [] : [numbers()]),
      ...(views.includes("step") ? [stepFigure(id)] : []),
      ...(views.includes("hero") ? [] : [memoryFigure(id)]),
      ...(views.includes("front") ? [frontFigure(change)] : []),
    ];
    const values = tables(() => this.still.now(), memory);
    const below = tools(
      () => this.move(this.home),
      () => this.share(),
      () => this.settle(),
      this.published,
    );
    this.answer.append(...inside.map(({ node }) => node), fineprint(assumed, memory), values.node);
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
    const timed = scene.fits && !this.state.views.includes("memory");
    const time = timed ? ` Step time ${number(stack(scene.f).total * MS)} ms.` : "";
    this.live.textContent = `${scene.words.advice}${time}`;
  }

  /** The reader's own hardware, if it was ever said; a question is asked where the page asks it, so it comes first. */
  goHome() {
    const mine = this.published ? hardware() : null;
    if (!mine) return;
    const { at, said } = atHardware(this.state.axes, this.state.start, mine);
    this.home = at;
    this.move(at, true);
    this.state.note = [said, this.state.note].filter(Boolean).join(" ");
    this.draw();
  }

  /** Keeps where the handles stand as the reader's hardware. */
  settle() {
    keepHardware(this.state.at, this.state.price);
    this.home = this.state.at;
  }

  share() {
    this.moved = true;
    this.still.now();
  }

  /** A guess first. @param {string} question */
  ask(question) {
    const { label, unit } = ASKED[this.state.assumed.asks];
    const about = { question, label, unit, judge: this.state.judge };
    this.question = guessForm(this.root, about, () => {
      this.goHome();
      this.resize();
    });
    this.root.insertBefore(this.question, this.answer);
  }

  /** Shows a position that a link asks for; its reader wants that, and no question. @param {Position} there */
  arrive(there) {
    this.root.classList.remove("sx-waiting");
    this.question?.remove();
    this.move(there, true);
    const { state } = this;
    state.note = [unread(location.hash, state.key, state.axes), state.note].filter(Boolean).join(" ");
    this.draw();
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
  else explorer.goHome();
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

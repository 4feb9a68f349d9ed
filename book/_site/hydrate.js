/* Starts the widgets of a built page with no kernel: each .scaling-fallback gives way to the widget whose saved state
   has the same key. A classic script, so that it also runs from file://. When it is done, <html> has data-widgets="ready". */
(() => {
  "use strict";
  const STATE = 'script[type="application/vnd.jupyter.widget-state+json"]';
  const modules = new Map(); // module text -> its import, so that widgets of one class share one module
  const styles = new Set();
  const { signal } = new AbortController(); // never aborted: widgets here live as long as the page

  /** What a front end sees of its model: the saved state, and nobody on the other side. */
  class Model {
    constructor({ state, buffers = [] }) {
      this.state = { ...state };
      this.listeners = new Map();
      for (const { path, data } of buffers) {
        const owner = path.slice(0, -1).reduce((value, key) => value[key], this.state);
        owner[path.at(-1)] = new DataView(Uint8Array.from(atob(data), (c) => c.charCodeAt(0)).buffer);
      }
    }
    get(name) {
      return this.state[name];
    }
    set(name, value) {
      if (typeof name === "object") return Object.entries(name).forEach((entry) => this.set(...entry));
      if (Object.is(this.state[name], value)) return;
      this.state[name] = value;
      this.emit(`change:${name}`, this, value);
      this.emit("change", this);
    }
    on(name, listener) {
      if (!this.listeners.has(name)) this.listeners.set(name, new Set());
      this.listeners.get(name).add(listener);
    }
    off(name, listener) {
      if (name == null) this.listeners.clear();
      else if (listener) this.listeners.get(name)?.delete(listener);
      else this.listeners.delete(name);
    }
    emit(name, ...values) {
      for (const listener of [...(this.listeners.get(name) ?? [])]) listener(...values);
    }
    save_changes() {}
    send() {}
  }

  function load(text) {
    if (!modules.has(text)) {
      const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
      modules.set(text, import(url).finally(() => URL.revokeObjectURL(url)));
    }
    return modules.get(text);
  }

  function style(text) {
    if (!text || styles.has(text)) return;
    styles.add(text);
    document.head.append(Object.assign(document.createElement("style"), { textContent: text }));
  }

  /** One model for a key, started once, however many views the page has of it. */
  async function start(record) {
    const model = new Model(record);
    const module = await load(record.state._esm);
    const widget = typeof module.default === "function" ? await module.default() : (module.default ?? module);
    const context = { model, signal, experimental: {} };
    await widget.initialize?.(context);
    return (el) => widget.render?.({ ...context, el });
  }

  function readStates() {
    const records = new Map();
    for (const script of document.querySelectorAll(STATE)) {
      try {
        for (const record of Object.values(JSON.parse(script.textContent).state)) {
          if (record.state?.key && record.state._esm) records.set(record.state.key, record);
        }
      } catch (error) {
        console.error("The saved state of this page's widgets cannot be read.", error);
      }
    }
    return records;
  }

  async function show(fallback, started) {
    const el = document.createElement("div");
    try {
      const { record, render } = started ?? {};
      if (!record) throw new Error(`The page holds no saved state for ${fallback.dataset.id}.`);
      style(record.state._css);
      await (await render)(el);
      fallback.replaceWith(el);
    } catch (error) {
      console.error(error);
      const note = Object.assign(document.createElement("p"), { className: "scaling-note" });
      note.textContent = "The interactive version of this could not start here. What you see is its text.";
      fallback.append(note);
    }
  }

  async function main() {
    const records = readStates();
    const started = new Map();
    const shown = [...document.querySelectorAll(".scaling-fallback[data-id]")].map((fallback) => {
      const { id } = fallback.dataset;
      if (!started.has(id) && records.has(id)) {
        started.set(id, { record: records.get(id), render: start(records.get(id)) });
      }
      return show(fallback, started.get(id));
    });
    await Promise.all(shown);
    document.documentElement.dataset.widgets = "ready";
    arrive();
  }

  /** Widgets and figures are taller than what stood in for them, so what the address points to has moved on. */
  function arrive() {
    const [visit] = performance.getEntriesByType("navigation");
    if (visit?.type !== "navigate" || moved) return;
    document.querySelector(":target")?.scrollIntoView({ behavior: "instant" });
  }

  // From its first own move on the page is the reader's, and a page that was left and comes back is where it was.
  let moved = false;
  for (const move of ["wheel", "touchmove", "keydown", "pointerdown"]) {
    addEventListener(move, () => (moved = true), { once: true, passive: true });
  }
  addEventListener("load", arrive, { once: true });

  // "interactive" comes before the theme's deferred scripts have run; DOMContentLoaded only after them
  if (document.readyState === "loading") document.addEventListener("readystatechange", main, { once: true });
  else main();
})();

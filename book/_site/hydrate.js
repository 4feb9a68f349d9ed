/* Starts the widgets of a page with no kernel: each .scaling-fallback holds a widget's data as JSON and names its front
   end, and gives way to what that shows. When all have, <html> has data-widgets="ready". */
(() => {
  "use strict";
  const { signal } = new AbortController(); // never aborted: widgets here live as long as the page

  /** What a front end sees of its model: the stored data, and nobody on the other side. */
  class Model {
    constructor(data) {
      this.data = data;
      this.listeners = new Map();
    }
    get(name) {
      return this.data[name];
    }
    set(name, value) {
      if (typeof name === "object") return Object.entries(name).forEach((entry) => this.set(...entry));
      if (Object.is(this.data[name], value)) return;
      this.data[name] = value;
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

  /** Bytes are kept as {"base64": text}, and front ends get them as a kernel sends them. */
  const revive = (_, value) =>
    typeof value?.base64 === "string"
      ? new DataView(Uint8Array.from(atob(value.base64), (c) => c.charCodeAt(0)).buffer)
      : value;

  async function show(fallback) {
    try {
      const el = document.createElement("div");
      const model = new Model(JSON.parse(fallback.querySelector("script").textContent, revive));
      await globalThis.scalingFrontEnds[fallback.dataset.frontEnd].render({ model, el, signal, experimental: {} });
      fallback.replaceWith(el);
    } catch (error) {
      console.error(error);
      const note = Object.assign(document.createElement("p"), { className: "scaling-note" });
      note.textContent = "The interactive version of this could not start here. What you see is its text.";
      fallback.append(note);
    }
  }

  async function main() {
    await Promise.all([...document.querySelectorAll(".scaling-fallback")].map(show));
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

  main(); // a deferred script: the page is there
})();

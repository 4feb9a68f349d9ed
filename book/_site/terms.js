// Shows what a term means when the pointer, the focus or a finger is on it. Without this script a term is a link to its
// definition, and stays one: a second tap follows it.
(() => {
  const box = Object.assign(document.createElement("div"), { id: "term-meaning", hidden: true });
  box.setAttribute("role", "tooltip");
  /** @type {HTMLElement | null} */
  let shown = null;

  function hide() {
    shown?.removeAttribute("aria-describedby");
    shown = null;
    box.hidden = true;
  }

  /** @param {HTMLElement} term */
  function show(term) {
    if (term === shown) return;
    hide();
    shown = term;
    box.textContent = term.dataset.meaning ?? "";
    term.setAttribute("aria-describedby", box.id);
    if (!box.isConnected) document.body.append(box);
    box.hidden = false;
    const at = term.getBoundingClientRect(),
      size = box.getBoundingClientRect();
    const wide = document.documentElement.clientWidth;
    const below = at.bottom + 6 + size.height < innerHeight;
    box.style.left = `${Math.max(8, Math.min(at.left, wide - size.width - 8)) + scrollX}px`;
    box.style.top = `${(below ? at.bottom + 6 : at.top - size.height - 6) + scrollY}px`;
  }

  /** @type {(event: Event) => HTMLElement | null} */
  const termOf = (event) => (event.target instanceof Element ? event.target.closest("a.term") : null);

  document.addEventListener("pointerover", (event) => {
    const term = termOf(event);
    if (event.pointerType === "touch") return;
    if (term) show(term);
    else if (event.target !== box && document.activeElement !== shown) hide();
  });
  document.addEventListener("focusin", (event) => {
    const term = termOf(event);
    if (term) show(term);
    else hide();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
  });

  // The first tap shows, the second goes there. A touch gives the focus before the click: ask before that.
  let first = false;
  const pressed = (/** @type {PointerEvent} */ event) => {
    first = event.pointerType === "touch" && termOf(event) !== shown;
    if (!termOf(event)) hide();
  };
  document.addEventListener("pointerdown", pressed, true);
  document.addEventListener("click", (event) => {
    const term = termOf(event);
    if (!term || !first) return;
    event.preventDefault();
    show(term);
  });
})();

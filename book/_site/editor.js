/* An editor for each cell that runs where it is read (#code-NAME). The cell as the build made it stays when this does
   not run. What a reader writes is kept as scaling/code/NAME: {"source": text, "solved": true once it was right}. */
(() => {
  "use strict";
  /**
   * @template {keyof HTMLElementTagNameMap} Tag
   * @param {Tag} tag
   * @param {object} properties
   * @param {(Node | string)[]} children
   */
  function make(tag, properties = {}, ...children) {
    const node = Object.assign(document.createElement(tag), properties);
    node.append(...children);
    return node;
  }

  /** What is kept of a cell; what is not ours, or not to be read, is nothing. @param {string} name */
  function kept(name) {
    try {
      const found = JSON.parse(localStorage.getItem(`scaling/code/${name}`) ?? "{}");
      const source = typeof found?.source === "string" ? found.source.slice(0, 50_000) : undefined;
      return { source, solved: found?.solved === true };
    } catch {
      return { source: undefined, solved: false };
    }
  }

  /** @param {string} name @param {{source: string, solved: boolean}} what */
  function keep(name, what) {
    try {
      localStorage.setItem(`scaling/code/${name}`, JSON.stringify(what));
    } catch {
      // A browser that keeps nothing still runs what is on the page.
    }
  }

  /**
   * Enter goes on at the depth of the line, four deeper after a colon. Tab stays the way out, without a mouse.
   * @param {HTMLTextAreaElement} field
   */
  function newLine(field) {
    const line = field.value.slice(0, field.selectionStart).split("\n").pop() ?? "";
    const depth = (line.match(/^ */)?.[0] ?? "") + (/:\s*(#.*)?$/.test(line) ? "    " : "");
    // The old command, because it alone lets the reader undo.
    if (!document.execCommand("insertText", false, `\n${depth}`))
      field.setRangeText(`\n${depth}`, field.selectionStart, field.selectionEnd, "end");
  }

  const MARKS = new Map([
    ["right", "✓ "],
    ["wrong", "✗ "],
  ]);

  /** The parts of an editor. @param {string} name @param {string} stub @param {boolean} exercise */
  function parts(name, stub, exercise) {
    const called = stub.match(/^def (\w+)/m)?.[1];
    const field = make("textarea", {
      id: `source-${name}`,
      spellcheck: false,
      autocomplete: "off",
      autocapitalize: "off",
      wrap: "off",
    });
    field.setAttribute("autocorrect", "off");
    field.setAttribute("aria-describedby", `keys-${name}`);
    const words = exercise ? `Your turn: write ${called ?? "it"} here` : "Change a line and run it";
    return {
      field,
      label: make("label", { htmlFor: field.id, textContent: words }),
      solved: make("span", { className: "sw-solved", textContent: "✓ solved", hidden: true }),
      keys: make("span", { id: `keys-${name}`, className: "sw-keys", textContent: "Ctrl + Enter runs it" }),
      run: make("button", { type: "button", className: "sw-main", textContent: "Run" }),
      reset: make("button", { type: "button", className: "sw-quiet", textContent: "Reset" }),
      bar: make("progress", { max: 1, hidden: true, ariaLabel: "Starting Python" }),
      status: make("div", { className: "sw-status", role: "status" }),
      printed: make("pre", { className: "sw-printed", hidden: true, tabIndex: 0, ariaLabel: "What your code printed" }),
    };
  }

  /** @typedef {ReturnType<typeof parts>} Parts */

  /** @param {Parts} p @param {string} outcome @param {string} said @param {string} printed */
  function tell(p, outcome, said, printed = "") {
    const root = p.field.closest(".sw-code");
    if (root instanceof HTMLElement) root.dataset.outcome = outcome;
    p.status.textContent = `${MARKS.get(outcome) ?? ""}${said}`;
    p.printed.textContent = printed;
    p.printed.hidden = !printed;
  }

  /** @param {Parts} p @param {string} name */
  async function run(p, name) {
    if (p.run.ariaDisabled === "true") return;
    p.run.ariaDisabled = "true"; // not disabled, which would take the focus from it
    tell(p, "", "Running …");
    /** @param {number} share */
    const progress = (share) => {
      if (p.bar.hidden) tell(p, "", "Starting Python, once for this page: 6 MB …");
      p.bar.hidden = false;
      p.bar.value = share;
    };
    const source = p.field.value;
    try {
      const result = await Reflect.get(globalThis, "scalingLab").call("run", { source, cell: name }, progress);
      tell(p, result.outcome, result.said || "Done.", result.printed);
      if (result.outcome === "right") {
        keep(name, { source, solved: true });
        p.solved.hidden = false;
      }
    } catch (error) {
      tell(p, "stopped", `${error instanceof Error ? error.message : error} Your text is kept.`);
    }
    p.bar.hidden = true;
    p.run.ariaDisabled = null;
  }

  /** @param {Parts} p @param {string} name @param {string} stub */
  function listen(p, name, stub) {
    const save = () => keep(name, { source: p.field.value, solved: kept(name).solved });
    const fit = () => {
      p.field.rows = p.field.value.split("\n").length;
    };
    p.field.oninput = () => {
      fit();
      save();
    };
    p.field.onkeydown = (event) => {
      if (event.key !== "Enter" || event.isComposing) return;
      event.preventDefault();
      if (event.ctrlKey || event.shiftKey || event.metaKey) run(p, name);
      else newLine(p.field);
      fit();
      save();
    };
    p.run.onclick = () => run(p, name);
    p.reset.onclick = () => {
      p.field.value = stub;
      fit();
      save();
      tell(p, "", "The text of the page is back.");
      p.field.focus();
    };
    fit();
  }

  /** @param {HTMLElement} cell */
  function edit(cell) {
    const name = cell.id.slice("code-".length);
    const exercise = cell.classList.contains("tag_exercise");
    const code = cell.querySelector(".cell_input pre")?.textContent ?? "";
    // The line that checks is not for editing; Python has it.
    const stub = (exercise ? code.replace(/^check\([\s\S]*$/m, "") : code).trimEnd();
    const p = parts(name, stub, exercise);
    const { source, solved } = kept(name);
    p.field.value = source ?? stub;
    p.solved.hidden = !solved;
    const output = exercise ? null : cell.querySelector(".cell_output");
    cell.replaceChildren(
      make(
        "div",
        { className: "scaling-widget sw-code" },
        make("div", { className: "sw-head" }, p.label, p.solved),
        p.field,
        make("div", { className: "sw-buttons" }, p.run, p.reset, p.keys),
        p.bar,
        p.status,
        p.printed,
      ),
      ...(output ? [output] : []),
    );
    listen(p, name, stub);
  }

  for (const cell of document.querySelectorAll(".cell[id^=code-]")) if (cell instanceof HTMLElement) edit(cell);
})();

// The quiz: a question as a form, what the browser remembers of its answer, and how many are answered right.
import { button, h, onEnter } from "./dom.js";
import { dimensions, grade, parseUnit } from "./grading.js";

/** @import { Model } from "./dom.js" */
/** @import { Choice, Numeric, Ordering, Question } from "./grading.js" */
/** @typedef {{of: number, answer: unknown, outcome: string, attempts: number}} Kept */

// ---- What the browser remembers ------------------------------------------------------------------------------------

/** @type {Map<string, Kept>} where storage is switched off, answers last as long as the page */
const unsaved = new Map();

/**
 * Changes when the question does, so that an answer to an older wording is not taken for one to this.
 * @param {any} question
 */
export function fingerprint({ prompt, options, items, unit, answer }) {
  const choices = options?.map((/** @type {Choice["options"][number]} */ option) => [option.text, option.correct]);
  const text = JSON.stringify([prompt, choices, items, unit, answer]);
  return [...text].reduce((hash, c) => (Math.imul(hash, 31) + Number(c.codePointAt(0))) | 0, 7);
}

/** @param {string} id @returns {Kept | null} */
function recall(id) {
  try {
    const kept = JSON.parse(localStorage.getItem(`scaling/quiz/${id}`) ?? "null");
    if (kept && ["wrong", "right"].includes(kept.outcome)) return kept;
  } catch {} // switched off, or not what we wrote
  return unsaved.get(id) ?? null;
}

/** @param {string} id @param {Kept | null} record */
function remember(id, record) {
  if (record) unsaved.set(id, record);
  else unsaved.delete(id);
  try {
    if (record) localStorage.setItem(`scaling/quiz/${id}`, JSON.stringify(record));
    else localStorage.removeItem(`scaling/quiz/${id}`);
  } catch {} // switched off or full
  dispatchEvent(new CustomEvent("scaling-quiz", { detail: { id, outcome: record?.outcome ?? "" } }));
}

// ---- What the reader fills in --------------------------------------------------------------------------------------

/**
 * `read` gives an answer or null, `write` shows one (null: none), `mark` marks options.
 * @typedef {{node: HTMLElement, read: () => unknown, write: (answer: any) => void,
 *   mark: (at: number[], outcome: string) => void}} Field
 * @typedef {{announce: (words: string) => void, edited: () => void}} Hearer
 */

/** @param {Choice} question @param {string} name @returns {Field} */
function choiceField({ kind, options }, name) {
  const type = kind === "single" ? "radio" : "checkbox";
  const inputs = options.map((_, i) => h("input", { type, name, value: i }));
  const marks = inputs.map(() => h("span", { class: "sw-mark" }));
  const rows = options.map(({ text }, i) =>
    h("label", { class: "sw-option" }, inputs[i], h("span", {}, text), marks[i]),
  );
  return {
    node: h("div", { class: "sw-options" }, ...rows),
    read() {
      const chosen = inputs.flatMap((input, i) => (input.checked ? [i] : []));
      return type === "radio" ? (chosen[0] ?? null) : chosen.length ? chosen : null;
    },
    write(answer) {
      for (const [i, input] of inputs.entries()) input.checked = [answer].flat().includes(i);
    },
    mark(at, outcome) {
      for (const [i, mark] of marks.entries()) {
        const state = at.includes(i) ? "wrong" : outcome === "right" && inputs[i].checked ? "right" : "";
        rows[i].dataset.outcome = state;
        mark.textContent = { wrong: "✗ not this", right: "✓", "": "" }[state];
      }
    },
  };
}

/** An item that moves up and down. @param {string} item @param {(by: -1 | 1) => void} move */
function orderingRow(item, move) {
  const up = button("↑", () => move(-1), { "aria-label": `Move up: ${item}` });
  const down = button("↓", () => move(1), { "aria-label": `Move down: ${item}` });
  return { up, down, node: h("li", {}, h("span", {}, item), up, down) };
}

/** @param {Ordering} question @param {string} _ @param {Hearer} hearer @returns {Field} */
function orderingField({ shown, items }, _, { announce, edited }) {
  const start = shown ?? [...items].reverse();
  let order = start;
  let moved = false;
  const list = h("ol", { class: "sw-items", "aria-label": "Your order, first to last" });
  const rows = start.map((item) => orderingRow(item, (by) => shift(item, by)));
  const rowOf = (/** @type {string} */ item) => rows[start.indexOf(item)];
  const draw = () => {
    list.append(...order.map((item) => rowOf(item).node));
    for (const [i, item] of order.entries()) {
      rowOf(item).up.disabled = i === 0;
      rowOf(item).down.disabled = i === order.length - 1;
    }
  };
  /** @param {string} item @param {-1 | 1} by */
  function shift(item, by) {
    const i = order.indexOf(item);
    order = order.with(i, order[i + by]).with(i + by, item);
    moved = true;
    draw();
    const { up, down } = rowOf(item);
    const [same, turn] = by < 0 ? [up, down] : [down, up];
    (same.disabled ? turn : same).focus();
    announce(`${item}: now ${i + by + 1} of ${order.length}.`);
    edited();
  }
  draw();
  return {
    node: list,
    read: () => (moved ? order : null),
    write(answer) {
      order = answer ?? start;
      moved = answer !== null;
      draw();
    },
    mark() {},
  };
}

/** @param {Numeric} question @param {string} name @returns {Field} */
function numericField({ unit }, name) {
  const plain = { type: "text", autocomplete: "off", spellcheck: "false", enterkeyhint: "done" };
  const onkeydown = (/** @type {KeyboardEvent} */ event) => onEnter(event, () => input.form?.requestSubmit());
  // A number without a unit is told, not taken: what was meant is what many of the known mistakes are about.
  const placeholder = unit ? `a number and its unit, such as ${unit}` : "a number";
  const input = h("input", { id: name, ...plain, placeholder, onkeydown });
  const others = dimensions(parseUnit(unit), true) ? "; any unit of that kind works" : "";
  const note = unit ? `Your answer in ${unit}${others}` : "Your answer, a plain number";
  return {
    node: h("div", { class: "sw-number" }, h("label", { for: name }, note), input),
    read: () => input.value,
    write(answer) {
      input.value = answer ?? "";
    },
    mark(_, outcome) {
      input.setAttribute("aria-invalid", String(outcome === "wrong" || outcome === "note"));
    },
  };
}

/** @param {Question} question @param {string} name @param {Hearer} hearer */
function fieldOf(question, name, hearer) {
  if (question.kind === "ordering") return orderingField(question, name, hearer);
  return question.kind === "numeric" ? numericField(question, name) : choiceField(question, name);
}

// ---- The question --------------------------------------------------------------------------------------------------

const TASK = {
  single: "Choose one",
  multiple: "Choose all that apply",
  ordering: "Put in order",
  numeric: "Work it out",
};
const VERDICT = { right: "✓ Right.", wrong: "✗ Not yet.", note: "! Not checked.", "": "" };
const TRAITS = ["answer", "outcome", "attempts", "cause"];
let views = 0;

/** The hints, one after the other, and then the solution. */
class Help {
  /** @param {Question} question @param {() => void} changed */
  constructor({ hints, solution }, changed) {
    this.hints = hints;
    this.solution = solution;
    this.changed = changed;
    this.opened = 0;
    this.solved = false;
    this.node = h("div", { class: "sw-help", "aria-live": "polite" });
    this.hint = button("", () => this.open(Math.min(this.opened + 1, hints.length), this.solved));
    this.show = button("", () => this.open(this.opened, !this.solved));
  }

  close() {
    this.opened = 0;
    this.solved = false;
  }

  /** @param {number} opened how many hints @param {boolean} solved */
  open(opened, solved) {
    this.opened = opened;
    this.solved = solved;
    this.changed();
  }

  /** @param {boolean} attempted then the solution may be seen without the hints */
  draw(attempted) {
    const { hints, node, hint, show, opened, solved } = this;
    const lines = hints.slice(0, opened).map((text, i) => [`Hint ${i + 1} of ${hints.length}`, text]);
    if (solved) lines.push(["Solution", this.solution]);
    while (node.children.length > lines.length) node.lastChild?.remove();
    for (const [i, [head, text]] of lines.entries()) {
      const line = h("p", {}, h("strong", {}, head), text); // one that is there already is not announced again
      if (node.children[i]?.textContent !== line.textContent) node.insertBefore(line, node.children[i] ?? null);
    }
    const left = opened < hints.length;
    hint.textContent = left ? `Hint ${opened + 1} of ${hints.length}` : "No more hints";
    hint.setAttribute("aria-disabled", String(!left));
    show.disabled = left && !attempted;
    show.textContent = solved ? "Hide solution" : "Show solution";
  }
}

/** A question on a page: its form, and what the model, the browser and the reader say of its answer. */
class Quiz {
  /** @param {Model} model @param {HTMLElement} root */
  constructor(model, root) {
    this.model = model;
    this.root = root;
    /** @type {Question} */
    this.question = model.get("question");
    this.notice = ""; // why an answer was not graded
    this.dirty = false; // touched, though not graded
    this.painted = "null"; // the graded answer that the field shows, as JSON
    const name = `sw-${this.question.id}-${++views}`;
    this.spoken = h("div", { class: "sw-spoken", role: "status" });
    this.status = h("div", { class: "sw-status", id: `${name}-status`, role: "status" });
    this.help = new Help(this.question, () => this.paint());
    const edited = () => this.edited();
    const announce = (/** @type {string} */ words) => {
      this.spoken.textContent = words;
    };
    this.field = fieldOf(this.question, name, { announce, edited });
    this.again = button("Start again", () => this.startAgain(), { class: "sw-quiet" });
  }

  form() {
    const { question, help, field, status, again, spoken } = this;
    const task = h("span", { class: "sw-task" }, TASK[question.kind]);
    const about = { "aria-describedby": status.id };
    const check = h("button", { type: "submit", class: "sw-main" }, "Check");
    return h(
      "form",
      { novalidate: "", onsubmit: (event) => this.check(event), oninput: () => this.edited() },
      h("fieldset", about, h("legend", {}, task, question.prompt), field.node),
      h("div", { class: "sw-buttons" }, check, help.hint, help.show, again),
      status,
      help.node,
      spoken,
    );
  }

  /** What is in the model may come from anywhere: it counts as answered when it can be graded. */
  get attempted() {
    return Boolean(this.model.get("outcome") && grade(this.question, this.model.get("answer")).outcome);
  }

  /** @param {Record<string, unknown>} values */
  put(values) {
    for (const trait of TRAITS) this.model.set(trait, values[trait]);
    this.model.save_changes();
  }

  edited() {
    [this.notice, this.dirty] = ["", true];
    this.paint();
  }

  reset() {
    [this.notice, this.dirty] = ["", false];
    this.help.close();
    this.field.write(null);
    this.put({ answer: null, outcome: "", attempts: 0, cause: "" });
    remember(this.question.id, null);
    this.paint();
  }

  startAgain() {
    this.reset();
    const first = this.root.querySelector("input, .sw-items button:enabled");
    if (first instanceof HTMLElement) first.focus();
  }

  /** @param {Event} event */
  check(event) {
    event.preventDefault();
    const answer = this.field.read();
    const { outcome, say } = grade(this.question, answer);
    this.notice = outcome ? "" : say;
    this.status.textContent = ""; // so that the same words are announced again
    if (outcome) {
      this.painted = JSON.stringify(answer);
      this.put({ answer, outcome, attempts: this.model.get("attempts") + 1, cause: say });
    }
    this.paint();
  }

  /**
   * Takes an answer that was given elsewhere: in another view, from Python, on the last visit.
   * @param {unknown} answer
   */
  take(answer) {
    if (answer === null) {
      this.help.close();
      this.dirty = false;
    }
    this.notice = "";
    this.painted = JSON.stringify(answer);
    this.field.write(answer);
  }

  paint() {
    const { attempted, model, help, again, root } = this;
    const [answer, outcome] = attempted ? [model.get("answer"), model.get("outcome")] : [null, ""];
    if (JSON.stringify(answer) !== this.painted) this.take(answer);
    const same = JSON.stringify(this.field.read()) === this.painted;
    const state = this.notice ? "note" : outcome;
    this.field.mark((same && grade(this.question, answer).at) || [], same || this.notice ? state : "");
    root.dataset.outcome = state;
    this.say(VERDICT[/** @type {keyof typeof VERDICT} */ (state)], this.notice || (outcome && model.get("cause")));
    help.draw(attempted);
    again.hidden = !(this.dirty || this.notice || help.opened || outcome);
  }

  /** @param {string} verdict @param {string} why */
  say(verdict, why) {
    const { status } = this;
    if (status.textContent === `${verdict} ${why}`) return; // what is said already is not announced again
    status.replaceChildren(...(why ? [h("strong", {}, verdict), ` ${why}`] : []));
  }

  /** The reader's answer of the last visit, graded anew, if it still answers this question. */
  restore() {
    const { id } = this.question;
    const kept = recall(id);
    if (!kept || this.attempted) return;
    const { outcome, say } = grade(this.question, kept.answer);
    if (kept.of !== fingerprint(this.question) || !outcome) remember(id, null);
    else this.put({ answer: kept.answer, outcome, attempts: Number(kept.attempts) || 1, cause: say });
  }

  /** Keeps what the model holds for the next visit, and shows it. */
  keep() {
    const { id } = this.question;
    const values = TRAITS.map((trait) => [trait, this.model.get(trait)]);
    if (this.attempted) remember(id, { of: fingerprint(this.question), ...Object.fromEntries(values) });
    else if (recall(id)) remember(id, null);
    this.paint();
  }

  /** Hears the model and the page, and gives what undoes that. */
  listen() {
    const { model, question } = this;
    let waiting = false;
    const changed = () => {
      if (waiting) return; // several traits change at once: look once, when all have
      waiting = true;
      queueMicrotask(() => {
        waiting = false;
        this.keep();
      });
    };
    const clear = (/** @type {any} */ event) => event.detail.ids.includes(question.id) && this.reset();
    if (this.attempted) changed();
    for (const trait of TRAITS) model.on(`change:${trait}`, changed);
    addEventListener("scaling-quiz-clear", clear);
    return () => {
      for (const trait of TRAITS) model.off(`change:${trait}`, changed);
      removeEventListener("scaling-quiz-clear", clear);
    };
  }
}

/** @param {Model} model @param {HTMLElement} root */
function renderQuiz(model, root) {
  const quiz = new Quiz(model, root);
  quiz.restore();
  quiz.paint(); // before it is on the page, so that what was answered earlier is not announced
  root.append(quiz.form());
  return quiz.listen();
}

// ---- How many are right --------------------------------------------------------------------------------------------

/** @param {string[]} outcomes */
export function progressLine(outcomes) {
  const [right, wrong] = ["right", "wrong"].map((outcome) => outcomes.filter((o) => o === outcome).length);
  return `${right} of ${outcomes.length} answered right${wrong ? `, ${wrong} not yet` : ""}.`;
}

/**
 * The buttons that clear all answers, once asked and once more.
 * @param {string[]} ids
 * @param {(asking: boolean) => void} paint
 */
function clearing(ids, paint) {
  const ask = button("Clear my answers on this page", () => paint(true), { class: "sw-quiet" });
  const sure = button("Yes, clear them", () => {
    dispatchEvent(new CustomEvent("scaling-quiz-clear", { detail: { ids } }));
    for (const id of ids) remember(id, null);
  });
  const keep = button("Keep them", () => paint(false));
  return { ask, sure, keep };
}

/** @param {Model} model @param {HTMLElement} root */
function renderProgress(model, root) {
  /** @type {string[]} */
  const ids = model.get("ids");
  const outcomes = new Map(ids.map((id) => [id, recall(id)?.outcome ?? ""]));
  const text = h("p", { role: "status", tabindex: -1 });
  const marks = ids.map(() => h("span"));
  const { ask, sure, keep } = clearing(ids, paint);
  function paint(asking = false) {
    const all = [...outcomes.values()];
    const answered = all.filter(Boolean).length;
    text.textContent = asking ? `Clear ${answered} of your answers? This cannot be undone.` : progressLine(all);
    for (const [i, outcome] of all.entries()) marks[i].dataset.outcome = outcome;
    ask.hidden = asking || !answered;
    sure.hidden = keep.hidden = !asking;
    if (asking) keep.focus();
  }
  keep.addEventListener("click", () => ask.focus());
  sure.addEventListener("click", () => text.focus());
  const heard = (/** @type {any} */ { detail: { id, outcome } }) => {
    if (outcomes.has(id)) outcomes.set(id, outcome);
    paint();
  };
  const bar = h("div", { class: "sw-bar", "aria-hidden": "true" }, ...marks);
  root.append(text, bar, h("div", { class: "sw-buttons" }, ask, sure, keep));
  paint();
  addEventListener("scaling-quiz", heard);
  return () => removeEventListener("scaling-quiz", heard);
}

/** @param {{model: Model, el: HTMLElement}} context */
function render({ model, el }) {
  const kind = model.get("kind");
  // JupyterLab's single-key shortcuts stay out of the form.
  const shared = { class: `scaling-widget sw-${kind}`, "data-lm-suppress-shortcuts": "true" };
  const root = kind === "quiz" ? h("div", shared) : h("section", { ...shared, "aria-label": "Your progress" });
  el.append(root);
  return kind === "quiz" ? renderQuiz(model, root) : renderProgress(model, root);
}

export default { render };

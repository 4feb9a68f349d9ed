// Reads lines of JSON, lists of [question, answer, how], and writes for each a line with the list of what came of them.
// An answer is graded; where `how` is "typed" it is also typed into the quiz on a page, where it is "kept" it is found in the
// browser's storage. That page knows elements and text; what would make markup of a text throws.
import { createInterface } from "node:readline";

const refuse = (name) => {
  throw new Error(`the page was given markup: ${name}`);
};

/** As much of an element as the quiz uses. */
class Element {
  constructor(tag) {
    Object.assign(this, { tag, childNodes: [], parent: null, dataset: {}, attributes: {} });
  }
  get children() {
    return this.childNodes.filter((node) => node instanceof Element);
  }
  get lastChild() {
    return this.childNodes.at(-1) ?? null;
  }
  get textContent() {
    return this.childNodes.map((node) => node.textContent ?? node).join("");
  }
  set textContent(text) {
    this.childNodes = text === "" ? [] : [String(text)];
  }
  set innerHTML(_) {
    refuse("innerHTML");
  }
  set outerHTML(_) {
    refuse("outerHTML");
  }
  insertAdjacentHTML() {
    refuse("insertAdjacentHTML");
  }
  setAttribute(name, value) {
    if (/^(on.*|srcdoc|style|href|src)$/i.test(name)) refuse(name);
    this.attributes[name] = String(value);
  }
  insertBefore(node, before) {
    if (node instanceof Element) {
      node.remove();
      node.parent = this;
    }
    this.childNodes.splice(before ? this.childNodes.indexOf(before) : this.childNodes.length, 0, node);
  }
  append(...nodes) {
    for (const node of nodes) this.insertBefore(node instanceof Element ? node : String(node), null);
  }
  replaceChildren(...nodes) {
    this.childNodes = [];
    this.append(...nodes);
  }
  remove() {
    if (this.parent) this.parent.childNodes = this.parent.childNodes.filter((node) => node !== this);
  }
  addEventListener() {}
  querySelector() {
    return null;
  }
  focus() {}
  *[Symbol.iterator]() {
    yield this;
    for (const child of this.children) yield* child;
  }
}

const kept = new Map();
Object.assign(globalThis, {
  document: { createElement: (tag) => new Element(tag) },
  addEventListener() {},
  removeEventListener() {},
  dispatchEvent() {},
  CustomEvent: class {},
});
Object.defineProperty(globalThis, "localStorage", {
  // Node has one of its own, which wants a file
  value: {
    getItem: (key) => kept.get(key) ?? null,
    setItem: (key, text) => kept.set(key, text),
    removeItem: (key) => kept.delete(key),
  },
});

const folder = process.argv[2] ?? new URL("../../scaling/course/widgets", import.meta.url).pathname;
const { grade } = await import(`${folder}/grading.js`);
const { fingerprint, default: widget } = await import(`${folder}/quiz.js`);

/** A page with the question on it. */
function rendered(question) {
  const traits = { kind: "quiz", question, answer: null, outcome: "", attempts: 0, cause: "" };
  const model = {
    get: (name) => traits[name],
    set: (name, value) => (traits[name] = value),
    save_changes() {},
    on() {},
    off() {},
  };
  const el = new Element("div");
  widget.render({ model, el });
  const find = (test) => [...el].find(test);
  const status = find((e) => e.attributes.class === "sw-status");
  /** What the page says of the answer, and the elements that it has beside that. */
  const read = () => {
    const said = status.textContent;
    status.textContent = "";
    return {
      said,
      tags: [...el]
        .map((element) => element.tag)
        .sort()
        .join(" "),
    };
  };
  return { form: find((e) => e.tag === "form"), input: find((e) => e.tag === "input"), read };
}

const pages = new Map();

function page(question, answer, how) {
  kept.clear();
  if (!pages.has(question.id)) {
    const fresh = rendered(question);
    pages.set(question.id, { ...fresh, empty: fresh.read().tags });
  }
  let { form, input, read, empty } = pages.get(question.id);
  if (how === "kept") {
    kept.set(`scaling/quiz/${question.id}`, answer.replace('"of": "this"', `"of": ${fingerprint(question)}`));
    read = rendered(question).read;
  } else {
    input.value = answer;
    form.onsubmit({ preventDefault() {} });
  }
  const { said, tags } = read();
  return { said, untouched: tags === empty };
}

function reply([question, answer, how]) {
  const start = process.cpuUsage();
  try {
    const verdict = how === "kept" ? {} : grade(question, answer);
    const shown = how ? page(question, answer, how) : {};
    const spent = process.cpuUsage(start);
    return { ...verdict, ...shown, seconds: spent.user / 1e6 };
  } catch (error) {
    return { error: String(error?.stack ?? error) };
  }
}

for await (const line of createInterface({ input: process.stdin }))
  console.log(JSON.stringify(reply(JSON.parse(line))));

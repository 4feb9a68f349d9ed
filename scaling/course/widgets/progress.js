// A reader's progress over all pages of the site: what was answered, where the reader was, and all of it as a file.
import { atRest, button, h } from "./dom.js";
import { hardware, KEY } from "./hardware.js";

/** @typedef {{page: string, title: string, ids: string[]}} Chapter */
/** @typedef {Record<string, string>} Entries  What is stored, as text by key. */

const OURS = /^scaling\/(?:quiz|code)\/[\w.-]{1,80}$/;
const OTHERS = ["scaling/hardware", "scaling/place"]; // ours too, and no answers
const KIND = "answers to Serving LLaMA 3, by the Numbers";
const LONGEST = 100_000; // characters of one entry: no answer and no exercise comes near

/** What was made of a question, by its stored text; "" for nothing, null for what is not ours. @param {string} text */
export function outcome(text) {
  try {
    const kept = JSON.parse(text);
    return kept && ["right", "wrong"].includes(kept.outcome) ? /** @type {string} */ (kept.outcome) : null;
  } catch {
    return null;
  }
}

/**
 * How many questions were answered right, and how many not yet.
 * @param {string[]} ids
 * @param {Entries} entries
 */
export function tally(ids, entries) {
  const outcomes = ids.map((id) => outcome(entries[`scaling/quiz/${id}`] ?? "") ?? "");
  const right = outcomes.filter((one) => one === "right").length;
  return { outcomes, right, wrong: outcomes.filter((one) => one === "wrong").length, all: ids.length };
}

/** @param {{right: number, all: number}} one */
export const ringWords = ({ right, all }) => `${right} of ${all} answered right`;

/** @param {number} n @param {string} one @param {string} many */
const counted = (n, one, many) => `${n} ${n === 1 ? one : many}`;

/**
 * Whether an entry can be kept: our key, and for a question an answer that was graded.
 * @param {string} key
 * @param {unknown} text
 */
const fits = (key, text) =>
  OURS.test(key) &&
  typeof text === "string" &&
  text.length <= LONGEST &&
  (!key.startsWith("scaling/quiz/") || outcome(text) !== null);

/** The stored entries that are not what we wrote; they are left alone. @param {Entries} entries */
export const strange = (entries) =>
  Object.keys(entries).filter((key) => key.startsWith("scaling/") && !OTHERS.includes(key) && !fits(key, entries[key]));

/** All that is ours as a file. @param {Entries} entries */
export function exported(entries) {
  const kept = Object.entries(entries).filter(([key, text]) => fits(key, text));
  return `${JSON.stringify({ kind: KIND, entries: Object.fromEntries(kept.sort()) }, null, 1)}\n`;
}

/**
 * What a file holds for us, and what is said of it; nothing of it is stored yet.
 * @param {string} text
 * @returns {{entries: Entries, said: string}}
 */
export function imported(text) {
  try {
    const file = JSON.parse(text);
    if (file?.kind !== KIND || typeof file.entries !== "object") throw new Error("not ours");
    const all = Object.entries(file.entries ?? {});
    const good = all.filter(([key, value]) => fits(key, value));
    const left = all.length - good.length;
    const rest = left ? ` Left out: ${left} that ${left === 1 ? "is" : "are"} not ours.` : "";
    return { entries: Object.fromEntries(good), said: `${counted(good.length, "entry", "entries")} taken.${rest}` };
  } catch {
    return { entries: {}, said: "This file holds no answers to this course, so nothing was changed." };
  }
}

/**
 * Where the reader was, if that is a chapter of today.
 * @param {string} text
 * @param {Chapter[]} chapters
 */
export function place(text, chapters) {
  try {
    const { page, at } = JSON.parse(text);
    const chapter = chapters.find((one) => one.page === page);
    if (!chapter) return null;
    const section = typeof at === "string" && /^[\w-]{1,100}$/.test(at) ? `#${at}` : "";
    return { href: `${page}.html${section}`, title: chapter.title };
  } catch {
    return null;
  }
}

// ---- The page ------------------------------------------------------------------------------------------------------

/** @returns {Entries} */
function stored() {
  try {
    const keys = Object.keys(localStorage).filter((key) => key.startsWith("scaling/"));
    return Object.fromEntries(keys.map((key) => [key, localStorage.getItem(key) ?? ""]));
  } catch {
    return {}; // switched off
  }
}

/** @param {Entries} entries */
function store(entries) {
  for (const [key, text] of Object.entries(entries)) localStorage.setItem(key, text);
}

/** The name of the page that an address is of. @param {string} path */
const pageOf = (path) =>
  path
    .split("/")
    .at(-1)
    ?.replace(/\.html$/, "") ?? "";

// Of the chapters, seen from this page: the landing page stands at the root, too.
const folder = () => `${document.documentElement.dataset.content_root ?? "../"}book/`;

/** @type {Chapter[]} */
const CHAPTERS = Reflect.get(globalThis, "scalingCourse") ?? [];

/** A ring beside each link to a chapter, in the sidebar and on the cards. @param {Entries} entries */
function rings(entries) {
  for (const link of document.querySelectorAll(".bd-links a, .pr-cards a")) {
    if (!(link instanceof HTMLAnchorElement)) continue;
    const chapter = CHAPTERS.find(({ page }) => page === pageOf(link.pathname));
    if (!chapter?.ids.length) continue;
    const count = tally(chapter.ids, entries);
    const ring = link.querySelector(".pr-ring") ?? h("span", { class: "pr-ring", role: "img" });
    if (ring instanceof HTMLElement) ring.style.setProperty("--part", `${(100 * count.right) / count.all}%`);
    ring.setAttribute("aria-label", ringWords(count));
    ring.setAttribute("title", ringWords(count));
    if (!ring.parentElement) (link.querySelector("strong") ?? link).append(ring);
    if (link.hasAttribute("aria-label")) link.setAttribute("aria-description", ringWords(count));
  }
}

/** The bar at a chapter's top. @param {Chapter} chapter */
function topBar({ ids }) {
  const words = h("a", { href: `${folder()}my_answers.html` });
  const marks = ids.map(() => h("span"));
  // The page keeps a place for it, so that nothing moves when it comes.
  document.querySelector(".pr-top")?.append(h("div", { class: "pr-bar", "aria-hidden": "true" }, ...marks), words);
  return (/** @type {Entries} */ entries) => {
    const count = tally(ids, entries);
    words.textContent = ringWords(count);
    for (const [i, one] of count.outcomes.entries()) marks[i].dataset.outcome = one;
  };
}

/** Keeps the place: the chapter, and the last heading that has passed the top of the window. @param {string} page */
function keepPlace(page) {
  const heads = [...document.querySelectorAll("article section[id]")];
  const keep = atRest(() => {
    const passed = heads.filter((head) => head.getBoundingClientRect().top < 160);
    try {
      localStorage.setItem("scaling/place", JSON.stringify({ page, at: passed.at(-1)?.id ?? "" }));
    } catch {} // switched off or full
  });
  addEventListener("scroll", keep.moved, { passive: true });
  keep.moved();
}

/** "Continue where you were", beside the button that starts. @param {Entries} entries */
function continueLink(entries) {
  const there = place(entries["scaling/place"] ?? "", CHAPTERS);
  const start = document.querySelector(".pr-start");
  if (there && start)
    start.append(h("a", { href: `${folder()}${there.href}` }, `Continue where you were: ${there.title}`));
}

/** What the page says of the chapters. @param {Entries} entries */
function answerTable(entries) {
  const rows = CHAPTERS.filter(({ ids }) => ids.length).map(({ page, title, ids }) => {
    const count = tally(ids, entries);
    const open = count.wrong ? `${count.wrong} not yet` : "";
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, h("a", { href: `${folder()}${page}.html` }, title)),
      h("td", {}, ringWords(count)),
      h("td", {}, open),
    );
  });
  const code = Object.keys(entries).filter((key) => key.startsWith("scaling/code/")).length;
  const lost = strange(entries).length;
  const words = [
    code ? `${counted(code, "exercise is", "exercises are")} kept as you left off.` : "",
    lost
      ? `${counted(lost, "stored entry is", "stored entries are")} not ours, or of an older edition, and left alone.`
      : "",
  ];
  return [h("table", {}, h("tbody", {}, ...rows)), h("p", {}, words.filter(Boolean).join(" "))];
}

/** What the explorers start at, and a button that forgets it. @param {() => void} changed */
function ownHardware(changed) {
  const mine = hardware();
  if (!mine) return [];
  const price = mine.price ? `, at ${mine.price} USD/h each` : "";
  const words = `Your hardware: ${mine.chips} x ${mine.chip} for ${mine.model}${price}. `;
  const forget = button("Forget it", () => {
    localStorage.removeItem(KEY);
    changed();
  });
  return [h("p", {}, words, forget)];
}

/** A file from this page, without a server. @param {string} text */
function save(text) {
  const href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  h("a", { href, download: "my-answers.json" }).click();
  URL.revokeObjectURL(href);
}

/** The entries that are answers of ours. @param {Entries} entries @returns {Entries} */
const ours = (entries) => Object.fromEntries(Object.entries(entries).filter(([key, text]) => fits(key, text)));

/**
 * Puts these answers in the place of those that are stored.
 * @param {Entries} next
 * @returns {boolean} whether it could
 */
function replace(next) {
  const now = ours(stored());
  try {
    for (const key of Object.keys(now)) localStorage.removeItem(key);
    store(next);
    return true;
  } catch {
    store(now);
    return false;
  }
}

/** The page of all answers. @param {HTMLElement} box @param {() => void} changed */
function myAnswers(box, changed) {
  const told = h("p", { role: "status", tabindex: -1 });
  const list = h("div", { class: "pr-list" });
  /** @type {Entries | null} */
  let before = null;
  const draw = (/** @type {string} */ words) => {
    list.replaceChildren(
      ...answerTable(stored()),
      ...ownHardware(() => draw("Every explorer starts where its page says.")),
    );
    told.textContent = words;
    undo.hidden = !before;
    changed();
  };
  /** @param {Entries} next @param {string} words @param {boolean} back whether this can be undone */
  const put = (next, words, back = true) => {
    const now = ours(stored());
    const done = replace(next);
    if (done) before = back ? now : null;
    draw(done ? words : "This browser could not keep that, so nothing was changed.");
  };
  const file = h("input", { type: "file", accept: ".json", hidden: true, "aria-label": "A file of answers" });
  file.onchange = async () => {
    const { entries, said } = imported((await file.files?.[0]?.text()) ?? "");
    file.value = "";
    if (Object.keys(entries).length) put({ ...ours(stored()), ...entries }, `${said} Undo takes them out again.`);
    else draw(said);
  };
  const undone = "All answers are cleared. Undo brings them back, as long as this page is open.";
  const undo = button("Undo", () => put(before ?? {}, "As before.", false));
  const buttons = [
    button("Export", () => save(exported(stored()))),
    button("Import", () => file.click()),
    button("Clear all", () => put({}, undone)),
    undo,
  ];
  box.replaceChildren(list, h("div", { class: "pr-buttons" }, ...buttons, file), told);
  draw("");
}

/** What this page shows of the progress, now and at each answer. */
function start() {
  const page = pageOf(location.pathname);
  const chapter = CHAPTERS.find((one) => one.page === page);
  const bar = chapter?.ids.length ? topBar(chapter) : null;
  const draw = () => {
    const entries = stored();
    rings(entries);
    bar?.(entries);
  };
  if (chapter) keepPlace(page);
  continueLink(stored());
  const box = document.getElementById("answer-list");
  if (box) myAnswers(box, draw);
  draw();
  addEventListener("scaling-quiz", draw);
  addEventListener("storage", draw); // another window of this browser
}

export default { start };

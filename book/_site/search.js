/* The search page: sections, terms and functions of the book by the words of the question, what a word means first. */
(() => {
  "use strict";
  /** @typedef {{kind: string, page: string, place: string, title: string, text: string, file: string}} Entry */
  const MOST = 30;
  const AROUND = 90;

  /** Words as they are compared: one form for letters of either case, plurals and hyphens. @param {string} text */
  const tokens = (text) =>
    text
      .toLowerCase()
      .split(/[^\p{L}\p{N}_]+/u)
      .filter(Boolean)
      .map((word) => (word.length > 3 ? word.replace(/s$/, "") : word));

  /** How many of the words begin a word there. @param {string[]} words @param {string[]} there */
  const hits = (words, there) => words.filter((word) => there.some((other) => other.startsWith(word))).length;

  /** 0 for what has not all the words. @param {Entry} entry @param {string[]} words */
  function score(entry, words) {
    const title = tokens(entry.title);
    const text = tokens(entry.text);
    if (hits(words, [...title, ...text, ...tokens(entry.page)]) < words.length) return 0;
    const together = (/** @type {string[]} */ some) => ` ${some.join(" ")} `.includes(` ${words.join(" ")} `);
    const named = hits(words, title) / words.length;
    let points = 1 + 20 * named + (together(title) ? 30 : 0) + (together(text) ? 8 : 0);
    points += Math.min(6, text.filter((word) => words.includes(word)).length);
    if (title.slice(0, words.length).join(" ") === words.join(" ")) points += 20;
    if (entry.kind === "term" && named === 1) points += 60;
    if (entry.kind === "code") points = named === 1 && title.length === words.length ? points - 10 : points / 4;
    return points;
  }

  /** @param {Record<string, Entry[]>} index @param {string} query @returns {Entry[]} best first */
  function find(index, query) {
    const words = tokens(query);
    if (!words.length) return [];
    return Object.entries(index)
      .flatMap(([file, entries]) => entries.map((entry) => ({ ...entry, file })))
      .map((entry) => ({ entry, points: score(entry, words) }))
      .filter(({ points }) => points > 0)
      .sort((a, b) => b.points - a.points)
      .map(({ entry }) => entry);
  }

  /** The text around the first of the words. @param {string} text @param {string[]} words */
  function excerpt(text, words) {
    const at = Math.max(0, text.toLowerCase().search(new RegExp(`\\b(${words.join("|")})`, "u")));
    const from = at > AROUND ? text.indexOf(" ", at - AROUND) + 1 : 0;
    const cut = text.slice(from, from + 3 * AROUND);
    const whole = from + cut.length >= text.length;
    return `${from ? "… " : ""}${whole ? cut : `${cut.slice(0, cut.lastIndexOf(" "))} …`}`;
  }

  /** The words of the question stand out. @param {string} text @param {string[]} words */
  function marked(text, words) {
    const parts = text.split(new RegExp(`(?<![\\p{L}\\p{N}_])((?:${words.join("|")})[\\p{L}\\p{N}_]*)`, "giu"));
    return parts.map((part, i) =>
      i % 2 ? Object.assign(document.createElement("mark"), { textContent: part }) : part,
    );
  }

  /** @param {Entry} entry @param {string[]} words */
  function item(entry, words) {
    const link = Object.assign(document.createElement("a"), {
      href: `${entry.file}.html${entry.place ? `#${entry.place}` : ""}`,
      textContent: entry.title,
    });
    const where = document.createElement("small");
    where.textContent = entry.kind === "term" ? "definition" : entry.title === entry.page ? "" : entry.page;
    const text = document.createElement("p");
    text.append(...marked(excerpt(entry.text, words), words));
    const li = document.createElement("li");
    li.className = `search-${entry.kind}`;
    li.append(link, " ", where, text);
    return li;
  }

  function main() {
    const query = new URLSearchParams(location.search).get("q")?.slice(0, 200).trim() ?? "";
    const place = document.getElementById("search-results");
    if (!place) return;
    for (const input of document.querySelectorAll("form.bd-search input")) Object.assign(input, { value: query });
    const found = find(Reflect.get(globalThis, "scalingSearch"), query);
    const status = Object.assign(document.createElement("p"), { role: "status" });
    const list = document.createElement("ol");
    list.className = "search-results";
    list.append(...found.slice(0, MOST).map((entry) => item(entry, tokens(query))));
    place.replaceChildren(status, list);
    if (!query) status.textContent = "Sections, terms and functions of the whole book: type a word, such as KV cache.";
    else if (!found.length) status.textContent = `Nothing has all the words of “${query}”. Try fewer of them.`;
    else if (found.length > MOST) status.textContent = `The first ${MOST} of ${found.length} places for “${query}”:`;
    else status.textContent = `${found.length} ${found.length === 1 ? "place" : "places"} for “${query}”:`;
  }

  main();
})();

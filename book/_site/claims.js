// Filters for the ledger of claims. The table is whole without this script.
(() => {
  /**
   * @template {keyof HTMLElementTagNameMap} Tag
   * @param {Tag} tag
   * @param {string} text
   * @param {object} properties
   */
  const make = (tag, text, properties = {}) =>
    Object.assign(document.createElement(tag), { textContent: text }, properties);

  /** A menu with its label. @param {string} name @param {string} all @param {string[][]} options value and text */
  function menu(name, all, options) {
    const id = `claims-${name.toLowerCase()}`;
    const select = make("select", "", { id });
    for (const [value, text] of [["", all], ...options]) select.append(make("option", text, { value }));
    const field = make("div", "");
    field.append(make("label", name, { htmlFor: id }), select);
    return { field, select };
  }

  /** @param {HTMLElement} group the claims of one section */
  const sectionOf = (group) => [
    group.dataset.section ?? "",
    group.querySelector(".claims-section th")?.firstChild?.textContent ?? "",
  ];

  /** @param {ParentNode} place @returns {HTMLElement[]} */
  const claims = (place) => [...place.querySelectorAll("tr")].filter((row) => row.dataset.verdict);

  /** Shows the claims of a verdict and a section; "" is all of them. @param {HTMLElement[]} groups @returns how many */
  function filter(groups, verdict = "", section = "") {
    let count = 0;
    for (const group of groups) {
      const rows = claims(group);
      for (const row of rows) row.hidden = verdict !== "" && row.dataset.verdict !== verdict;
      const here = rows.filter((row) => !row.hidden).length;
      group.hidden = !here || (section !== "" && group.dataset.section !== section);
      if (!group.hidden) count += here;
    }
    return count;
  }

  /** The claim that the address points to, if it is one. An address may hold anything. */
  function linked() {
    try {
      return document.getElementById(decodeURIComponent(location.hash.slice(1)));
    } catch {
      return null; // half a percent sign
    }
  }

  /** @param {HTMLTableElement} table */
  function controls(table) {
    const groups = [...table.tBodies];
    const verdicts = [...new Set(claims(table).map((row) => row.dataset.verdict ?? ""))].sort();
    const verdict = menu(
      "Verdict",
      "all verdicts",
      verdicts.map((name) => [name, name]),
    );
    const section = menu("Section", "all sections", groups.map(sectionOf));
    const reset = make("button", "Show all", { type: "button" });
    const status = make("p", "", { role: "status" });
    const form = make("form", "", { className: "claims-filter", ariaLabel: "Filter the claims" });
    form.append(verdict.field, section.field, reset, status);
    return { groups, form, reset, status, verdict: verdict.select, section: section.select };
  }

  /** @param {HTMLTableElement} table */
  function start(table) {
    const { groups, form, reset, status, verdict, section } = controls(table);
    const all = claims(table).length;
    const apply = () => {
      status.textContent = `${filter(groups, verdict.value, section.value)} of ${all} claims shown.`;
      reset.disabled = !verdict.value && !section.value;
    };
    const clear = () => {
      verdict.value = section.value = "";
      apply();
    };
    // A link to a claim shows it, whatever the filters say.
    const reveal = () => {
      const target = linked();
      if (!target || !table.contains(target)) return;
      if (target.closest("[hidden]")) clear();
      target.scrollIntoView();
    };
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("change", apply);
    reset.addEventListener("click", () => {
      clear();
      verdict.focus();
    });
    addEventListener("hashchange", reveal);
    const asked = new URLSearchParams(location.search);
    for (const select of [verdict, section]) {
      const value = asked.get(select === verdict ? "verdict" : "section") ?? "";
      if ([...select.options].some((option) => option.value === value)) select.value = value;
    }
    table.before(form);
    apply();
    reveal();
  }

  const table = document.querySelector(".claims-table");
  if (table instanceof HTMLTableElement) start(table);
})();

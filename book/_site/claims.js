// Filters for the ledger of claims. The table is whole without this script.
(() => {
  const table = document.querySelector(".claims-table");
  if (!table) return;
  const groups = [...table.querySelectorAll("tbody")];
  const rows = [...table.querySelectorAll("tr[data-verdict]")];

  const make = (tag, text, attributes = {}) => {
    const element = Object.assign(document.createElement(tag), attributes);
    element.textContent = text;
    return element;
  };

  const form = make("form", "", { className: "claims-filter" });
  form.setAttribute("aria-label", "Filter the claims");
  const choose = (name, all, options) => {
    const id = `claims-${name.toLowerCase()}`;
    const select = make("select", "", { id });
    select.append(make("option", all, { value: "" }));
    for (const [value, text] of options) select.append(make("option", text, { value }));
    const field = make("div", "");
    field.append(make("label", name, { htmlFor: id }), select);
    form.append(field);
    return select;
  };
  const verdicts = [...new Set(rows.map((row) => row.dataset.verdict))].sort();
  const verdict = choose("Verdict", "all verdicts", verdicts.map((v) => [v, v]));
  const section = choose("Section", "all sections", groups.map((g) => [
    g.dataset.section, g.querySelector(".claims-section th").firstChild.textContent,
  ]));
  const reset = make("button", "Show all", { type: "button" });
  const status = make("p", "");
  status.setAttribute("role", "status");
  form.append(reset, status);
  table.before(form);

  const apply = () => {
    let count = 0;
    for (const group of groups) {
      let here = 0;
      for (const row of group.querySelectorAll("tr[data-verdict]")) {
        row.hidden = !!verdict.value && row.dataset.verdict !== verdict.value;
        here += !row.hidden;
      }
      group.hidden = !here || (!!section.value && group.dataset.section !== section.value);
      if (!group.hidden) count += here;
    }
    reset.disabled = !verdict.value && !section.value;
    status.textContent = `${count} of ${rows.length} claims shown.`;
  };
  const clear = () => { verdict.value = section.value = ""; apply(); };

  // A link to a claim shows it, whatever the filters say.
  const reveal = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target || !table.contains(target)) return;
    if (target.closest("[hidden]")) clear();
    target.scrollIntoView();
  };

  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("change", apply);
  reset.addEventListener("click", () => { clear(); verdict.focus(); });
  addEventListener("hashchange", reveal);

  const asked = new URLSearchParams(location.search);
  for (const [select, name] of [[verdict, "verdict"], [section, "section"]]) {
    const value = asked.get(name);
    if ([...select.options].some((option) => option.value === value)) select.value = value;
  }
  apply();
  reveal();
})();

"use strict";
(() => {
  const form = document.querySelector(".filters");
  const list = document.querySelector(".list");
  if (!form || !list) return;
  const rows = Array.from(list.children);
  const ladder = ["ERROR", "FAIL", "REFUSED", "EQUIVALENT", "EXACT"];
  const texts = new Map();
  const output = form.querySelector("output");
  const number = new Intl.NumberFormat("en");
  form.hidden = false;

  const textOf = (row) => {
    let text = texts.get(row);
    if (text === undefined) { text = row.textContent.toLowerCase(); texts.set(row, text); }
    return text;
  };
  const has = (value, wanted, separator) => (value || "").split(separator).includes(wanted);
  const tests = {
    grade: (row, wanted) => row.dataset.g === wanted,
    basis: (row, wanted) => row.dataset.b === wanted,
    flag: (row, wanted) => row.dataset.f === wanted,
    flip: (row, wanted) => has(row.dataset.x, wanted, " "),
    tag: (row, wanted) => has(row.dataset.t, wanted, ";"),
    kind: (row, wanted) => has(row.dataset.k, wanted, " "),
    q: (row, wanted) => wanted.toLowerCase().split(/\s+/).every((word) => textOf(row).includes(word)),
  };
  const position = new Map(rows.map((row, index) => [row, index]));
  const idOf = (row) => row.querySelector(".id").textContent;
  const orders = {
    "": (a, b) => position.get(a) - position.get(b),
    grade: (a, b) => ladder.indexOf(a.dataset.g) - ladder.indexOf(b.dataset.g),
    latency: (a, b) => (b.dataset.l || 0) - (a.dataset.l || 0),
    passes: (a, b) => (a.dataset.p || 1) - (b.dataset.p || 1),
    id: (a, b) => idOf(a).localeCompare(idOf(b), "en", { numeric: true }),
  };
  let sorted = "";

  const wanted = () => Object.fromEntries(Array.from(new FormData(form)).filter(([, value]) => String(value).trim()));

  const apply = (remember) => {
    const filters = wanted();
    const order = filters.sort || "";
    if (order !== sorted && orders[order]) {
      const keyed = rows.slice().sort((a, b) => orders[order](a, b) || orders[""](a, b));
      list.replaceChildren(...keyed);
      sorted = order;
    }
    const active = Object.entries(filters).filter(([name]) => name in tests);
    let shown = 0;
    for (const row of rows) {
      const keep = active.every(([name, value]) => tests[name](row, String(value).trim()));
      if (row.hidden === keep) row.hidden = !keep;
      if (keep) shown += 1;
    }
    output.value = shown === rows.length
      ? `${number.format(rows.length)} cases`
      : `${number.format(shown)} of ${number.format(rows.length)} cases`;
    if (remember) {
      const query = new URLSearchParams(filters).toString();
      history.replaceState(null, "", query ? `#?${query}` : "#cases");
    }
  };

  const fill = (query) => {
    form.reset();
    for (const [name, value] of new URLSearchParams(query)) {
      const field = form.elements.namedItem(name);
      if (field) field.value = value;
    }
  };

  const follow = () => {
    const hash = location.hash;
    if (hash.startsWith("#?")) {
      fill(hash.slice(2));
      apply(false);
      form.scrollIntoView();
      return;
    }
    if (!hash.startsWith("#case-")) return;
    const target = document.getElementById(hash.slice(1));
    const row = target && target.closest("details");
    if (!row) return;
    if (row.hidden) { form.reset(); apply(false); }
    row.open = true;
    row.scrollIntoView();
    row.querySelector("summary").focus({ preventScroll: true });
  };

  let waiting = 0;
  form.addEventListener("input", (event) => {
    clearTimeout(waiting);
    waiting = setTimeout(() => apply(true), event.target.name === "q" ? 120 : 0);
  });
  form.addEventListener("reset", () => setTimeout(() => apply(true), 0));
  form.addEventListener("submit", (event) => event.preventDefault());
  document.addEventListener("click", (event) => {
    const link = event.target.closest && event.target.closest("[data-filter]");
    if (!link) return;
    event.preventDefault();
    fill(link.dataset.filter);
    apply(true);
    form.scrollIntoView();
  });
  list.addEventListener("toggle", (event) => {
    const row = event.target;
    if (row.parentElement !== list || !row.open) return;
    const body = row.querySelector(".b");
    if (body && location.hash !== `#${body.id}`) history.replaceState(null, "", `#${body.id}`);
  }, true);
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key === "/" && !typing) { event.preventDefault(); form.elements.q.focus(); return; }
    if (event.key === "Escape" && event.target.name === "q") { form.elements.q.value = ""; apply(true); return; }
    if (typing || event.ctrlKey || event.metaKey || event.altKey || (event.key !== "j" && event.key !== "k")) return;
    const visible = Array.from(list.children).filter((row) => !row.hidden);
    const here = visible.findIndex((row) => row.contains(document.activeElement));
    const next = visible[Math.max(0, Math.min(visible.length - 1, here + (event.key === "j" ? 1 : -1)))];
    if (next) next.querySelector("summary").focus();
  });
  addEventListener("hashchange", follow);
  apply(false);
  follow();
})();

"use strict";
// A click on the title of a column sorts its table: numbers by size, with the units of times, and texts by letter.
const units = { ns: 1, us: 1e3, ms: 1e6, s: 1e9 };
function value(row, column) {
  const text = row.cells[column].textContent.trim();
  const found = /^([-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?)(?:\s*(ns|us|ms|s)\b)?/i.exec(text);
  return found ? [0, Number(found[1].replaceAll(",", "")) * (units[found[2]] ?? 1), text] : [1, 0, text];
}
for (const table of document.querySelectorAll("table")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.firstElementChild.addEventListener("click", () => {
    const sign = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
    const rows = [...table.tBodies[0].rows].map((row) => [value(row, column), row]);
    rows.sort(([a], [b]) => a[0] - b[0] || sign * (a[1] - b[1] || a[2].localeCompare(b[2])));
    table.tBodies[0].append(...rows.map(([, row]) => row));
  }));
}

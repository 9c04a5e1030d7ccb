"use strict";
// One figure is one stop of the Tab key; within it the arrow keys walk from tick to tick.
for (const section of document.querySelectorAll("section")) {
  const columns = [...section.querySelectorAll(".column")];
  const told = section.querySelector(".told");
  let current = null;

  const tell = (column) => {
    if (column === current) return;
    if (current) {
      current.classList.remove("on");
      current.setAttribute("tabindex", "-1");
    }
    current = column;
    column.classList.add("on");
    column.setAttribute("tabindex", "0");
    told.textContent = column.getAttribute("aria-label");
  };

  const steps = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };

  columns.forEach((column, index) => {
    column.addEventListener("pointerenter", () => tell(column));
    column.addEventListener("click", () => tell(column));
    column.addEventListener("focus", () => tell(column));
    column.addEventListener("keydown", (event) => {
      if (!(event.key in steps)) return;
      event.preventDefault();
      const next = Math.min(Math.max(index + steps[event.key], 0), columns.length - 1);
      columns[next].focus();
    });
  });
}

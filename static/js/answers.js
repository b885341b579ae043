/* The arrow keys lead to the question before and the next one. */

const links = { ArrowLeft: "prev", ArrowRight: "next" };

document.addEventListener("keydown", (event) => {
  const away = event.altKey || event.ctrlKey || event.metaKey || event.shiftKey;
  // Where the arrows move something else, such as a box that scrolls, they stay what they are.
  if (away || event.target.closest("input, select, textarea, [tabindex], pre")) return;
  const link = links[event.key] && document.querySelector(`a[rel="${links[event.key]}"]`);
  if (link) link.click();
});

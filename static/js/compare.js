/* Two conversations side by side: the keys of the buttons, and the moment after which a vote stands. */

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (event.target.closest?.("input, textarea, select, [contenteditable]")) return;
  const button = document.querySelector(`[data-key="${CSS.escape(event.key.toLowerCase())}"]`);
  if (!button) return;
  event.preventDefault();
  button.click();
});

for (const form of document.querySelectorAll("form")) {
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) event.preventDefault(); // a second key is no second vote
    form.dataset.sent = "true";
  });
}

for (const gone of document.querySelectorAll("[data-gone-after]")) {
  setTimeout(() => { gone.hidden = true; }, Number(gone.dataset.goneAfter));
}

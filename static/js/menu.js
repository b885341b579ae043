/* The sheet of the top bar on a phone, and the lists that open over a page. Escape and a press elsewhere close them. */

export function sheet(button) {
  const box = document.getElementById(button.dataset.menu);
  const open = (is) => {
    box.classList.toggle("open", is);
    button.setAttribute("aria-expanded", String(is));
  };
  button.addEventListener("click", () => open(!box.classList.contains("open")));
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !box.classList.contains("open")) return;
    open(false);
    button.focus();
  });
}

export function menu(details) {
  document.addEventListener("click", (event) => {
    if (!details.contains(event.target)) details.open = false;
  });
  details.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !details.open) return;
    details.open = false;
    details.querySelector("summary").focus();
  });
}

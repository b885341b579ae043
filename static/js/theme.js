/* The switch of the top bar: system, light, dark. */
import { recall, remember } from "./storage.js";

const ORDER = ["system", "light", "dark"];

export function themeSwitch(button) {
  const name = button.querySelector("[data-theme-name]");
  let theme = recall("theme", "system");
  if (!ORDER.includes(theme)) theme = "system";

  function show() {
    if (theme === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    name.textContent = button.dataset[theme];
    button.setAttribute("aria-label", `${button.dataset.label}: ${button.dataset[theme]}`);
  }

  button.addEventListener("click", () => {
    theme = ORDER[(ORDER.indexOf(theme) + 1) % ORDER.length];
    remember("theme", theme);
    show();
  });
  show();
}

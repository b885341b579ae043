/* What every page needs. */
import { copyButton } from "./copy.js";
import { menu, sheet } from "./menu.js";
import { themeSwitch } from "./theme.js";
import { relativeTime } from "./time.js";

document.querySelectorAll("[data-theme-switch]").forEach(themeSwitch);
document.querySelectorAll("[data-menu]").forEach(sheet);
document.querySelectorAll("details.menu").forEach(menu);
document.querySelectorAll("[data-copy]").forEach(copyButton);
document.querySelectorAll("time[data-ago]").forEach(relativeTime);

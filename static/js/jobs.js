/* The page of jobs: while one is under way, the list is fetched anew every second and put in place of the old one. */
import { relativeTime } from "./time.js";

const EVERY_MS = 1000;

async function refresh() {
  const answer = await fetch(location.href).catch(() => null);
  if (answer?.ok) {
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const list = page.querySelector("[data-jobs]");
    const focused = document.activeElement?.closest("[data-jobs] form")?.getAttribute("action");
    if (!list) return;
    document.querySelector("[data-jobs]").replaceWith(list);
    list.querySelectorAll("time[data-ago]").forEach(relativeTime);
    if (focused) list.querySelector(`form[action="${CSS.escape(focused)}"] button`)?.focus();
    if (!list.hasAttribute("data-busy")) return;
  }
  setTimeout(refresh, EVERY_MS);
}

if (document.querySelector("[data-busy]")) setTimeout(refresh, EVERY_MS);

/* A part of a page that changes by itself: while it is marked as busy, the page is fetched anew and the part replaced. */
import { relativeTime } from "./time.js";

const EVERY_MS = 2000;

async function refresh() {
  const answer = await fetch(location.href).catch(() => null);
  if (answer?.ok) {
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const part = page.querySelector("[data-live]");
    if (!part) return;
    if (!part.hasAttribute("data-busy")) return location.reload();
    const here = document.querySelector("[data-live]");
    if (!here.contains(document.activeElement)) {
      here.replaceWith(part);
      part.querySelectorAll("time[data-ago]").forEach(relativeTime);
    }
  }
  setTimeout(refresh, EVERY_MS);
}

if (document.querySelector("[data-live][data-busy]")) setTimeout(refresh, EVERY_MS);

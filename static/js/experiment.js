/* The page of an experiment: while it is under way, it is fetched anew every other second and put in place. */

const EVERY_MS = 2000;

async function refresh() {
  const answer = await fetch(location.href).catch(() => null);
  if (answer?.ok) {
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const fresh = page.querySelector("[data-experiment]");
    const here = document.querySelector("[data-experiment]");
    if (!fresh) return;
    const focused = here.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
    here.replaceWith(fresh);
    if (focused) fresh.querySelector(`[href="${CSS.escape(focused)}"]`)?.focus();
    if (!fresh.hasAttribute("data-busy")) return;
  }
  setTimeout(refresh, EVERY_MS);
}

if (document.querySelector("[data-busy]")) setTimeout(refresh, EVERY_MS);

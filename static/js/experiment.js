/* The page of an experiment: while it is played, what has changed is fetched every other second and put in place. */

const EVERY_MS = 2000;
const page = document.querySelector("[data-changes]");

/** A piece takes the place of the one with its id; what was scrolled and where the keyboard was stay. */
function put(fresh) {
  const here = document.getElementById(fresh.id);
  if (!here) return document.getElementById(`place-${fresh.dataset.place}`)?.append(fresh);
  const focused = here.contains(document.activeElement) ? document.activeElement : null;
  const scrolled = here.querySelector(".newest")?.scrollTop ?? 0;
  here.replaceWith(fresh);
  fresh.querySelector(".newest")?.scrollTo(0, scrolled);
  if (focused === here) fresh.focus();
  else if (focused?.hasAttribute("href")) fresh.querySelector(`[href="${CSS.escape(focused.getAttribute("href"))}"]`)?.focus();
  else if (focused) fresh.querySelector("[tabindex]")?.focus();
}

async function refresh() {
  const address = `${page.dataset.changes}?since=${encodeURIComponent(page.dataset.since)}`;
  const answer = await fetch(address).catch(() => null);
  if (answer?.ok) {
    const changes = new DOMParser().parseFromString(await answer.text(), "text/html").body.firstElementChild;
    if (!changes?.dataset.since) return location.reload();
    page.dataset.since = changes.dataset.since;
    for (const piece of [...changes.children]) put(piece);
  }
  setTimeout(refresh, EVERY_MS);
}

if (page) setTimeout(refresh, EVERY_MS);

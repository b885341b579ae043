/* "3 hours ago" for every <time datetime>, with the exact time on hover. */

const UNITS = [["year", 31536000], ["month", 2592000], ["week", 604800], ["day", 86400], ["hour", 3600], ["minute", 60]];
const relative = new Intl.RelativeTimeFormat(document.documentElement.lang || "en", { numeric: "auto" });
const exact = new Intl.DateTimeFormat(document.documentElement.lang || "en", { dateStyle: "medium", timeStyle: "short" });

export function ago(date, now = Date.now()) {
  const seconds = (date.getTime() - now) / 1000;
  for (const [unit, size] of UNITS) {
    if (Math.abs(seconds) >= size) return relative.format(Math.trunc(seconds / size), unit);
  }
  return relative.format(0, "minute");
}

export function relativeTime(element) {
  const date = new Date(element.dateTime);
  if (Number.isNaN(date.getTime())) return;
  element.title = exact.format(date);
  element.textContent = ago(date);
}

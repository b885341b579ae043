/* A ranking as data: a list of ranks, best first, each a list of equal labels. Every function returns a new one. */

export const rankOf = (ranks, label) => ranks.findIndex((rank) => rank.includes(label)) + 1;
export const without = (ranks, label) => ranks.map((rank) => rank.filter((one) => one !== label)).filter((rank) => rank.length);

/** Behind all others; or out of the ranking, where it is in it. */
export const toggled = (ranks, label) => (rankOf(ranks, label) ? without(ranks, label) : [...ranks, [label]]);

/** As number `place`: equal to those who have it, or behind all where nobody has. */
export function placed(ranks, label, place) {
  const rest = without(ranks, label);
  if (place > rest.length) return [...rest, [label]];
  return rest.map((rank, index) => (index === place - 1 ? [...rank, label].sort() : rank));
}

/** One rank up (-1) or down (1); out of a tie first. */
export function moved(ranks, label, by) {
  const from = rankOf(ranks, label) - 1;
  const isTied = ranks[from].length > 1;
  const rest = without(ranks, label);
  const to = isTied ? from + (by > 0 ? 1 : 0) : from + by;
  return [...rest.slice(0, Math.max(0, to)), [label], ...rest.slice(Math.max(0, to))];
}

/** Equal to the rank before it. */
export function tied(ranks, label) {
  const rank = rankOf(ranks, label);
  return rank < 2 ? ranks : placed(ranks, label, rank - 1);
}

/** Right before `other`; what a drop means. */
export function before(ranks, label, other) {
  if (label === other) return ranks;
  const rest = without(ranks, label);
  const to = rankOf(rest, other) - 1;
  return [...rest.slice(0, to), [label], ...rest.slice(to)];
}

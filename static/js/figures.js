/* Figures as people read them; `battles/templatetags/battle_figures.py` says them the same way. */

const thousands = new Intl.NumberFormat("en");

export const seconds = (ms) => `${(ms / 1000).toFixed(ms < 1000 ? 2 : 1)} s`;
export const whole = (figure) => thousands.format(Math.round(figure));
export const signed = (figure) => (Math.round(figure) < 0 ? `−${whole(-figure)}` : `+${whole(figure)}`);
export const dollars = (cost) => (cost < 0.01 ? `$${Number(cost.toPrecision(2))}` : `$${cost.toFixed(2)}`);

/** `{name} has answered` and {name: "A"} become "A has answered". */
export function fill(words, values) {
  return words.replace(/\{(\w+)\}/g, (whole, key) => values[key] ?? whole);
}

/* How a text that a model writes gets into the page: only what is new is drawn, so that a reader's selection and place
   stay. `parts` are the elements, by name. */
import { dollars, seconds, whole } from "./figures.js";

const FIGURES = { latency_ms: seconds, first_token_ms: seconds, output_tokens: whole, cost: dollars };

export class Drawn {
  parts = {};
  shown = {};

  /** Finished blocks. */
  html(html) {
    const { shown, parts } = this;
    if (html === shown.html) return;
    if (shown.html && html.startsWith(shown.html)) parts.html.insertAdjacentHTML("beforeend", html.slice(shown.html.length));
    else parts.html.innerHTML = html;
    shown.html = html;
  }

  /** Plain text that grows, under a name of its own. */
  text(name, element, text) {
    const before = this.shown[name];
    if (text === before) return;
    if (before && text.startsWith(before) && element.firstChild) element.firstChild.appendData(text.slice(before.length));
    else element.textContent = text;
    this.shown[name] = text;
  }

  metrics(metrics) {
    let any = false;
    for (const figure of this.parts.metrics.querySelectorAll("[data-figure]")) {
      const value = metrics?.[figure.dataset.figure] ?? null;
      figure.textContent = value === null ? "" : FIGURES[figure.dataset.figure](value);
      figure.parentElement.hidden = value === null;
      any ||= value !== null;
    }
    this.parts.metrics.hidden = !any;
  }
}

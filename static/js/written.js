/* A text that a model writes, in the page: finished blocks, the open tail, the reasoning, and how that went. */
import { dollars, fill, seconds, whole } from "./figures.js";

const FIGURES = { latency_ms: seconds, first_token_ms: seconds, output_tokens: whole, cost: dollars };
const PARTS = ["live", "live-words", "reasoning", "reasoning-length", "reasoning-text", "shimmer", "html", "tail", "stopped", "failure", "metrics"];

export class Written {
  constructor(element, words) {
    Object.assign(this, { element, words, shown: {} });
    this.parts = Object.fromEntries(PARTS.map((name) => [name, element.querySelector(`[data-${name}]`)]));
  }

  /** Draws `written`, touching only what differs, so that a reader's selection and place stay. */
  render(written) {
    const { parts } = this;
    const live = written.status === "waiting" || written.status === "streaming";
    this.html(written.html);
    this.text("tail", parts.tail, written.tail);
    parts.tail.hidden = !written.tail.trim();
    this.reasoning(written.reasoning);
    const hasText = Boolean(written.html || written.tail.trim());
    this.element.setAttribute("aria-busy", String(live));
    parts.live.hidden = !live;
    if (live) this.say(hasText ? this.words.writing : this.before(written));
    parts.shimmer.hidden = !live || hasText;
    parts.stopped.hidden = written.status !== "stopped";
    parts.failure.hidden = live || !written.message;
    parts.failure.textContent = written.message;
    this.metrics(live ? null : written.metrics);
  }

  before(written) {
    if (written.reasoning) return this.words.reasoning;
    if (written.place < 0) return this.words.waking;
    return written.place ? fill(this.words.waiting, { place: written.place }) : this.words.thinking;
  }

  say(words) {
    if (this.parts["live-words"].textContent !== words) this.parts["live-words"].textContent = words;
  }

  html(html) {
    const { shown, parts } = this;
    if (html === shown.html) return;
    if (shown.html && html.startsWith(shown.html)) parts.html.insertAdjacentHTML("beforeend", html.slice(shown.html.length));
    else parts.html.innerHTML = html;
    shown.html = html;
  }

  reasoning(reasoning) {
    const { parts } = this;
    this.text("reasoning", parts["reasoning-text"], reasoning);
    parts.reasoning.hidden = !reasoning;
    if (reasoning) parts["reasoning-length"].textContent = fill(this.words.words, { number: whole(reasoning.trim().split(/\s+/).length) });
  }

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

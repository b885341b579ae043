/* A text that a model writes, in the page: finished blocks, the open tail, the reasoning, and how that went. */
import { Drawn } from "./drawn.js";
import { fill, whole } from "./figures.js";

const PARTS = ["live", "live-words", "reasoning", "reasoning-length", "reasoning-text", "shimmer", "html", "tail", "stopped", "failure", "metrics"];

export class Written extends Drawn {
  constructor(element, words) {
    super();
    Object.assign(this, { element, words });
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

  reasoning(reasoning) {
    const { parts } = this;
    this.text("reasoning", parts["reasoning-text"], reasoning);
    parts.reasoning.hidden = !reasoning;
    if (reasoning) parts["reasoning-length"].textContent = fill(this.words.words, { number: whole(reasoning.trim().split(/\s+/).length) });
  }
}

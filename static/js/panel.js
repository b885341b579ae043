/* One side's answer in one turn. `render` draws it whole; the other methods add what a frame brings. */
import { isLive } from "./battle-state.js";
import { Drawn } from "./drawn.js";
import { fill, whole, signed } from "./figures.js";

export class Panel extends Drawn {
  constructor(element, words) {
    super();
    this.element = element;
    this.words = words;
    for (const name of ["name", "about", "mark", "live", "liveWords", "reasoning", "reasoningLength", "reasoningText",
      "shimmer", "html", "tail", "stopped", "failure", "message", "attempt", "metrics"]) {
      this.parts[name] = element.querySelector(`[data-${name.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`)}]`);
    }
  }

  /** `can.regenerate`: this is the last turn, and it was not judged. `isChosen`: the vote went to this side. */
  render(response, side, { can, isChosen }) {
    this.head(side, isChosen);
    this.html(response.html);
    this.tail(response.tail);
    this.reasoning(response.reasoning);
    this.status(response, can);
    this.metrics(response.metrics);
  }

  head(side, isChosen) {
    this.element.setAttribute("aria-label", side.name);
    this.element.classList.toggle("chosen", isChosen);
    this.parts.name.textContent = side.name;
    this.parts.mark.hidden = !isChosen;
    const model = side.model;
    const about = [];
    if (model?.organisation) about.push(model.organisation);
    if (model && model.rating !== null) {
      const change = model.rating_change === null ? "" : ` ${signed(model.rating_change)}`;
      about.push(`${this.words.rating} ${whole(model.rating)}${change} (${whole(model.rating_lower)}–${whole(model.rating_upper)})`);
    }
    this.parts.about.textContent = about.join(" · ");
    this.parts.about.hidden = about.length === 0;
  }

  tail(tail) {
    this.text("tail", this.parts.tail, tail);
    this.parts.tail.hidden = !tail.trim();
  }

  reasoning(reasoning) {
    this.text("reasoning", this.parts.reasoningText, reasoning);
    this.parts.reasoning.hidden = !reasoning;
    if (!reasoning) return;
    this.parts.reasoningLength.textContent = fill(this.words.words, { number: whole(reasoning.trim().split(/\s+/).length) });
  }

  status(response, can) {
    const { parts, element, words } = this;
    const live = isLive(response);
    const hasText = Boolean(response.html || response.tail.trim());
    const isFailed = response.status === "failed" || response.status === "interrupted";
    element.dataset.status = response.status;
    element.dataset.response = response.id;
    element.setAttribute("aria-busy", String(live));
    parts.live.hidden = !live;
    if (live) this.say(hasText ? words.writing : response.reasoning ? words.reasoning : response.waiting || words.thinking);
    parts.shimmer.hidden = !live || hasText;
    parts.stopped.hidden = response.status !== "stopped";
    parts.failure.hidden = !isFailed;
    parts.message.textContent = response.message;
    parts.attempt.hidden = response.attempt < 2;
    parts.attempt.textContent = fill(words.attempt, { number: response.attempt });
    const shows = {
      stop: live, copy: !live && hasText, like: !live && hasText, dislike: !live && hasText,
      regenerate: !live && can.regenerate,
    };
    for (const button of element.querySelectorAll("button[data-do]")) {
      const action = button.dataset.do;
      button.hidden = !shows[action] || ("again" in button.dataset && isFailed);
      if (action === "like" || action === "dislike") button.setAttribute("aria-pressed", String(response.reaction === action));
    }
  }

  say(words) {
    if (this.parts.liveWords.textContent !== words) this.parts.liveWords.textContent = words;
  }
}

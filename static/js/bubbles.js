/* All turns of a conversation in the page. Knows which bubble shows which turn. */
import { fill } from "./figures.js";
import { isLive } from "./conversation-state.js";
import { Written } from "./written.js";

export class Bubbles {
  constructor(list, template, words) {
    Object.assign(this, { list, template, words });
    this.shown = new Map();
  }

  /** Draws the whole state. */
  render(state) {
    for (const [position, { element }] of this.shown) {
      if (state.turns.some((turn) => turn.position === position)) continue;
      element.remove();
      this.shown.delete(position);
    }
    for (const turn of state.turns) this.turn(state, turn);
  }

  turn(state, turn) {
    const bubble = this.shown.get(turn.position) ?? this.add(turn);
    const { element, written } = bubble;
    const agent = state.agents.find((one) => one.side === turn.speaker);
    const name = agent?.name ?? this.words.moderator;
    element.className = `bubble ${turn.speaker}`;
    element.dataset.turn = turn.id;
    if (turn.number) element.id = `turn-${turn.number}`;
    element.dataset.status = turn.status;
    element.querySelector("[data-badge]").textContent = agent ? turn.speaker.toUpperCase() : "·";
    element.querySelector("[data-name]").textContent = name;
    const about = [turn.number && fill(this.words.turn, { number: turn.number, all: state.progress.max_turns })];
    if (turn.attempt > 1) about.push(fill(this.words.attempt, { number: turn.attempt }));
    element.querySelector("[data-number]").textContent = about.filter(Boolean).join(" · ");
    element.querySelector("[data-refusal]").hidden = !turn.is_refusal;
    for (const button of element.querySelectorAll("button[data-do]")) button.hidden = isLive(turn) || !turn.text;
    written.render(turn);
  }

  add(turn) {
    const element = this.template.content.firstElementChild.cloneNode(true);
    element.dataset.position = turn.position;
    const bubble = { element, written: new Written(element, this.words) };
    const after = [...this.shown.keys()].filter((position) => position < turn.position);
    if (after.length) this.shown.get(Math.max(...after)).element.after(element);
    else this.list.prepend(element);
    this.shown.set(turn.position, bubble);
    return bubble;
  }
}

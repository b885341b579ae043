/* All turns of a battle in the page. Knows which panel shows which response. */
import { isJudged, lastTurn } from "./battle-state.js";
import { fill } from "./figures.js";
import { Panel } from "./panel.js";

export class Turns {
  constructor(root, template, words) {
    Object.assign(this, { root, template, words });
    this.turns = new Map();
  }

  /** Draws the whole state, touching only what differs. */
  render(state) {
    for (const [number, turn] of this.turns) {
      if (state.turns.some((one) => one.number === number)) continue;
      turn.element.remove();
      this.turns.delete(number);
    }
    for (const turn of state.turns) this.renderTurn(state, turn);
  }

  renderTurn(state, turn) {
    const shown = this.turns.get(turn.number) ?? this.add(turn);
    shown.open.hidden = !turn.is_open;
    for (const response of turn.responses) this.renderResponse(state, turn, response);
  }

  renderResponse(state, turn, response) {
    const side = state.sides.find((one) => one.label === response.side);
    const judged = isJudged(state, turn);
    const can = { regenerate: turn === lastTurn(state) && !judged };
    const best = state.preference?.ranking?.[0] ?? [state.preference?.choice];
    const isChosen = judged && best.includes(response.side);
    this.turns.get(turn.number).panels.get(response.side).render(response, side, { can, isChosen });
  }

  panel(turn, side) {
    return this.turns.get(turn.number)?.panels.get(side);
  }

  add(turn) {
    const element = this.template.content.firstElementChild.cloneNode(true);
    element.dataset.turn = turn.number;
    element.setAttribute("aria-label", fill(this.words.turn, { number: turn.number }));
    const panels = new Map();
    for (const panel of element.querySelectorAll("[data-side]")) panels.set(panel.dataset.side, new Panel(panel, this.words));
    const shown = { element, panels, open: element.querySelector("[data-open]"), prompt: element.querySelector("[data-prompt]") };
    shown.prompt.textContent = turn.prompt;
    this.images(element.querySelector("[data-images]"), turn.images);
    this.turns.set(turn.number, shown);
    this.root.append(element);
    this.fold(shown);
    return shown;
  }

  /** What was asked about, each a link to itself. */
  images(list, images) {
    list.hidden = !images.length;
    for (const [index, image] of images.entries()) {
      const entry = list.nextElementSibling.content.firstElementChild.cloneNode(true);
      entry.querySelector("a").href = image.url;
      const { url: src, width, height } = image;
      Object.assign(entry.querySelector("img"), { src, width, height, alt: fill(list.dataset.alt, { number: index + 1 }) });
      list.append(entry);
    }
  }

  /** A long prompt is cut to a few lines, with a button for the rest. */
  fold({ element, prompt }) {
    const button = element.querySelector('[data-do="unfold"]');
    button.hidden = prompt.scrollHeight <= prompt.clientHeight + 2;
    button.addEventListener("click", () => {
      const isOpen = element.classList.toggle("unfolded");
      button.setAttribute("aria-expanded", String(isOpen));
    });
  }

  /** Shows a turn that the reader has just asked for; with the focus out of the box, the keys can vote. */
  goTo(turn) {
    const { element, prompt } = this.turns.get(turn.number);
    element.scrollIntoView({ behavior: "smooth", block: "start" });
    prompt.focus({ preventScroll: true });
  }
}

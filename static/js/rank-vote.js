/* The bar at the bottom of a line-up: pick the best, or number the answers by click, key or drag; equal ones too. */
import { fill } from "./figures.js";
import { before, moved, placed, rankOf, tied, toggled, without } from "./ranks.js";
import { Vote } from "./vote.js";

export class RankVote extends Vote {
  constructor(form, outcome, options) {
    super(form, outcome, options);
    this.ranks = [];
    this.cards = options.cards;
    this.list = form.querySelector("[data-ranks]");
    this.chip = form.querySelector("template").content.firstElementChild;
    this.cards.addEventListener("click", (event) => {
      const button = event.target.closest("[data-rank]");
      if (button) this.set(toggled(this.ranks, button.closest("[data-side]").dataset.side));
    });
    this.list.addEventListener("click", (event) => this.step(event));
    this.list.addEventListener("dragstart", (event) => {
      event.dataTransfer.setData("text/plain", event.target.dataset.label);
      event.dataTransfer.effectAllowed = "move";
    });
    this.list.addEventListener("dragover", (event) => event.preventDefault());
    this.list.addEventListener("drop", (event) => this.drop(event));
    form.querySelector("[data-clear]").addEventListener("click", () => this.set([]));
  }

  /** On a card its digit gives it that place, and 0 takes it out. */
  key(event) {
    const card = event.target.closest?.("[data-side]");
    const isDigit = /^[0-9]$/.test(event.key);
    if (!card || !isDigit || this.form.hidden || !this.canRank(card.dataset.side)) return super.key(event);
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const label = card.dataset.side;
    this.set(event.key === "0" ? without(this.ranks, label) : placed(this.ranks, label, Number(event.key)));
    event.preventDefault();
  }

  get keys() {
    return {};
  }

  step(event) {
    const button = event.target.closest("button[data-step]");
    if (!button) return;
    const { label } = button.closest("[data-label]").dataset;
    const ways = { up: () => moved(this.ranks, label, -1), down: () => moved(this.ranks, label, 1), tie: () => tied(this.ranks, label) };
    this.set(ways[button.dataset.step]());
    this.list.querySelector(`[data-label="${label}"] [data-step="${button.dataset.step}"]`)?.focus();
  }

  drop(event) {
    event.preventDefault();
    const label = event.dataTransfer.getData("text/plain");
    const other = event.target.closest("[data-label]")?.dataset.label;
    if (!rankOf(this.ranks, label)) return;
    this.set(other ? before(this.ranks, label, other) : [...without(this.ranks, label), [label]]);
  }

  canRank(label) {
    return this.state?.sides.some((side) => side.label === label) && this.answered.has(label);
  }

  set(ranks) {
    this.ranks = ranks;
    this.show();
  }

  render(state) {
    this.state = state;
    this.answered = new Set(state.turns.flatMap((turn) => turn.responses)
      .filter((response) => (response.status === "finished" || response.status === "stopped") && response.text)
      .map((response) => response.side));
    super.render(state);
    this.show();
  }

  show() {
    const names = this.names(this.state);
    const isOpen = !this.form.hidden;
    for (const button of this.cards.querySelectorAll("[data-rank]")) {
      const label = button.closest("[data-side]").dataset.side;
      const rank = rankOf(this.ranks, label);
      button.hidden = !isOpen || !this.answered.has(label);
      button.querySelector("[data-rank-number]").textContent = rank || "";
      button.setAttribute("aria-pressed", String(Boolean(rank)));
      button.title = rank ? fill(this.form.dataset.ranked, { rank }) : this.form.dataset.unranked;
    }
    this.list.replaceChildren(...this.ranks.flatMap((rank, index) => rank.map((label, place) => {
      const chip = this.chip.cloneNode(true);
      chip.dataset.label = label;
      chip.classList.toggle("tied", place > 0);
      chip.querySelector("[data-number]").textContent = index + 1;
      chip.querySelector("[data-name]").textContent = names[label];
      return chip;
    })));
    this.form.querySelector("[data-clear]").hidden = !this.ranks.length;
    const send = this.form.querySelector("[data-send]");
    send.disabled = !this.ranks.length;
    send.textContent = this.ranks.flat().length === 1 ? fill(send.dataset.best, { name: names[this.ranks[0][0]] }) : send.dataset[this.ranks.length ? "ranking" : "none"];
  }

  choose(choice) {
    if (choice !== "ranks") return super.choose(choice);
    if (this.ranks.flat().length === 1) return super.choose(this.ranks[0][0]);
    return super.choose("", this.ranks);
  }

  outcomeWords(state, names) {
    const { choice, ranking } = state.preference;
    const { dataset } = this.outcome;
    if (choice === "ranking") {
      return fill(dataset.ranking, { ranking: ranking.map((rank) => rank.map((label) => names[label]).join(" = ")).join(" > ") });
    }
    return names[choice] ? fill(dataset.winner, { name: names[choice] }) : dataset[choice];
  }
}

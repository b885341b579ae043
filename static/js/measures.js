/* What can be counted in a conversation: a piece of page that the server draws, fetched anew when turns have come. */

export class Measures {
  constructor(element) {
    Object.assign(this, { element, shown: -1 });
  }

  async render({ turns, progress }) {
    const said = turns.filter((turn) => turn.number && turn.text && turn.status !== "streaming").length;
    if (said === this.shown || progress.state === "running") return;
    this.shown = said;
    const answer = await fetch(this.element.dataset.source).catch(() => null);
    if (answer?.ok) this.element.innerHTML = await answer.text();
  }
}

/* The controls of a conversation: what is possible now, how far it is, and why it stands still. */
import { ApiError, post } from "./api.js";
import { dollars, fill, whole } from "./figures.js";

export class Player {
  /** `onAct(conversation)` gets the state that the server answers with. */
  constructor(element, { id, words, onAct }) {
    Object.assign(this, { element, id, words, onAct });
    this.errors = element.querySelector("[data-errors]");
    element.addEventListener("click", (event) => {
      const button = event.target.closest("button[data-act]");
      if (button) this.act(button.dataset.act, null, button);
    });
    element.addEventListener("submit", async (event) => {
      event.preventDefault();
      const form = event.target;
      const given = Object.fromEntries(new FormData(form));
      if (given.turns) given.turns = Number(given.turns);
      if (await this.act(form.dataset.act, given, form.querySelector("button")) && form.dataset.act === "inject") form.reset();
    });
  }

  async act(name, body, button) {
    this.error("");
    button.disabled = true;
    try {
      this.onAct(await post(`conversations/${this.id}/${name}/`, body));
      return true;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.error(error.message);
      return false;
    } finally {
      button.disabled = false;
    }
  }

  error(message) {
    this.errors.textContent = message;
    this.errors.hidden = !message;
  }

  render({ progress, agents }) {
    const { element, words } = this;
    for (const control of element.querySelectorAll("[data-needs]")) control.hidden = !progress[control.dataset.needs];
    const running = progress.state === "running";
    const now = Math.min(progress.turns_done + (running ? 1 : 0), progress.max_turns);
    element.querySelector("[data-turn-words]").textContent = fill(words.turn, { number: now, all: progress.max_turns });
    const next = fill(words.next, { name: agents.find((agent) => agent.side === progress.next_side).name });
    const why = running ? (progress.is_pause_asked ? words.pausing : "") : [progress.reason_text, progress.note, progress.can_run ? next : ""].filter(Boolean).join(" ");
    element.querySelector("[data-reason]").textContent = why;
    const bar = element.querySelector("[data-bar]");
    bar.max = progress.max_turns;
    bar.value = progress.turns_done;
    const spent = [progress.tokens ? `${whole(progress.tokens)} tokens` : "", progress.cost ? dollars(progress.cost) : ""];
    element.querySelector("[data-spent]").textContent = spent.filter(Boolean).join(" · ");
  }
}

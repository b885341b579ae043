/* The bar at the bottom: the vote with its reasons, then who they were, the link to share, and the next battle. */
import { ApiError, post } from "./api.js";
import { copy, said } from "./copy.js";
import { fill } from "./figures.js";
import { proofFrom } from "./proof.js";

const UNDO_MS = 14_000; // a little less than the server's 15 seconds
const KEYS = { 1: "a", 2: "tie", 3: "both_bad", 4: "b" };

const isTyping = (event) => event.target.closest?.("input, textarea, select, [contenteditable]");

export class Vote {
  /** `send({choice, ranking, reasons, comment})` returns false where there is no connection. */
  constructor(form, outcome, { battleId, send, words }) {
    Object.assign(this, { form, outcome, battleId, send, words });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (event.submitter?.value) this.choose(event.submitter.value);
    });
    document.addEventListener("keydown", (event) => this.key(event));
    outcome.querySelector("#undo").addEventListener("click", (event) => this.withdraw(event.currentTarget));
    outcome.querySelector("#share").addEventListener("click", (event) => this.share(event.currentTarget));
  }

  get keys() {
    return KEYS;
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || isTyping(event)) return;
    if (!this.form.hidden && event.key in this.keys) this.choose(this.keys[event.key]);
    else if (!this.outcome.hidden && event.key.toLowerCase() === "n") this.outcome.querySelector("#again").click();
    else return;
    event.preventDefault();
  }

  choose(choice, ranking = []) {
    if (this.isSent) return;
    const given = new FormData(this.form);
    this.error(this.form, "");
    const vote = { choice, ranking, reasons: given.getAll("reasons"), comment: (given.get("comment") ?? "").trim() };
    this.isSent = true;
    if (this.form.dataset.proof) {
      this.proof ??= proofFrom(this.form.dataset.proof);
      this.proof.then((proof) => this.sendOff({ ...vote, proof }));
      this.proof = null; // good once
    } else this.sendOff(vote);
  }

  sendOff(vote) {
    this.isSent = this.send(vote);
    if (!this.isSent) this.error(this.form, this.words.offline);
  }

  /** Nothing is under way: it was answered, or went down with its connection. */
  again() {
    this.isSent = false;
  }

  /** The server did not take the vote. */
  refused(message) {
    this.isSent = false;
    this.error(this.form, message);
  }

  error(box, message) {
    const errors = box.querySelector("[data-errors]");
    errors.textContent = message;
    errors.hidden = !message;
  }

  render(state) {
    const { preference } = state;
    if (!state.can_vote) this.again();
    this.form.hidden = Boolean(preference) || !state.can_vote;
    this.outcome.hidden = !preference;
    if (!preference) return;
    this.outcome.querySelector("[data-outcome]").textContent = preference.is_withdrawn
      ? this.outcome.dataset.withdrawn
      : this.outcomeWords(state, this.names(state));
    this.undo(preference);
  }

  names(state) {
    return Object.fromEntries(state.sides.map((side) => [side.label, side.name]));
  }

  outcomeWords(state, names) {
    return fill(this.outcome.dataset[state.preference.choice], names);
  }

  /** For a few seconds a vote can be taken back. */
  undo(preference) {
    const button = this.outcome.querySelector("#undo");
    const left = UNDO_MS - (Date.now() - Date.parse(preference.created_at));
    button.hidden = preference.is_withdrawn || left <= 0;
    if (!button.hidden) setTimeout(() => { button.hidden = true; }, left);
  }

  async withdraw(button) {
    button.disabled = true;
    try {
      await post(`battles/${this.battleId}/preference/withdraw/`);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.error(this.outcome, error.message);
    }
    button.disabled = false;
  }

  focusNext() {
    this.outcome.querySelector("#again").focus({ preventScroll: true });
  }

  link(url) {
    this.outcome.querySelector("[data-share]").hidden = false;
    this.outcome.querySelector("#share-url").value = url;
  }

  async share(button) {
    this.error(this.outcome, "");
    button.disabled = true;
    try {
      const { share_url: url } = await post(`battles/${this.battleId}/share/`);
      this.link(url);
      await copy(url);
      said(button, button.dataset.copied);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.error(this.outcome, error.message);
    }
    button.disabled = false;
    button.focus();
  }
}

/* What models read in a conversation, side by side, and the form that asks one. */
import { ApiError, post } from "./api.js";
import { fill } from "./figures.js";
import { Written } from "./written.js";

export class Analyses {
  constructor(form, list, template, { id, words, onAct }) {
    Object.assign(this, { form, list, template, words: { ...words, thinking: words.reading } });
    this.shown = new Map();
    list.addEventListener("click", (event) => {
      const button = event.target.closest("[data-retry-button]");
      if (button) this.ask(button, `conversations/${id}/analysis/${button.closest("[data-analysis]").dataset.analysis}/retry/`, {}, onAct);
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.ask(form.querySelector("button"), `conversations/${id}/analysis/`, Object.fromEntries(new FormData(form)), onAct);
    });
  }

  async ask(button, path, body, onAct) {
    this.error("");
    button.disabled = true;
    try {
      onAct(await post(path, body));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.error(error.message);
    }
    button.disabled = false;
  }

  error(message) {
    const errors = this.form.querySelector("[data-errors]");
    errors.textContent = message;
    errors.hidden = !message;
  }

  render({ analyses }) {
    const beside = document.getElementById("beside");
    beside.hidden = analyses.filter((one) => one.result).length < 2;
    for (const analysis of analyses) {
      const { element, written } = this.shown.get(analysis.id) ?? this.add(analysis);
      element.querySelector("[data-name]").textContent = analysis.model_name;
      element.querySelector("[data-number]").textContent = fill(this.words.read, { number: analysis.turns_read });
      const problem = element.querySelector("[data-problem]");
      problem.textContent = analysis.problem;
      problem.hidden = !analysis.problem;
      element.querySelector("[data-rubric]").hidden = !analysis.rubric;
      element.querySelector("[data-rubric-text]").textContent = analysis.rubric;
      const isLive = analysis.status === "waiting" || analysis.status === "streaming";
      element.querySelector("[data-retry]").hidden = isLive || Boolean(analysis.result);
      written.render(analysis);
    }
  }

  add(analysis) {
    const element = this.template.content.firstElementChild.cloneNode(true);
    element.dataset.analysis = analysis.id;
    const shown = { element, written: new Written(element, this.words) };
    this.list.prepend(element);
    this.shown.set(analysis.id, shown);
    return shown;
  }
}

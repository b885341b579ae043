/* A box for a prompt: grows with its text, keeps a draft, sends on Enter. Text leaves it only when it was taken. */
import { fill } from "./figures.js";
import { ImageTray } from "./images.js";
import { recall, remember } from "./storage.js";

const hasPointer = matchMedia("(pointer: fine)");

export class PromptBox {
  /** `send(text, images)` is called with what was typed, never with nothing or too much, and the ids of its images. */
  constructor(form, { draft, send }) {
    Object.assign(this, { form, draft, send });
    this.area = form.querySelector("textarea");
    this.errors = form.querySelector("[data-errors]");
    this.tray = new ImageTray(form.querySelector("[data-tray]"), form, draft);
    this.area.value ||= recall(draft, "", "sessionStorage");
    this.grow();
    this.area.addEventListener("input", () => {
      this.grow();
      this.error("");
      remember(draft, this.area.value, "sessionStorage");
    });
    this.area.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing || !hasPointer.matches) return;
      event.preventDefault();
      form.requestSubmit();
    });
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    });
  }

  get text() {
    return this.area.value.trim();
  }

  submit() {
    const { text } = this;
    const max = Number(this.form.dataset.max);
    if (!text || this.isDisabled) return;
    const length = [...text].length;
    if (length > max) this.error(fill(this.form.dataset.tooLong, { length: length.toLocaleString(), max: max.toLocaleString() }));
    else if (this.tray.isBusy) this.error(this.tray.words.wait);
    else this.send(text, this.tray.ids);
  }

  set(text) {
    this.area.value = text;
    this.area.dispatchEvent(new Event("input"));
    this.area.focus();
  }

  taken() {
    this.area.value = "";
    this.tray.clear();
    remember(this.draft, "", "sessionStorage");
    this.grow();
  }

  disable(is) {
    this.isDisabled = is;
    this.form.querySelector('[type="submit"]').disabled = is;
    const note = this.form.querySelector("[data-busy]");
    if (note) note.hidden = !is;
  }

  error(message) {
    this.errors.textContent = message;
    this.errors.hidden = !message;
    this.area.setAttribute("aria-invalid", String(Boolean(message)));
  }

  /** As high as its text, up to the limit that the style sheet sets. */
  grow() {
    this.area.style.height = "auto";
    this.area.style.height = `${this.area.scrollHeight + 2}px`;
  }
}

/* The images beside a prompt: chosen, pasted or dropped, uploaded at once, shown small, and taken out again. */
import { remove, upload } from "./api.js";
import { fill } from "./figures.js";
import { recall, remember } from "./storage.js";

export class ImageTray {
  /** Serves the form around `element`. What was uploaded survives a reload under `draft`. */
  constructor(element, form, draft) {
    Object.assign(this, { element, form, draft: `${draft}-images`, items: [], mayAdd: true });
    for (const name of ["list", "blank", "files", "attach", "problem", "status"]) {
      this[name] = form.querySelector(`[data-tray-${name}]`);
    }
    this.words = element.dataset;
    this.attach.addEventListener("click", () => this.mayAdd ? this.files.click() : this.refuse());
    this.files.addEventListener("change", () => {
      this.add(this.files.files);
      this.files.value = "";
    });
    form.addEventListener("paste", (event) => {
      const { files } = event.clipboardData;
      if (!files.length || event.clipboardData.types.includes("text/plain")) return;
      event.preventDefault();
      this.add(files);
    });
    for (const type of ["dragover", "dragleave", "drop"]) form.addEventListener(type, (event) => this.drag(event));
    for (const image of JSON.parse(recall(this.draft, "[]", "sessionStorage"))) this.show(this.place(), image);
    this.allow(true);
  }

  /** Ids of what goes with the prompt, in order. */
  get ids() {
    return this.items.map((item) => item.image?.id).filter(Boolean);
  }

  get isBusy() {
    return this.items.some((item) => !item.image);
  }

  /** Whether images can be sent from here; the page says why not when somebody tries. */
  allow(is) {
    const could = this.mayAdd;
    this.mayAdd = is && !this.words.refused;
    this.attach.setAttribute("aria-disabled", String(!this.mayAdd));
    this.attach.title = this.mayAdd ? this.words.title : this.words.refused || this.words.cannot;
    if (!this.mayAdd && this.items.length) this.refuse();
    if (this.mayAdd && !could) this.say("");
  }

  refuse() {
    this.say(this.attach.title);
  }

  say(problem) {
    this.problem.textContent = problem;
    this.problem.hidden = !problem;
  }

  add(files) {
    const { words } = this;
    this.say("");
    if (!this.mayAdd) return this.refuse();
    for (const file of files) {
      const name = file.name || words.unnamed;
      if (this.items.length >= Number(words.max)) return this.say(words.tooMany);
      if (!this.files.accept.split(",").includes(file.type)) this.say(fill(words.notAnImage, { name }));
      else if (file.size > Number(words.maxBytes)) this.say(fill(words.tooLarge, { name }));
      else this.send(file, name);
    }
  }

  async send(file, name) {
    const item = this.place();
    const bar = item.element.querySelector("progress");
    try {
      const image = await upload("images/", file, { onProgress: (part) => { bar.value = part; }, signal: item.stop.signal });
      this.show(item, image);
      this.status.textContent = fill(this.words.added, { number: this.items.indexOf(item) + 1 });
      this.changed();
    } catch (error) {
      this.drop(item);
      if (!item.stop.signal.aborted) this.say(`${name}: ${error.message}`);
    }
  }

  /** A place in the list, for what is being uploaded. */
  place() {
    const element = this.blank.content.firstElementChild.cloneNode(true);
    const item = { element, image: null, stop: new AbortController() };
    element.querySelector("button").addEventListener("click", () => this.takeOut(item));
    this.items.push(item);
    this.list.append(element);
    this.renumber();
    return item;
  }

  show(item, image) {
    item.image = image;
    const shown = item.element.querySelector("img");
    shown.addEventListener("error", () => this.drop(item)); // gone since it was uploaded
    shown.src = image.url;
    shown.hidden = false;
    item.element.querySelector("progress").hidden = true;
  }

  takeOut(item) {
    const at = this.items.indexOf(item);
    item.stop.abort();
    if (item.image) remove(`images/${item.image.id}/`);
    this.drop(item);
    this.say("");
    this.status.textContent = this.words.removed;
    (this.items[Math.min(at, this.items.length - 1)]?.element.querySelector("button") ?? this.attach).focus();
  }

  drop(item) {
    item.element.remove();
    this.items = this.items.filter((one) => one !== item);
    this.changed();
  }

  /** After the prompt was taken: its images are in the battle now. */
  clear() {
    for (const item of [...this.items]) this.drop(item);
    this.say("");
  }

  changed() {
    this.renumber();
    const kept = this.items.flatMap((item) => item.image ?? []);
    remember(this.draft, kept.length ? JSON.stringify(kept) : "", "sessionStorage");
    this.element.dispatchEvent(new Event("change", { bubbles: true })); // the form is another request now
  }

  renumber() {
    this.list.hidden = !this.items.length;
    this.items.forEach(({ element }, index) => {
      element.querySelector("img").alt = fill(this.words.alt, { number: index + 1 });
      element.querySelector("button span").textContent = fill(this.words.remove, { number: index + 1 });
    });
  }

  drag(event) {
    if (!event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    this.form.classList.toggle("dropping", event.type === "dragover");
    if (event.type === "drop") this.add(event.dataTransfer.files);
  }
}

/* Sign-up, where a proof of work is wanted: looked for while the form is being filled in. */
import { proofFrom } from "./proof.js";

const field = document.querySelector("[data-proof]");
const form = field.form;
let proof = proofFrom(field.dataset.proof);

form.addEventListener("submit", async (event) => {
  if (field.value) return;
  event.preventDefault();
  form.setAttribute("aria-busy", "true");
  field.value = (await proof) || (await (proof = proofFrom(field.dataset.proof)));
  form.removeAttribute("aria-busy");
  if (field.value) form.submit();
  else form.querySelector("[data-offline]").hidden = false;
});

/* The form that compares runs: each choice of a model offers those of its run. Without this script it offers all. */

const models = JSON.parse(document.getElementById("run-models")?.textContent ?? "{}");

function pair(name) {
  const run = document.getElementById(`id_${name}`);
  const model = document.getElementById(`id_${name}_model`);
  if (!run || !model) return;
  const all = [...model.options];
  const narrow = () => {
    const chosen = model.value;
    const names = new Set(models[run.value]);
    model.replaceChildren(...all.filter((option) => !option.value || names.has(option.value)));
    model.value = names.has(chosen) ? chosen : "";
  };
  run.addEventListener("change", narrow);
  narrow();
}

for (const name of ["first", "second"]) pair(name);

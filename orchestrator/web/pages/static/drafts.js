// Keeps what was typed while its person signs in again, in this tab alone.
const KEY = `draft ${location.pathname}`;

function* fields() {
  for (const [number, form] of [...document.forms].entries()) {
    for (const field of form.elements) {
      if (!field.name || field.type === "hidden" || field.type === "submit") continue;
      const isChoice = field.type === "checkbox" || field.type === "radio";
      const key = JSON.stringify([number, field.name, isChoice ? field.value : ""]);
      yield { field, key, property: isChoice ? "checked" : "value" };
    }
  }
}

// Store the fields; an answer that asks to sign in keeps them, any other page drops them.
export function keepDraft({ signedOut = false } = {}) {
  const values = {};
  for (const { field, key, property } of fields()) values[key] = field[property];
  sessionStorage.setItem(KEY, JSON.stringify({ signedOut, values }));
}

export function restoreDraft(main) {
  const kept = JSON.parse(sessionStorage.getItem(KEY) || "null");
  if (!kept) return;
  if ("signedOut" in main.dataset) {
    sessionStorage.setItem(KEY, JSON.stringify({ ...kept, signedOut: true }));
    return;
  }
  sessionStorage.removeItem(KEY);
  if (!kept.signedOut) return;
  for (const { field, key, property } of fields()) {
    if (!(key in kept.values) || field[property] === kept.values[key]) continue;
    field[property] = kept.values[key];
    for (let box = field.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
  }
}

// Makes pages live. Without it every page works: forms are sent, links are followed.
import { keepDraft, restoreDraft } from "./drafts.js";
import { follow, watchCard } from "./live.js";
import { localTimes } from "./times.js";
import { retry } from "./retry.js";

const main = document.getElementById("main");

localTimes(document);
restoreDraft(main);
if (main.dataset.retry) {
  retry(Number(main.dataset.retry));
} else if (main.dataset.events || main.dataset.every) {
  const changed = main.dataset.watch === "card" ? watchCard : undefined;
  follow(main.dataset.events, changed, Number(main.dataset.every || 0));
}

// A form is sent once, however often its button is pressed.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post") return;
  if (form.dataset.sent) {
    event.preventDefault();
    return;
  }
  form.dataset.sent = "yes";
  keepDraft();
});
window.addEventListener("pageshow", () => {
  for (const form of document.forms) delete form.dataset.sent;
});

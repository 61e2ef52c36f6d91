// Reads a page again when something changed, and replaces the parts that differ.
import { keepDraft } from "./drafts.js";
import { localTimes } from "./times.js";

const SETTLE_MS = 150; // several events of one moment are one change
const AWAY_MS = 3000;

// Follow a stream of changes, or without one look every few seconds.
export function follow(address, changed = replaceParts, everySeconds = 0) {
  let due = 0;
  let reading = false;
  let again = false;
  let isOver = false;
  let source = null;

  const read = async () => {
    due = 0;
    if (reading) {
      again = true;
      return;
    }
    reading = true;
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" }, redirect: "manual" });
      if (answer.type === "opaqueredirect") {
        const me = await fetch("/api/v1/me");
        stop();
        if (me.status === 401) showSignedOut();
        else location.reload();
      } else if (answer.status === 503) {
        throw new Error(answer.statusText);
      } else {
        if (answer.status === 403 || answer.status === 404) stop();
        changed(new DOMParser().parseFromString(await answer.text(), "text/html"), answer);
      }
    } catch {
      announce("The service does not answer; this page tries again.");
      setTimeout(soon, AWAY_MS);
    }
    reading = false;
    if (again) {
      again = false;
      soon();
    }
  };
  const stop = () => {
    isOver = true;
    if (source) source.close();
  };
  const soon = () => {
    if (!due && !isOver) due = setTimeout(read, SETTLE_MS);
  };

  if (everySeconds) setInterval(() => document.hidden || soon(), everySeconds * 1000);
  if (!address) return;
  let opened = false;
  const open = () => {
    source = new EventSource(address);
    source.addEventListener("change", soon);
    source.addEventListener("error", () => {
      soon(); // it is over, or its reader is signed out
      if (source.readyState === EventSource.CLOSED && !isOver) setTimeout(open, AWAY_MS);
    });
    source.addEventListener("open", () => {
      if (opened) soon(); // after a break, whatever happened in it
      opened = true;
    });
  };
  open();
  window.addEventListener("pagehide", () => source.close());
  window.addEventListener("pageshow", (event) => event.persisted && location.reload());
}

// Replace each part that differs; a part in which somebody types waits until they are done.
export function replaceParts(fresh, answer) {
  if (!answer.ok) return;
  for (const part of document.querySelectorAll("[data-part]")) {
    const now = fresh.getElementById(part.id);
    if (!now || isBeingEdited(part)) continue;
    localTimes(now);
    keepChoices(part, now);
    if (markup(now) === markup(part)) continue;
    const focused = part.contains(document.activeElement) ? document.activeElement : null;
    part.replaceWith(now);
    if (focused) refocus(focused, now);
    announce("The page was updated.");
  }
  document.title = fresh.title;
}

// Say that a card changed; it is not replaced under the eyes of a person who decides.
export function watchCard(fresh) {
  const shown = document.getElementById("card");
  const now = fresh.getElementById("card");
  if (now && now.dataset.digest === shown.dataset.digest) {
    const own = document.querySelectorAll(".note").length;
    if (fresh.querySelectorAll(".note").length === own) return;
  }
  const notice = document.getElementById("changed");
  notice.querySelector("a").href = location.pathname;
  notice.hidden = false;
  for (const button of document.querySelectorAll("button[name=decision]")) button.disabled = true;
}

// Say that the session is over; what was typed is there again after signing in.
function showSignedOut() {
  const notice = document.createElement("p");
  const link = document.createElement("a");
  notice.className = "problem";
  notice.setAttribute("role", "alert");
  link.href = `/sign-in?next=${encodeURIComponent(location.pathname + location.search)}`;
  link.textContent = "Sign in again";
  link.addEventListener("click", () => keepDraft({ signedOut: true }));
  notice.append("You are signed out. ", link, "; what you have typed here stays.");
  document.getElementById("main").prepend(notice);
}

function isBeingEdited(part) {
  for (const field of part.querySelectorAll("input:not([type=checkbox]), textarea, select")) {
    const isText = "defaultValue" in field && field.type !== "radio" && field.type !== "hidden";
    if (isText && field.value !== field.defaultValue) return true;
  }
  return false;
}

function keepChoices(part, now) {
  for (const box of part.querySelectorAll("input[type=checkbox][id]")) {
    const same = now.querySelector(`#${CSS.escape(box.id)}`);
    if (same) same.checked = box.checked;
  }
  for (const opened of part.querySelectorAll("details[id][open]")) {
    const same = now.querySelector(`#${CSS.escape(opened.id)}`);
    if (same) same.open = true;
  }
}

// The markup without what differs in each answer: the tokens of forms.
function markup(part) {
  const copy = part.cloneNode(true);
  for (const field of copy.querySelectorAll("input[type=hidden]")) field.remove();
  for (const opened of copy.querySelectorAll("details")) opened.removeAttribute("open");
  return copy.innerHTML;
}

function refocus(focused, now) {
  const same = focused.id
    ? now.querySelector(`#${CSS.escape(focused.id)}`)
    : [...now.querySelectorAll("a[href]")].find((link) => link.href === focused.href);
  (same || document.getElementById("main")).focus({ preventScroll: true });
}

function announce(text) {
  const place = document.getElementById("announced");
  if (place.textContent !== text) place.textContent = text;
  else place.textContent = `${text} `;
}

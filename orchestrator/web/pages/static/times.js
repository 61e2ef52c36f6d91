// Shows times in the reader's own time zone; the page itself has them in UTC.
const format = (timeStyle) => new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle });
const shown = format("short");
const exact = format("medium"); // with seconds, within [data-exact]

export function localTimes(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const moment = new Date(time.dateTime);
    if (Number.isNaN(moment.getTime())) continue;
    if (!time.title) time.title = time.textContent;
    time.textContent = (time.closest("[data-exact]") ? exact : shown).format(moment);
  }
}

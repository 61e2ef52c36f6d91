// Loads a page again as soon as the service answers.
export function retry(seconds) {
  const again = async () => {
    try {
      const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (answer.status !== 503) {
        location.reload();
        return;
      }
    } catch {
      // The service is still away.
    }
    setTimeout(again, seconds * 1000);
  };
  setTimeout(again, seconds * 1000);
}

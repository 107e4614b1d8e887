const link = document.getElementById("link");
const put = ({ id, markup, into }) => {
  const made = document.createElement("template");
  made.innerHTML = markup;
  const fresh = made.content.firstElementChild, old = document.getElementById(id);
  fresh.querySelectorAll("details[id]").forEach((one) => {
    const before = document.getElementById(one.id);
    if (before) one.open = before.open;
  });
  if (old) old.replaceWith(fresh); else document.getElementById(into).append(fresh);
};
const source = new EventSource(location.pathname.replace(/\/$/, "") + "/events");
const say = (words, there) => { link.textContent = words; link.className = there ? "live" : ""; };
source.addEventListener("open", () => say("live", true));
source.addEventListener("error", () => say("no answer: connecting again …", false));
source.addEventListener("message", (told) => {
  if (document.querySelector("#head.waiting")) location.reload(); else JSON.parse(told.data).forEach(put);
});
source.addEventListener("reload", () => location.reload());

// Keys, and decisions that change the page in place. Every page works without this file.
"use strict";
(() => {
  const $ = (selector, from = document) => from.querySelector(selector);
  const rows = () => [...document.querySelectorAll("[data-row]")].filter((row) => $("[data-go]", row));
  const choices = { l: "label", d: "dismiss", a: "approve", n: "deny", s: "snooze" };
  const places = { i: "/", t: "/traces", p: "/pulls", r: "/rules", s: "/set", h: "/ingest" };
  let at = -1; // the row that was selected last
  let went = 0; // when g was pressed

  const current = () => {
    const list = rows();
    const i = list.findIndex((row) => row.contains(document.activeElement));
    return i >= 0 ? i : Math.min(at, list.length - 1);
  };

  const select = (i) => {
    const list = rows();
    if (list.length === 0) return;
    at = Math.max(0, Math.min(i, list.length - 1));
    for (const row of list) row.classList.toggle("at", row === list[at]);
    const link = $("[data-go]", list[at]);
    link.focus({ preventScroll: true });
    list[at].scrollIntoView({ block: "nearest" });
  };

  const say = (text) => { $("#live").textContent = text; };

  // decide opens the form of a choice: on a group's page in its place, in the inbox in a dialog that is told the group.
  const decide = (choice) => {
    const form = document.getElementById("d-" + choice);
    if (!form) {
      const name = $("#need-name");
      if (name) name.click();
      return;
    }
    if (form.tagName === "DETAILS") {
      form.open = true;
      first(form);
      form.scrollIntoView({ block: "nearest" });
      return;
    }
    if (current() < 0) select(0);
    const row = rows()[current()];
    if (!row || !row.dataset.group) return;
    at = current();
    $("form", form).action = "/groups/" + encodeURIComponent(row.dataset.group) + "/decide";
    const digest = $("[name=digest]", form);
    if (digest) digest.value = row.dataset.digest || "";
    $(".of", form).textContent = $("[data-go]", row).textContent;
    form.showModal();
    first(form);
  };

  const first = (within) => {
    const field = $("input:not([type=hidden]), select, textarea, button", within);
    if (field) field.focus();
  };

  // send posts a form of a decision and puts the page that comes back in this one's place.
  const send = async (form, button) => {
    const where = current();
    form.setAttribute("aria-busy", "true");
    let answer;
    try {
      answer = await fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form, button)), headers: { Accept: "text/html" } });
    } catch {
      form.removeAttribute("aria-busy");
      say("pawl did not answer: try again");
      return;
    }
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const main = $("main", page);
    const to = new URL(answer.url);
    if (!main || to.pathname === "/login" || to.pathname === "/name") {
      location.assign(answer.url);
      return;
    }
    for (const open of document.querySelectorAll("dialog[open]")) open.close();
    $("main").replaceWith(document.adoptNode(main));
    document.title = page.title;
    if (answer.redirected) history.replaceState(null, "", to.pathname + to.search);
    const notice = $("main .notice");
    if (notice) say($("p", notice).textContent);
    if (rows().length > 0 && where >= 0) select(where);
    else $("main").focus();
  };

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.method !== "post" || !new URL(form.action).pathname.endsWith("/decide")) return;
    event.preventDefault();
    if (form.getAttribute("aria-busy") !== "true") send(form, event.submitter);
  });

  document.addEventListener("focusin", (event) => {
    const i = rows().findIndex((row) => row.contains(event.target));
    if (i >= 0) at = i;
  });

  const click = (selector) => {
    const target = $(selector);
    if (target) target.click();
    return target !== null;
  };

  const groupAt = () => {
    const head = $("h1[data-group]");
    if (head) return head.dataset.group;
    const row = rows()[Math.max(0, current())];
    return row ? row.dataset.group : undefined;
  };

  const open = (page) => {
    const id = groupAt();
    if (id) location.assign("/groups/" + encodeURIComponent(id) + "/" + page);
  };

  const keys = {
    j: () => select(current() + 1),
    k: () => select(Math.max(0, current() - 1)),
    o: () => { const row = rows()[current()]; if (row) $("[data-go]", row).click(); },
    u: () => click("#undo"),
    p: () => open("propose"),
    c: () => open("case"),
    g: () => { went = Date.now(); },
    "/": () => { const q = $("#q"); if (q) { q.focus(); q.select(); } else location.assign("/"); },
    "?": () => { const help = $("#help"); if (help && !help.open) help.showModal(); },
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const field = event.target.closest("input, textarea, select, [contenteditable]");
    if (event.key === "Escape" && field && !field.closest("dialog")) { field.blur(); return; }
    if (field || $("dialog[open]")) return;
    if (Date.now() - went < 1500 && places[event.key]) {
      event.preventDefault();
      went = 0;
      location.assign(places[event.key]);
      return;
    }
    const act = choices[event.key] ? () => decide(choices[event.key]) : keys[event.key];
    if (act) { event.preventDefault(); act(); }
  });
})();

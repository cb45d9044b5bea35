// A comfort: all pages work without it. Texts of events are put into the page as text, never as markup.
"use strict";

// Buttons that copy the snippet beside them. The clipboard is there on HTTPS and localhost.
if (navigator.clipboard) {
  for (const button of document.querySelectorAll(".copy")) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(button.parentElement.querySelector("code").textContent);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
  }
}

// The figures of the column under the pointer, or that the arrow keys have reached, beside the chart's legend. A finger
// shows them first and follows the column's link with its second touch.
for (const chart of document.querySelectorAll(".chart")) {
  const svg = chart.querySelector(".columns");
  const columns = [...svg.querySelectorAll(".column")];
  const titles = columns.map((column) => column.removeChild(column.querySelector("title"))); // or browsers show them, too
  let current = -1, first = false; // first: a finger shows the column
  const show = (i) => {
    columns.forEach((column, at) => column.classList.toggle("current", at === i));
    chart.querySelector(".readout").textContent = titles[i]?.textContent ?? "";
    current = i;
  };
  columns.forEach((column, i) => {
    column.addEventListener("pointerenter", (event) => {
      first = event.pointerType === "touch" && current !== i;
      show(i);
    });
    column.addEventListener("click", (event) => first && event.preventDefault());
  });
  svg.addEventListener("pointerleave", (event) => event.pointerType === "touch" || show(-1));
  svg.tabIndex = 0;
  svg.addEventListener("keydown", (event) => {
    const to = current + { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (columns[to]) {
      show(to);
      columns[to].querySelector("a")?.focus();
    }
  });
}

// The time zones to choose from. A new site gets the one of the browser.
const zone = document.getElementById("zone");
if (zone) {
  zone.list.append(...Intl.supportedValuesOf("timeZone").map((name) => new Option(name)));
  zone.value ||= Intl.DateTimeFormat().resolvedOptions().timeZone;
}

// A site without events: its page is loaded again when the first event arrives.
const waiting = document.getElementById("waiting");
if (waiting && window.EventSource) {
  const source = new EventSource(waiting.dataset.stream);
  const reload = () => location.reload();
  source.addEventListener("message", reload);
  source.addEventListener("error", () => source.readyState === EventSource.CLOSED && setTimeout(reload, 5000)); // no stream is free
  addEventListener("pagehide", () => source.close());
}

// The live view.
const list = document.getElementById("live");
if (list && window.EventSource) {
  const most = 200; // lines kept
  const state = document.getElementById("livestate");
  const say = (text, on) => {
    state.textContent = text;
    state.classList.toggle("on", on);
  };
  const part = (tag, text, name) => {
    const element = document.createElement(tag);
    element.textContent = text;
    if (name) {
      element.className = name;
      element.title = text;
    }
    return element;
  };
  const source = new EventSource(list.dataset.stream);
  let fresh = false;
  say("Connecting…", false);
  source.addEventListener("begin", () => {
    list.replaceChildren(); // the stream sends the page's events again, and those missed since
    say("Watching", true);
    fresh = false;
    setTimeout(() => { fresh = true; }, 500);
  });
  source.addEventListener("error", () => {
    say(source.readyState === EventSource.CLOSED ? "Disconnected: reload the page" : "Reconnecting…", false);
  });
  source.addEventListener("message", (message) => {
    const event = JSON.parse(message.data);
    const item = document.createElement("li");
    const time = part("time", event.time);
    time.dateTime = event.at;
    item.classList.toggle("server", event.server);
    item.classList.toggle("view", !event.name);
    item.classList.toggle("fresh", fresh);
    item.append(time, " ", part("strong", event.name || "Pageview"), " ",
      part("span", event.page, "page"), " ", part("span", event.props, "props"));
    list.prepend(item);
    while (list.children.length > most) {
      list.lastElementChild.remove();
    }
  });
  addEventListener("pagehide", () => source.close());
}

// What look_test.go asks a page. It is evaluated in the page, where the
// page's policy does not bind it.
document.removeEventListener("focusin", window.inspect?.reach);
window.inspect = (() => {
  const shown = (e) => e.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && e.getClientRects().length > 0;
  const name = (e) => {
    const text = (e.getAttribute("aria-label") || e.name || e.textContent || "").trim().replace(/\s+/g, " ").slice(0, 40);
    return e.tagName.toLowerCase() + (e.classList.length ? "." + [...e.classList].join(".") : "") + (text ? ` “${text}”` : "");
  };

  // What is for readers aloud only is a pixel wide, wherever it stands.
  const isHidden = (e) => e.closest(".hidden") !== null;

  // overflow names what makes the page wider than the window.
  function overflow() {
    const room = document.documentElement.clientWidth;
    const found = [];
    if (document.documentElement.scrollWidth > room || document.body.scrollWidth > room) {
      found.push(`the page is ${document.documentElement.scrollWidth} px wide, the window ${room} px`);
    }
    for (const e of document.querySelectorAll("main, main *, header, header *, footer, footer *")) {
      const box = e.getBoundingClientRect();
      if (shown(e) && !isHidden(e) && !clips(e) && box.width > 0 && (box.right > room + 1 || box.left < -1)) {
        found.push(`${name(e)} reaches from ${Math.round(box.left)} to ${Math.round(box.right)}`);
      }
    }
    return found.slice(0, 5);
  }

  // clips reports whether an ancestor cuts off what is too wide, or scrolls it.
  function clips(e) {
    for (let up = e.parentElement; up && up !== document.body; up = up.parentElement) {
      if (getComputedStyle(up).overflowX !== "visible" && up.getBoundingClientRect().right <= document.documentElement.clientWidth + 1) {
        return true;
      }
    }
    return false;
  }

  // rgba reads any colour that CSS knows, as the screen shows it.
  const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = new Map();
  function rgba(text) {
    if (!known.has(text)) {
      pen.clearRect(0, 0, 1, 1);
      pen.fillStyle = text;
      pen.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
      known.set(text, [r, g, b, a / 255]);
    }
    return known.get(text);
  }
  const over = ([r, g, b, a], [R, G, B]) => [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a), 1];
  const luminance = (colour) => colour.slice(0, 3).map((n) => n / 255)
    .map((n) => (n <= 0.04045 ? n / 12.92 : ((n + 0.055) / 1.055) ** 2.4))
    .reduce((sum, n, i) => sum + n * [0.2126, 0.7152, 0.0722][i], 0);
  function ratio(x, y) {
    const [a, b] = [luminance(x) + 0.05, luminance(y) + 0.05];
    return Math.max(a, b) / Math.min(a, b);
  }

  const paint = (e) => {
    const style = getComputedStyle(e);
    return rgba(e instanceof SVGElement ? (e instanceof SVGGeometryElement ? style.fill : "transparent") : style.backgroundColor);
  };

  // ground is the colour behind a point of e: of everything that lies there below e's
  // own text, from the page up. It is null where something lies above e.
  function ground(e, x, y) {
    const stack = document.elementsFromPoint(x, y);
    const at = stack.indexOf(e);
    if (at < 0) {
      return null;
    }
    if (stack.slice(0, at).some((above) => !e.contains(above) && paint(above)[3] > 0)) {
      return null;
    }
    const below = e instanceof SVGElement ? stack.slice(at + 1) : stack.slice(at);
    return below.reduceRight((under, layer) => over(paint(layer), under), [255, 255, 255, 1]);
  }

  // texts are the elements with text of their own, and where a piece of it is.
  function texts() {
    const found = [];
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walk.nextNode(); node; node = walk.nextNode()) {
      const e = node.parentElement;
      if (!node.data.trim() || !shown(e) || isHidden(e) || e.closest("title, desc, option, script")) {
        continue;
      }
      const range = document.createRange();
      range.selectNodeContents(node);
      found.push([e, range.getClientRects()[0]]);
    }
    for (const e of document.querySelectorAll("input:not([type=hidden]):not([type=checkbox]), select")) {
      if (shown(e) && !isHidden(e)) {
        found.push([e, e.getBoundingClientRect()]);
      }
    }
    return found;
  }

  function weak(e, box, problems) {
    const style = getComputedStyle(e);
    const behind = box && ground(e, box.left + Math.min(box.width / 2, 12), box.top + box.height / 2);
    if (!behind) {
      return false;
    }
    const colour = over(rgba(e instanceof SVGElement ? style.fill : style.color), behind);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700);
    const got = ratio(colour, behind);
    if (got < (large ? 3 : 4.5)) {
      problems.push(`${name(e)}: ${got.toFixed(2)} of ${colour.map(Math.round)} on ${behind.map(Math.round)}`);
    }
    return true;
  }

  // A field is seen by its border.
  function weakBorder(e, problems) {
    const box = e.getBoundingClientRect();
    const behind = ground(e.parentElement, box.left - 1, box.top + box.height / 2) ?? ground(e.closest(".card, .days, main"), box.left - 1, box.top + box.height / 2);
    const got = behind ? ratio(over(rgba(getComputedStyle(e).borderTopColor), behind), behind) : 0;
    if (got < 3) {
      problems.push(`${name(e)}: border ${got.toFixed(2)}`);
    }
  }

  // contrast measures all texts and fields, then those that unfold, each by itself.
  function contrast() {
    const problems = [];
    let measured = 0;
    const measure = (within) => {
      for (const [e, box] of texts()) {
        if (within.contains(e) && weak(e, box, problems)) {
          measured++;
        }
      }
      for (const e of within.querySelectorAll("input:not([type=hidden]):not([type=checkbox]), select")) {
        if (shown(e) && !isHidden(e)) {
          weakBorder(e, problems);
        }
      }
    };
    document.activeElement.blur();
    scrollTo(0, 0);
    measure(document.body);
    for (const details of document.querySelectorAll("details:not([open])")) {
      details.open = true;
      measure(details);
      details.open = false;
    }
    return { weak: [...new Set(problems)].slice(0, 8), texts: measured, ground: getComputedStyle(document.body).backgroundColor };
  }

  // focusable is what Tab should stop at, in the order of the document.
  function focusable() {
    return [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")]
      .filter((e) => e.tabIndex >= 0 && !e.disabled && e.type !== "hidden" && shown(e));
  }
  const dim = [], reached = [];

  function stops() {
    const start = document.createElement("span"); // Tab begins where the focus was last
    start.tabIndex = -1;
    document.body.prepend(start);
    start.focus();
    start.remove();
    document.addEventListener("focusin", reach);
    return focusable().map((e, i) => `${i} ${name(e)}`);
  }

  // reach takes down the stop that has the focus, and what of its outline cannot be seen.
  function reach() {
    const e = document.activeElement;
    reached.push(`${focusable().indexOf(e)} ${name(e)}`);
    // A link that covers its card has the outline of the card.
    const covers = getComputedStyle(e, "::after").position === "absolute";
    const style = getComputedStyle(e, covers ? "::after" : null);
    const seen = covers ? e.offsetParent ?? e.closest(".card") : e;
    const width = parseFloat(style.outlineWidth);
    const box = seen.getBoundingClientRect();
    if (style.outlineStyle === "none" || width < 2) {
      dim.push(`${name(e)} has no outline`);
    } else {
      const behind = ground(document.body, 1, 1) ?? [255, 255, 255, 1];
      if (ratio(rgba(style.outlineColor), behind) < 3) {
        dim.push(`${name(e)}: outline ${ratio(rgba(style.outlineColor), behind).toFixed(2)}`);
      }
      cutOff(seen, width + parseFloat(style.outlineOffset));
    }
    if (box.bottom < 0 || box.top > innerHeight || box.right < 0 || box.left > innerWidth) {
      dim.push(`${name(e)} is out of the window`);
    }
  }

  // An ancestor that scrolls or clips may cut the outline off.
  function cutOff(e, reach) {
    const lines = [...e.getClientRects()];
    for (let up = e.parentElement; up && up !== document.body; up = up.parentElement) {
      const style = getComputedStyle(up);
      if (style.overflowX === "visible" && style.overflowY === "visible") {
        continue;
      }
      const room = up.getBoundingClientRect();
      const cut = [
        Math.min(...lines.map((l) => l.left)) - reach < room.left - 0.5,
        Math.max(...lines.map((l) => l.right)) + reach > room.right + 0.5,
        Math.min(...lines.map((l) => l.top)) - reach < room.top - 0.5,
        Math.max(...lines.map((l) => l.bottom)) + reach > room.bottom + 0.5,
      ].filter(Boolean).length;
      if (cut > 0) {
        dim.push(`${name(e)}: ${name(up)} cuts its outline off on ${cut} sides`);
      }
    }
  }

  return { overflow, contrast, stops, reach, reached, dim };
})();

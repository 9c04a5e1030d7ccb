"use strict";
// The run as a chart to look into: wheel or drag zooms, hovering reads a tick, keys do both.
// No library and no network: everything it shows is in the page.
(() => {
  const { data, sent, lanes, coarse, niceStep, timeStep, label, clock, firstAt, nearest } = runModel;
  const canvas = document.getElementById("chart");
  const context = canvas.getContext("2d");
  const REAL = 1, HELD = 3;
  const DASHES = { latest: [7, 2], ordered: [10, 2, 2, 2] };
  const KINDS = ["not started", "received setpoint", "synthetic", "held", "stopped"];
  const LEFT = 62, RIGHT = 12, TOP = 8, GAP = 26, FOOT = 24;
  const NEAREST_VIEW_S = 6 * data.period;

  // ---- what is looked at ---------------------------------------------------------------------

  const view = { begin: 0, end: data.duration };
  let joint = data.joint, cursor = null, drag = null, width = 900, sentShown = true;

  const look = (begin, end) => {
    const length = Math.min(Math.max(end - begin, NEAREST_VIEW_S), data.duration);
    view.begin = Math.min(Math.max(begin, 0), data.duration - length);
    view.end = view.begin + length;
    draw();
  };
  const zoom = (factor, around) =>
    look(around - (around - view.begin) * factor, around + (view.end - around) * factor);
  const x = (time) => LEFT + ((time - view.begin) / (view.end - view.begin)) * (width - LEFT - RIGHT);
  const timeAt = (px) => view.begin + ((px - LEFT) / (width - LEFT - RIGHT)) * (view.end - view.begin);
  const fineSpans = () =>
    coarse ? data.spans.filter(([begin, end]) => x(end) - x(begin) > 60) : [[0, data.duration]];
  const inFine = (time) => fineSpans().some(([begin, end]) => time >= begin && time <= end);

  const visible = (times) => [
    Math.max(0, firstAt(times, view.begin) - 1), Math.min(times.length, firstAt(times, view.end) + 1)];
  const coarseVisible = () => [
    Math.max(0, Math.floor(view.begin / coarse.seconds)),
    Math.min(coarse.columns, Math.ceil(view.end / coarse.seconds))];

  // ---- drawing ---------------------------------------------------------------------------------

  const palette = {};
  const hue = (name) => palette[name];
  const readPalette = () => {
    const styles = getComputedStyle(document.documentElement);
    for (const name of data.colors) palette[name] = styles.getPropertyValue("--" + name).trim();
  };
  const shownLanes = () => lanes.filter((lane) => lane.shown);

  // A quantity is what a panel shows: fine arrays and, for long runs, coarse bands of the same.
  const ofLanes = (fine, rough) => () => shownLanes().map((lane) => ({
    t: lane.t, values: fine(lane), color: lane.hue, band: coarse && rough(coarse.lanes[lane.place]),
    width: lane.hue === "arm" ? 2 : 1.3, dash: DASHES[lane.hue], step: true }));
  const leader = () => (sentShown
    ? [{ t: sent.t, values: sent.pose[joint], color: "sent", band: coarse && coarse.sent[joint], width: 1.2 }]
    : []);
  const panels = [
    { title: () => "network: one-way delay, ms", height: 100, floor: 0,
      lines: () => [{ t: sent.t, values: sent.delay, color: "network", band: coarse && coarse.delay, dots: true }] },
    { title: () => `joint ${joint + 1}, °`, height: 170,
      lines: () => [...leader(), ...ofLanes((l) => l.pose[joint], (c) => c.pose[joint])().reverse()] },
    { title: () => `joint ${joint + 1}: speed on the wire, °/s`, height: 130,
      lines: () => ofLanes((l) => l.speed[joint], (c) => c.speed[joint])().reverse() },
    { title: () => "setpoints in line", height: 74, floor: 0,
      lines: () => ofLanes((l) => l.depth, (c) => c.depth)().reverse() },
  ];

  const rangeOf = (panel, lines) => {
    let low = panel.floor ?? Infinity, high = -Infinity;
    const take = (value) => { if (value < low) low = value; if (value > high) high = value; };
    const whollyFine = fineSpans().some(([begin, end]) => view.begin >= begin && view.end <= end);
    for (const line of lines) {
      const [from, to] = visible(line.t);
      for (let k = from; k < to; k++)
        if (line.t[k] >= view.begin && line.t[k] <= view.end) take(line.values[k]);
      if (line.band && !whollyFine) {
        const [first, last] = coarseVisible();
        for (let k = first; k < last; k++) { take(line.band.low[k]); take(line.band.high[k]); }
      }
    }
    if (!(high >= low)) return [0, 1];
    const room = 0.08 * Math.max(high - low, 1e-3 * Math.abs(high), 0.02);
    return [panel.floor === undefined ? low - room : panel.floor, high + room];
  };

  const clipTo = (spans, top, height) => {
    context.beginPath();
    for (const [begin, end] of spans) context.rect(x(begin), top, x(end) - x(begin), height);
    context.clip();
  };
  const clipOutside = (spans, top, height) => {
    context.beginPath();
    context.rect(LEFT, top, width - LEFT - RIGHT, height);
    for (const [begin, end] of spans) context.rect(x(begin), top, x(end) - x(begin), height);
    context.clip("evenodd");
  };
  const within = (top, height, clip, paint) => {
    context.save();
    context.beginPath();
    context.rect(LEFT, top, width - LEFT - RIGHT, height);
    context.clip();
    clip();
    paint();
    context.restore();
  };

  const paintFine = (line, y) => {
    const [from, to] = visible(line.t);
    context.strokeStyle = context.fillStyle = hue(line.color);
    context.lineWidth = line.width || 1;
    if (line.dots) {
      const size = (to - from) / (width - LEFT) > 1.5 ? 1.6 : 3;
      for (let k = from; k < to; k++)
        if (line.values[k] === line.values[k])
          context.fillRect(x(line.t[k]) - size / 2, y(line.values[k]) - size / 2, size, size);
      return;
    }
    context.setLineDash(line.dash || []);
    context.beginPath();
    let down = false;
    for (let k = from; k < to; k++) {
      const value = line.values[k];
      const gap = k > from && line.t[k] - line.t[k - 1] > 3.5 * data.period;
      if (value !== value || gap) down = false;
      if (value !== value) continue;
      if (!down) context.moveTo(x(line.t[k]), y(value));
      else {
        if (line.step) context.lineTo(x(line.t[k]), y(line.values[k - 1]));
        context.lineTo(x(line.t[k]), y(value));
      }
      down = true;
    }
    context.stroke();
  };
  const paintCoarse = (line, y) => {
    const [first, last] = coarseVisible();
    context.fillStyle = hue(line.color);
    const wide = Math.max(1, x(coarse.seconds) - x(0));
    for (let k = first; k < last; k++) {
      const high = y(line.band.high[k]), low = y(line.band.low[k]);
      if (high === high) context.fillRect(x(k * coarse.seconds), high, wide, Math.max(1.5, low - high));
    }
  };

  const paintFrame = (panel, top, low, high, y) => {
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.textAlign = "right";
    const step = niceStep(high - low, Math.max(2, panel.height / 34));
    for (let value = Math.ceil(low / step) * step; value <= high; value += step) {
      context.fillStyle = hue("rule");
      context.fillRect(LEFT, Math.round(y(value)), width - LEFT - RIGHT, 1);
      context.fillStyle = hue("quiet");
      context.fillText(label(value, step), LEFT - 6, y(value));
    }
    context.textAlign = "left";
    context.textBaseline = "alphabetic";
    context.font = "600 12px system-ui, sans-serif";
    context.fillStyle = hue("ink");
    context.fillText(panel.title(), LEFT, top - 6);
  };
  const paintSilences = (top, height) => {
    context.fillStyle = hue("silence");
    for (const [begin, end] of data.silences)
      if (end > view.begin && begin < view.end && x(end) - x(begin) > 1)
        context.fillRect(x(begin), top, x(end) - x(begin), height);
  };
  const paintStops = (top, height) => {
    context.fillStyle = hue("stop");
    for (const time of data.stops)
      if (time >= view.begin && time <= view.end) context.fillRect(x(time) - 0.75, top, 1.5, height);
  };
  const paintLost = (top) => {
    context.fillStyle = hue("network");
    const [from, to] = visible(sent.t);
    for (let k = from; k < to; k++)
      if (sent.delay[k] !== sent.delay[k] && inFine(sent.t[k])) context.fillRect(x(sent.t[k]), top, 1.2, 9);
    if (coarse) {
      const [first, last] = coarseVisible();
      for (let k = first; k < last; k++)
        if (coarse.lost[k]) context.fillRect(x((k + 0.5) * coarse.seconds), top, 1.2, 9);
    }
  };

  const kindHue = (kind, lane) => ["shade", lane.hue + "-tint", "synthetic", "held", "stop"][kind];
  const paintStrip = (lane, top, height) => {
    const spans = fineSpans();
    within(top, height, () => clipTo(spans, top, height), () => {
      const [from, to] = visible(lane.t);
      for (let k = from; k < to; ) {
        let end = k + 1; // one rectangle for a stretch of equal ticks
        while (end < to && lane.kind[end] === lane.kind[k] && lane.t[end] - lane.t[end - 1] < 2.5 * data.period) end++;
        const until = end < to && lane.t[end] - lane.t[end - 1] < 2.5 * data.period
          ? lane.t[end] : lane.t[end - 1] + data.period;
        context.fillStyle = hue(kindHue(lane.kind[k], lane));
        context.fillRect(x(lane.t[k]), top, Math.max(0.6, x(until) - x(lane.t[k])), height);
        k = end;
      }
    });
    if (!coarse) return;
    within(top, height, () => clipOutside(spans, top, height), () => {
      const [first, last] = coarseVisible(), kinds = coarse.lanes[lane.place].kinds;
      for (let k = first; k < last; k++) {
        let total = 0, bottom = top + height;
        for (let kind = 0; kind < 5; kind++) total += kinds[kind][k];
        for (const kind of [4, HELD, 2, REAL, 0]) {
          const part = (kinds[kind][k] / Math.max(1, total)) * height;
          context.fillStyle = hue(kindHue(kind, lane));
          context.fillRect(x(k * coarse.seconds), bottom - part, x(coarse.seconds) - x(0) + 0.3, part);
          bottom -= part;
        }
      }
    });
  };
  const paintTimes = (bottom) => {
    const step = timeStep(view.end - view.begin, Math.max(2, (width - LEFT) / 110));
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = hue("quiet");
    context.textAlign = "center";
    for (let time = Math.ceil(view.begin / step) * step; time <= view.end + 1e-9; time += step)
      context.fillText(clock(time, step), Math.min(x(time), width - 20), bottom + 15);
    context.textAlign = "left";
  };

  let bottom = 0;
  const draw = () => {
    const scale = window.devicePixelRatio || 1;
    width = canvas.clientWidth;
    const strips = shownLanes();
    const height = TOP + panels.reduce((sum, p) => sum + GAP + p.height, 0) + GAP + 16 * strips.length + FOOT;
    canvas.style.height = height + "px";
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    readPalette();
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.fillStyle = hue("paper");
    context.fillRect(0, 0, width, height);
    let top = TOP;
    for (const panel of panels) {
      top += GAP;
      const lines = panel.lines(), [low, high] = rangeOf(panel, lines);
      const y = (value) => top + panel.height - ((value - low) / (high - low)) * panel.height;
      within(top, panel.height, () => {}, () => paintSilences(top, panel.height));
      paintFrame(panel, top, low, high, y);
      const spans = fineSpans();
      for (const line of lines) {
        if (line.band) within(top, panel.height, () => clipOutside(spans, top, panel.height), () => paintCoarse(line, y));
        within(top, panel.height, () => clipTo(spans, top, panel.height), () => paintFine(line, y));
      }
      if (panel !== panels[0]) paintStops(top, panel.height);
      else within(top, panel.height, () => {}, () => paintLost(top));
      top += panel.height;
    }
    top += GAP;
    context.font = "600 12px system-ui, sans-serif";
    context.fillStyle = hue("ink");
    context.fillText("what each tick put on the wire", LEFT, top - 6);
    for (const lane of strips) { paintStrip(lane, top, 12); top += 16; }
    bottom = top;
    paintTimes(bottom);
    paintCursor();
    readOut();
  };
  const paintCursor = () => {
    if (drag && !drag.pan && drag.now !== drag.from) {
      context.fillStyle = hue("ink");
      context.globalAlpha = 0.12;
      context.fillRect(Math.min(drag.from, drag.now), TOP, Math.abs(drag.now - drag.from), bottom - TOP);
      context.globalAlpha = 1;
    }
    if (cursor === null || cursor < view.begin || cursor > view.end) return;
    context.fillStyle = hue("ink");
    context.fillRect(Math.round(x(cursor)), TOP + GAP, 1, bottom - TOP - GAP);
  };

  // ---- reading a tick --------------------------------------------------------------------------

  const cells = document.getElementById("readout");
  const say = document.getElementById("readout-when");
  const spoken = document.getElementById("spoken");
  const number = (value, places, unit) =>
    (value === value && value !== undefined ? value.toFixed(places).replace("-", "−") + unit : "–");
  const between = (band, column, places, unit) =>
    (band.low[column] === band.low[column]
      ? `${number(band.low[column], places, "")} … ${number(band.high[column], places, unit)}` : "–");

  const fineRow = (lane) => {
    const k = nearest(lane.t, cursor);
    return [number(lane.pose[joint][k], 2, "°"), number(lane.speed[joint][k], 1, " °/s"), KINDS[lane.kind[k]],
      `${lane.depth[k]}${lane.target[k] ? " of " + lane.target[k] : ""}`, number(lane.age[k], 0, " ms")];
  };
  const coarseRow = (lane) => {
    const column = Math.min(coarse.columns - 1, Math.floor(cursor / coarse.seconds));
    const rough = coarse.lanes[lane.place];
    const kinds = KINDS.map((word, kind) => [rough.kinds[kind][column], word]).filter(([n]) => n);
    return [between(rough.pose[joint], column, 1, "°"), between(rough.speed[joint], column, 0, " °/s"),
      kinds.map(([n, word]) => `${n} ${word}`).join(", "), between(rough.depth, column, 0, ""), "–"];
  };
  const readOut = () => {
    const known = cursor !== null && lanes.some((lane) => lane.t.length);
    const fine = known && inFine(cursor);
    lanes.forEach((lane, place) => {
      const texts = !known ? ["", "", "", "", ""] : fine ? fineRow(lane) : coarseRow(lane);
      texts.forEach((text, column) => { cells.rows[place].cells[column + 1].textContent = text; });
    });
    if (!known) { say.textContent = "Point at the chart, or give it the focus and press an arrow key."; return; }
    if (!fine) {
      say.textContent = `Around ${clock(cursor, 0.1)}, ${coarse.seconds.toFixed(1)} s together; zoom in for single ticks near the marked moments.`;
      return;
    }
    const k = nearest(sent.t, cursor), late = sent.delay[k];
    const fate = late === late ? `arrived ${number(late, 1, " ms")} later` : "was lost";
    say.textContent = `At ${clock(cursor, 0.001)}: the datagram sent then ${fate}; the leader was at ${number(sent.pose[joint][k], 2, "°")}.`;
  };

  // ---- hands on it -----------------------------------------------------------------------------

  const wholeView = () => view.end - view.begin >= data.duration - 1e-9;
  canvas.addEventListener("wheel", (event) => {
    if (wholeView() && event.deltaY > 0) return; // nothing left to zoom out of: let the page scroll
    event.preventDefault();
    zoom(Math.exp(event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), timeAt(event.offsetX));
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    canvas.setPointerCapture(event.pointerId);
    drag = { from: event.offsetX, now: event.offsetX, pan: event.shiftKey, begin: view.begin, end: view.end };
  });
  canvas.addEventListener("pointermove", (event) => {
    cursor = Math.min(Math.max(timeAt(event.offsetX), 0), data.duration);
    if (drag) {
      drag.now = event.offsetX;
      const seconds = ((drag.now - drag.from) / (width - LEFT - RIGHT)) * (drag.end - drag.begin);
      if (drag.pan) { look(drag.begin - seconds, drag.end - seconds); return; }
    }
    draw();
  });
  canvas.addEventListener("pointerup", () => {
    const done = drag;
    drag = null;
    if (done && !done.pan && Math.abs(done.now - done.from) > 5)
      look(timeAt(Math.min(done.from, done.now)), timeAt(Math.max(done.from, done.now)));
    else draw();
  });
  canvas.addEventListener("pointercancel", () => { drag = null; draw(); });
  canvas.addEventListener("dblclick", () => look(0, data.duration));

  const stepCursor = (direction, far) => {
    const span = view.end - view.begin;
    const step = far ? span / 10 : Math.max(data.period, (2 * span) / (width - LEFT - RIGHT));
    const from = cursor === null || cursor < view.begin || cursor > view.end ? (view.begin + view.end) / 2 : cursor;
    cursor = Math.min(Math.max(from + direction * step, 0), data.duration);
    if (cursor < view.begin) look(cursor - span / 2, cursor + span / 2);
    else if (cursor > view.end) look(cursor - span / 2, cursor + span / 2);
    else draw();
    spoken.textContent = say.textContent;
  };
  const middle = () =>
    (cursor === null || cursor < view.begin || cursor > view.end ? (view.begin + view.end) / 2 : cursor);
  const KEYS = {
    "+": () => zoom(0.5, middle()), "=": () => zoom(0.5, middle()), ArrowUp: () => zoom(0.5, middle()),
    "-": () => zoom(2, middle()), ArrowDown: () => zoom(2, middle()),
    ArrowLeft: (event) => stepCursor(-1, event.shiftKey), ArrowRight: (event) => stepCursor(1, event.shiftKey),
    "0": () => look(0, data.duration), Home: () => look(0, data.duration),
  };
  canvas.addEventListener("keydown", (event) => {
    const act = KEYS[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act(event);
  });

  const on = (id, act) => document.getElementById(id).addEventListener("click", act);
  on("zoom-in", () => zoom(0.5, middle()));
  on("zoom-out", () => zoom(2, middle()));
  on("zoom-all", () => look(0, data.duration));
  document.getElementById("joint").addEventListener("change", (event) => { joint = +event.target.value; draw(); });
  for (const box of document.querySelectorAll("input[data-lane]"))
    box.addEventListener("change", () => {
      if (box.dataset.lane === "sent") sentShown = box.checked; else lanes[+box.dataset.lane].shown = box.checked;
      draw();
    });
  for (const button of document.querySelectorAll("button[data-time]"))
    button.addEventListener("click", () => {
      cursor = +button.dataset.time;
      look(cursor - 0.8, cursor + 1.2);
    });

  new ResizeObserver(draw).observe(canvas.parentElement);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  look(data.window[0], data.window[1]);
})();

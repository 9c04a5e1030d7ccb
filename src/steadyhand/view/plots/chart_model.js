"use strict";
// The numbers of the chart: the page's compact data back in plain arrays, and figures as text.
const runModel = (() => {
  const data = JSON.parse(document.getElementById("run-data").textContent);
  const REAL = 1;
  const HUES = { buffer: "arm", latest_wins: "latest", ordered: "ordered" };

  // ---- decoding: differences and run lengths back into plain arrays -------------------------

  const accumulate = (steps, unit) => {
    let sum = 0;
    return Float64Array.from(steps, (step) => (step === null ? NaN : (sum += step) * unit));
  };
  const expand = (runs) => {
    const values = [];
    for (let at = 0; at < runs.length; at += 2) for (let n = runs[at + 1]; n > 0; n--) values.push(runs[at]);
    return values;
  };
  const sent = {
    t: accumulate(data.sent.t, data.units.t),
    delay: accumulate(data.sent.delay, data.units.delay),
    pose: data.sent.pose.map((column) => accumulate(column, data.units.angle)),
  };
  const lanes = data.lanes.map((raw, place) => {
    const row = accumulate(raw.row, 1);
    const t = accumulate(raw.t, data.units.t);
    const kind = expand(raw.kind);
    const age = t.map((time, k) => (kind[k] === REAL && row[k] >= 0 ? (time - sent.t[row[k]]) * 1000 : NaN));
    const pose = sent.pose.map((column, joint) =>
      t.map((_, k) => (row[k] >= 0 ? column[row[k]] : k in raw.made ? raw.made[k][joint] : NaN)));
    const speed = pose.map((values) =>
      values.map((value, k) =>
        k > 0 && t[k] - t[k - 1] < 2.5 * data.period ? (value - values[k - 1]) / data.period : NaN));
    return {
      title: raw.title, hue: HUES[raw.name], place, shown: true, t, kind, age, pose, speed,
      depth: accumulate(raw.depth, 1), target: expand(raw.target),
    };
  });
  const coarse = data.overview && (() => {
    const band = ([low, high], unit) => ({ low: accumulate(low, unit), high: accumulate(high, unit) });
    const angles = (bands) => bands.map((pair) => band(pair, data.units.angle));
    return {
      columns: data.overview.columns,
      seconds: data.duration / data.overview.columns,
      delay: band(data.overview.delay, data.units.delay),
      lost: expand(data.overview.lost),
      sent: angles(data.overview.sent),
      lanes: data.overview.lanes.map((lane) => ({
        pose: angles(lane.pose),
        speed: lane.speed.map((pair) => band(pair, data.units.speed)),
        depth: band(lane.depth, 1),
        kinds: Object.fromEntries(Object.entries(lane.kinds).map(([kind, runs]) => [kind, expand(runs)])),
      })),
    };
  })();

  // ---- figures as text ----------------------------------------------------------------------

  const niceStep = (span, most) => {
    const rough = span / most, power = 10 ** Math.floor(Math.log10(rough));
    return [1, 2, 2.5, 5, 10].map((n) => n * power).find((step) => step >= rough);
  };
  const timeStep = (span, most) => {
    const rough = span / most;
    if (data.duration < 300 || rough <= 10) return niceStep(span, most);
    return [15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200].find((step) => step >= rough) || 14400;
  };
  const label = (value, step) => {
    const places = (String(+step.toPrecision(6)).split(".")[1] || "").length;
    return value.toFixed(places).replace("-", "−");
  };
  const clock = (time, step) => {
    if (data.duration < 300) return label(time, step) + " s";
    const minutes = Math.floor(time / 60 + 1e-9), seconds = Math.abs(time - 60 * minutes);
    return `${minutes}:${label(seconds, step).padStart(label(0, step).length + 1, "0")}`;
  };

  // First index whose time is not before `time`.
  const firstAt = (times, time) => {
    let low = 0, high = times.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (times[middle] < time) low = middle + 1; else high = middle;
    }
    return low;
  };
  const nearest = (times, time) => {
    const after = firstAt(times, time);
    if (after === 0) return 0;
    if (after === times.length) return after - 1;
    return time - times[after - 1] < times[after] - time ? after - 1 : after;
  };

  return { data, sent, lanes, coarse, niceStep, timeStep, label, clock, firstAt, nearest };
})();

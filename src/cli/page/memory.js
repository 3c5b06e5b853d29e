// Memory over time: a chart of all steps, and the values that are held during one of them.

let step = 0;
const unseenKinds = new Set();  // kinds of memory that the chart leaves out
const kChart = {
  width: 720,
  height: 200
};
// Returns the chart: at most one column per step or two pixels, each as high as its highest step.
function chartHtml() {
  const steps = memory.steps.length, columns = Math.min(steps, 360);
  const seen = levels.filter((_, kind) => !unseenKinds.has(kind));
  const heldAt = (s) => seen.reduce((sum, level) => sum + level[s], 0);
  const chosen = Array.from({length: columns}, (_, c) => {
    const begin = Math.floor(c * steps / columns),
          end = Math.max(begin + 1, Math.floor((c + 1) * steps / columns));
    let best = begin;
    for (let s = begin + 1; s < end; ++s)
      if (heldAt(s) > heldAt(best)) best = s;
    return best;
  });
  const peak = chosen.reduce((most, s) => Math.max(most, heldAt(s)), 1);
  const x = (c) => (c * kChart.width / columns).toFixed(2);
  const y = (bytes) => (kChart.height * (1 - 0.96 * bytes / peak)).toFixed(2);
  const below = new Float64Array(columns);
  let areas = '';
  levels.forEach((level, kind) => {
    if (unseenKinds.has(kind)) return;
    let top = '', bottom = '';
    chosen.forEach((s, c) => {
      bottom = `L${x(c + 1)} ${y(below[c])}L${x(c)} ${y(below[c])}${bottom}`;
      below[c] += level[s];
      top += `L${x(c)} ${y(below[c])}L${x(c + 1)} ${y(below[c])}`;
    });
    areas += `<path class="k${kind}" d="M${top.slice(1)}${bottom}Z"/>`;
  });
  const lines = [0.5, 1].map(
      (f) => `<line class="grid" x1="0" x2="${kChart.width}" y1="${y(f * peak)}" y2="${
          y(f * peak)}"/>`);
  let passes = '';
  if (memory.steps.some((s) => s[2]))
    chosen.forEach((s, c) => {
      passes += `<rect class="${memory.steps[s][2] ? 'b' : ''}" x="${x(c)}" y="${
          kChart.height - 3}" width="${kChart.width / columns + 0.1}" height="3"/>`;
    });
  return `<svg viewBox="0 0 ${kChart.width} ${kChart.height}" preserveAspectRatio="none" role="img"
      aria-label="Bytes held over ${plural(steps, 'step')}, at most ${amount(peak)}">${
      lines.join('')}${areas}<g class="passes">${passes}</g><line class="at" y1="0" y2="${
      kChart.height}"/></svg><output>${amount(peak)}</output>`;
}
const placeOf = (line, backward) => `${line}${backward ? ' (backward)' : ''}`;
const stepText = (s) => s === 0 ?
    'the start' :
    `${texts[memory.steps[s][0]]}${
        memory.steps[s][1] ? ` at ${placeOf(texts[memory.steps[s][1]], memory.steps[s][2])}` : ''}`;
byId('memory').style.cssText = `--op:${
    width(
        buffers.map((b) => `${b.op} ${b.row < 0 ? '' : nameOf(b.row)}    `), 6,
        32)};--line:${width(buffers.map((b) => `${b.line}  `), 4, 24)}`;
byId('memory').innerHTML =
    `<div class="chart"><figure><figcaption></figcaption><div class="plot"></div></figure>
  <label><span class="unseen">Step</span><input id="step" type="range" min="0" max="${
        Math.max(0, (memory?.steps.length || 1) - 1)}"/></label>
  </div><div class="sheets"></div><div class="changes"></div><div class="columns memory" aria-hidden="true">
  <span class="n">Bytes</span><span></span><span>Made by</span><span>Type on a device</span>
  <span class="n">During steps</span><span class="n">Line</span></div>
  <div id="held" aria-label="Values held"></div><div class="none"></div>`;
// The changes that lower the peak: each with its line, the peak with it, and what it costs.
function advice() {
  if (!memory.changes.length) return '';
  const cost = (bytes, flops) =>
      [bytes > 0 && `${amount(bytes)} more sent`, flops > 0 && `${amount(flops, 'FLOP')} more`]
          .filter(Boolean)
          .join(', ');
  return `<table class="sums advice"><caption>Changes that lower the peak, each tried: the peak with
      it, and what it costs</caption>${
      memory.changes
          .map(
              ([text, line, peak, bytes, flops]) => `<tr><th scope="row">${escaped(texts[text])}${
                  texts[line] ? ` <span class="quiet">${escaped(texts[line])}</span>` :
                                ''}</th><td class="n">${amount(peak)}</td><td>${
                  cost(bytes, flops)}</td></tr>`)
          .join('')}</table>`;
}
if (memory) byId('memory').querySelector('.changes').innerHTML = advice();
let mostHeld = 1;
const heldList = new List(byId('memory'), byId('held'), 'listbox', (k) => {
  const b = buffers[k];
  return [
    'role="option" class="row memory"',
    `<span class="bytes n">${amount(b.bytes)}</span><span class="share">${
        barOf(b.bytes / mostHeld, `<i class="k${b.kind}" style="width:100%"></i>`)}</span>` +
        `<span class="op"><i class="swatch k${b.kind}"></i>${escaped(b.op)} ${
            b.row >= 0 ? `<span class="quiet">${escaped(nameOf(b.row))}</span>` : ''}</span>` +
        `<span class="type quiet">${escaped(b.type)}</span>` +
        `<span class="steps n quiet">${b.begin} – ${b.end - 1}</span><span class="line">${
            escaped(b.line)}${
            b.backward ? ' <span class="back" title="backward pass">←</span>' : ''}</span>`
  ];
});
heldList.selects = (k, opens) => showDetail(bufferDetail(buffers[k]), opens);
let foundBuffers = [];
function showMemory(found = foundBuffers) {
  foundBuffers = found;
  const panel = byId('memory'), none = panel.querySelector('.none');
  for (const part of ['.chart', '.sheets', '.columns']) panel.querySelector(part).hidden = !memory;
  none.innerHTML =
      memory ? '' : '<p class="empty">The program was not lowered, so its memory is not known.</p>';
  if (!memory) return heldList.set([]);
  const held =
      found.filter((k) => buffers[k].begin <= step && step < buffers[k].end && buffers[k].bytes > 0)
          .sort((a, b) => buffers[b].bytes - buffers[a].bytes);
  mostHeld = Math.max(1, buffers[held[0]]?.bytes ?? 1);
  const list = held.map((k) => buffers[k]);
  panel.querySelector('figcaption').innerHTML =
      `<h2>${amount(heldAt(step))} at step ${step} of ${memory.steps.length - 1}${
          step === peakStep ? ', the peak' :
                              ''} <span class="quiet">${escaped(stepText(step))}</span></h2>` +
      memory.kinds
          .map(
              (kind, k) => `<button type="button" data-kind="${k}" aria-pressed="${
                  !unseenKinds.has(k)}" title="Show or leave out"><i class="swatch k${k}"></i>${
                  escaped(kind)} <span class="quiet">${amount(levels[k][step])}</span></button>`)
          .join('') +
      (memory.steps.some((s) => s[2]) ? '<span><i class="swatch pass"></i>backward pass</span>' :
                                        '') +
      (step === peakStep ? '' :
                           '<button type="button" class="link" data-step>to the peak</button>');
  const stacked = (e) => sumsBy(e.items, (b) => b.kind, (b) => b.bytes, () => '')
                             .sort((a, b) => a.key - b.key)
                             .map(
                                 (part) => `<i class="k${part.key}" style="width:${
                                     (100 * part.bytes / Math.max(1, e.bytes)).toFixed(1)}%"></i>`)
                             .join('');
  panel.querySelector('.sheets').innerHTML =
      !list.length ? '' :
                     sums(
                         'Held at this step, by line',
                         sumsBy(
                             list, (b) => b.line || b.op, (b) => b.bytes,
                             (b) => b.line ? filterLink(quoted('line', b.line), escaped(b.line)) :
                                             filterLink(quoted('op', b.op), `${escaped(b.op)}s`)),
                         8, stacked) +
          sums('By op',
               sumsBy(
                   list, (b) => b.op, (b) => b.bytes,
                   (b) => filterLink(quoted('op', b.op), escaped(b.op))),
               8, stacked);
  heldList.set(held);
  if (!list.length)
    none.innerHTML = query.length ? nothing('No value that is held at this step matches.') :
                                    '<p class="empty">Nothing is held.</p>';
  const at = panel.querySelector('.at'), x = (step + 0.5) / memory.steps.length * kChart.width;
  if (at) at.setAttribute('x1', x), at.setAttribute('x2', x);
  byId('step').value = step;
  byId('step').setAttribute(
      'aria-valuetext', `step ${step}, ${stepText(step)}: ${amount(heldAt(step))}`);
}
function setStep(s) {
  step = Math.max(0, Math.min(memory.steps.length - 1, s));
  showMemory();
}

function showKind(kind) {
  if (!unseenKinds.delete(kind)) unseenKinds.add(kind);
  byId('memory').querySelector('.plot').innerHTML = chartHtml();
  showMemory();
  byId('memory').querySelector(`[data-kind="${kind}"]`).focus();
}

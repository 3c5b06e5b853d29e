// Lists of values and of collectives.

// ---- Lists of rows of one height, of which only the visible ones are in the page ----

const selectionListeners = [];
class List {
  // `html(k, position)` returns the attributes and cells of item k; `panel` is what scrolls.
  constructor(panel, element, role, html) {
    Object.assign(this, {panel, element, html, items: [], selected: -1, drawn: ''});
    element.className = 'list';
    element.tabIndex = 0;
    element.setAttribute('role', role);
    element.innerHTML = '<div class="rows" role="presentation"></div>';
    this.rows = element.firstChild;
    panel.addEventListener('scroll', () => this.draw(), {passive: true});
    element.addEventListener('keydown', (event) => this.key(event));
    element.addEventListener('click', (event) => {
      const row = event.target.closest('.row');
      if (!row) return;
      const k = Number(row.dataset.k);
      if (this.toggles?.(k, event.target.closest('.twist') ? 'click' : 'row')) return;
      this.select(k, true);
    });
  }
  get rowHeight() {
    return parseInt(getComputedStyle(document.documentElement).getPropertyValue('--row'), 10);
  }
  set(items) {
    this.items = items;
    this.positions = null;
    if (this.positionOf(this.selected) < 0) this.selected = -1;
    this.drawn = '';
    this.draw();
  }
  positionOf(k) {
    this.positions ||= new Map(this.items.map((item, position) => [item, position]));
    return this.positions.get(k) ?? -1;
  }
  draw() {
    if (this.panel.hidden) return;
    const height = this.rowHeight;
    this.element.style.height = `${this.items.length * height}px`;
    const first =
        Math.max(0, Math.floor((this.panel.scrollTop - this.element.offsetTop) / height) - 8);
    const last =
        Math.min(this.items.length, first + Math.ceil(this.panel.clientHeight / height) + 17);
    const drawn = `${first} ${last} ${this.selected} ${height}`;
    if (drawn === this.drawn) return;
    this.drawn = drawn;
    let html = '';
    for (let p = first; p < last; ++p) {
      const k = this.items[p], [attributes, cells] = this.html(k);
      html += `<div id="${this.panel.id}-${k}" data-k="${k}" aria-setsize="${this.items.length}" ` +
          `aria-posinset="${p + 1}" aria-selected="${k === this.selected}" ${attributes}>${
                  cells}</div>`;
    }
    this.rows.style.top = `${first * height}px`;
    this.rows.innerHTML = html;
    if (this.selected >= 0)
      this.element.setAttribute('aria-activedescendant', `${this.panel.id}-${this.selected}`);
    else
      this.element.removeAttribute('aria-activedescendant');
  }
  reveal(k) {
    const position = this.positionOf(k);
    if (position < 0) return;
    const height = this.rowHeight, top = this.element.offsetTop + position * height;
    const sticky = this.panel.querySelector('.columns')?.offsetHeight || 0;
    if (top - sticky < this.panel.scrollTop) this.panel.scrollTop = top - sticky - 2 * height;
    const bottom = this.panel.scrollTop + this.panel.clientHeight;
    if (top + height > bottom) this.panel.scrollTop += top + 3 * height - bottom;
  }
  select(k, opens) {
    this.selected = k;
    this.reveal(k);
    this.draw();
    this.selects?.(k, opens);
  }
  key(event) {
    const at = this.positionOf(this.selected), last = this.items.length - 1;
    const page = Math.max(1, Math.floor(this.panel.clientHeight / this.rowHeight) - 2);
    const steps = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      Home: 0,
      End: last,
      PageDown: at + page,
      PageUp: at - page
    };
    if (event.key in steps && last >= 0)
      this.select(this.items[Math.max(0, Math.min(last, steps[event.key]))], false);
    else if (event.key === 'Enter' && at >= 0)
      this.select(this.selected, true), byId('detail').focus();
    else if (!(at >= 0 && this.toggles?.(this.selected, event.key)))
      return;
    event.preventDefault();
  }
}

// ---- Parts of rows ----

const barOf = (share, kinds) => `<span class="track"><span class="fill" style="width:${
    (100 * share).toFixed(1)}%">${kinds || ''}</span></span>`;
const link = (r, text) => r < 0 ?
    escaped(text) :
    `<button type="button" class="link" data-row="${r}">${escaped(text)}</button>`;
const filterLink = (query, html) =>
    `<button type="button" data-query="${escaped(query)}">${html}</button>`;
const quoted = (field, text) => /\s/.test(text) ? `${field}:"${text}"` : `${field}:${text}`;
const width = (values, least, most) =>
    `${Math.min(most, values.reduce((w, v) => Math.max(w, v.length), least)) + 1}ch`;
const sums = (caption, entries, most, kinds) => {
  const sorted = entries.sort((a, b) => b.bytes - a.bytes);
  const rest = sorted.slice(most);
  const shown = sorted.slice(0, most).map(
      (e) => `<tr><th scope="row">${e.html}</th><td class="n">${amount(e.bytes)}</td><td>${
          barOf(e.bytes / Math.max(1, sorted[0].bytes), kinds?.(e))}</td></tr>`);
  if (rest.length)
    shown.push(`<tr><th scope="row" class="quiet">${rest.length} more</th><td class="n quiet">${
        amount(rest.reduce((sum, e) => sum + e.bytes, 0))}</td><td></td></tr>`);
  return `<table class="sums"><caption>${caption}</caption>${shown.join('')}</table>`;
};
// Adds bytes up by a key.
function sumsBy(list, keyOf, bytesOf, htmlOf) {
  const by = new Map();
  for (const item of list) {
    const key = keyOf(item);
    if (!by.has(key)) by.set(key, {key, bytes: 0, html: htmlOf(item), items: []});
    by.get(key).bytes += bytesOf(item);
    by.get(key).items.push(item);
  }
  return [...by.values()];
}
const nothing = (what) =>
    `<p class="empty">${what} Fields narrow a search: <code>op:dot_general</code>
  <code>axis:${
        escaped(data.mesh[0]?.[0] || 'x')}</code> <code>line:model.py</code> <code>scope:mlp</code>
  <code>sends:all_reduce</code></p>`;

// ---- The program ----

const rowIndices = Array.from({length: count}, (_, r) => r);
const plainLayout = (layout) =>
    `${layout.dtype}[${layout.dims.map((d) => [d.size, ...d.axes].join('   ')).join(', ')}]`;
const levelOf = new Map(nodes.map((node) => [node.row, Math.min(node.level, 12)]));
byId('program').style.cssText = [
  `--value:${
      width(rowIndices.map((r) => `${'  '.repeat(levelOf.get(r))}    ${nameOf(r)}`), 9, 30)}`,
  `--type:${width([...new Set(rowIndices.map(rowLayout))].map(plainLayout), 8, 40)}`,
  `--line:${width([...new Set(rows.line)].map((l) => `${texts[l]}  `), 4, 24)}`
].join(';');
byId('program').innerHTML = `<div class="columns program" aria-hidden="true"><span>Value</span>
  <span>Type, with the axes of its dims</span><span>Operation</span><span class="n">Sends</span>
  <span class="n">Line</span></div><div id="values" aria-label="Values"></div>
  <div class="none"></div>`;
const sentInAll = sends.reduce((sum, e) => sum + total(e), 1);
const programList = new List(byId('program'), byId('values'), 'tree', (k) => {
  const node = nodes[k], r = node.row, indent = `style="--indent:${14 * Math.min(node.level, 12)}px"`;
  const isOpen = node.open || query.length > 0;
  const twist = node.children ? `<span class="twist">${isOpen ? '▾' : '▸'}</span>` :
                                '<span class="twist"></span>';
  const expanded = node.children ? `aria-expanded="${isOpen}" ` : '';
  const tree = `role="treeitem" aria-level="${node.level + 1}" ${expanded}`;
  const sends = node.sent && (r < 0 || sendsOfRow.has(r) || !node.open) ? amount(node.sent) : '';
  if (r < 0) {
    const cut = node.name.lastIndexOf('/') + 1;
    return [
      `${tree}${indent} class="row program group"`,
      `<span class="value">${twist}${escaped(node.name.slice(0, cut))}<b>${
          escaped(node.name.slice(cut))}</b></span><span class="ops n">${
          node.ops ? plural(node.ops, 'op') : node.children}</span>` +
          `<span class="share">${node.sent ? barOf(node.sent / sentInAll) : ''}</span>` +
          `<span class="sends n">${sends}</span>`
    ];
  }
  const line = texts[rows.line[r]], before = r > 0 && nodes[nodeOfRow[r - 1]].level === node.level;
  const repeated = before && rows.line[r] === rows.line[r - 1];
  return [
    `${tree}${indent} class="row program${sends ? ' sending' : ''}"`,
    `<span class="value">${twist}<span class="name">${
        escaped(nameOf(r))}</span></span>` +
        `<span class="type">${layoutHtml(rowLayout(r))}</span>` +
        `<span class="op">${escaped(opOf(r))} <span class="args">${
            escaped(argsOf(r))}</span></span>` +
        `<span class="sends n">${sends}</span><span class="line">${repeated ? '' : escaped(line)}${
            rows.backward[r] && !repeated ? ' <span class="back" title="backward pass">←</span>' :
                                            ''}</span>`
  ];
});
programList.toggles = (k, how) => {
  const node = nodes[k];
  if (how === 'ArrowLeft' && (!node.open || !node.children)) {
    if (node.parent >= 0) programList.select(node.parent, false);
    return true;
  }
  if (!node.children) return false;
  if (how === 'row' && node.row >= 0) return false;
  if ((how === 'ArrowLeft') !== node.open && how.startsWith('Arrow')) return false;
  if (how === 'Enter') return false;
  node.open = !node.open;
  showProgram();
  programList.select(k, false);
  return true;
};
programList.selects = (k, opens) => {
  const node = nodes[k];
  showDetail(node.row < 0 ? groupDetail(node) : rowDetail(node.row), opens);
};
let foundRows = rowIndices;
function showProgram() {
  const items = [];
  if (query.length) {
    const shown = new Uint8Array(nodes.length);
    for (const r of foundRows)
      for (let k = nodeOfRow[r]; k >= 0 && !shown[k]; k = nodes[k].parent) shown[k] = 1;
    for (let k = 0; k < nodes.length; ++k)
      if (shown[k]) items.push(k);
  } else {
    for (let k = 0; k < nodes.length; k = nodes[k].open ? k + 1 : nodes[k].end) items.push(k);
  }
  programList.set(items);
  byId('program').querySelector('.none').innerHTML = count === 0 ?
      '<p class="empty">The program is empty.</p>' :
      items.length ? '' :
                     nothing('No value matches.');
}
function goToRow(r) {
  if (!foundRows.includes(r)) byId('query').value = '', search();
  for (let k = nodes[nodeOfRow[r]].parent; k >= 0; k = nodes[k].parent) nodes[k].open = true;
  openTab('program');
  showProgram();
  programList.select(nodeOfRow[r], true);
}

// ---- Communication ----

const kindHtml = (e) =>
    `${e.kind}${e.backward ? ' <span class="back" title="backward pass">←</span>' : ''}`;
const textOfValue = (r, op) => r >= 0 ? `${op} ${nameOf(r)}` : op;
const timesText = (e) => `${amount(e.bytes)} × ${e.times}${e.repeats ? ' each' : ''}`;
const causeText = (e) => `${textOfValue(e.made, e.madeBy)} → ${
    e.readBy === 'return' ? 'result' : textOfValue(e.read, e.readBy)}`;
byId('comm').style.cssText =
    `--axes:${width(sends.map((e) => `${e.axes.join('   ')}  `), 6, 28)};--line:${
        width(sends.map((e) => e.line), 4, 24)}`;
byId('comm').innerHTML = `<div class="sheets"></div><div class="columns comm" aria-hidden="true">
  <span>Collective</span><span>Axes</span><span class="n">Bytes</span><span></span>
  <span class="n">Each × times</span>
  <span>Cause: made by → needed by</span><span class="n">Line</span></div>
  <div id="sends" aria-label="Collectives"></div><div class="none"></div>`;
const most = Math.max(1, ...sends.slice(0, 1).map(total));
const sendList = new List(byId('comm'), byId('sends'), 'listbox', (k) => {
  const e = sends[k];
  return [
    'role="option" class="row comm"',
    `<span class="kind name">${kindHtml(e)}</span><span class="axes">${
        e.axes.map(chip).join(' ')}</span>` +
        `<span class="total n">${amount(total(e))}</span><span class="share">${
            barOf(total(e) / most)}</span>` +
        `<span class="times n quiet">${timesText(e)}</span>` +
        `<span class="cause">${escaped(causeText(e))}${
            e.implied ? '' : ' <span class="asked">asked for</span>'}</span>` +
        `<span class="line">${escaped(e.line)}</span>`
  ];
});
sendList.selects = (k, opens) => showDetail(sendDetail(sends[k]), opens);
function showSends(found) {
  sendList.set(found);
  const list = found.map((k) => sends[k]);
  byId('comm').querySelector('.sheets').innerHTML =
      list.length ? sums(
                        'By axes',
                        sumsBy(
                            list, (e) => e.axes.join(), total,
                            (e) => filterLink(
                                e.axes.map((a) => quoted('axis', axisName(a))).join(' '),
                                e.axes.map(chip).join(' '))),
                        6) +
          sums('By collective',
               sumsBy(
                   list, (e) => e.kind, total,
                   (e) => filterLink(quoted('sends', e.kind), escaped(e.kind))),
               6) +
          sums('By line',
               sumsBy(
                   list, (e) => e.line, total,
                   (e) => filterLink(quoted('line', e.line), escaped(e.line || 'no line'))),
               6) :
                    '';
  byId('comm').querySelector('.none').innerHTML = !data.comm ?
      '<p class="empty">The program was not lowered, so its communication is not known.</p>' :
      !sends.length ? '<p class="empty">The devices send nothing.</p>' :
      list.length   ? '' :
                      nothing('No collective matches.');
  byId('comm').querySelector('.columns').hidden = !list.length;
}

// Details of the selected value, group, collective or buffer.

let explanations = null;
const field = (name, html) => html ? `<dt>${name}</dt><dd>${html}</dd>` : '';
// Returns an operand list, or a line of an explanation, with links to values and axes in colour.
function withLinks(text, near) {
  const values = /(?<=^|\bof |\bargument |\bfrom |, )[^\s,{}]+/g, axes = /&quot;(.*?)&quot;/g;
  return escaped(text)
      .replace(
          values,
          (name) => {
            const r = rowOfText(name, near);
            return r < 0 || r === near ? name : link(r, name);
          })
      .replace(axes, (all, axis) => colours.has(axisName(axis)) ? chip(axis) : all);
}
function linksTo(list, most = 12) {
  const links = list.slice(0, most).map(
      (u) => link(u, opOf(u) === 'return' ? 'return' : `${opOf(u)} ${nameOf(u)}`));
  return links.join('<br/>') +
      (list.length > most ? `<br/><span class="quiet">and ${list.length - most} more</span>` : '');
}
const scopeHtml = (scope) => scope &&
    scope.split('/')
        .map(
            (part) => `<button type="button" class="link" data-query="${
                escaped(quoted('scope', part))}">${escaped(part)}</button>`)
        .join('/');
const lineHtml = (line, backward) =>
    line &&
    `<button type="button" class="link" data-query="${escaped(quoted('line', line))}">${
        escaped(line)}</button>${backward ? ' <span class="back">backward pass</span>' : ''}`;
function whyHtml(r) {
  explanations ||= JSON.parse(byId('why').textContent);
  if (!texts[rows.sharding[r]] && !explanations.rows[r].length) return '';
  const lines =
      explanations.rows[r].map((k) => explanations.lines[k]).filter((line) => line.trim());
  const body = lines.map((line) => {
    const indent = Math.max(0, line.search(/\S/) - 2);
    const lost = line.includes(' did not get ');
    return `<div style="--in:${indent}"${lost ? ' class="lost"' : ''}>${
        withLinks(line.trim(), r)}</div>`;
  });
  return `<section><h3>Why ${escaped(nameOf(r))} is sharded so</h3><div class="why">${
      body.join('') || '<div>No constraint reaches it: it is not sharded.</div>'}</div></section>`;
}
function sentHtml(e) {
  const value = e.madeBy === kArgument ?
      `the argument ${link(e.made, e.made >= 0 ? nameOf(e.made) : e.madeAt)}` :
      `the result of ${link(e.made, textOfValue(e.made, e.madeBy))}`;
  const need = e.readBy === 'return' ? 'as a result of the program' :
                                       `for ${link(e.read, textOfValue(e.read, e.readBy))}`;
  const [, from, to] = /from=(.*), to=(.*)/s.exec(e.change) || [];
  const change = from ?
      ` It is ${layoutHtml(layoutOf(from, ''))} and is needed as ${layoutHtml(layoutOf(to, ''))}.` :
      '';
  return `<p><b>${e.kind}</b> over ${e.axes.map(chip).join(' ')} sends ${value}, ${need}.${
      change}</p><p class="quiet">${amount(e.bytes)} ${
      e.times === 1 && !e.repeats ? '' :
                                    `× ${e.times}${e.repeats ? ' in each iteration' : ''} = ${
                                        amount(total(e))} `}from each device, ${
      e.implied ? 'implied: the program does not ask for it' :
                  'asked for by the program'}${e.backward ? ', in the backward pass' : ''}.</p>`;
}
function rowDetail(r) {
  const layout = rowLayout(r), name = nameOf(r), number = `%${rows.value[r]}`;
  const sent = (sendsOfRow.get(r) || []).map(sentHtml).join('');
  const held = buffers.filter((b) => b.row === r && b.bytes > 0);
  const isSharded = layout.axes.length > 0;
  const users = rows.value[r] >= 0 ? linksTo(usersOf(r)) : '';
  return `<h2>${escaped(name || opOf(r))}</h2>` +
      (layout.dtype ? `<div class="type">${layoutHtml(layout)}</div>` : '') +
      `<dl>${
             field(
                 'On each device',
                 layout.dtype && isSharded && !layout.more ?
                     escaped(localType(layout)) :
                     '')}${field('Made by', `${escaped(opOf(r))} ${withLinks(argsOf(r), r)}`)}${
             field('Line', lineHtml(texts[rows.line[r]], rows.backward[r]))}${
             field('Scope', scopeHtml(texts[rows.scope[r]]))}${
             field(
                 'In program text',
                 name && name !== number && rows.value[r] >= 0 ? number :
                                                                 '')}${field('Read by', users)}${
             field(
                 'Memory',
                 held.slice(0, 4)
                     .map(
                         (b) => `<button type="button" class="link" data-step="${b.begin}">${
                             amount(b.bytes)}, steps ${b.begin} – ${
                             b.end - 1}</button> <span class="quiet">${
                             escaped(memory.kinds[b.kind])}</span>`)
                     .join('<br/>'))}</dl>` +
      (sent && `<section class="sent"><h3>What it sends</h3>${sent}</section>`) + whyHtml(r);
}
function groupDetail(node) {
  const inside =
      nodes.slice(nodes.indexOf(node), node.end).filter((n) => n.row >= 0).map((n) => n.row);
  const sent = inside.flatMap((r) => sendsOfRow.get(r) || []);
  return `<h2>${escaped(node.name)}</h2><p class="quiet">${plural(node.ops, 'op')}, ${
      node.sent ? `${amount(node.sent)} sent by each device` : 'nothing sent'}</p><section>${
      sent.length ?
          sums(
              'Sent, by cause',
              sumsBy(sent, (e) => causeText(e), total, (e) => link(e.row, causeText(e))), 12) :
          ''}</section><section>${
      countsHtml(inside.filter((r) => opOf(r) !== kArgument).map(opOf))}</section>`;
}
function countsHtml(ops) {
  const counts = new Map();
  for (const op of ops) counts.set(op, (counts.get(op) || 0) + 1);
  const sorted = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 15);
  return `<table class="sums"><caption>Ops</caption>${
      sorted
          .map(
              ([op, n]) => `<tr><th scope="row">${
                  filterLink(quoted('op', op), escaped(op))}</th><td class="n">${n}</td><td>${
                  barOf(n / sorted[0][1])}</td></tr>`)
          .join('')}</table>`;
}
const sendDetail = (e) =>
    `<h2>${escaped(causeText(e))}</h2><section class="sent">${sentHtml(e)}</section><dl>${
        field('Line', lineHtml(e.line, e.backward))}${field('Scope', scopeHtml(e.scope))}</dl>${
        e.made >= 0     ? whyHtml(e.made) :
            e.read >= 0 ? whyHtml(e.read) :
                          ''}`;
const bufferDetail = (b) => `<h2>${escaped(b.op)}</h2><div class="type">${
    layoutHtml(layoutOf(b.type, ''))}</div><dl>${field('Bytes', amount(b.bytes))}${
    field('Held as', `<i class="swatch k${b.kind}"></i>${escaped(memory.kinds[b.kind])}`)}${
    field('From', `step ${b.begin}: ${escaped(stepText(b.begin))}`)}${
    field('Until', `step ${b.end - 1}: ${escaped(stepText(b.end - 1))}`)}${
    field('Line', lineHtml(b.line, b.backward))}${field('Scope', scopeHtml(b.scope))}${
    b.row >= 0 ? field('Value', link(b.row, nameOf(b.row) || b.op)) : ''}</dl>`;
function showDetail(html, opens) {
  byId('detail').innerHTML =
      `<button type="button" class="close" aria-label="Close">×</button>${html}`;
  byId('detail').scrollTop = 0;
  if (opens) byId('detail').classList.add('open');
}
const overview = () => `<h2>${
    plural(
        nodes.reduce((n, node) => n + (node.row >= 0 && opOf(node.row) !== kArgument), 0),
        'op')}</h2>
  <p class="quiet">Choose a value to see why it is sharded so, what it sends, who reads it and how
  long it is held.</p><section>${
    sends.length ?
        sums(
            'Most bytes are sent for',
            sends.slice(0, 8).map((e) => ({bytes: total(e), html: link(e.row, causeText(e))})), 8) :
        ''}</section><section>${
    countsHtml(rowIndices.map(opOf).filter(
        (op) => op !== kArgument && op !== 'return' && op !== 'region' &&
            !op.includes(' ')))}</section>`;

// Shows the data of the page: the program, its communication and its memory, with a search.
'use strict';
performance.mark('tessera:start');
const data = JSON.parse(document.getElementById('data').textContent);
const texts = data.texts, rows = data.rows, count = rows.depth.length;
const events = data.comm || [], memory = data.memory;
const byId = (id) => document.getElementById(id);

// ---- Texts ----

const kEscapes = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;'
};
const escaped = (text) => text.replace(/[&<>"]/g, (c) => kEscapes[c]);
const plural = (n, noun) =>
    `${String(n).replace(/\B(?=(\d{3})+$)/g, ',')} ${noun}${n === 1 ? '' : 's'}`;
function amount(bytes, unit = 'B') {
  let p = 0;
  for (; bytes >= 999.5 && p < 6; ++p) bytes /= 1000;
  return `${p ? Number(bytes.toPrecision(3)) : bytes} ${['', 'k', 'M', 'G', 'T', 'P', 'E'][p]}${unit}`;
}
const colours = new Map(data.mesh.map(([name], k) => [name, k % 8]));
const sizes = new Map(data.mesh.map(([name, size]) => [name, size]));
const axisName = (axis) => axis.replace(/:\(.*$/, '');
function chip(axis) {
  return `<i class="axis c${colours.get(axisName(axis)) ?? 0}">${escaped(axis)}</i>`;
}
// Returns the number of shards along an axis, which may be a part: "x:(2)4".
const shards = (axis) => Number(/:\(\d+\)(\d+)$/.exec(axis)?.[1] ?? sizes.get(axis) ?? 1);

// Splits at commas outside of brackets.
function parts(text) {
  const out = [];
  let depth = 0, begin = 0;
  for (let at = 0; at <= text.length; ++at) {
    const c = text[at];
    if (c === '(' || c === '[' || c === '{') ++depth;
    if (c === ')' || c === ']' || c === '}') --depth;
    if (at === text.length || (c === ',' && depth === 0)) {
      out.push(text.slice(begin, at).trim());
      begin = at + 1;
    }
  }
  return text.trim() ? out : [];
}

// Returns {dtype, dims: [{size, axes}], more} of "f32[8@x,4@(y,z)]{U:w}" with a sharding of Shardy.
const layouts = new Map();
function layoutOf(typeText, shardingText) {
  const key = `${typeText}\n${shardingText}`;
  let layout = layouts.get(key);
  if (layout) return layout;
  const [, dtype, inside, more] =
      /^([^[]*)\[([^\]]*)\](.*)$/s.exec(typeText) || [null, typeText, '', ''];
  const dims = parts(inside).map((dim) => {
    const at = dim.indexOf('@');
    if (at < 0) return {size: dim, axes: []};
    const axes = dim.slice(at + 1);
    return {size: dim.slice(0, at), axes: axes.startsWith('(') ? parts(axes.slice(1, -1)) : [axes]};
  });
  const list = /\[(.*?)\](.*)>$/s.exec(shardingText);
  const quoted = /"([^"]*)"(:\(\d+\)\d+)?/g;
  if (list)
    parts(list[1]).forEach((dim, d) => {
      const axes = [...dim.matchAll(quoted)].map((m) => m[1] + (m[2] || ''));
      if (dims[d] && axes.length) dims[d].axes = axes;
    });
  const partial = [...(list?.[2] || '').matchAll(/unreduced=(\w*)\{([^}]*)\}/g)].flatMap(
      (m) => [...m[2].matchAll(quoted)].map((a) => a[1] + (a[2] || '')));
  layout = {dtype, dims, more, partial, axes: [...dims.flatMap((d) => d.axes), ...partial]};
  layouts.set(key, layout);
  return layout;
}
function layoutHtml(layout) {
  if (!layout.dtype) return '';
  const dims = layout.dims.map(
      (d) => `<span class="size">${escaped(d.size)}</span>${
          d.axes.map((a) => ' ' + chip(a)).join('')}`);
  const partial =
      layout.partial.length ? ` partial over ${layout.partial.map(chip).join(' ')}` : '';
  return `<span class="quiet">${escaped(layout.dtype)}[</span>${
             dims.join('<span class="quiet">, </span>')}` +
      `<span class="quiet">]${escaped(layout.more)}${partial}</span>`;
}
const rowLayout = (r) => layoutOf(texts[rows.type[r]], texts[rows.sharding[r]]);
function localType(layout) {
  const dims =
      layout.dims.map((d) => Math.ceil(Number(d.size) / d.axes.reduce((n, a) => n * shards(a), 1)));
  return `${layout.dtype}[${dims.join(',')}]`;
}

// ---- The program's rows ----

const kArgument = 'argument', kArguments = 'arguments';
const nameOf = (r) => texts[rows.name[r]] || (rows.value[r] < 0 ? '' : `%${rows.value[r]}`);
const opOf = (r) => texts[rows.op[r]];
const rowOfNumber = new Map(), rowsOfName = new Map(), rowsOfPlace = new Map();
for (let r = 0; r < count; ++r) {
  const keep = (map, key) => map.has(key) ? map.get(key).push(r) : map.set(key, [r]);
  if (rows.value[r] >= 0) rowOfNumber.set(rows.value[r], r);
  if (rows.name[r]) keep(rowsOfName, texts[rows.name[r]]);
  if (!rows.line[r]) continue;
  const line = texts[rows.line[r]], op = `${line}\n${opOf(r)}`;
  for (const place of [line, op, `${op}\n${texts[rows.scope[r]]}`]) keep(rowsOfPlace, place);
}
// Returns the row that a name or number in an explanation means, the nearest one to a row.
function rowOfText(name, near = 0) {
  const named = rowsOfName.get(name);
  if (named) return named.reduce((a, b) => Math.abs(b - near) < Math.abs(a - near) ? b : a);
  return name[0] === '%' ? rowOfNumber.get(Number(name.slice(1))) ?? -1 : -1;
}
// Returns the row of an op of the device program, which need not be in the program: -1 if the line has
// no ops. Of several it is the next one of this type, because devices run them in this order.
const timesAsked = new Map();
function rowAt(line, op, scope, hasType) {
  if (op === kArgument) return rowOfNumber.get(Number(line.slice(1))) ?? -1;
  const place = `${line}\n${op}`;
  const same = rowsOfPlace.get(`${place}\n${scope}`) ?? rowsOfPlace.get(place);
  if (!same) return rowsOfPlace.get(line)?.at(-1) ?? -1;
  if (same.length === 1) return same[0];
  const key = `${place}\n${scope}\n${hasType.key}`;
  if (!timesAsked.has(key)) timesAsked.set(key, {rows: same.filter(hasType), times: 0});
  const asked = timesAsked.get(key);
  return asked.rows.length ? asked.rows[asked.times++ % asked.rows.length] : same[0];
}
// Return whether a row has this global type, or this type on a device.
function ofGlobalType(type) {
  const {dtype, dims} = layoutOf(type, '');
  const sizesOf = (layout) => layout.dims.map((d) => d.size).join();
  const wanted = sizesOf({dims});
  const is = (r) => rowLayout(r).dtype === dtype && sizesOf(rowLayout(r)) === wanted;
  return Object.assign(is, {key: `${dtype}[${wanted}]`});
}
const ofLocalType = (type) => Object.assign((r) => localType(rowLayout(r)) === type, {key: type});
// Returns the row of an op that reads the value of a row: a user, or the next such op after it.
function readerOf(made, line, op) {
  const same = rowsOfPlace.get(`${line}\n${op}`);
  if (made < 0 || !same) return rowAt(line, op, '', ofGlobalType(''));
  const users = new Set(usersOf(made));
  return same.find((r) => users.has(r)) ?? same.find((r) => r > made) ?? same[0];
}
// Returns the rows that have a row's value as an operand, in order.
let users = null;
function usersOf(r) {
  if (!users) {
    users = new Map();
    for (let u = 0; u < count; ++u)
      for (const [, number] of texts[rows.rest[u]].matchAll(/%(\d+)/g)) {
        const of = Number(number);
        if (!users.has(of)) users.set(of, new Set());
        users.get(of).add(u);
      }
  }
  return [...(users.get(rows.value[r]) || [])];
}
// Returns the text of an instruction after its op, with numbers replaced by names.
const argsOf = (r) => texts[rows.rest[r]].replace(/%(\d+)/g, (text, number) => {
  const row = rowOfNumber.get(Number(number));
  return row === undefined ? text : nameOf(row);
});

// Events with one cause are one.
const sends = [], sendsOfRow = new Map();
{
  const known = new Map();
  for (const [kind, axes, bytes, times, flags, line, scope, madeBy, madeAt, readBy, readAt,
              change] of events) {
    const e = {
      kind: texts[kind],
      axes: axes.map((a) => texts[a]),
      bytes,
      times,
      backward: flags & 1,
      implied: flags & 2,
      repeats: flags & 4,
      line: texts[line],
      scope: texts[scope],
      madeBy: texts[madeBy],
      madeAt: texts[madeAt],
      readBy: texts[readBy],
      readAt: texts[readAt],
      change: texts[change]
    };
    const [, from] = /from=(.*), to=/s.exec(e.change) || [null, ''];
    e.made = rowAt(e.madeAt, e.madeBy, e.line === e.madeAt ? e.scope : '', ofGlobalType(from));
    e.read = readerOf(e.made, e.readAt, e.readBy);
    const key = [kind, axes, bytes, flags, line, scope, e.made, e.read, change].join();
    const old = known.get(key);
    if (old) {
      old.times += times;
      continue;
    }
    known.set(key, e);
    sends.push(e);
    const atLine = [e.made, e.read].find((r) => r >= 0 && texts[rows.line[r]] === e.line);
    e.row = atLine ?? Math.max(e.made, e.read);
    if (e.row < 0) continue;
    if (!sendsOfRow.has(e.row)) sendsOfRow.set(e.row, []);
    sendsOfRow.get(e.row).push(e);
  }
}
const total = (e) => e.bytes * e.times;
sends.sort((a, b) => total(b) - total(a));
const sentBy = (r) => (sendsOfRow.get(r) || []).reduce((sum, e) => sum + total(e), 0);

// ---- Search ----

// What is searched for in a row, an event or a buffer: fields, and one text of all. All is
// lower-case.
function searchable({name, op, line, scope, axis, sends, more}) {
  const lower = (text) => text.toLowerCase();
  const item = {
    name: lower(name),
    op: lower(op),
    line: lower(line),
    scope: lower(scope),
    axis: axis.map(lower),
    sends: sends.map(lower)
  };
  item.all = [
    item.name, item.op, item.line, item.scope, ...item.axis, ...item.sends, ...more.map(lower)
  ].join('\n');
  return item;
}
const words = (text) => [...text.toLowerCase().matchAll(/(?:(\w+):)?("[^"]*"|\S+)/g)].map(
    ([whole, field, value]) =>
        ({field, value: value.replace(/"/g, ''), whole: whole.replace(/"/g, '')}));
const isIn = (lines, value) => lines === value || lines.split('\n').includes(value);
function matches(item, query) {
  return query.every(({field, value, whole}) => {
    switch (field) {
      case 'op':
        return item.op.includes(value) && isIn(item.op, value);
      case 'axis':
        return item.axis.some((a) => a === value || axisName(a) === value);
      case 'line':
        return item.line.includes(value) &&
            item.line.split('\n').some((line) => line === value || line.startsWith(`${value}:`));
      case 'scope':
        return item.scope.includes(value);
      case 'sends':
        return item.sends.some((kind) => kind.includes(value));
      case 'name':
        return item.name.includes(value);
    }
    return whole.startsWith('%') ? isIn(item.name, whole) : item.all.includes(whole);
  });
}
let rowItems = null, sendItems = null, bufferItems = null;
function itemsOfRows() {
  return rowItems ||=
             Array.from({length: count}, (_, r) => searchable({
                                           name: `${texts[rows.name[r]]}\n%${rows.value[r]}`,
                                           op: opOf(r),
                                           line: texts[rows.line[r]],
                                           scope: texts[rows.scope[r]],
                                           axis: rowLayout(r).axes,
                                           sends: (sendsOfRow.get(r) || []).map((e) => e.kind),
                                           more: [texts[rows.type[r]]]
                                         }));
}
function itemsOfSends() {
  return sendItems ||= sends.map(
             (e) => searchable({
               name: [e.made, e.read]
                         .filter((r) => r >= 0)
                         .map((r) => `${nameOf(r)}\n%${rows.value[r]}`)
                         .join('\n'),
               op: `${e.madeBy}\n${e.readBy}`,
               line: [e.line, e.madeAt, e.readAt].join('\n'),
               scope: e.scope,
               axis: e.axes,
               sends: [e.kind],
               more: [
                 e.change, e.implied ? 'implied' : 'asked for', e.backward ? 'backward' : 'forward'
               ]
             }));
}
function itemsOfBuffers() {
  return bufferItems ||=
             buffers.map((b) => searchable({
                           name: b.row < 0 ? '' : `${nameOf(b.row)}\n%${rows.value[b.row]}`,
                           op: b.op,
                           line: b.line,
                           scope: b.scope,
                           axis: b.row < 0 ? [] : rowLayout(b.row).axes,
                           sends: [],
                           more: [b.type, memory.kinds[b.kind]]
                         }));
}
// Returns the indices of the items that match. Without a query, items need not be made.
function passing(size, itemsOf, query) {
  const out = [];
  const items = query.length ? itemsOf() : null;
  for (let k = 0; k < size; ++k)
    if (!items || matches(items[k], query)) out.push(k);
  return out;
}

// ---- Memory ----

const buffers =
    (memory?.buffers || []).map(([kind, bytes, begin, end, op, type, line, scope, backward]) => ({
                                  kind,
                                  bytes,
                                  begin,
                                  end,
                                  op: texts[op],
                                  type: texts[type],
                                  line: texts[line],
                                  scope: texts[scope],
                                  backward,
                                  row: -1
                                }));
{
  let argument = 0;
  for (const b of buffers) {
    if (b.kind === 0) {
      const row = rowOfNumber.get(argument++) ?? -1;
      b.row = row >= 0 && opOf(row) === kArgument ? row : -1;
      b.line = '';  // of the function
    } else {
      b.row = rowAt(b.line, b.op, b.scope, ofLocalType(b.type));
    }
  }
}
// The bytes of each kind at each step.
const levels = (memory?.kinds || []).map((_, kind) => {
  const level = new Float64Array(memory.steps.length + 1);
  for (const b of buffers)
    if (b.kind === kind) level[b.begin] += b.bytes, level[b.end] -= b.bytes;
  for (let s = 1; s < level.length; ++s) level[s] += level[s - 1];
  return level;
});
const heldAt = (step) => levels.reduce((sum, level) => sum + level[step], 0);
let peakStep = 0;
for (let s = 1; s < (memory?.steps.length || 0); ++s)
  if (heldAt(s) > heldAt(peakStep)) peakStep = s;

// ---- Scopes: a tree of groups over the rows ----

// A node of the tree, in order: a group (row < 0) or a row. `end`: the node after its last
// descendant.
const nodes = [];
const scopePath = (r) => texts[rows.scope[r]].split('/').slice(0, -1);
{
  const hasScopes = rows.scope.some((s) => s > 0);
  // If most lines have several ops.
  const lined = rows.line.filter((line) => line > 0), lines = new Set(lined).size;
  const byLine = !hasScopes && lines > 1 && lined.length > 1.7 * lines;
  const functionOf = (r) =>
      /^(@[^/]+)\//.exec(texts[rows.name[r]])?.[1];  // that a front end called
  const pathOf = (r) => {
    if (opOf(r) === kArgument) return [kArguments];
    if (hasScopes) return rows.scope[r] || opOf(r) === 'return' ? scopePath(r) : null;
    if (functionOf(r)) return [functionOf(r)];
    return byLine && rows.line[r] ? [texts[rows.line[r]]] : [];
  };
  // Groups of one child group are one group.
  const root = {children: []};
  const open = [{node: root, path: [], depth: -1}];  // groups and regions around the next row
  for (let r = 0; r < count; ++r) {
    while (open[open.length - 1].depth >= rows.depth[r]) open.pop();
    // Inside of a region the path begins anew.
    const base = open.findLastIndex((o) => o.region) + 1;
    const opened = open.slice(base + (base ? 0 : 1)).map((o) => o.name);
    const path = pathOf(r) ?? (opened[0] === kArguments ? [] : opened);
    let same = 0;
    while (same < path.length && open[base + same + (base ? 0 : 1)]?.name === path[same]) ++same;
    open.length = base + same + (base ? 0 : 1);
    for (const name of path.slice(same)) {
      const node = {name, children: []};
      open[open.length - 1].node.children.push(node);
      open.push({node, name, depth: rows.depth[r] - 0.5});
    }
    const node = {row: r, children: []};
    open[open.length - 1].node.children.push(node);
    if (r + 1 < count && rows.depth[r + 1] > rows.depth[r])
      open.push({node, region: true, depth: rows.depth[r]});
  }
  const flatten = (node, level, parent) => {
    while (node.row === undefined && node.children.length === 1 &&
           node.children[0].row === undefined)
      node = {name: `${node.name}/${node.children[0].name}`, children: node.children[0].children};
    const k = nodes.length;
    const flat = {
      row: node.row ?? -1,
      name: node.name,
      level,
      parent,
      end: 0,
      ops: 0,
      sent: 0,
      open: true,
      children: node.children.length
    };
    nodes.push(flat);
    if (flat.row >= 0)
      flat.ops = opOf(flat.row) === kArgument ? 0 : 1, flat.sent = sentBy(flat.row);
    for (const child of node.children) {
      const c = flatten(child, level + 1, k);
      flat.ops += nodes[c].ops;
      flat.sent += nodes[c].sent;
    }
    flat.end = nodes.length;
    return k;
  };
  for (const child of root.children) flatten(child, 0, -1);
}
const nodeOfRow = new Int32Array(count);
nodes.forEach((node, k) => {
  if (node.row >= 0) nodeOfRow[node.row] = k;
});

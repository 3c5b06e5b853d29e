// Tabs, search, keys, links, and the first view.

let query = [], tab = 'program';
const lists = {
  program: programList,
  comm: sendList,
  memory: heldList
};
function openTab(name, focuses) {
  tab = name;
  for (const id of Object.keys(lists)) {
    const button = byId(`tab-${id}`), chosen = id === name;
    button.setAttribute('aria-selected', chosen);
    button.tabIndex = chosen ? 0 : -1;
    byId(id).hidden = !chosen;
    if (chosen && focuses) button.focus();
  }
  lists[name].drawn = '';
  lists[name].draw();
  keepInAddress();
}
function search() {
  performance.mark('tessera:search');
  query = words(byId('query').value);
  foundRows = passing(count, itemsOfRows, query);
  const foundSends = passing(sends.length, itemsOfSends, query);
  const foundHeld = passing(buffers.length, itemsOfBuffers, query);
  showProgram();
  showSends(foundSends);
  showMemory(foundHeld);
  const counts = {
    program: [foundRows.length, count],
    comm: [foundSends.length, sends.length],
    memory: [foundHeld.length, buffers.length]
  };
  for (const [id, [found, all]] of Object.entries(counts))
    byId(`tab-${id}`).querySelector('.count').innerHTML =
        query.length ? `${found}<span class="wide"> / ${all}</span>` : `${all}`;
  byId('found').textContent = query.length ?
      `${plural(foundRows.length, 'value')}, ${plural(foundSends.length, 'collective')}` :
      '';
  for (const list of Object.values(lists)) list.panel.scrollTop = 0;
  lists[tab].draw();
  keepInAddress();
  performance.measure('tessera:search', 'tessera:search');
}
// A link to the page with its tab, search and value.
function keepInAddress() {
  const state = new URLSearchParams();
  if (tab !== 'program') state.set('tab', tab);
  if (byId('query').value) state.set('search', byId('query').value);
  const node = nodes[programList.selected];
  if (node && node.row >= 0 && rows.value[node.row] >= 0) state.set('value', rows.value[node.row]);
  history.replaceState(null, '', state.size ? `#${state}` : location.pathname + location.search);
}
function setQuery(text) {
  byId('query').value = text;
  byId('detail').classList.remove('open');
  search();
}
byId('query').addEventListener('input', search);
byId('query').addEventListener('keydown', (event) => {
  const list = lists[tab];
  if (event.key === 'ArrowDown' || event.key === 'Enter') {
    // The first value, not the groups around it.
    const first = list.items.find((k) => list !== programList || nodes[k].row >= 0);
    list.element.focus();
    if (first !== undefined) list.select(first, event.key === 'Enter');
  }
  else if (event.key === 'Escape')
    setQuery('');
  else
    return;
  event.preventDefault();
});
document.querySelector('.tabs').addEventListener('click', (event) => {
  const button = event.target.closest('button');
  if (button) openTab(button.getAttribute('aria-controls'));
});
document.querySelector('.tabs').addEventListener('keydown', (event) => {
  const ids = Object.keys(lists), at = ids.indexOf(tab);
  const to = {ArrowRight: at + 1, ArrowLeft: at + 2, Home: 0, End: 2}[event.key];
  if (to === undefined) return;
  event.preventDefault();
  openTab(ids[to % 3], true);
});
document.addEventListener('click', (event) => {
  const button = event.target.closest('button');
  if (!button) return;
  if (button.dataset.row !== undefined)
    goToRow(Number(button.dataset.row));
  else if (button.dataset.query !== undefined)
    setQuery(button.dataset.query);
  else if (button.dataset.kind !== undefined)
    showKind(Number(button.dataset.kind));
  else if (button.dataset.step !== undefined)
    setStep(Number(button.dataset.step || peakStep)), openTab('memory');
  else if (button.classList.contains('close'))
    byId('detail').classList.remove('open'), lists[tab].element.focus();
});
document.addEventListener('keydown', (event) => {
  if (event.key === '/' && !event.ctrlKey && !event.metaKey &&
      document.activeElement !== byId('query')) {
    event.preventDefault();
    byId('query').select();
    byId('query').focus();
  } else if (event.key === 'Escape' && byId('detail').classList.contains('open')) {
    byId('detail').classList.remove('open');
    lists[tab].element.focus();
  }
});
byId('step').addEventListener('input', () => setStep(Number(byId('step').value)));
const plot = byId('memory').querySelector('.plot');
const stepAt = (event) => setStep(Math.floor(
    (event.clientX - plot.getBoundingClientRect().left) / plot.clientWidth * memory.steps.length));
plot.addEventListener('pointerdown', stepAt);
plot.addEventListener('pointermove', (event) => {
  if (event.buttons) stepAt(event);
});
addEventListener('resize', () => {
  for (const list of Object.values(lists)) list.drawn = '', list.draw();
});

// Programs that do not fit one screen begin with their inner groups closed.
for (const node of nodes)
  if (node.name === kArguments && node.children > 8) node.open = false;
if (count > 400)
  for (const node of nodes)
    if (node.row < 0 && node.level > 0) node.open = false;
if (memory) plot.innerHTML = chartHtml(), step = peakStep;
byId('app').hidden = false;
const address = new URLSearchParams(location.hash.slice(1));
byId('query').value = address.get('search') || '';
showDetail(overview(), false);
search();
openTab(lists[address.get('tab')] ? address.get('tab') : 'program');
if (rowOfNumber.has(Number(address.get('value') ?? NaN)))
  goToRow(rowOfNumber.get(Number(address.get('value'))));
performance.measure('tessera:open', 'tessera:start');
// The first search need not wait for this.
(window.requestIdleCallback ||
 setTimeout)(() => itemsOfRows() && itemsOfSends() && itemsOfBuffers());

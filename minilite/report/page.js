// Draws the report: memory maps, live bytes, the table of nodes, the graph. What comes from a model is only ever text.
'use strict';
(() => {
const data = JSON.parse(document.getElementById('data').textContent);
const get = id => document.getElementById(id);
const {records, plans, nodes, live, tensors} = data;
const span = Math.max(1, nodes.length);
const canvases = [...document.querySelectorAll('.map')], captions = [...document.querySelectorAll('figcaption')];
const chosen = [get('left'), get('right')];
const LEFT = 62, BOTTOM = 18;
let view = {t0: 0, t1: span, b0: 0, b1: 1}, hovered = -1, selected = -1, cursor = -1, top = 1, waiting = false;

const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
let colours = {};
const recolour = () => {
  colours = Object.fromEntries(['paper', 'ink', 'soft', 'line', 'band', 'mark', 'bound', 'fill'].map(n => [n, css('--' + n)]));
  redraw();
};
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);
const bytes = count => {
  const power = count < 1024 ? 0 : Math.min(Math.floor(Math.log2(count) / 10), 4);
  return (power ? +(count / 1024 ** power).toPrecision(3) : count) + ' ' + ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'][power];
};
const digits = value => {  // at least two that are significant
  const left = value && !Number.isInteger(value) && Math.abs(value) < 9.95 ? 1 - Math.floor(Math.log10(Math.abs(+value.toPrecision(2)))) : 0;
  return value.toLocaleString('en', {minimumFractionDigits: left, maximumFractionDigits: left});
};
const end = (text, most) => text.length > most ? '\u2026' + text.slice(1 - most) : text;
const start = (text, most) => text.length > most ? text.slice(0, most - 1) + '\u2026' : text;
const nodeText = at => nodes[at] ? `${nodes[at].node} ${nodes[at].op}` : 'the end';

function surface(canvas) {
  const scale = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  const pen = canvas.getContext('2d');
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = '11px system-ui, sans-serif';
  pen.textBaseline = 'middle';
  return {pen, width, height};
}

// Memory maps ---------------------------------------------------------------------------------------------------------

const across = (node, width) => LEFT + (node - view.t0) / (view.t1 - view.t0) * (width - LEFT);
const up = (offset, height) => (height - BOTTOM) * (1 - (offset / top - view.b0) / (view.b1 - view.b0));

function place(plan, at, width, height) {
  const record = records[at], y = up(plan.offsets[at] + record.size, height);
  const x = across(record.first, width);
  return {x, y, wide: across(record.last === null ? span : record.last + 1, width) - x, high: up(plan.offsets[at], height) - y};
}

function box(pen, at, {x, y, wide, high}) {
  pen.fillStyle = `hsl(${at * 137.508 % 360} 55% ${colours.fill})`;
  pen.fillRect(x, y, Math.max(wide, 1), Math.max(high, 1));
  if (wide > 3 && high > 3) pen.strokeRect(x, y, wide, high);
  if (high < 13) return;
  const start = Math.max(x, LEFT) + 4, letters = Math.floor((x + wide - start - 4) / 6.4);
  const {name, number} = tensors[records[at].tensor], text = name.length <= letters ? name : String(number ?? '');
  if (letters < text.length) return;
  pen.fillStyle = colours.ink;
  pen.fillText(text, start, y + high / 2);
}

function drawMap(canvas, plan) {
  const {pen, width, height} = surface(canvas), floor = height - BOTTOM;
  pen.save();
  pen.beginPath();
  pen.rect(LEFT, 0, width - LEFT, floor);
  pen.clip();
  pen.strokeStyle = colours.soft;
  pen.lineWidth = 0.6;
  records.forEach((record, at) => {
    const found = place(plan, at, width, height);
    if (record.size && found.x < width && found.x + found.wide > LEFT && found.y < floor && found.y + found.high > 0) box(pen, at, found);
  });
  if (cursor >= 0) band(pen, width, floor);
  for (const [at, colour] of [[selected, colours.mark], [hovered, colours.ink]]) {
    if (at < 0) continue;
    const {x, y, wide, high} = place(plan, at, width, height);
    pen.strokeStyle = colour;
    pen.lineWidth = 2.5;
    pen.strokeRect(x, y, Math.max(wide, 2), Math.max(high, 2));
  }
  pen.lineWidth = 1.3;
  rule(pen, up(data.lower_bound, height), width, colours.bound, [6, 4]);
  if (plan.arena !== data.lower_bound) rule(pen, up(plan.arena, height), width, colours.soft, []);
  pen.restore();
  pen.fillStyle = colours.soft;
  pen.textAlign = 'right';
  const step = 2 ** Math.max(0, Math.ceil(Math.log2((view.b1 - view.b0) * top / 6)));
  for (let offset = Math.ceil(view.b0 * top / step) * step; offset <= view.b1 * top; offset += step) {
    pen.fillText(bytes(offset), LEFT - 5, clamp(up(offset, height), 7, floor - 5));
  }
  timeAxis(pen, width, height);
}

function rule(pen, y, width, colour, dashes) {
  pen.strokeStyle = colour;
  pen.setLineDash(dashes);
  pen.beginPath();
  pen.moveTo(LEFT, y);
  pen.lineTo(width, y);
  pen.stroke();
  pen.setLineDash([]);
}

function band(pen, width, height) {
  pen.globalAlpha = 0.16;
  pen.fillStyle = colours.mark;
  pen.fillRect(across(cursor, width), 0, Math.max(across(cursor + 1, width) - across(cursor, width), 1.5), height);
  pen.globalAlpha = 1;
}

function timeAxis(pen, width, height) {
  pen.textAlign = 'center';
  const step = Math.max(1, Math.ceil((view.t1 - view.t0) / Math.max(2, Math.floor(width / 90))));
  for (let at = Math.ceil(view.t0 / step) * step; at < Math.min(view.t1, nodes.length); at += step) {
    const x = across(at + 0.5, width);
    if (x > LEFT + 10 && x < width - 10) pen.fillText(nodes[at].node, x, height - BOTTOM / 2 + 1);
  }
  pen.textAlign = 'left';
  pen.fillText('node', 4, height - BOTTOM / 2 + 1);
}

function drawLive() {
  const canvas = get('live'), {pen, width, height} = surface(canvas), floor = height - BOTTOM;
  const most = Math.max(data.lower_bound, ...live.map(one => one[2])) * 1.12 || 1, y = count => floor * (1 - count / most);
  pen.save();
  pen.beginPath();
  pen.rect(LEFT, 0, width - LEFT, floor);
  pen.clip();
  for (const [first, last, count] of live) {
    const x = across(first, width), right = across(last === null ? span : last + 1, width);
    pen.fillStyle = count === data.lower_bound ? colours.bound : colours.mark;
    pen.globalAlpha = count === data.lower_bound ? 0.75 : 0.55;
    pen.fillRect(x, y(count), Math.max(right - x, 0.5), floor - y(count));
  }
  pen.globalAlpha = 1;
  pen.lineWidth = 1.3;
  rule(pen, y(data.lower_bound), width, colours.bound, [6, 4]);
  if (cursor >= 0) band(pen, width, floor);
  pen.restore();
  pen.fillStyle = colours.soft;
  pen.textAlign = 'right';
  pen.fillText(bytes(data.lower_bound), LEFT - 5, Math.max(y(data.lower_bound), 7));
  pen.fillText('live', LEFT - 5, floor - 6);
  timeAxis(pen, width, height);
  pen.fillStyle = colours.ink;
  if (cursor >= 0) pen.fillText(`node ${nodeText(cursor)}: ${bytes(liveAt(cursor))} live`, LEFT + 6, y(data.lower_bound) + 12);
}

const liveAt = at => (live.find(([first, last]) => first <= at && (last === null || at <= last)) || [0, 0, 0])[2];
const shown = () => chosen.map(select => plans[select.value]);

function draw() {
  waiting = false;
  top = Math.max(1, ...shown().map(plan => plan ? plan.arena : 0)) * 1.03;
  shown().forEach((plan, side) => canvases[side].parentElement.hidden = !plan);  // before widths are asked for
  shown().forEach((plan, side) => {
    if (!plan) return;
    const above = plan.arena - data.lower_bound;
    captions[side].textContent = `${plan.strategy}: ${bytes(plan.arena)}, ` +
      (above ? `${(100 * above / (data.lower_bound || 1)).toFixed(1)} % above the bound` : 'at the lower bound');
    drawMap(canvases[side], plan);
  });
  drawLive();
  drawGraph();
}

function redraw() {
  if (!waiting) requestAnimationFrame(draw);
  waiting = true;
}

function zoom(factor, t = (view.t0 + view.t1) / 2, b = (view.b0 + view.b1) / 2, timeOnly = false) {
  const wide = clamp((view.t1 - view.t0) * factor, Math.min(2, span), span);
  const t0 = clamp(t - (t - view.t0) * wide / (view.t1 - view.t0), 0, span - wide);
  const high = timeOnly ? view.b1 - view.b0 : clamp((view.b1 - view.b0) * factor, 1e-4, 1);
  const b0 = clamp(b - (b - view.b0) * high / (view.b1 - view.b0), 0, 1 - high);
  view = {t0, t1: t0 + wide, b0, b1: b0 + high};
  redraw();
}

function move(t, b) {
  const wide = view.t1 - view.t0, high = view.b1 - view.b0;
  const t0 = clamp(view.t0 + t, 0, span - wide), b0 = clamp(view.b0 + b, 0, 1 - high);
  view = {t0, t1: t0 + wide, b0, b1: b0 + high};
  redraw();
}

function all() {
  view = {t0: 0, t1: span, b0: 0, b1: 1};
  redraw();
}

// Where a pointer is: node, share of the height, and the tensor there (-1: none).
function under(canvas, event, plan) {
  const area = canvas.getBoundingClientRect(), x = event.clientX - area.left, y = event.clientY - area.top;
  const t = view.t0 + (x - LEFT) / (area.width - LEFT) * (view.t1 - view.t0);
  const b = view.b0 + (1 - y / (area.height - BOTTOM)) * (view.b1 - view.b0);
  let hit = -1;
  if (plan && x > LEFT && y < area.height - BOTTOM) {
    hit = records.findIndex((record, at) => {
      const found = place(plan, at, area.width, area.height);  // thin ones have a pixel more on each side
      return record.size && x >= found.x && x < found.x + found.wide && y > found.y - 1 && y < found.y + found.high + 1;
    });
  }
  return {t, b, hit};
}

function about(at, plan) {
  const record = records[at], tensor = tensors[record.tensor];
  const last = record.last === null ? 'the end of the run' : nodeText(record.last);
  return [
    tensor.full || tensor.name, `${tensor.shape} ${tensor.type}`.trim(), `${record.size.toLocaleString('en')} bytes at ${plan.offsets[at].toLocaleString('en')}`,
    `needed from node ${nodeText(record.first)} to ${record.last === null ? last : 'node ' + last}`,
    tensor.producer === null ? tensor.role || '' : `made by node ${nodeText(tensor.producer)}`,
    record.shared ? `also ${record.shared}` : '',
  ].filter(Boolean).join('\n');
}

function tell(text, event) {
  const tip = get('tip');
  tip.style.display = text ? 'block' : 'none';
  if (!text) return;
  tip.textContent = text;
  tip.style.left = clamp(event.clientX + 14, 4, Math.max(4, innerWidth - tip.offsetWidth - 6)) + 'px';
  const below = event.clientY + 16;
  tip.style.top = (below + tip.offsetHeight > innerHeight ? Math.max(4, event.clientY - tip.offsetHeight - 12) : below) + 'px';
}

canvases.forEach((canvas, side) => {
  let pressed = null;
  canvas.addEventListener('pointermove', event => {
    const plan = shown()[side], {t, b, hit} = under(canvas, event, plan);
    if (pressed) {
      const wide = canvas.clientWidth - LEFT, high = canvas.clientHeight - BOTTOM;
      const rise = event.pointerType === 'touch' ? 0 : (event.clientY - pressed.y) / high;  // a finger scrolls the page
      move(-(event.clientX - pressed.x) / wide * (view.t1 - view.t0), rise * (view.b1 - view.b0));
      pressed.far += Math.abs(event.clientX - pressed.x) + Math.abs(event.clientY - pressed.y);
      pressed.x = event.clientX;
      pressed.y = event.clientY;
    }
    hovered = hit;
    cursor = clamp(Math.floor(t), 0, nodes.length - 1);
    tell(hit >= 0 && !(pressed && pressed.far > 4) ? about(hit, plan) : '', event);
    redraw();
  });
  canvas.addEventListener('pointerleave', () => {
    hovered = cursor = -1;
    tell('');
    redraw();
  });
  canvas.addEventListener('pointerdown', event => {
    pressed = {x: event.clientX, y: event.clientY, far: 0};
    if (event.pointerType !== 'touch') canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener('pointercancel', () => pressed = null);
  canvas.addEventListener('pointerup', event => {
    const plan = shown()[side], {hit} = under(canvas, event, plan);
    if (pressed && pressed.far < 5) {
      selected = hit === selected ? -1 : hit;
      tell(hit >= 0 ? about(hit, plan) : '', event);
      redraw();
    }
    pressed = null;
  });
  canvas.addEventListener('wheel', event => {
    if (document.activeElement !== canvas && !event.ctrlKey && !event.shiftKey) return;
    event.preventDefault();
    const {t, b} = under(canvas, event), turn = event.deltaY || event.deltaX;
    zoom(Math.exp(clamp(turn, -120, 120) / 400), t, b, event.shiftKey);
  }, {passive: false});
  canvas.addEventListener('dblclick', all);
  canvas.addEventListener('keydown', event => {
    const t = (view.t1 - view.t0) / 10, b = (view.b1 - view.b0) / 10;
    const keys = {'+': () => zoom(0.7), '=': () => zoom(0.7), '-': () => zoom(1.43), '0': all, ArrowLeft: () => move(-t, 0),
      ArrowRight: () => move(t, 0), ArrowUp: () => move(0, b), ArrowDown: () => move(0, -b)};
    if (!keys[event.key] || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    keys[event.key]();
  });
});
// The middle of the tensor that is marked, else of the one that takes most of the map: what the buttons keep in view.
function marked() {
  const area = each => each.size * ((each.last === null ? span : each.last + 1) - each.first);
  const most = records.reduce((found, each, at) => found < 0 || area(each) > area(records[found]) ? at : found, -1);
  const at = records[selected] ? selected : most, record = records[at], plan = shown()[0] || shown()[1];
  return record ? [(record.first + (record.last === null ? span : record.last + 1)) / 2, (plan.offsets[at] + record.size / 2) / top] : [];
}
get('in').onclick = () => zoom(0.6, ...marked());
get('out').onclick = () => zoom(1.67, ...marked());
get('all').onclick = all;
chosen.forEach((select, side) => {
  if (side) select.add(new Option('nothing beside it', ''));
  plans.forEach((plan, at) => select.add(new Option(`${plan.strategy}, ${bytes(plan.arena)}`, at)));
  select.value = side ? '' : 0;
  select.onchange = redraw;
});

// Nodes ---------------------------------------------------------------------------------------------------------------

const FIRST = 200, rows = data.rows, columns = data.columns;
let order = {column: 0, sign: 1}, every = false, found = rows;

function cell(row, value, column) {
  const made = row.insertCell();
  made.className = column.kind;
  made.textContent = value === null ? '' : column.kind[0] === 'n' ? digits(value) : column.most < 0 ? start(value, -column.most) : end(value, column.most || 99);
  if (column.kind === 'w' && value) made.title = value;
  if (column.bar && value) made.style.background = `linear-gradient(to right, color-mix(in srgb, var(--mark) 35%, transparent) ${clamp(value, 0, 100)}%, transparent 0)`;
}

function fill() {
  const words = get('search').value.toLowerCase().split(/\s+/).filter(Boolean);
  found = rows.filter(row => words.every(word => row.text.includes(word)));
  found.sort((a, b) => {
    const x = a.cells[order.column], y = b.cells[order.column];
    if (x === null || y === null) return (x === null) - (y === null) || a.at - b.at;
    return order.sign * (typeof x === 'number' ? x - y : x < y ? -1 : x > y ? 1 : 0) || a.at - b.at;
  });
  const body = document.createElement('tbody');
  for (const row of every ? found : found.slice(0, FIRST)) {
    const line = body.insertRow();
    line.dataset.at = row.at;
    row.cells.forEach((value, at) => cell(line, value, columns[at]));
  }
  get('table').tBodies[0].replaceWith(body);
  get('count').textContent = found.length === rows.length ? `${rows.length} nodes` : `${found.length} of ${rows.length} nodes`;
  get('more').hidden = every || found.length <= FIRST;
  get('more').textContent = `show all ${found.length}`;
  for (const [at, head] of [...get('table').tHead.rows[0].cells].entries()) {
    head.ariaSort = at === order.column ? order.sign > 0 ? 'ascending' : 'descending' : 'none';
    head.firstChild.textContent = columns[at].name + (at === order.column ? order.sign > 0 ? ' \u2191' : ' \u2193' : '');
  }
}

rows.forEach((row, at) => {
  row.at = at;
  row.text = row.cells.map(value => value === null ? '' : String(value)).join(' ').toLowerCase();
});
const heads = get('table').tHead.insertRow();
columns.forEach((column, at) => {
  const head = heads.appendChild(document.createElement('th')), button = head.appendChild(document.createElement('button'));
  head.className = column.kind;
  head.title = column.about;
  button.textContent = column.name;
  button.onclick = () => {
    order = {column: at, sign: order.column === at ? -order.sign : column.kind[0] === 'n' && at ? -1 : 1};
    fill();
  };
});
get('search').oninput = fill;
get('more').onclick = () => {
  every = true;
  fill();
};
get('table').onclick = event => {
  const line = event.target.closest('tbody tr');
  if (!line) return;
  for (const other of get('table').querySelectorAll('.on')) other.classList.remove('on');
  line.classList.add('on');
  const position = rows[line.dataset.at].position;
  if (position === null) return;
  goTo(position);
};

// Graph ---------------------------------------------------------------------------------------------------------------

const WIDE = 196, HIGH = 36, ACROSS = WIDE + 30, DOWN = HIGH + 26, operands = data.operands;
const layers = new Int32Array(nodes.length), lanes = new Int32Array(nodes.length), makers = nodes.map(() => []);
nodes.forEach((node, at) => node.readers.forEach(reader => makers[reader].push(at)));
nodes.forEach((_, at) => layers[at] = makers[at].reduce((most, maker) => Math.max(most, layers[maker] + 1), 0));
for (let at = nodes.length - 1; at >= 0; at--) {  // what reads constants alone stands just above its reader
  if (!makers[at].length && nodes[at].readers.length) layers[at] = Math.max(0, Math.min(...nodes[at].readers.map(reader => layers[reader])) - 1);
}
const rowsOf = [], taken = new Set();  // the nodes of each layer; the places that have one
layers.forEach((layer, at) => (rowsOf[layer] ||= []).push(at));
let breadth = 0;
const spot = (layer, lane) => `${layer} ${lane}`;
const free = (layer, wished) => {
  for (let step = 0; ; step++) {
    for (const lane of [wished + step, wished - step]) if (lane >= 0 && !taken.has(spot(layer, lane))) return lane;
  }
};
for (const at of rowsOf.flatMap(row => row || [])) {  // below the first maker, or as near to it as there is room
  lanes[at] = free(layers[at], makers[at].length ? lanes[makers[at][0]] : 0);
  taken.add(spot(layers[at], lanes[at]));
  breadth = Math.max(breadth, lanes[at]);
}
const edges = nodes.flatMap((node, at) => node.readers.map((reader, turn) => ({from: at, to: reader, turn})));
let opened = -1, hits = [];
const left = at => 14 + lanes[at] * ACROSS, above = at => 12 + layers[at] * DOWN;
const whole = {wide: 28 + (breadth + 1) * ACROSS, high: 24 + rowsOf.length * DOWN};

function sized() {
  const holder = get('graph'), canvas = holder.firstElementChild;
  canvas.style.width = holder.clientWidth + 'px';
  canvas.style.height = Math.min(holder.clientHeight, whole.high) + 'px';
  holder.lastElementChild.style.cssText = `width: ${whole.wide}px; height: ${Math.max(0, whole.high - canvas.clientHeight)}px`;
}

function drawGraph() {
  const holder = get('graph'), {pen, width, height} = surface(holder.firstElementChild), x0 = holder.scrollLeft, y0 = holder.scrollTop;
  for (const {from, to, turn} of edges) {
    const ax = left(from) - x0 + WIDE / 2, ay = above(from) - y0 + HIGH, bx = left(to) - x0 + WIDE / 2, by = above(to) - y0;
    if (by < 0 || ay > height) continue;
    const near = from === opened || to === opened;
    pen.strokeStyle = near ? colours.mark : colours.soft;
    pen.globalAlpha = near ? 1 : 0.6;
    pen.lineWidth = near ? 2 : 1.2;
    pen.beginPath();
    pen.moveTo(ax, ay);
    if (layers[to] - layers[from] > 1) {  // down between two lanes, so that no node covers it
      const gap = left(from) - x0 + WIDE + 7 + turn % 4 * 5;
      pen.bezierCurveTo(ax, ay + 18, gap, ay, gap, ay + 24);
      pen.lineTo(gap, by - 24);
      pen.bezierCurveTo(gap, by, bx, by - 18, bx, by);
    } else pen.bezierCurveTo(ax, ay + 14, bx, by - 14, bx, by);
    pen.stroke();
  }
  pen.globalAlpha = 1;
  const fit = (text, letters) => text.length > letters ? text.slice(0, letters - 1) + '\u2026' : text;
  for (let layer = Math.max(0, Math.floor((y0 - HIGH) / DOWN)); layer < rowsOf.length && layer * DOWN < y0 + height; layer++) {
    for (const at of rowsOf[layer] || []) {
      const node = nodes[at], x = left(at) - x0, y = above(at) - y0, out = operands[node.outputs[0]];
      if (x > width || x + WIDE < 0) continue;
      pen.fillStyle = at === opened ? colours.band : colours.paper;
      pen.strokeStyle = at === opened || at === cursor ? colours.mark : hits.includes(at) ? colours.bound : colours.line;
      pen.lineWidth = at === opened || hits.includes(at) ? 2 : 1.2;
      pen.setLineDash(node.runs ? [] : [4, 3]);
      pen.beginPath();
      pen.roundRect(x, y, WIDE, HIGH, 5);
      pen.fill();
      pen.stroke();
      pen.setLineDash([]);
      pen.fillStyle = node.runs ? colours.ink : colours.soft;
      pen.font = '600 12px system-ui, sans-serif';
      pen.fillText(fit(`${node.node} ${node.op}`, 23), x + 8, y + 12);
      pen.font = '11px system-ui, sans-serif';
      pen.fillStyle = colours.soft;
      pen.fillText(fit(node.becomes || (out ? out.kind : ''), 29), x + 8, y + 26);
    }
  }
}

// Opens a node beside the graph: all that the file says of it. Texts are text.
function open(at) {
  opened = at;
  const panel = get('about'), node = nodes[at];
  panel.replaceChildren();
  const add = (kind, text) => Object.assign(panel.appendChild(document.createElement(kind)), {textContent: text});
  if (!node) return add('p', 'No node is open.');
  add('h3', `${node.node} ${node.op}`);
  if (node.becomes) add('p', node.becomes);
  const row = data.rows.find(each => each.position === at);
  const told = row ? data.columns.map((column, i) => [column.name, row.cells[i]]).filter(([name, value]) => value !== null && value !== '' && !['node', 'operator', 'output', 'tensor', 'frame'].includes(name)) : [];
  if (told.length) add('p', told.map(([name, value]) => `${name} ${typeof value === 'number' ? digits(value) : value}`).join(', '));
  const options = Object.entries(node.options);
  if (options.length) add('h4', 'options');
  for (const [name, value] of options) add('p', `${name} = ${value}`);
  for (const [side, numbers, others] of [['inputs', node.inputs, makers[at]], ['outputs', node.outputs, node.readers]]) {
    add('h4', side);
    for (const number of numbers) {
      const one = operands[number], line = add('p', one ? `${number} ${one.name}` : 'none');
      if (!one) continue;
      for (const text of [one.kind, one.constant && `constant: ${one.constant}`, one.variable, one.scale, one.full && `called ${one.full}`].filter(Boolean)) {
        line.append(document.createElement('br'), Object.assign(document.createElement('small'), {textContent: text}));
      }
      for (const other of others.filter(each => (side === 'inputs' ? nodes[each].outputs : nodes[each].inputs).includes(number)).slice(0, 8)) {
        const button = line.appendChild(document.createElement('button'));
        button.textContent = `${side === 'inputs' ? '\u2191' : '\u2193'} ${nodes[other].node}`;
        button.title = `${nodes[other].node} ${nodes[other].op}`;
        button.onclick = () => goTo(other);
      }
    }
  }
  panel.scrollTop = 0;
}

function goTo(at) {
  cursor = at;
  open(at);
  const holder = get('graph');
  holder.scrollTop = above(at) - holder.clientHeight / 2;
  if (left(at) < holder.scrollLeft || left(at) + WIDE > holder.scrollLeft + holder.clientWidth) holder.scrollLeft = left(at) - 40;
  redraw();
}

get('find').oninput = () => {
  const words = get('find').value.toLowerCase().split(/\s+/).filter(Boolean);
  const text = node => `${node.node} ${node.op} ${[...node.inputs, ...node.outputs].map(i => operands[i] ? `${operands[i].name} ${operands[i].full || ''}` : '').join(' ')}`.toLowerCase();
  hits = words.length ? nodes.map((_, at) => at).filter(at => words.every(word => text(nodes[at]).includes(word))) : [];
  get('hits').textContent = words.length ? `${hits.length} found` : '';
  const exact = hits.find(at => String(nodes[at].node) === words.join(' '));
  if (hits.length) goTo(exact ?? hits[0]);
  else redraw();
};
get('find').onkeydown = event => {
  if (event.key === 'Enter' && hits.length) goTo(hits.find(at => at > opened) ?? hits[0]);
};
get('graph').addEventListener('scroll', redraw);
get('graph').firstElementChild.onclick = event => {
  const x = get('graph').scrollLeft + event.offsetX, y = get('graph').scrollTop + event.offsetY;
  const at = nodes.findIndex((_, each) => x >= left(each) && x <= left(each) + WIDE && y >= above(each) && y <= above(each) + HIGH);
  cursor = at;
  open(at);
  redraw();
};

// Tables of Python's: numbers to the right, rows that diverge marked, columns that narrow screens spare.
for (const table of document.querySelectorAll('.plain table')) {
  const lines = [...table.rows], heads = [...lines[0].cells].map(one => one.textContent);
  const spare = heads.includes('largest') ? ['operator', 'tensor', 'shape', 'mean', 'cosine', 'steps'] : [];
  const number = text => /^[-+]?[\d.,]+(e[-+]?\d+)?( ?(%|us|ms|s|bytes|[KMG]iB))?$/.test(text);
  for (let at = 0; at < lines[0].cells.length; at++) {
    const texts = lines.slice(1).map(line => line.cells[at] ? line.cells[at].textContent : '').filter(Boolean);
    const kind = (texts.length && texts.every(number) ? 'n' : '') + (spare.includes(heads[at]) ? ' l' : '');
    for (const line of lines) if (line.cells[at]) line.cells[at].className = kind;
  }
  for (const line of lines) if ([...line.cells].some(one => one.textContent.startsWith('diverges'))) line.className = 'bad';
}

sized();
open(nodes.length ? 0 : -1);
fill();
recolour();
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', recolour);
new ResizeObserver(() => {
  sized();
  redraw();
}).observe(document.querySelector('.maps'));
})();

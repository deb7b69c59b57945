// Brings the page to life. Without it, the texts and the tables stand there all the same.

function pictured(data) {
  const scroller = byId('scroller'), svg = byId('drawing'), extent = byId('extent'), panel = byId('panel');
  const hint = byId('hint'), overview = byId('overview'), states = new States(data), drawing = new Drawing(data, states);
  const logical = logicalLayout(data), real = realLayout(data, logical.total);
  let layout = logical, scale = 1, selected = null, scheduled = false, ticks = [], touched = false;

  const names = Math.min(Math.max(...data.lanes.map(lane => lane.name.length * 8.2 + 22), 94), 190);

  const width = () => Math.max(scroller.clientWidth, 50);
  const fitScale = () => Math.min(width() / layout.total, 4);
  const startScale = () => layout.total <= width() ? Math.min(fitScale(), 1.5) : 1;
  const view = () => ({layout, scale, from: scroller.scrollLeft, width: width(), ticks, selected, ids: true});

  function labels(places, factor, room) {
    const found = [];
    let free = -Infinity;
    data.ticks.forEach(([, label], tick) => {
      const x = places.tickAt(tick) * factor;
      if (x < free) return;
      found.push({x, label: tick ? `+${label}` : label});
      free = x + Math.max(room, label.length * 7 + 26);
    });
    return found;
  }

  function render() {
    scheduled = false;
    drawing.cross = null;
    svg.setAttribute('width', width());
    svg.setAttribute('height', drawing.height);
    drawing.draw(svg, view());
    const isThere = selected !== null && byId(`call-${selected}`) !== null;
    if (isThere) scroller.setAttribute('aria-activedescendant', `call-${selected}`);
    else scroller.removeAttribute('aria-activedescendant');
    drawWindow();
  }

  function schedule() {
    if (!scheduled) requestAnimationFrame(render);
    scheduled = true;
  }

  function resized() {
    if (!touched) scale = startScale();
    extent.style.width = `${Math.max(layout.total * scale, width())}px`;
    extent.style.height = `${drawing.height}px`;
    ticks = labels(layout, scale, 90);
    byId('zoom-reset').textContent = `${scale < 0.095 ? (scale * 100).toPrecision(1) : Math.round(scale * 100)} %`;
    drawOverview();
    schedule();
  }

  // The place under x (pixels within the scroller) stays where it is.
  function zoom(to, x) {
    const most = Math.max(Math.min(24, 1.6e7 / layout.total), 0.001);
    const next = Math.min(Math.max(to, Math.min(fitScale(), 1)), most);
    const place = (scroller.scrollLeft + x) / scale;
    touched = true;
    scale = next;
    resized();
    scroller.scrollLeft = place * scale - x;
    render();
  }

  const zoomed = factor => zoom(scale * factor, anchor());
  const middleOf = number => (layout.left[number] + Math.min(layout.right[number], layout.left[number] + width() / scale)) / 2;

  function anchor() {
    if (selected === null) return width() / 2;
    const x = middleOf(selected) * scale - scroller.scrollLeft;
    return x > 0 && x < width() ? x : width() / 2;
  }

  function bringIntoView(number, centre) {
    const left = layout.left[number] * scale, right = Math.min(layout.right[number] * scale, left + width() - 40);
    const from = scroller.scrollLeft;
    if (centre || left < from + 10 || right > from + width() - 10) {
      scroller.scrollLeft = Math.max((left + right) / 2 - width() / 2, 0);
    }
  }

  function select(number, {focus = false, centre = false, show = true} = {}) {
    if (!data.calls.length) number = null;
    selected = number;
    hint.hidden = true;
    fillPanel(panel, data, number, layout, states, to => select(to));
    if (number !== null && show) bringIntoView(number, centre);
    render();
    if (focus) scroller.focus({preventScroll: true});
    byId('announce').textContent = number === null || focus || document.activeElement === scroller ? '' : describe(data, number, layout);
  }

  function jump() {
    if (data.firstError === null) return;
    const enough = 60 / Math.max(layout.right[data.firstError] - layout.left[data.firstError], 0.001);
    if (layout === logical && scale < enough) { touched = true; scale = Math.min(enough, 1); resized(); }
    select(data.firstError, {focus: true, centre: true});
    byId('scroller').scrollIntoView({block: 'nearest'});
  }

  function inTime(by) {
    if (selected === null) return by > 0 ? 0 : data.calls.length - 1;
    return Math.min(Math.max(selected + by, 0), data.calls.length - 1);
  }

  function inOrder(by) {
    if (!data.steps.length) return selected;
    let step = selected === null ? -1 : layout.pointOf[selected];
    if (step < 0 && selected === data.firstError && selected !== null) step = data.steps.length;
    else if (step < 0) step = by > 0 ? -1 : data.steps.length;
    if (step + by >= data.steps.length && data.firstError !== null) return data.firstError;
    return data.steps[Math.min(Math.max(step + by, 0), data.steps.length - 1)].call;
  }

  function inLanes(by) {
    if (selected === null) return inTime(1);
    const middle = middleOf(selected);
    for (let lane = data.calls[selected].lane + by; lane >= 0 && lane < data.lanes.length; lane += by) {
      let nearest = null, distance = Infinity;
      data.calls.forEach((call, at) => {
        if (call.lane !== lane) return;
        const away = Math.max(layout.left[at] - middle, middle - layout.right[at], 0);
        if (away < distance) [nearest, distance] = [at, away];
      });
      if (nearest !== null) return nearest;
    }
    return selected;
  }

  function hit(event) {
    const own = event.target.closest ? event.target.closest('[data-call]') : null;
    if (own) return Number(own.getAttribute('data-call'));
    const frame = svg.getBoundingClientRect();
    const x = event.clientX - frame.left + scroller.scrollLeft, y = event.clientY - frame.top;
    let found = null, distance = 4;
    for (const at of drawing.visible(layout, (x - 4) / scale, (x + 4) / scale)) {
      const top = drawing.y(at), away = Math.max(layout.left[at] * scale - x, x - layout.right[at] * scale, 0);
      if (y >= top && y <= top + BOX && away <= distance) [found, distance] = [at, away];
    }
    return found;
  }

  function hover(event) {
    const number = event.pointerType === 'touch' ? null : hit(event);
    hint.hidden = number === null;
    if (number === null) return;
    fillHint(hint, data, number, layout);
    const box = hint.getBoundingClientRect();
    const below = event.clientY + 18 + box.height < innerHeight;
    hint.style.left = `${Math.max(Math.min(event.clientX + 14, innerWidth - box.width - 8), 4)}px`;
    hint.style.top = `${below ? event.clientY + 18 : Math.max(event.clientY - box.height - 14, 4)}px`;
  }

  function setRealTime(wanted) {
    const place = selected === null ? null : middleOf(selected);
    layout = wanted ? real : logical;
    byId('real-time').setAttribute('aria-pressed', String(wanted));
    resized();
    if (place !== null) bringIntoView(selected, true);
    render();
  }

  // A small map of everything, with a window where we are.
  function drawOverview() {
    const wide = overview.clientWidth || width(), factor = wide / layout.total, high = 32 / data.lanes.length;
    overview.toggleAttribute('hidden', layout.total * scale <= width() * 1.02);
    const parts = {read: [], write: [], core: [], error: []};
    data.calls.forEach((call, at) => {
      const left = layout.left[at] * factor, length = Math.max((layout.right[at] - layout.left[at]) * factor - 0.3, 0.6);
      parts[kindOf(data, at)].push(`M${left.toFixed(1)} ${(call.lane * high + 2).toFixed(1)}h${length.toFixed(1)}v${Math.max(high - 2, 1).toFixed(1)}h${-length.toFixed(1)}z`);
    });
    overview.replaceChildren();
    for (const kind in parts) shape('path', {class: `bulk ${kind}`, d: parts[kind].join('')}, overview);
    if (data.firstError !== null) {
      const x = layout.left[data.firstError] * factor;
      shape('path', {class: 'overview-error', d: `M${x - 6} 0h12l-6 9z`}, overview);
    }
    shape('rect', {class: 'window', id: 'window', y: 0.5, height: 31, rx: 3}, overview);
  }

  function drawWindow() {
    const factor = (overview.clientWidth || width()) / (layout.total * scale);
    byId('window').setAttribute('x', scroller.scrollLeft * factor);
    byId('window').setAttribute('width', Math.max(width() * factor, 4));
  }

  function drag(event) {
    if (event.type === 'pointermove' && !event.buttons) return;
    const frame = overview.getBoundingClientRect();
    scroller.scrollLeft = (event.clientX - frame.left) / frame.width * layout.total * scale - width() / 2;
  }

  // Paper does not scroll: the picture is cut into strips, those around what matters if there are too many.
  function printStrips() {
    const paper = 1000, most = 12, count = Math.max(Math.ceil(layout.total / paper), 1), strips = byId('strips');
    const middle = selected === null ? 0 : Math.floor(layout.left[selected] / paper);
    const first = Math.max(Math.min(middle - most + 3, count - most), 0);
    strips.replaceChildren();
    const marks = labels(layout, 1, 90);
    for (let strip = first; strip < Math.min(first + most, count); strip++) {
      const part = shape('svg', {viewBox: `${-names} 0 ${paper + names} ${drawing.height}`}, strips);
      drawing.cross = null;
      const picture = shape('svg', {width: paper, height: drawing.height}, part);
      drawing.draw(picture, {layout, scale: 1, from: strip * paper, width: paper, ticks: marks, selected: null, ids: false});
      nameLanes(shape('g', {transform: `translate(${-names} 0)`}, part));
    }
    if (count > most) strips.append(node('p', {class: 'note'}, `Parts ${first + 1} to ${first + most} of ${count}.`));
    document.documentElement.classList.add('printing');
  }

  function nameLanes(parent) {
    for (const lane of drawing.lanes) {
      shape('line', {class: 'lane-ground', x1: 0, x2: names, y1: lane.top, y2: lane.top}, parent);
      text(fitted(lane.name, names - 8), {class: 'lane-name', x: 10, y: lane.top + lane.height / 2 + 4}, parent);
    }
  }

  const actions = {
    e: jump, t: () => setRealTime(layout === logical), '?': () => byId('keys').showModal(),
    '+': () => zoomed(1.4), '=': () => zoomed(1.4), '-': () => zoomed(1 / 1.4), _: () => zoomed(1 / 1.4),
    0: () => { touched = false; resized(); if (selected !== null) bringIntoView(selected, true); render(); },
    f: () => zoom(fitScale(), 0), n: () => select(inOrder(1), {focus: true}), p: () => select(inOrder(-1), {focus: true}),
  };
  const moves = {
    ArrowRight: () => inTime(1), ArrowLeft: () => inTime(-1), ArrowDown: () => inLanes(1), ArrowUp: () => inLanes(-1),
    Home: () => 0, End: () => data.calls.length - 1,
  };

  document.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey || byId('keys').open) return;
    if (document.activeElement === scroller && moves[event.key]) select(moves[event.key]());
    else if (document.activeElement === scroller && event.key === 'Enter') panel.focus();
    else if (event.key === 'Escape') select(null);
    else if (Object.hasOwn(actions, event.key)) actions[event.key]();
    else return;
    event.preventDefault();
  });
  scroller.addEventListener('focus', () => { if (selected === null) select(data.firstError ?? 0); });
  scroller.addEventListener('scroll', schedule, {passive: true});
  scroller.addEventListener('wheel', event => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoom(scale * Math.exp(-event.deltaY / 300), event.clientX - scroller.getBoundingClientRect().left);
  }, {passive: false});
  svg.addEventListener('pointermove', hover);
  svg.addEventListener('pointerleave', () => { hint.hidden = true; });
  svg.addEventListener('click', event => { const number = hit(event); if (number !== null) select(number, {focus: true, show: false}); });
  for (const kind of ['pointerdown', 'pointermove']) overview.addEventListener(kind, drag);
  byId('jump').addEventListener('click', jump);
  byId('zoom-in').addEventListener('click', actions['+']);
  byId('zoom-out').addEventListener('click', actions['-']);
  byId('zoom-reset').addEventListener('click', actions[0]);
  byId('zoom-fit').addEventListener('click', actions.f);
  byId('real-time').addEventListener('click', actions.t);
  byId('show-keys').addEventListener('click', actions['?']);
  byId('close-keys').addEventListener('click', () => byId('keys').close());
  addEventListener('beforeprint', printStrips);
  addEventListener('afterprint', () => { byId('strips').replaceChildren(); document.documentElement.classList.remove('printing'); });

  const lanes = byId('lanes');
  lanes.setAttribute('height', drawing.height);
  lanes.style.width = `${names}px`;
  nameLanes(lanes);
  fades(lanes);
  byId('note').textContent = data.note;
  byId('jump').hidden = data.firstError === null;
  fillLegend({...data, stuck: data.firstError !== null && layout.pointOf[data.firstError] < 0});
  new ResizeObserver(resized).observe(scroller);
  resized();
  select(data.firstError, {centre: true});
}

document.documentElement.classList.add('script');
themes();
copying();
addEventListener('beforeprint', () => { for (const part of document.querySelectorAll('details')) part.open = true; });
if (byId('walk-steps')) walking(byId('walk-steps'));
if (byId('picture')) pictured(JSON.parse(byId('picture').textContent));

// Draws the part of the picture that can be seen.

const SVG = 'http://www.w3.org/2000/svg', MOST_SINGLE = 900;

function shape(name, attributes, parent) {
  const element = document.createElementNS(SVG, name);
  for (const key in attributes) element.setAttribute(key, attributes[key]);
  if (parent) parent.append(element);
  return element;
}

function text(content, attributes, parent) {
  const element = shape('text', attributes, parent);
  element.textContent = content;
  return element;
}

function fitted(content, width) {
  const letters = Math.floor(width / CHARACTER);
  if (content.length <= letters) return content;
  return letters < 2 ? '' : content.slice(0, letters - 1) + '\u2026';
}

function kindOf(data, number) {
  const call = data.calls[number];
  return number === data.firstError ? 'error' : call.core ? 'core' : call.write ? 'write' : 'read';
}

function fades(svg) {
  const definitions = shape('defs', {}, svg);
  for (const kind of ['read', 'write', 'core', 'error']) {
    for (const name of [kind, `${kind}-edge`]) {
      const fade = shape('linearGradient', {id: `fade-${name}`}, definitions);
      shape('stop', {offset: '0.25', class: `stop-${name}`}, fade);
      shape('stop', {offset: '1', 'stop-opacity': '0', class: `stop-${name}`}, fade);
    }
  }
}

class Drawing {
  constructor(data, states) {
    this.data = data;
    this.states = states;
    Object.assign(this, lanesOf(data));
    this.most = new Map();
  }

  // Calls between two places, both in the unit of the layout.
  visible(layout, from, to) {
    if (!this.most.has(layout)) {
      let most = -Infinity;
      this.most.set(layout, layout.right.map(right => (most = Math.max(most, right))));
    }
    const reach = this.most.get(layout), count = this.data.calls.length, found = [];
    const begin = firstWhere(count, at => reach[at] >= from);
    for (let at = begin; at < count && layout.left[at] <= to; at++) if (layout.right[at] >= from) found.push(at);
    return found;
  }

  y(number) {
    return boxTop(this.lanes, this.data.calls[number]);
  }

  span(view, number) {
    const {layout, scale, from} = view;
    const left = layout.left[number] * scale - from;
    return [left, Math.max(layout.right[number] * scale - from - left, 3)];
  }

  // view: layout, scale, from (pixels), width, ticks, selected, ids
  draw(svg, view) {
    const root = shape('g', {role: 'presentation'});
    const {layout, scale, from, width} = view;
    for (const lane of this.lanes) {
      shape('line', {class: 'lane-ground', x1: 0, x2: width, y1: lane.top, y2: lane.top}, root);
    }
    this.axis(root, view);
    const numbers = this.visible(layout, (from - 60) / scale, (from + width + 60) / scale);
    const single = numbers.length <= MOST_SINGLE ? numbers : numbers.filter(at => at === view.selected);
    if (single !== numbers) this.bulk(root, view, numbers);
    const above = single.map(at => this.box(root, view, at));
    this.path(root, view, numbers.length > MOST_SINGLE);
    for (const place of above) place();
    this.points(root, view, numbers.length > MOST_SINGLE);
    svg.replaceChildren(root);
  }

  axis(root, view) {
    const begin = firstWhere(view.ticks.length, at => view.ticks[at].x >= view.from - 80);
    for (let at = begin; at < view.ticks.length && view.ticks[at].x < view.from + view.width + 80; at++) {
      const x = view.ticks[at].x - view.from;
      shape('line', {class: 'grid', x1: x, x2: x, y1: AXIS - 5, y2: this.height}, root);
      text(view.ticks[at].label, {class: 'tick', x: x + 3, y: 15}, root);
    }
  }

  // One path for all boxes of a kind: single elements for thousands of calls would be slow.
  bulk(root, view, numbers) {
    const parts = {read: [], write: [], core: [], error: []};
    for (const at of numbers) {
      const [left, width] = this.span(view, at);
      parts[kindOf(this.data, at)].push(`M${left.toFixed(1)} ${this.y(at)}h${width.toFixed(1)}v${BOX}h${-width.toFixed(1)}z`);
    }
    for (const kind in parts) {
      if (parts[kind].length) shape('path', {class: `bulk fine ${kind}`, d: parts[kind].join('')}, root);
    }
  }

  // Returns a function that puts the texts above what is drawn in between.
  box(root, view, number) {
    const call = this.data.calls[number], kind = kindOf(this.data, number);
    let [left, width] = this.span(view, number);
    const y = this.y(number);
    const classes = `call ${kind}${call.pending ? ' pending' : ''}${call.failed ? ' failed' : ''}`;
    const group = shape('g', {class: classes, 'data-call': number}, root);
    if (view.ids) {
      group.id = `call-${number}`;
      group.setAttribute('role', 'option');
      group.setAttribute('aria-posinset', number + 1);
      group.setAttribute('aria-setsize', this.data.calls.length);
      group.setAttribute('aria-selected', String(number === view.selected));
      group.setAttribute('aria-label', describe(this.data, number, view.layout));
    }
    // Far outside of what can be seen, coordinates may become too large to be drawn.
    const end = Math.min(left + width, view.width + 200);
    if (left < -200 && !call.pending) left = -200;
    width = Math.max(end - left, 3);
    if (number === view.selected) {
      shape('rect', {class: 'halo', x: left - 3, y: y - 3, width: width + 6, height: BOX + 6, rx: 9}, group);
    }
    shape('rect', {class: 'box', x: left, y, width, height: BOX, rx: Math.min(7, width / 2)}, group);
    return () => this.texts(root, call, kind, Math.max(left, 0), y, end);
  }

  texts(root, call, kind, left, y, end) {
    const width = end - left, signs = kind === 'core' ? 16 : 0;
    if (kind === 'core' && width > 14) {
      shape('path', {class: 'core-sign', d: `M${left + 13} ${y + 8}l5 6l-5 6l-5-6z`}, root);
    }
    if (width < 34) return;
    const classes = `call ${kind}${call.failed ? ' failed' : ''}`;
    const clip = shape('svg', {x: left, y, width: Math.max(width - 3, 1), height: 44, class: classes, 'pointer-events': 'none'}, root);
    text(fitted(call.text, width - 16 - signs), {x: 8 + signs, y: 18}, clip);
    const result = call.pending ? 'no response' : `\u2192 ${call.result}`;
    text(fitted(result, width - 16), {x: 8, y: 35, class: 'result'}, clip);
  }

  pointAt(view, step) {
    const {layout, scale, from} = view, number = this.data.steps[step].call;
    return [layout.points[step] * scale - from, this.y(number) + BOX - 12];
  }

  range(view) {
    const {layout, scale, from, width} = view, count = layout.points.length;
    const begin = firstWhere(count, at => layout.points[at] * scale >= from - 30);
    const end = firstWhere(count, at => layout.points[at] * scale > from + width + 30);
    return [begin, end];
  }

  path(root, view, dense) {
    const [begin, end] = this.range(view), last = this.data.steps.length - 1;
    const first = Math.max(begin - 1, 0), final = Math.min(end, last);
    let line = '', x = 0, y = 0;
    for (let step = first; step <= final; step++) {
      const [nextX, nextY] = this.pointAt(view, step), bend = (nextX - x) / 2;
      if (step === first) line = `M${nextX} ${nextY}`;
      else if (nextY === y || bend < 1) line += `L${nextX} ${nextY}`;
      else line += `C${x + bend} ${y} ${nextX - bend} ${nextY} ${nextX} ${nextY}`;
      [x, y] = [nextX, nextY];
    }
    if (line && !dense) shape('path', {class: 'path', d: line}, root);
    this.error(root, view);
  }

  // From the last call that can be explained to the first that cannot.
  error(root, view) {
    const number = this.data.firstError;
    if (number === null) return;
    const [left, width] = this.span(view, number), ordered = view.layout.pointOf[number] >= 0;
    const y = this.y(number) + (ordered ? 0 : BOX - 12);
    let x = ordered ? left + width - 4 : left + width / 2;
    if (!ordered && this.data.steps.length) {
      const [lastX, lastY] = this.pointAt(view, this.data.steps.length - 1);
      x = Math.min(Math.max(x, lastX + 26), left + Math.max(width - 12, width / 2));
      if (Math.max(x, lastX) > -50 && Math.min(x, lastX) < view.width + 50) {
        const bend = Math.max(Math.abs(x - lastX) / 2, 8);
        shape('path', {class: 'stuck', d: `M${lastX} ${lastY}C${lastX + bend} ${lastY} ${x - bend} ${y} ${x} ${y}`}, root);
      }
    }
    this.cross = () => {
      shape('circle', {class: 'cross', cx: x, cy: y, r: 10}, root);
      shape('path', {class: 'cross-sign', d: `M${x - 4} ${y - 4}l8 8m0 -8l-8 8`}, root);
    };
  }

  points(root, view, dense) {
    const [begin, end] = this.range(view), {layout, scale} = view;
    if (!dense && end - begin <= MOST_SINGLE) {
      for (let step = begin; step < end; step++) {
        const {place} = this.data.steps[step], [x, y] = this.pointAt(view, step);
        const needed = placeWidth(place), before = step ? layout.points[step - 1] : -Infinity;
        const after = step + 1 < layout.points.length ? layout.points[step + 1] : Infinity;
        const room = Math.min(layout.points[step] - before, after - layout.points[step]) * scale;
        if (room < needed * 0.9) {
          shape('circle', {class: 'point', cx: x, cy: y, r: room < 7 ? 2.5 : 4}, root);
          continue;
        }
        shape('rect', {class: 'point', x: x - needed / 2, y: y - 10, width: needed, height: 20, rx: 10}, root);
        text(String(place), {class: 'place', x, y: y + 4}, root);
      }
    }
    if (this.cross) this.cross();
  }
}

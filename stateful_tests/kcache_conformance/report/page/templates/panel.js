// What is said of a call: in a sentence for screen readers, in a hint, and in full.

function node(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const key in attributes || {}) element.setAttribute(key, attributes[key]);
  element.append(...children.filter(child => child !== null && child !== undefined));
  return element;
}

function accusation(data) {
  return data.calls.filter(call => call.core).length === 1 ? 'cannot be right' : 'cannot all be right';
}

function resultText(call) {
  return call.pending ? 'no response' : call.result;
}

function describe(data, number, layout) {
  const call = data.calls[number], step = layout.pointOf[number];
  const parts = [`${data.lanes[call.lane].name}: ${call.text}`, call.pending ? 'no response' : `gave ${call.result}`];
  if (number === data.firstError) parts.push('first error');
  if (call.core) parts.push(accusation(data));
  if (step >= 0) parts.push(`number ${data.steps[step].place} in the order`);
  return parts.join(', ');
}

function placeText(data, step) {
  return step < 0 ? 'not in the order that is drawn' : `${data.steps[step].place} of ${data.ordered}`;
}

function timesText(call) {
  return call.pending ? `from ${call.invoked}, no end` : `from ${call.invoked} to ${call.returned}`;
}

function fillHint(hint, data, number, layout) {
  const call = data.calls[number], step = layout.pointOf[number];
  const place = data.steps.length ? `, order: ${placeText(data, step)}` : '';
  hint.replaceChildren(
    node('strong', null, call.text),
    node('span', {class: 'result'}, `\u2192 ${resultText(call)}`),
    node('div', {class: 'quiet'}, `${data.lanes[call.lane].name}, ${timesText(call)}${place}`),
  );
  const change = step < 0 ? null : data.steps[step].change;
  if (change) {
    const parts = change.items.slice(0, 4).map(([key, item]) => item === null ? `removes ${key}` : `${key} = ${item}`);
    if (change.items.length > 4) parts.push(`${change.items.length - 4} more`);
    if (parts.length) hint.append(node('div', {class: 'quiet'}, `changes: ${parts.join('; ')}`));
  }
}

function fillPanel(panel, data, number, layout, states, select) {
  if (number === null) {
    panel.replaceChildren(node('p', {class: 'empty'}, 'Choose a call to see its arguments, its result, and what the model holds before and after it.'));
    return;
  }
  const call = data.calls[number], step = layout.pointOf[number];
  const head = node('div', {class: 'head'}, node('h2', null, call.text));
  if (number === data.firstError) head.append(node('span', {class: 'badge error'}, '\u2717 first error'));
  if (call.core) head.append(node('span', {class: 'badge core'}, `\u25c6 ${accusation(data)}`));
  if (call.pending) head.append(node('span', {class: 'badge'}, 'no response'));
  if (step >= 0) head.append(node('span', {class: 'badge place-badge'}, `${data.steps[step].place} in the order`));
  const facts = node('dl', {class: 'facts'});
  const fact = (name, value, kind) => facts.append(node('dt', null, name), node('dd', kind ? {class: kind} : null, value));
  const wrong = number === data.firstError && data.expected !== '';
  fact('result', resultText(call), wrong ? 'wrong' : '');
  if (wrong) fact('expected by the model', data.expected);
  fact('thread', data.lanes[call.lane].name);
  if (!call.arguments.length) fact('arguments', 'none');
  for (const [name, value] of call.arguments) fact(name, value);
  fact('time', timesText(call));
  if (data.steps.length) fact('order', step < 0 && number === data.firstError ? 'none: here the order gets stuck' : placeText(data, step));
  const moves = node('p', {class: 'more'});
  for (const [label, to] of [['Previous in the order', step - 1], ['Next in the order', step + 1]]) {
    if (step < 0 || to < 0 || to >= data.steps.length) continue;
    const button = node('button', {type: 'button'}, label);
    button.addEventListener('click', () => select(data.steps[to].call));
    moves.append(button, ' ');
  }
  panel.replaceChildren(head, node('div', {class: 'columns'}, node('div', null, facts, moves), stateOf(data, number, step, states)));
}

function stateOf(data, number, step, states) {
  const holder = node('div');
  if (step >= 0) {
    holder.append(stateTable(comparedStates(states.before(step), states.after(step)), ['before it', 'after it']));
  } else if (number === data.firstError && (data.steps.length || data.expected !== '')) {
    const state = states.before(data.steps.length);
    holder.append(stateTable(comparedStates(state, state), ['where the order gets stuck']));
  } else {
    holder.append(node('p', {class: 'empty'}, 'The call is not in the order that is drawn, so there is no state of the model before and after it.'));
  }
  return holder;
}

function stateTable(rows, columns) {
  const holder = node('div', null, node('h3', null, 'What the model holds'));
  if (!rows.length) {
    holder.append(node('p', {class: 'empty'}, 'Nothing, before and after.'));
    return holder;
  }
  const body = node('tbody');
  const cell = value => value === undefined ? node('td', {class: 'nothing'}, '\u2014') : node('td', null, value);
  const add = row => {
    const line = node('tr', row.changed ? {class: 'changed'} : null, node('td', {title: row.name}, row.name), cell(row.old));
    if (columns.length > 1) line.append(row.changed ? cell(row.now) : node('td', {class: 'nothing'}, row.now === undefined ? '\u2014' : 'the same'));
    body.append(line);
  };
  const most = 14;
  rows.slice(0, most).forEach(add);
  const heads = ['', ...columns].map(column => node('th', {scope: 'col'}, column));
  holder.append(node('table', {class: 'state'}, node('thead', null, node('tr', null, ...heads)), body));
  if (rows.length > most) {
    const button = node('button', {type: 'button', class: 'more'}, `Show ${rows.length - most} more`);
    button.addEventListener('click', () => { rows.slice(most).forEach(add); button.remove(); });
    holder.append(button);
  }
  return holder;
}

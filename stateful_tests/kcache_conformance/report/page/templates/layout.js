// Where everything lies: lanes from top to bottom, slots (ticks, and the intervals between them) from left to right.

const AXIS = 26, BOX = 62, ROW = 74, LANE_PAD = 8, CHARACTER = 7.25, TICK_WIDTH = 6, GAP_WIDTH = 10, TAIL = 44;

function lanesOf(data) {
  let top = AXIS;
  const lanes = data.lanes.map(lane => {
    const found = {name: lane.name, top, height: lane.rows * ROW + 2 * LANE_PAD - (ROW - BOX)};
    top += found.height;
    return found;
  });
  return {lanes, height: top + 6};
}

function boxTop(lanes, call) {
  return lanes[call.lane].top + LANE_PAD + call.row * ROW;
}

function placeWidth(place) {
  return Math.max(20, 12 + 7 * String(place).length);
}

// Logical time: as wide as texts and points need it.
function logicalLayout(data) {
  const count = 2 * data.ticks.length;
  const widths = new Float64Array(count);
  for (let slot = 0; slot < count; slot++) widths[slot] = slot % 2 ? GAP_WIDTH : TICK_WIDTH;
  if (count) widths[count - 1] = TAIL;
  const demand = new Float64Array(count);
  for (const step of data.steps) demand[step.slot] += placeWidth(step.place) + 6;
  for (let slot = 0; slot < count; slot++) widths[slot] = Math.max(widths[slot], demand[slot]);
  const bySpan = data.calls.slice().sort((one, other) => (one.last - one.first) - (other.last - other.first));
  for (const call of bySpan) {
    if (call.last - call.first > 60) break;
    const letters = Math.max(call.text.length, call.result.length + 2);
    const wanted = Math.min(Math.max(letters * CHARACTER + (call.core ? 42 : 26), 84), 260);
    let width = 0;
    for (let slot = call.first; slot <= call.last; slot++) width += widths[slot];
    if (width >= wanted) continue;
    const gaps = [];
    for (let slot = call.first; slot <= call.last; slot++) if (slot % 2) gaps.push(slot);
    if (!gaps.length) gaps.push(call.first);
    for (const slot of gaps) widths[slot] += (wanted - width) / gaps.length;
  }
  const edges = new Float64Array(count + 1);
  for (let slot = 0; slot < count; slot++) edges[slot + 1] = edges[slot] + widths[slot];
  const inSlot = new Map();
  for (const step of data.steps) inSlot.set(step.slot, (inSlot.get(step.slot) || 0) + 1);
  const seen = new Map();
  const points = data.steps.map(step => {
    const number = (seen.get(step.slot) || 0) + 1;
    seen.set(step.slot, number);
    return edges[step.slot] + widths[step.slot] * number / (inSlot.get(step.slot) + 1);
  });
  return finished(data, edges[count], points, slot => [edges[slot], edges[slot + 1]],
    tick => (edges[2 * tick] + edges[2 * tick + 1]) / 2);
}

// Real time: as wide as the logical one, so that the zoom means the same.
function realLayout(data, width) {
  const length = Math.max(width - TAIL, 200);
  const at = tick => tick < data.ticks.length ? data.ticks[tick][0] * length : length + TAIL;
  const slots = slot => slot % 2 ? [at((slot - 1) / 2), at((slot + 1) / 2)] : [at(slot / 2), at(slot / 2)];
  const inSlot = new Map(), seen = new Map();
  for (const step of data.steps) inSlot.set(step.slot, (inSlot.get(step.slot) || 0) + 1);
  const points = data.steps.map(step => {
    const number = (seen.get(step.slot) || 0) + 1;
    seen.set(step.slot, number);
    const [begin, end] = slots(step.slot);
    return begin + (end - begin) * number / (inSlot.get(step.slot) + 1);
  });
  return finished(data, length + TAIL, points, slots, at);
}

function finished(data, total, points, slots, tickAt) {
  const left = data.calls.map(call => slots(call.first)[0]);
  const right = data.calls.map(call => slots(call.last)[1]);
  const pointOf = new Array(data.calls.length).fill(-1);
  data.steps.forEach((step, number) => { pointOf[step.call] = number; });
  return {total: Math.max(total, 1), left, right, points, pointOf, tickAt};
}

// The first position for which a condition holds that holds for all that follow.
function firstWhere(count, condition) {
  let low = 0, high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (condition(middle)) high = middle; else low = middle + 1;
  }
  return low;
}

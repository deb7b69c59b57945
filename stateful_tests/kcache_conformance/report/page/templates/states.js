// The state of the model at each place of the order, built from what each call changes. Keys are texts of a target, so
// they are kept in maps and never become names of properties.

class States {
  constructor(data) {
    this.data = data;
  }

  // Right before the call at a place of the order; after the last one for the place behind it.
  before(number) {
    const state = {items: new Map(), facts: new Map(this.data.facts)};
    for (let at = 0; at < number; at++) {
      this.apply(state, this.data.steps[at].unseen);
      this.apply(state, this.data.steps[at].change);
    }
    this.apply(state, number < this.data.steps.length ? this.data.steps[number].unseen : this.data.rest);
    return state;
  }

  after(number) {
    const state = this.before(number);
    this.apply(state, this.data.steps[number].change);
    return state;
  }

  apply(state, change) {
    if (!change) return;
    for (const [key, text] of change.items) {
      if (text === null) state.items.delete(key); else state.items.set(key, text);
    }
    for (const [name, text] of change.facts) {
      if (text === '') state.facts.delete(name); else state.facts.set(name, text);
    }
  }
}

// Rows of (what, before, after, whether it is different), what has changed first.
function comparedStates(before, after) {
  const rows = [];
  for (const part of ['facts', 'items']) {
    const names = new Set([...before[part].keys(), ...after[part].keys()]);
    for (const name of names) {
      const old = before[part].get(name), now = after[part].get(name);
      rows.push({name, isFact: part === 'facts', old, now, changed: old !== now});
    }
  }
  const rank = row => row.changed ? 0 : row.isFact ? 1 : 2;
  return rows.sort((one, other) => rank(one) - rank(other) || (one.name < other.name ? -1 : 1));
}

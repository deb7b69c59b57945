// Walks through an interleaving: one step after another, with the line that each thread has reached.

function walking(table) {
  const rows = [...table.querySelectorAll('tr.step')], threads = [...table.querySelectorAll('thead th[data-thread]')];
  const lines = new Map([...document.querySelectorAll('.source [data-place]')].map(line => [line.dataset.place, line]));
  let at = -1;

  // The line that each thread has reached when the steps up to this one are done.
  function reached() {
    const places = new Map();
    for (const row of rows.slice(0, at + 1)) if (row.dataset.place) places.set(Number(row.dataset.thread), row.dataset.place);
    return places;
  }

  function go(to, focus = true) {
    at = Math.min(Math.max(to, 0), rows.length - 1);
    for (const part of document.querySelectorAll('.walk .here')) part.classList.remove('here');
    for (const marks of document.querySelectorAll('.source .marks')) marks.textContent = '';
    const row = rows[at], own = Number(row.dataset.thread), places = reached();
    row.classList.add('here');
    for (const [thread, place] of places) {
      const line = lines.get(place);
      if (!line) continue;
      const marks = line.querySelector('.marks');
      marks.textContent += `${marks.textContent ? ', ' : '\u25c0 '}${threads[thread].textContent}`;
      if (thread !== own) continue;
      line.classList.add('here');
      line.scrollIntoView({block: 'nearest'});
    }
    row.scrollIntoView({block: 'nearest'});
    byId('walk-place').textContent = `${at + 1} of ${rows.length}`;
    if (focus) row.focus({preventScroll: true});
  }

  const wrong = rows.findIndex(row => row.classList.contains('wrong'));
  const moves = {
    ArrowDown: () => at + 1, ArrowUp: () => at - 1, Home: () => 0, End: () => rows.length - 1,
  };
  table.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey || !moves[event.key]) return;
    event.preventDefault();
    event.stopPropagation();
    go(moves[event.key]());
  });
  rows.forEach((row, number) => row.addEventListener('click', () => go(number)));
  byId('walk-back').addEventListener('click', () => go(at - 1));
  byId('walk-on').addEventListener('click', () => go(at + 1));
  byId('walk-wrong').addEventListener('click', () => go(wrong));
  byId('walk-wrong').hidden = wrong < 0;
}

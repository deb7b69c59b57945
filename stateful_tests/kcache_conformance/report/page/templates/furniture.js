// The legend, dark and light, and the button that copies the command.

const byId = id => document.getElementById(id);

function fillLegend(data) {
  const entry = (label, draw) => {
    const svg = shape('svg', {viewBox: '0 0 24 18', 'aria-hidden': 'true'});
    draw(svg);
    byId('legend').append(node('li', null, svg, label));
  };
  const box = kind => svg => shape('rect', {class: `bulk ${kind}`, x: 1, y: 2, width: 22, height: 14, rx: 4}, svg);
  const kinds = new Set(data.calls.map((_, at) => kindOf(data, at)));
  if (kinds.has('read')) entry('read', box('read'));
  if (kinds.has('write')) entry('write', box('write'));
  if (kinds.has('core')) {
    entry(accusation(data), svg => { box('core')(svg); shape('path', {class: 'core-sign', d: 'M12 4l4 5l-4 5l-4-5z'}, svg); });
  }
  if (data.firstError !== null) {
    entry('first error', svg => {
      shape('circle', {class: 'cross', cx: 12, cy: 9, r: 8}, svg);
      shape('path', {class: 'cross-sign', d: 'M9 6l6 6m0 -6l-6 6'}, svg);
    });
  }
  if (data.steps.length) {
    entry(data.stuck ? 'the order that gets furthest' : 'the order', svg => {
      shape('path', {class: 'path', d: 'M0 9h24'}, svg);
      shape('circle', {class: 'point', cx: 12, cy: 9, r: 7}, svg);
      text('1', {class: 'place', x: 12, y: 13}, svg);
    });
  }
}

function themes() {
  const root = document.documentElement, button = byId('theme'), preferred = matchMedia('(prefers-color-scheme: dark)');
  const isDark = () => root.dataset.theme ? root.dataset.theme === 'dark' : preferred.matches;
  const show = () => { button.textContent = isDark() ? 'Light' : 'Dark'; };
  const toggle = () => { root.dataset.theme = isDark() ? 'light' : 'dark'; show(); };
  button.addEventListener('click', toggle);
  preferred.addEventListener('change', show);
  document.addEventListener('keydown', event => {
    if (event.key === 'd' && !event.ctrlKey && !event.metaKey && !event.altKey) toggle();
  });
  show();
}

function copying() {
  const button = byId('copy');
  if (!button) return;
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(byId('command').textContent);
      button.textContent = 'Copied';
    } catch {
      getSelection().selectAllChildren(byId('command'));
      button.textContent = 'Selected';
    }
    setTimeout(() => { button.textContent = 'Copy'; }, 2000);
  });
}

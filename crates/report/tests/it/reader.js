'use strict';
(() => {
  const found = document.getElementById('found');
  const tell = (text) => { found.textContent += `${text}\n`; };
  const holds = (what, is, detail = '') => tell(`${is ? 'right' : 'WRONG'}: ${what} ${is ? '' : detail}`);
  const all = (root, selector) => [...root.querySelectorAll(selector)];
  const visible = (element) => element.getClientRects().length > 0;
  const point = (svg, type, x, y) => {
    const box = svg.getBoundingClientRect();
    const event = { bubbles: true, clientX: box.left + x, clientY: box.top + y, button: 0, pointerId: 1 };
    svg.dispatchEvent(new PointerEvent(type, event));
  };
  const saved = [];
  window.Blob = class { constructor(parts) { this.text = parts.join(''); } };
  URL.createObjectURL = (blob) => { saved.push(blob); return 'blob:none'; };
  HTMLAnchorElement.prototype.click = function click() { saved.at(-1).file = this.download; };
  const press = (section, name) => {
    all(section, '.tools button').find((button) => button.textContent === name).click();
    return { text: saved.at(-1).text, name: saved.at(-1).file };
  };
  const cells = (line) => [...line.matchAll(/"((?:[^"]|"")*)"(?:,|$)|([^,]*)(?:,|$)/g)].map((cell) => cell[1] ?? cell[2]);
  const rows = (csv) => csv.trim().split('\n').map((line) => cells(`${line},`).slice(0, -1));
  const close = (a, b, by) => Math.abs(a - b) <= by;

  window.onerror = (message) => tell(`WRONG: ${message}`);
  try {
    // Every figure has a drawing, a legend that can be pressed, and downloads; none is empty.
    const sections = all(document, 'section.figure');
    // A drawing that is alone takes the page, as several do, but for few groups of bars; lines of text keep their measure.
    const alone = all(document, '.panels > figure:only-child svg.live');
    holds('there are drawings that are alone', alone.length > 0);
    for (const svg of alone) {
      const [width, room] = [svg.getBoundingClientRect().width, svg.closest('section').clientWidth];
      const groups = svg.dataset.x.startsWith('band ') ? JSON.parse(svg.dataset.x.slice(5)).length : Infinity;
      const due = Math.min(room, Math.max(832, 400 * groups));
      holds(`${svg.id} takes the page`, close(width, due, 2), `${width} of ${room}, ${groups} groups`);
    }
    const long = all(document, '.about').find((text) => text.getBoundingClientRect().width > 46 * 16 + 1);
    holds('lines of text keep their measure', !long, long?.textContent);
    holds('there are figures', sections.length >= 8, String(sections.length));
    for (const section of sections) {
      const svgs = all(section, 'svg.live');
      const filled = svgs.every((svg) => all(svg, '.plot [data-s], .plot path').length > 0);
      holds(`${section.id} has drawings, and none is empty`, svgs.length > 0 && filled);
      const inside = svgs.every((svg) => svg.getBoundingClientRect().width <= section.clientWidth + 1);
      holds(`${section.id} fits the page`, inside);
      const { text, name } = press(section, 'CSV');
      const [head, ...body] = rows(text);
      holds(`${section.id} has values`, body.length > 0 && body.every((row) => row.length === head.length), text.slice(0, 300));
      holds(`${section.id} names its file`, name === `stripewise-${section.id}.csv`, name);
      const picture = press(section, 'SVG');
      const parsed = new DOMParser().parseFromString(picture.text, 'image/svg+xml');
      const whole = !parsed.querySelector('parsererror') && all(parsed, 'svg svg').length >= svgs.length;
      const looks = all(parsed, 'path, rect').every((shape) => shape.hasAttribute('fill')) && !picture.text.includes('var(');
      holds(`${section.id} is one SVG with its own colours`, whole && looks, picture.text.slice(0, 300));
    }

    // The values of bars are their heights on the axis.
    const bars = document.getElementById('wear');
    const svg = bars.querySelector('svg.live');
    const [, top, , bottom] = svg.dataset.plot.split(' ').map(Number);
    const high = Number(svg.dataset.y.split(' ')[2]);
    const first = bars.querySelector('figcaption').textContent;
    const values = rows((press(bars, 'CSV')).text).slice(1).filter((row) => row[0] === first).map((row) => Number(row[3]));
    const heights = all(svg, '.plot g[data-s]').map((mark) => Number(mark.querySelector('rect').getAttribute('height')));
    const drawn = heights.map((height) => (height / (bottom - top)) * high);
    holds('bars are as high as the CSV says', values.length === drawn.length && values.every((value, at) => close(value, drawn[at], high / 1500)), `${values} ${drawn}`);

    // The values of lines are their points.
    const lines = document.getElementById('over-time');
    const line = lines.querySelector('svg.live');
    const csv = rows((press(lines, 'CSV')).text);
    const xs = csv.slice(1).filter((row) => row[0] === lines.querySelector('figcaption').textContent).map((row) => Number(row[2]));
    const points = all(line, '.plot path').flatMap((path) => [...path.getAttribute('d').matchAll(/[ML]([\d.]+)/g)].map((m) => Number(m[1])));
    const [left] = line.dataset.plot.split(' ').map(Number);
    const right = line.viewBox.baseVal.width - (1080 - Number(line.dataset.plot.split(' ')[2]));
    const last = Number(line.dataset.x.split(' ')[2]);
    const placed = xs.map((x) => left + (x / last) * (right - left));
    holds('lines have the points of the CSV', points.length === placed.length && points.every((x, at) => close(x, placed[at], 0.3)), `${points} ${placed}`);

    // Hover.
    const tip = document.querySelector('.tip');
    point(line, 'pointermove', (left + right) / 2, (top + bottom) / 2);
    holds('pointing shows the values of every scheme', visible(tip) && all(tip, 'div').length === 2 && tip.textContent.includes(' ms'), tip.textContent);
    point(line, 'pointerleave', 0, 0);
    holds('leaving hides them', !visible(tip));
    const mark = svg.querySelector('.plot g[data-s] rect');
    mark.dispatchEvent(new PointerEvent('pointermove', { bubbles: true, clientX: 100, clientY: 100 }));
    holds('a bar tells its value', tip.textContent.includes('member 0') && visible(tip), tip.textContent);
    const tail = document.querySelector('#distribution svg.live');
    point(tail, 'pointermove', 200, 60);
    holds('a distribution is read at a height', /% within/.test(tip.textContent) && tip.textContent.includes('ms'), tip.textContent);
    point(tail, 'pointerleave', 0, 0);

    // Zoom.
    const texts = () => all(line, '.axes .tick').map((text) => text.textContent).join(' ');
    const before = [line.querySelector('.plot path').getAttribute('d'), texts()];
    point(line, 'pointerdown', left + 100, 60);
    point(line, 'pointermove', left + 300, 62);
    holds('dragging marks what will be shown', line.querySelector('.chosen').getAttribute('visibility') === 'visible');
    point(line, 'pointerup', left + 300, 62);
    const zoomed = [line.querySelector('.plot path').getAttribute('d'), texts()];
    holds('dragging zooms in', zoomed[0] !== before[0] && zoomed[1] !== before[1], zoomed[1]);
    const other = all(lines, 'svg.live')[1];
    holds('drawings of one figure show the same time', other.querySelector('.plot').hasAttribute('clip-path'));
    const back = lines.querySelector('.reset');
    holds('the zoom can be undone by a button', visible(back));
    line.dispatchEvent(new MouseEvent('dblclick', { bubbles: true }));
    const after = [line.querySelector('.plot path').getAttribute('d'), texts()];
    holds('a double click shows all again', after[0] === before[0] && after[1] === before[1] && !visible(back), after[1]);

    // Legends.
    const toggle = bars.querySelector('.legend button');
    const shown = () => all(bars, '.plot g[data-s="0"]').filter(visible).length;
    const count = shown();
    toggle.click();
    holds('a legend hides its series', count > 0 && shown() === 0 && toggle.getAttribute('aria-pressed') === 'false');
    const rest = rows((press(bars, 'CSV')).text).slice(1);
    holds('the CSV has what is drawn', rest.length > 0 && rest.every((row) => row[2] !== toggle.textContent), rest.join(';'));
    toggle.click();
    holds('and shows it again', shown() === count);

    // Tables.
    const table = document.querySelector('#answer table');
    const heads = [...table.tHead.rows[0].cells];
    const order = () => [...table.tBodies[0].rows].map((row) => row.cells[0].textContent).join();
    const original = order();
    heads[1].querySelector('button').click();
    const rising = order();
    holds('a table sorts by times', heads[1].getAttribute('aria-sort') === 'ascending' && rising === 'adaptive,baseline', rising);
    heads[1].querySelector('button').click();
    holds('and the other way', order() === 'baseline,adaptive' && heads[1].getAttribute('aria-sort') === 'descending', order());
    holds('names sort too', (heads[0].querySelector('button').click(), order() === 'adaptive,baseline'), `${original} ${order()}`);
  } catch (error) {
    tell(`WRONG: ${error.stack}`);
  }
  tell('done');
})();

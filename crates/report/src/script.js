'use strict';
// Interaction of a report: values beside the pointer, zoom, legends that toggle, tables that sort, and downloads of
// figures. The page is complete without it: this script only adds to the drawings and tables that are there. It loads
// nothing, and only moves shapes that the drawings have: their places are mapped, not computed again from the values.
(() => {
  const SVG = 'http://www.w3.org/2000/svg';
  const LETTER = 6.4;
  const LINE = 15;
  const BAR_MOST = 64;
  // Few groups of bars gain nothing from a wide page: the most room of a group, and of a drawing with less.
  const [GROUP_MOST, GROUPS_LEAST] = [400, 832];
  const LEAST_DRAG = 8;
  const all = (root, selector) => [...root.querySelectorAll(selector)];
  const charts = new Map();

  function make(name, attributes, text) {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    return element;
  }

  function button(text, title, pressed) {
    const element = document.createElement('button');
    element.type = 'button';
    element.textContent = text;
    if (title) element.title = title;
    element.addEventListener('click', pressed);
    return element;
  }

  // Numbers, as the tables of the report have them.

  function figure(value) {
    const size = Math.abs(value);
    if (size === 0) return '0';
    if (size >= 1e15 || size < 1e-4) return value.toExponential(2);
    const digits = size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : size >= 0.1 ? 3 : 4;
    return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
  }

  const UNITS = { s: 1e9, ms: 1e6, µs: 1e3, ns: 1 };

  function time(ns) {
    const [name, size] = Object.entries(UNITS).find(([, size]) => ns >= size) ?? ['ns', 1];
    return `${figure(ns / size)} ${name}`;
  }

  function percent(value) {
    if (value >= 100) return '100 %';
    const nines = Math.max(0, Math.floor(-Math.log10(1 - value / 100) + 1e-9));
    return `${value.toFixed(Math.min(6, nines + 1))} %`;
  }

  // Axes. A place on one is a share, from 0 to 1.

  class Axis {
    constructor(text) {
      const [kind, low, high, size, unit] = text.split(' ');
      this.kind = kind;
      this.names = kind === 'band' ? JSON.parse(text.slice(5)) : [];
      this.low = Number(low);
      this.high = Number(high);
      this.size = Number(size);
      this.isTime = unit in UNITS;
      this.isValue = ['linear', 'log', 'tail'].includes(kind);
    }

    #bent(value) {
      if (this.kind === 'log') return Math.log(value);
      return this.kind === 'tail' ? -Math.log10(1 - value / 100) : value;
    }

    share(value) {
      const inside = this.kind === 'log' ? Math.max(value, this.low) : Math.min(value, this.high);
      return (this.#bent(inside) - this.#bent(this.low)) / (this.#bent(this.high) - this.#bent(this.low));
    }

    value(share) {
      const bent = this.#bent(this.low) + share * (this.#bent(this.high) - this.#bent(this.low));
      if (this.kind === 'log') return Math.exp(bent);
      return this.kind === 'tail' ? 100 * (1 - 10 ** -bent) : bent;
    }

    text(value) {
      if (this.kind === 'tail') return percent(value);
      return this.isTime ? time(value) : figure(value);
    }

    // About `about` round values between two shares.
    ticks([from, to], about) {
      const [low, high] = [this.value(from), this.value(to)];
      if (this.kind === 'log' && high / low > 8) {
        const steps = high / low > 1e3 ? [1] : [1, 2, 5];
        const first = Math.floor(Math.log10(low / this.size));
        const decades = Array.from({ length: Math.ceil(Math.log10(high / low)) + 2 }, (_, at) => 10 ** (first + at));
        return decades.flatMap((decade) => steps.map((step) => step * decade * this.size));
      }
      if (this.kind === 'tail' && to - from > 0.15) {
        const nines = Array.from({ length: 8 }, (_, at) => 10 ** (2 - at));
        return nines.flatMap((above) => [above, above / 2, above / 5]).map((above) => 100 - above);
      }
      const least = (high - low) / this.size / about;
      const size = 10 ** Math.floor(Math.log10(least));
      const step = size * ([1, 2, 5].find((factor) => factor * size >= least) ?? 10);
      const first = Math.ceil(low / this.size / step);
      const count = Math.min(50, Math.floor(high / this.size / step) - first + 1);
      return Array.from({ length: Math.max(0, count) }, (_, at) => (first + at) * step * this.size);
    }

    label(value) {
      const digits = this.kind === 'tail' ? 8 : 5;
      return Number((value / this.size).toPrecision(digits)).toLocaleString('en-US', { maximumFractionDigits: 8 });
    }
  }

  // A drawing that can be as wide as its place, zoomed, and asked for values.

  const WHOLE = [0, 1];

  class Chart {
    constructor(svg, panel) {
      this.svg = svg;
      this.panel = panel;
      this.values = JSON.parse(panel.dataset.values);
      this.x = new Axis(svg.dataset.x);
      this.y = new Axis(svg.dataset.y);
      this.area = svg.dataset.plot.split(' ').map(Number);
      const view = svg.viewBox.baseVal;
      [this.baseWidth, this.width, this.height] = [view.width, view.width, view.height];
      this.view = { x: WHOLE, y: WHOLE };
      this.plot = svg.querySelector('.plot');
      this.tips = new Map();
      for (const title of all(this.plot, 'title')) {
        this.tips.set(title.parentNode, title.textContent);
        title.remove();
      }
      this.shapes = all(this.plot, 'rect, line, path, circle, polygon').map((element) => this.#measured(element));
      this.ends = all(svg, ':scope > text[text-anchor=end].axis, :scope > line.base').map((element) => {
        const key = element.tagName === 'line' ? 'x2' : 'x';
        return { element, key, at: Number(element.getAttribute(key)) };
      });
      this.ticks = { x: this.#taken('.gx', '.tx', 'x'), y: this.#taken('.gy', '.ty', 'y') };
      this.labels = this.#labelled();
      this.axes = make('g', { class: 'axes' });
      svg.insertBefore(this.axes, this.plot);
      const id = `${svg.id}-clip`;
      this.clip = make('rect', {});
      const clip = make('clipPath', { id });
      clip.append(this.clip);
      svg.insertBefore(clip, this.axes);
      this.cross = make('line', { class: 'cross', visibility: 'hidden' });
      this.chosen = make('rect', { class: 'chosen', visibility: 'hidden' });
      svg.append(this.cross, this.chosen);
      this.still = { style: svg.getAttribute('style'), view: svg.getAttribute('viewBox') };
      svg.classList.add('live');
    }

    #measured(element) {
      const of = (name) => Number(element.getAttribute(name));
      switch (element.tagName) {
        case 'rect':
          return { element, kind: 'rect', x: of('x'), y: of('y'), width: of('width'), height: of('height') };
        case 'line':
          return { element, kind: 'line', from: [of('x1'), of('y1')], to: [of('x2'), of('y2')] };
        case 'path': {
          const steps = [...element.getAttribute('d').matchAll(/([ML])(-?[\d.]+) (-?[\d.]+)/g)];
          return { element, kind: 'path', steps: steps.map(([, step, x, y]) => [step, Number(x), Number(y)]) };
        }
        case 'circle':
          return { element, kind: 'mark', at: [of('cx'), of('cy')] };
        default: {
          const corners = element.getAttribute('points').split(/[ ,]/).map(Number);
          const middle = (values) => (Math.min(...values) + Math.max(...values)) / 2;
          const at = [0, 1].map((odd) => middle(corners.filter((_, place) => place % 2 === odd)));
          return { element, kind: 'mark', at };
        }
      }
    }

    // The ticks of the drawing: their places and texts. They are removed, since they are drawn again where they fit.
    #taken(lines, texts, key) {
      const named = all(this.svg, texts).map((element) => [Number(element.getAttribute(key)), element]);
      const shift = key === 'y' ? 4 : 0;
      const found = all(this.svg, lines).map((line) => {
        const at = Number(line.getAttribute(`${key}1`));
        const text = named.find(([place]) => Math.abs(place - shift - at) < 0.2)?.[1].textContent ?? '';
        return { at, text };
      });
      all(this.svg, `${lines}, ${texts}`).forEach((element) => element.remove());
      return found;
    }

    #labelled() {
      const found = all(this.svg, ':scope > .label');
      const isSlanted = found.some((label) => label.hasAttribute('transform'));
      const texts = found.map((label) => label.textContent);
      found.forEach((label) => label.remove());
      return { isSlanted, texts };
    }

    get right() {
      return this.area[2] + this.width - this.baseWidth;
    }

    // The share of the horizontal axis at a place of the first drawing, and the place of a share in this one.
    placeX(share) {
      const [from, to] = this.view.x;
      return this.area[0] + ((share - from) / (to - from)) * (this.right - this.area[0]);
    }

    placeY(share) {
      const [from, to] = this.view.y;
      return this.area[3] - ((share - from) / (to - from)) * (this.area[3] - this.area[1]);
    }

    movedX(x) {
      return this.placeX((x - this.area[0]) / (this.area[2] - this.area[0]));
    }

    movedY(y) {
      return this.placeY((this.area[3] - y) / (this.area[3] - this.area[1]));
    }

    // Bars keep their places in their group and become wider only up to a limit.
    #movedInBand(x, width) {
      if (this.x.kind !== 'band') return this.movedX(x);
      const room = (this.area[2] - this.area[0]) / this.x.names.length;
      const group = Math.min(this.x.names.length - 1, Math.max(0, Math.floor((x - this.area[0]) / room)));
      const middle = this.area[0] + room * (group + 0.5);
      const [from, to] = this.view.x;
      const growth = (this.right - this.area[0]) / (this.area[2] - this.area[0]) / (to - from);
      return this.movedX(middle) + (x - middle) * Math.min(growth, Math.max(1, BAR_MOST / width));
    }

    get isZoomed() {
      return this.view.x !== WHOLE || this.view.y !== WHOLE;
    }

    // Draws it for a width in pixels, so its texts keep their size.
    draw(width) {
      const most = Math.max(GROUPS_LEAST, GROUP_MOST * this.x.names.length);
      this.width = this.x.kind === 'band' ? Math.max(Math.min(width, most), this.baseWidth * 0.95) : Math.max(width, 240);
      const [left, top, , bottom] = this.area;
      this.svg.setAttribute('viewBox', `0 0 ${this.width.toFixed(0)} ${this.height}`);
      this.svg.setAttribute('style', `width:${this.width.toFixed(0)}px;max-width:none`);
      for (const { element, key, at } of this.ends) element.setAttribute(key, at + this.width - this.baseWidth);
      const bar = this.shapes.find((shape) => shape.kind === 'rect')?.width ?? BAR_MOST;
      const set = (element, attributes) => {
        for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value.toFixed(2));
      };
      for (const shape of this.shapes) {
        const { element } = shape;
        if (element.classList.contains('reference')) {
          const y = this.movedY(shape.from[1]);
          set(element, { x1: left, x2: this.right, y1: y, y2: y });
        } else if (shape.kind === 'rect') {
          const x = this.#movedInBand(shape.x, bar);
          const y = this.y.isValue ? this.movedY(shape.y) : shape.y;
          const end = this.#movedInBand(shape.x + shape.width, bar);
          const height = this.y.isValue ? this.movedY(shape.y + shape.height) - y : shape.height;
          set(element, { x, y, width: Math.max(0, end - x), height: Math.max(0, height) });
        } else if (shape.kind === 'line') {
          const [x1, x2] = [shape.from[0], shape.to[0]].map((x) => this.#movedInBand(x, bar));
          set(element, { x1, x2, y1: this.movedY(shape.from[1]), y2: this.movedY(shape.to[1]) });
        } else if (shape.kind === 'path') {
          const step = ([step, x, y]) => `${step}${this.movedX(x).toFixed(2)} ${this.movedY(y).toFixed(2)}`;
          element.setAttribute('d', shape.steps.map(step).join(''));
        } else {
          const [dx, dy] = [this.movedX(shape.at[0]) - shape.at[0], this.movedY(shape.at[1]) - shape.at[1]];
          element.setAttribute('transform', `translate(${dx.toFixed(2)} ${dy.toFixed(2)})`);
        }
      }
      set(this.clip, { x: left, y: top, width: this.right - left, height: bottom - top });
      if (this.isZoomed) this.plot.setAttribute('clip-path', `url(#${this.svg.id}-clip)`);
      else this.plot.removeAttribute('clip-path');
      this.#drawAxes();
    }

    #ticksOf(axis, key, about) {
      const place = key === 'x' ? (at) => this.movedX(at) : (at) => this.movedY(at);
      if (this.view[key] === WHOLE || !axis.isValue) return this.ticks[key].map(({ at, text }) => [place(at), text]);
      const placed = key === 'x' ? (share) => this.placeX(share) : (share) => this.placeY(share);
      return axis.ticks(this.view[key], about).map((value) => [placed(axis.share(value)), axis.label(value)]);
    }

    #drawAxes() {
      const [left, top, , bottom] = this.area;
      this.axes.replaceChildren();
      const inside = (at, low, high) => at >= low - 0.5 && at <= high + 0.5;
      let free = -Infinity;
      for (const [x, text] of this.#ticksOf(this.x, 'x', this.width / 110)) {
        if (!inside(x, left, this.right)) continue;
        this.axes.append(make('line', { class: 'grid', x1: x, x2: x, y1: top, y2: bottom }));
        const half = (text.length * LETTER) / 2;
        if (x - half < free) continue;
        this.axes.append(make('text', { class: 'tick', x, y: bottom + LINE, 'text-anchor': 'middle' }, text));
        free = x + half + 6;
      }
      free = Infinity;
      for (const [y, text] of this.#ticksOf(this.y, 'y', 5).sort((a, b) => b[0] - a[0])) {
        if (!inside(y, top, bottom)) continue;
        this.axes.append(make('line', { class: 'grid', x1: left, x2: this.right, y1: y, y2: y }));
        if (y > free) continue;
        this.axes.append(make('text', { class: 'tick', x: left - 4, y: y + 4, 'text-anchor': 'end' }, text));
        free = y - 12;
      }
      const { isSlanted, texts } = this.labels;
      const [from, to] = this.view.x;
      const room = (this.right - left) / Math.max(1, texts.length) / (to - from);
      const fits = texts.every((text) => text.length * LETTER <= room - 4);
      texts.forEach((text, at) => {
        const x = this.placeX((at + 0.5) / texts.length);
        if (!inside(x, left, this.right)) return;
        if (isSlanted && !fits) {
          const transform = `translate(${x + 4} ${bottom + 12}) rotate(-35)`;
          this.axes.append(make('text', { class: 'label', transform, 'text-anchor': 'end' }, text));
        } else {
          const most = Math.max(2, Math.floor((room - 4) / LETTER));
          const short = text.length > most ? `${text.slice(0, most - 1)}…` : text;
          this.axes.append(make('text', { class: 'label', x, y: bottom + LINE, 'text-anchor': 'middle' }, short));
        }
      });
    }

    // The drawing as it was without this script, for print.
    restore() {
      this.view = { x: WHOLE, y: WHOLE };
      this.draw(this.baseWidth);
      this.svg.setAttribute('viewBox', this.still.view);
      this.svg.setAttribute('style', this.still.style);
    }

    // The place of the pointer in the drawing.
    place(event) {
      const box = this.svg.getBoundingClientRect();
      const scale = this.width / box.width;
      return [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
    }

    shareX(x) {
      const [from, to] = this.view.x;
      return from + ((x - this.area[0]) / (this.right - this.area[0])) * (to - from);
    }

    shareY(y) {
      const [from, to] = this.view.y;
      return from + ((this.area[3] - y) / (this.area[3] - this.area[1])) * (to - from);
    }

    contains([x, y]) {
      const [left, top, , bottom] = this.area;
      return x >= left && x <= this.right && y >= top && y <= bottom;
    }

    // What the tip says at a place: a heading, and rows of a name, a value and the series.
    told(place, target) {
      if (this.values.kind !== 'lines') {
        const mark = target.closest('[data-s]');
        return mark && this.tips.has(mark) ? { heading: this.tips.get(mark), rows: [] } : undefined;
      }
      if (!this.contains(place)) return undefined;
      const isLevel = this.svg.dataset.read === 'level';
      const rows = [];
      let heading;
      if (isLevel) {
        const level = this.y.value(this.shareY(place[1]));
        heading = this.y.kind === 'tail' ? `${percent(level)} within` : `${figure(level)} ${this.values.y}`;
        for (const line of this.visible()) {
          const at = line.y.findIndex((y) => y !== null && y >= level - 1e-12);
          if (at >= 0) rows.push({ name: line.name, s: line.s, of: line.x[at], text: this.x.text(line.x[at]) });
        }
      } else {
        const wanted = this.x.value(this.shareX(place[0]));
        const nearest = (xs) => xs.reduce((best, x, at) => (Math.abs(x - wanted) < Math.abs(xs[best] - wanted) ? at : best), 0);
        for (const line of this.visible()) {
          const at = nearest(line.x);
          heading ??= this.x.isTime ? `at ${this.x.text(line.x[at])}` : `${this.x.text(line.x[at])}`;
          if (line.y[at] !== null) {
            const ends = [line.low?.[at], line.high?.[at]].filter((end) => typeof end === 'number');
            const interval = ends.length === 2 ? ` [${ends.map((end) => this.y.text(end)).join(', ')}]` : '';
            rows.push({ name: line.name, s: line.s, of: line.y[at], text: this.y.text(line.y[at]) + interval });
          }
        }
      }
      rows.sort((a, b) => b.of - a.of);
      return { heading, rows };
    }

    visible() {
      return this.values.lines.filter((line) => line.s === null || !hidden(this.panel).has(String(line.s)));
    }

    showCross(place) {
      const [left, top, , bottom] = this.area;
      const ends = this.svg.dataset.read === 'level'
        ? { x1: left, x2: this.right, y1: place[1], y2: place[1] }
        : { x1: place[0], x2: place[0], y1: top, y2: bottom };
      for (const [key, value] of Object.entries(ends)) this.cross.setAttribute(key, value);
      this.cross.setAttribute('visibility', 'visible');
    }

    hideCross() {
      this.cross.setAttribute('visibility', 'hidden');
    }

    // The rectangle between two places, over the whole of an axis along which the pointer hardly moved.
    between([x1, y1], [x2, y2]) {
      const [left, top, , bottom] = this.area;
      const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
      const wide = Math.abs(x2 - x1) >= LEAST_DRAG;
      const high = Math.abs(y2 - y1) >= LEAST_DRAG * 2 && this.y.isValue;
      if (!wide && !high) return undefined;
      const xs = [x1, x2].map((x) => clamp(x, left, this.right)).sort((a, b) => a - b);
      const ys = [y1, y2].map((y) => clamp(y, top, bottom)).sort((a, b) => a - b);
      return { x: wide ? xs : undefined, y: high ? ys : undefined };
    }

    showChosen(found) {
      const [left, top, , bottom] = this.area;
      const [x1, x2] = found.x ?? [left, this.right];
      const [y1, y2] = found.y ?? [top, bottom];
      const place = { x: x1, y: y1, width: x2 - x1, height: y2 - y1, visibility: 'visible' };
      for (const [key, value] of Object.entries(place)) this.chosen.setAttribute(key, value);
    }

    zoom(found) {
      const x = found.x?.map((x) => this.shareX(x));
      const y = found.y && [this.shareY(found.y[1]), this.shareY(found.y[0])];
      if (y) this.view.y = y;
      // Drawings of one figure with the same horizontal axis show the same part of it.
      for (const chart of this.linked()) if (x) chart.view.x = x;
    }

    linked() {
      const section = this.svg.closest('section');
      return all(section, 'svg.live').map((svg) => charts.get(svg)).filter((chart) => chart.svg.dataset.x === this.svg.dataset.x);
    }
  }

  // Figures: legends and downloads.

  const hidden = (element) => {
    const section = element.closest('section');
    return new Set(all(section, '.legend li.off').map((item) => item.dataset.s));
  };

  function redraw(section) {
    for (const svg of all(section, 'svg.live')) charts.get(svg).draw(svg.parentNode.clientWidth);
    const reset = section.querySelector('.reset');
    if (reset) reset.hidden = !all(section, 'svg.live').some((svg) => charts.get(svg).isZoomed);
  }

  function reset(section) {
    for (const svg of all(section, 'svg.live')) charts.get(svg).view = { x: WHOLE, y: WHOLE };
    redraw(section);
  }

  function toggles(section) {
    for (const item of all(section, '.legend li')) {
      const toggle = button('', 'Show or hide it in this figure', () => {
        const off = item.classList.toggle('off');
        toggle.setAttribute('aria-pressed', String(!off));
        const shapes = all(section, `.plot [data-s="${item.dataset.s}"]`);
        shapes.forEach((shape) => shape.classList.toggle('hidden', off));
      });
      toggle.setAttribute('aria-pressed', 'true');
      toggle.append(...item.childNodes);
      item.append(toggle);
    }
  }

  function save(name, type, text) {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  const quoted = (cell) => (/[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);

  // The values of a figure, as drawn: without the series that its legend hides.
  function csv(section) {
    const rows = [];
    const off = new Set(all(section, '.legend li.off').map((item) => item.textContent));
    const shown = (name) => !off.has(name);
    for (const panel of all(section, 'figure[data-values]')) {
      const title = panel.querySelector('figcaption').textContent;
      const values = JSON.parse(panel.dataset.values);
      if (values.kind === 'lines') {
        for (const line of values.lines.filter((line) => shown(line.name))) {
          line.x.forEach((x, at) => {
            const ends = line.low ? { low: line.low[at], high: line.high[at] } : {};
            if (line.y[at] !== null) rows.push({ drawing: title, series: line.name, [values.x]: x, [values.y]: line.y[at], ...ends });
          });
        }
      } else if (values.kind === 'bars') {
        for (const [group, series, value, low, high] of values.rows.filter((row) => shown(row[1]))) {
          const ends = low === null ? {} : { low, high };
          rows.push({ drawing: title, group, series, [values.y]: value, ...ends });
        }
      } else if (values.kind === 'dots') {
        for (const [series, name, x, y] of values.rows.filter((row) => shown(row[0]))) {
          rows.push({ drawing: title, series, name, [values.x]: x, [values.y]: y });
        }
      } else if (values.kind === 'cells') {
        for (const [column, row, value] of values.rows) rows.push({ drawing: title, [values.x]: column, [values.y]: row, [values.of]: value });
      } else {
        for (const [heading, strip, part, length] of values.rows.filter((row) => shown(row[2]))) {
          rows.push({ drawing: title, heading, strip, part, [values.x]: length });
        }
      }
    }
    const head = [...new Set(rows.flatMap((row) => Object.keys(row)))];
    const line = (cells) => cells.map((cell) => quoted(String(cell ?? ''))).join(',');
    return [line(head), ...rows.map((row) => line(head.map((key) => row[key])))].join('\n') + '\n';
  }

  const STYLES =
    'fill stroke stroke-width stroke-dasharray stroke-linecap stroke-linejoin opacity font-size font-weight'.split(' ');

  // A copy of an element with the styles that the page gives it.
  function styled(element) {
    const copy = element.cloneNode(true);
    const pairs = [[element, copy], ...all(element, '*').map((of, at) => [of, all(copy, '*')[at]])];
    for (const [from, to] of pairs) {
      const style = getComputedStyle(from);
      if (style.display === 'none' || style.visibility === 'hidden') to.setAttribute('display', 'none');
      for (const name of STYLES) to.setAttribute(name, style.getPropertyValue(name));
      for (const name of ['class', 'style', 'data-plot', 'data-x', 'data-y']) to.removeAttribute(name);
    }
    return copy;
  }

  // All drawings of a figure below each other, with its legend, in one SVG that needs no page.
  function drawing(section) {
    const page = getComputedStyle(document.body);
    const out = make('svg', { xmlns: SVG, 'font-family': page.fontFamily, 'font-size': 11, fill: page.color });
    const svgs = all(section, 'svg.chart');
    const size = (svg) => charts.get(svg) ?? svg.viewBox.baseVal;
    const width = Math.max(360, ...svgs.map((svg) => size(svg).width)) + 20;
    out.append(make('rect', { width: '100%', height: '100%', fill: page.backgroundColor }));
    const defs = document.querySelector('svg.defs defs');
    out.append(styled(defs));
    out.append(make('text', { x: 10, y: 22, 'font-size': 15, 'font-weight': 600 }, section.querySelector('h2').textContent));
    let [x, y] = [10, 34];
    for (const item of all(section, '.legend li:not(.off)')) {
      const needed = 44 + item.textContent.length * 7;
      if (x > 10 && x + needed > width) [x, y] = [10, y + 18];
      const swatch = styled(item.querySelector('svg'));
      for (const [key, value] of Object.entries({ x, y, width: 34, height: 14 })) swatch.setAttribute(key, value);
      out.append(swatch, make('text', { x: x + 40, y: y + 11 }, item.textContent));
      x += needed + 12;
    }
    y += 36;
    for (const svg of svgs) {
      const caption = svg.closest('figure').querySelector('figcaption').textContent;
      out.append(make('text', { x: 10, y, 'font-size': 13, 'font-weight': 600 }, caption));
      const copy = styled(svg);
      const { width, height } = size(svg);
      for (const [key, value] of Object.entries({ x: 10, y: y + 6, width, height })) copy.setAttribute(key, value);
      out.append(copy);
      y += height + 30;
    }
    for (const [key, value] of Object.entries({ width, height: y, viewBox: `0 0 ${width} ${y}` })) out.setAttribute(key, value);
    return new XMLSerializer().serializeToString(out);
  }

  function tools(section) {
    const bar = document.createElement('div');
    bar.className = 'tools';
    const name = `stripewise-${section.id}`;
    const title = section.querySelector('h2').textContent;
    const back = button('Reset zoom', 'Show the whole figure again', () => reset(section));
    back.className = 'reset';
    back.hidden = true;
    const picture = button('SVG', '', () => save(`${name}.svg`, 'image/svg+xml', drawing(section)));
    const values = button('CSV', '', () => save(`${name}.csv`, 'text/csv', csv(section)));
    picture.setAttribute('aria-label', `Download ${title} as SVG`);
    values.setAttribute('aria-label', `Download the values of ${title} as CSV`);
    bar.append(back, picture, values);
    const head = document.createElement('div');
    head.className = 'head';
    section.querySelector('h2').before(head);
    head.append(section.querySelector('h2'), bar);
  }

  // The pointer: values beside it, and a rectangle to zoom in.

  const tip = document.createElement('div');
  tip.className = 'tip';
  tip.hidden = true;
  tip.setAttribute('aria-hidden', 'true');

  function showTip(event, told) {
    const heading = document.createElement('strong');
    heading.textContent = told.heading;
    tip.replaceChildren(heading);
    for (const { name, s, text } of told.rows) {
      const row = document.createElement('div');
      const dot = document.createElement('i');
      dot.className = s === null ? 'dot' : `dot d${s % 8}`;
      const value = document.createElement('b');
      value.textContent = text;
      row.append(dot, `${name} `, value);
      tip.append(row);
    }
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const room = document.documentElement.clientWidth;
    // On a phone the finger hides what is below it.
    const beside = event.clientX + 14 + box.width > room ? event.clientX - box.width - 14 : event.clientX + 14;
    tip.style.left = `${Math.max(4, beside)}px`;
    tip.style.top = `${Math.max(4, Math.min(event.clientY + 14, window.innerHeight - box.height - 4))}px`;
  }

  function pointed(chart) {
    const { svg } = chart;
    let from;
    svg.addEventListener('pointerdown', (event) => {
      const place = chart.place(event);
      if (event.button !== 0 || !chart.contains(place)) return;
      from = place;
      if (event.isTrusted) svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener('pointermove', (event) => {
      const place = chart.place(event);
      const found = from && chart.between(from, place);
      if (found) {
        tip.hidden = true;
        chart.hideCross();
        chart.showChosen(found);
        return;
      }
      const told = chart.told(place, event.target);
      if (!told) {
        tip.hidden = true;
        chart.hideCross();
        return;
      }
      if (chart.values.kind === 'lines') chart.showCross(place);
      showTip(event, told);
    });
    const end = (event) => {
      const found = from && event.type === 'pointerup' && chart.between(from, chart.place(event));
      from = undefined;
      chart.chosen.setAttribute('visibility', 'hidden');
      if (!found) return;
      chart.zoom(found);
      redraw(svg.closest('section'));
    };
    svg.addEventListener('pointerup', end);
    svg.addEventListener('pointercancel', end);
    svg.addEventListener('pointerleave', () => {
      tip.hidden = true;
      chart.hideCross();
    });
    svg.addEventListener('dblclick', () => reset(svg.closest('section')));
  }

  // Tables that sort by the column whose head is pressed.

  function number(text) {
    const found = text.replaceAll(',', '').replaceAll('−', '-').match(/-?\d[\d.]*(?:e[+-]?\d+)?/);
    if (!found) return NaN;
    const unit = text.match(/\d\s*(ns|µs|ms|s)\b/)?.[1];
    return Number(found[0]) * (unit ? UNITS[unit] : 1);
  }

  function sortable(table) {
    const [body] = table.tBodies;
    const heads = [...table.tHead.rows[0].cells];
    if (body.rows.length < 2) return;
    heads.forEach((head, column) => {
      const isNumber = head.classList.contains('number');
      const press = button('', 'Sort by this column', () => {
        const isUp = head.getAttribute('aria-sort') !== 'ascending';
        heads.forEach((other) => other.removeAttribute('aria-sort'));
        head.setAttribute('aria-sort', isUp ? 'ascending' : 'descending');
        const key = (row) => row.cells[column].textContent.trim();
        const compare = (a, b) => {
          const [x, y] = [key(a), key(b)];
          if (!isNumber) return (isUp ? 1 : -1) * x.localeCompare(y, 'en', { numeric: true });
          const [p, q] = [number(x), number(y)];
          // Missing values are last in both directions.
          if (Number.isNaN(p) || Number.isNaN(q)) return Number.isNaN(p) - Number.isNaN(q);
          return (isUp ? 1 : -1) * (p - q);
        };
        body.append(...[...body.rows].sort(compare));
      });
      press.className = 'sort';
      press.append(...head.childNodes);
      head.append(press);
    });
  }

  // The beginning.

  for (const panel of all(document, 'figure[data-values]')) {
    const svg = panel.querySelector('svg.chart');
    // Heat maps stay as they are drawn.
    if (!svg.dataset.plot) continue;
    const chart = new Chart(svg, panel);
    charts.set(svg, chart);
    svg.parentNode.removeAttribute('tabindex');
    pointed(chart);
  }
  for (const section of all(document, 'section.figure')) {
    toggles(section);
    tools(section);
  }
  all(document, 'table.sortable').forEach(sortable);
  document.body.append(tip);
  document.documentElement.classList.add('scripted');

  const sections = () => all(document, 'section.figure');
  sections().forEach(redraw);
  let width = document.documentElement.clientWidth;
  window.addEventListener('resize', () => {
    if (width === document.documentElement.clientWidth) return;
    width = document.documentElement.clientWidth;
    sections().forEach(redraw);
  });
  window.addEventListener('beforeprint', () => charts.forEach((chart) => chart.restore()));
  window.addEventListener('afterprint', () => sections().forEach(redraw));
  window.addEventListener('scroll', () => { tip.hidden = true; }, { passive: true });
})();

'use strict';
// Folds the groups of pages in the sidebar: the one of this page is open. Without this script all are open.
for (const caption of document.querySelectorAll('.sidebar-tree .caption')) {
  const list = caption.nextElementSibling;
  if (!list) continue;
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'fold';
  button.append(...caption.childNodes);
  caption.append(button);
  const show = (open) => {
    list.hidden = !open;
    button.setAttribute('aria-expanded', String(open));
  };
  const isFirstPage = !document.querySelector('.sidebar-tree .current');
  show(isFirstPage || list.querySelector('.current') !== null);
  button.addEventListener('click', () => show(list.hidden));
}

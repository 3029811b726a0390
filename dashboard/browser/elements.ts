// The only file that makes elements. Texts become text nodes and attributes come from a short list, so nothing that a
// cluster sends can become markup, a script, a style or a foreign address.

/** What an element may hold; undefined children are left out. */
export type Child = Node | string | undefined | readonly Child[];

/** Attributes by name; those that are undefined or false are left out. */
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

const ALLOWED: ReadonlySet<string> = new Set([
  'autocomplete', 'class', 'colspan', 'd', 'datetime', 'for', 'height', 'id', 'lang', 'list', 'name', 'open',
  'placeholder', 'preserveAspectRatio', 'r', 'role', 'rx', 'scope', 'spellcheck', 'tabindex', 'text-anchor', 'title',
  'type', 'value', 'viewBox', 'width', 'x', 'y', 'cx', 'cy',
]);
/** An address of this page. */
const OWN_ADDRESS = /^\/(?![/\\])/;
const SVG = 'http://www.w3.org/2000/svg';

/** An element of HTML. Throws for an attribute that is not on the list, and for an address that is not ours. */
export function el(tag: string, attributes: Attributes = {}, ...children: readonly Child[]): HTMLElement {
  return filled(document.createElement(tag), attributes, children);
}

/** An element of SVG. Throws as {@link el}. */
export function svg(tag: string, attributes: Attributes = {}, ...children: readonly Child[]): SVGElement {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled<E extends Element>(element: E, attributes: Attributes, children: readonly Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    const text = value === true ? '' : String(value);
    if (!isAllowed(name, text)) throw new TypeError(`the page sets no attribute ${name}`);
    element.setAttribute(name, text);
  }
  append(element, children);
  return element;
}

function isAllowed(name: string, text: string): boolean {
  if (name === 'href') return OWN_ADDRESS.test(text);
  return ALLOWED.has(name) || name.startsWith('aria-') || name.startsWith('data-');
}

function append(element: Element, children: readonly Child[]): void {
  for (const child of children) {
    if (child === undefined) continue;
    if (typeof child === 'string') element.append(document.createTextNode(child));
    else if (child instanceof Node) element.append(child);
    else append(element, child);
  }
}

/**
 * Makes an element's children equal to new ones and keeps those that are alike, so that focus, selection, scroll
 * position and open details survive an update.
 */
export function update(element: Element, children: readonly Child[]): void {
  const next = document.createElement('div');
  append(next, children);
  patchChildren(element, next);
}

/** What has a key is kept where others come or go before it. */
function patchChildren(element: Element, next: Element): void {
  const [old, fresh] = [[...element.childNodes], [...next.childNodes]];
  const [wanted, there] = [countKeys(fresh), countKeys(old)];
  let at = 0;
  for (const node of fresh) {
    for (; at < old.length && isGone(old[at], node, { wanted, there }); at += 1) {
      count(there, old[at], -1);
      old[at]?.remove();
    }
    const before = old[at];
    count(wanted, node, -1);
    if (before === undefined || (!isAlike(before, node) && count(wanted, before))) {
      element.insertBefore(node, before ?? null);
      continue;
    }
    count(there, before, -1);
    if (isAlike(before, node)) patch(before, node);
    else before.replaceWith(node);
    at += 1;
  }
  for (const node of old.slice(at)) node.remove();
}

/** Whether an old node is no more, and the new one comes later among the old ones. */
function isGone(
  old: Node | undefined, node: Node, { wanted, there }: { readonly wanted: Keys; readonly there: Keys },
): boolean {
  return old !== undefined && !isAlike(old, node) && !count(wanted, old) && count(there, node);
}

/** How many nodes have a key. */
type Keys = Map<string, number>;

function countKeys(nodes: Iterable<Node>): Keys {
  const keys: Keys = new Map();
  for (const node of nodes) count(keys, node, 1);
  return keys;
}

/** Whether there are nodes with the key of this one, which has one; after a change of their number by `by`. */
function count(keys: Keys, node: Node | undefined, by = 0): boolean {
  const key = node === undefined ? null : keyOf(node);
  if (node === undefined || key === null) return false;
  const name = `${node.nodeName} ${key}`;
  const number = (keys.get(name) ?? 0) + by;
  if (by !== 0) keys.set(name, number);
  return number > 0;
}

function isAlike(one: Node, other: Node): boolean {
  if (one.nodeName !== other.nodeName) return false;
  return keyOf(one) === keyOf(other);
}

function keyOf(node: Node): string | null {
  return node instanceof Element ? node.getAttribute('data-key') : null;
}

function patch(node: Node, next: Node): void {
  if (!(node instanceof Element && next instanceof Element)) {
    if (node.nodeValue !== next.nodeValue) node.nodeValue = next.nodeValue;
    return;
  }
  for (const name of node.getAttributeNames()) {
    if (!next.hasAttribute(name) && name !== 'open') node.removeAttribute(name);
  }
  for (const name of next.getAttributeNames()) {
    const value = next.getAttribute(name) ?? '';
    if (name !== 'open' && node.getAttribute(name) !== value) node.setAttribute(name, value);
  }
  if (!node.hasAttribute('data-kept')) patchChildren(node, next);
}

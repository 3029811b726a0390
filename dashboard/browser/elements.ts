// The only file that makes elements. Texts become text nodes and attributes come from a short list, so nothing that a
// cluster sends can become markup, a script, a style or a foreign address.

/** What an element may hold; undefined children are left out. */
export type Child = Node | string | undefined | readonly Child[];

/** Attributes by name; those that are undefined or false are left out. */
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

const ALLOWED: ReadonlySet<string> = new Set([
  'autocomplete', 'class', 'colspan', 'd', 'datetime', 'for', 'height', 'id', 'lang', 'list', 'name', 'placeholder',
  'preserveAspectRatio', 'r', 'role', 'rx', 'scope', 'spellcheck', 'tabindex', 'text-anchor', 'title', 'type', 'value',
  'viewBox', 'width', 'x', 'y', 'cx', 'cy',
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

function patchChildren(element: Element, next: Element): void {
  const [old, fresh] = [[...element.childNodes], [...next.childNodes]];
  for (const [index, node] of fresh.entries()) {
    const before = old[index];
    if (before === undefined) element.append(node);
    else if (isAlike(before, node)) patch(before, node);
    else before.replaceWith(node);
  }
  for (const node of old.slice(fresh.length)) node.remove();
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
    if (node.getAttribute(name) !== value) node.setAttribute(name, value);
  }
  if (!node.hasAttribute('data-kept')) patchChildren(node, next);
}

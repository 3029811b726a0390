// Derived names: virtual nodes, delegate pods. Components that compute them independently must agree, and two different
// origins must never share a name. The rule for joined names is Admiralty 0.17's (`pkg/name`), so that its virtual
// nodes keep their names; verified against names from its own code.

import { hash } from 'node:crypto';
import type { TargetRef } from './target-ref.ts';

/** The longest name of most Kubernetes objects (DNS-1123 subdomain). */
export const MAX_NAME_LENGTH = 253;
/** The longest label value, namespace or host name (DNS-1123 label). */
export const MAX_LABEL_LENGTH = 63;

const HASH_LENGTH = 10;

/** A part of a joined name: a variable text, or a constant one. */
export type NamePart = string | { readonly constant: string };

/**
 * Joins the non-empty parts with dashes, within `maxLength` characters. A hash over all parts is appended where dashes
 * would be ambiguous (several variable parts, one with a dash of its own), or where the name would be too long and is
 * cut. Different variable parts give different names as long as only one of them, always the same, may be empty.
 */
export function joinName(parts: readonly NamePart[], maxLength: number): string {
  const variable = parts.filter((part) => typeof part === 'string');
  const texts = parts.map((part) => (typeof part === 'string' ? part : part.constant));
  const joined = texts.filter((text) => text !== '').join('-');
  const isAmbiguous = variable.length > 1 && variable.some((part) => part.includes('-'));
  if (!isAmbiguous && joined.length <= maxLength) return joined;
  // Names contain no slash, so this text represents exactly one list of parts.
  return appendHash(joined, texts.join('/'), maxLength);
}

/** Name of the target's virtual node in the source, as Admiralty names it. */
export function virtualNodeName(target: TargetRef): string {
  const namespace = target.kind === 'Target' ? target.namespace : '';
  return joinName([{ constant: 'admiralty' }, namespace, target.name], MAX_NAME_LENGTH);
}

/**
 * Name of the PodChaperon and of the delegate pod in a target. It is derived from the proxy pod alone, so the API
 * server's uniqueness prevents two delegates of one proxy. `proxyName` is the name of a stored pod, never empty.
 */
export function delegateName(proxyName: string, proxyUid: string): string {
  return appendHash(proxyName, proxyUid, MAX_LABEL_LENGTH);
}

/**
 * The name of a pod as the value of a label: itself, or, where it is longer than a label may be, its first 52
 * characters and ten hexadecimal digits of its SHA-256.
 */
export function toLabelValue(name: string): string {
  return joinName([name], MAX_LABEL_LENGTH);
}

// A cut must not leave a dash or dot before the hash's dash: each label of a DNS-1123 name ends in a letter or digit.
function appendHash(base: string, hashed: string, maxLength: number): string {
  const cut = base.slice(0, maxLength - HASH_LENGTH - 1).replace(/[-.]+$/, '');
  return `${cut}-${hash('sha256', hashed, 'hex').slice(0, HASH_LENGTH)}`;
}

// When to renew the token of a kubeconfig, and how. Only kubeconfigs written by peering are touched.
import type { Secret } from '../../api/objects/core.ts';
import { TOKEN_ACCOUNT_ANNOTATION } from '../../api/objects/keys.ts';
import { unverifiedClaims } from '../../model/objects/json-values.ts';
import { MAX_OWN_TOKEN_SECONDS } from '../../model/access/confinement-rules.ts';
import type { ServiceAccountName } from '../../model/access/rbac-objects.ts';
import { tokenOf } from './target-access.ts';

/** What to do about a token. */
export type Renewal =
  /** Not renewed by peering; `why` says what is missing. */
  | { readonly kind: 'none'; readonly why: string }
  /** Check again after `ms`. */
  | { readonly kind: 'later'; readonly ms: number }
  /** Request one of the same lifetime in s, up to the longest that a target lets a source request. */
  | {
    readonly kind: 'now'; readonly account: ServiceAccountName; readonly seconds: number; readonly kubeconfig: string
  };

/**
 * Part of its lifetime after which a token is renewed, as in kubelets and Liqo: two thirds leave room for a long outage
 * of the target.
 */
const RENEW_AT = 2 / 3;
/**
 * Longest time between two checks in ms: somebody may have written a token of a shorter lifetime meanwhile. The
 * shortest one, of 600 s, has 200 s left when it is due.
 */
export const INTERVAL_MS = 120_000;

/** What to do about the kubeconfig under `key` of a Secret; `now` is in ms since the epoch. */
export function planRenewal(secret: Secret, key: string, now: number): Renewal {
  const account = accountOf(secret.metadata.annotations?.[TOKEN_ACCOUNT_ANNOTATION] ?? '');
  if (account === undefined) return { kind: 'none', why: `it has no annotation ${TOKEN_ACCOUNT_ANNOTATION}` };
  const kubeconfig = Buffer.from(secret.data?.[key] ?? '', 'base64').toString('utf8');
  const token = tokenOf(kubeconfig) ?? '';
  const life = tokenLife(token);
  if (life === undefined) {
    return { kind: 'none', why: `key ${key} has no kubeconfig with a token that contains its expiry` };
  }
  if (isOfAnother(token, account)) {
    return { kind: 'none', why: `the token under key ${key} is not of ${account.namespace}/${account.name}` };
  }
  const dueMs = (life.issuedAt + (life.expiresAt - life.issuedAt) * RENEW_AT) * 1_000 - now;
  if (dueMs > 0) return { kind: 'later', ms: Math.min(dueMs, INTERVAL_MS) };
  return { kind: 'now', account, seconds: Math.min(life.expiresAt - life.issuedAt, MAX_OWN_TOKEN_SECONDS), kubeconfig };
}

/** The kubeconfig may have been replaced without the annotation. */
function isOfAnother(token: string, { namespace, name }: ServiceAccountName): boolean {
  const { sub } = unverifiedClaims(token);
  return sub !== undefined && sub !== `system:serviceaccount:${namespace}:${name}`;
}

function accountOf(text: string): ServiceAccountName | undefined {
  const [namespace = '', name = '', ...rest] = text.split('/');
  return namespace === '' || name === '' || rest.length > 0 ? undefined : { namespace, name };
}

/** `iat` and `exp` of a JWT (RFC 7519 §4.1), in s since the epoch. Not verified: the API server does that. */
export function tokenLife(token: string): { readonly issuedAt: number; readonly expiresAt: number } | undefined {
  const { iat: issuedAt, exp: expiresAt } = unverifiedClaims(token);
  if (typeof issuedAt !== 'number' || typeof expiresAt !== 'number' || expiresAt <= issuedAt) return undefined;
  return { issuedAt, expiresAt };
}

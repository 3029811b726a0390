// Requests for the tests of admission policies, most of them by the source of cluster c1.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { KubernetesObject } from '../../../../api/objects/core.ts';
import { PARENT_CLUSTER_LABEL } from '../../../../api/objects/keys.ts';
import type { AskedPermission } from '../../../support/objects/cel.ts';
import { verdicts, type WriteRequest } from '../../../support/objects/policy-verdicts.ts';

/** A request, and what is said of it; undefined where it passes. */
type Rows = Readonly<Record<string, readonly [request: WriteRequest, denied: RegExp | undefined]>>;

/** A test for each row. */
export function judged(policies: readonly KubernetesObject[], rows: Rows): void {
  for (const [what, [request, denied]] of Object.entries(rows)) it(`${denied ? 'deny' : 'allow'} ${what}`, () => {
    const said = verdicts(policies, request);
    if (denied === undefined) assert.equal(said, '');
    else assert.match(said, denied);
  });
}

/** An object with these labels. */
export const meta = (labels?: object, more: object = {}) =>
  ({ metadata: { name: 'x', ...(labels && { labels }), ...more } });
/** Labels of what is of cluster c1. */
export const OURS = { [PARENT_CLUSTER_LABEL]: 'c1' };
/** The create of an object in namespace shop, by the source of cluster c1. */
export const create = (resource: string, object: object, more: Partial<WriteRequest> = {}): WriteRequest =>
  ({ operation: 'CREATE', resource, namespace: 'shop', object, can: isSource, ...more });
/** An update, of the same. */
export const update = (
  resource: string, oldObject: object, object: object, more: Partial<WriteRequest> = {},
): WriteRequest =>
  ({ operation: 'UPDATE', resource, namespace: 'shop', object, oldObject, can: isSource, ...more });
/** A delete, of the same. */
export const remove = (resource: string, oldObject: object, more: Partial<WriteRequest> = {}): WriteRequest =>
  ({ operation: 'DELETE', resource, namespace: 'shop', oldObject, can: isSource, ...more });

/** The source of cluster c1. */
export function isSource({ resource, verb, name, namespace }: AskedPermission): boolean {
  if (resource === 'podchaperons') return verb === 'create' && namespace === 'shop';
  return resource === 'sourceidentities' && (verb === 'confined' || (verb === 'own' && name === 'c1'));
}

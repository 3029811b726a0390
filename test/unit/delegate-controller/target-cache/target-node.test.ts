import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Node } from '../../../../api/objects/core.ts';
import { PROVIDER_KEY, PROVIDER_VALUE } from '../../../../api/objects/keys.ts';
import { toTargetNodeRecord } from '../../../../delegate-controller/target-cache/target-node.ts';
import {
  aNode, cordoned, frozen, labelled, tainted, withReady, type Change,
} from '../../../support/objects/builders.ts';

const virtual = labelled({ [PROVIDER_KEY]: PROVIDER_VALUE });

describe('toTargetNodeRecord', () => {
  const cases: Record<string, readonly [change: Change<Node>, counts: boolean]> = {
    'a node that is ready counts': [withReady('True'), true],
    'a cordoned node does not': [cordoned(), false],
    'a node that is not ready does not': [withReady('False'), false],
    'a node that is lost does not': [withReady('Unknown'), false],
    'a node without a word on that does not': [({ status: _status, ...node }) => node, false],
    'a virtual node of ours does not': [virtual, false],
    'a virtual node of another provider does': [labelled({ [PROVIDER_KEY]: 'azure' }), true],
    'a tainted node does': [tainted({ key: 'k', effect: 'NoSchedule' }), true],
  };
  for (const [sentence, [change, counts]] of Object.entries(cases)) {
    it(sentence, () => assert.equal(toTargetNodeRecord(frozen(aNode(change))) !== undefined, counts));
  }
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withOwnGenerations } from '../../../../model/delegate/observed-generation.ts';
import { writeSentChanges } from '../../../../model/pod/live-changes.ts';
import { SENT_CHANGES_ANNOTATION } from '../../../../api/objects/keys.ts';
import { aChaperonRecord, aDelegateRecord, annotated, withMetadata } from '../../../support/objects/builders.ts';

const carried = (of: string) => annotated({ [SENT_CHANGES_ANNOTATION]: writeSentChanges({ of, changes: {} }) });
const generation = (of: number) => withMetadata({ generation: of });

describe('the generation that a proxy shows as observed', () => {
  interface Case {
    readonly proxy?: number;
    readonly observed: number | undefined;
    readonly delegate: Parameters<typeof aDelegateRecord> | undefined;
    readonly sent?: string;
    readonly shown: number | undefined;
  }
  const cases: Record<string, Case> = {
    'is that of a new pod': { proxy: 1, observed: 1, delegate: [generation(1)], shown: 1 },
    'is its own, whatever the delegate counts': { proxy: 2, observed: 7, delegate: [generation(7)], shown: 2 },
    'is an earlier one while the kubelet lags': { proxy: 2, observed: 6, delegate: [generation(7)], shown: 1 },
    'is an earlier one until a change has reached the delegate':
      { proxy: 2, observed: 9, delegate: [generation(9)], sent: 'b', shown: 1 },
    'is the current one after that':
      { proxy: 2, observed: 10, delegate: [generation(10), carried('b')], sent: 'b', shown: 2 },
    'is none where there is no earlier one': { proxy: 1, observed: 1, delegate: [generation(2)], shown: undefined },
    'is none where the kubelet says none':
      { proxy: 1, observed: undefined, delegate: [generation(1)], shown: undefined },
    'is none where the source does not count': { observed: 1, delegate: [generation(1)], shown: undefined },
    'is none where the delegate has gone': { proxy: 1, observed: 1, delegate: undefined, shown: undefined },
  };
  for (const [sentence, { proxy, observed, delegate, sent, shown }] of Object.entries(cases)) {
    it(sentence, () => {
      const status = {
        phase: 'Running' as const, ...(observed !== undefined && { observedGeneration: observed }),
        conditions: [{ type: 'Ready', status: 'True' as const, ...(observed !== undefined && {
          observedGeneration: observed,
        }) }],
      };
      const translated = withOwnGenerations(
        status, proxy === undefined ? {} : { generation: proxy }, delegate && aDelegateRecord(...delegate),
        aChaperonRecord(...(sent === undefined ? [] : [carried(sent)])),
      );
      assert.deepEqual(
        [translated.phase, translated.observedGeneration, translated.conditions?.[0]?.observedGeneration],
        ['Running', shown, shown],
      );
    });
  }
});

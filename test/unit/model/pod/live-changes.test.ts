import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod, PodSpec } from '../../../../api/objects/core.ts';
import {
  PARENT_CLUSTER_LABEL, SENT_CHANGES_ANNOTATION, PROVIDER_KEY, PROXY_CONSTRAINTS_ANNOTATION, SPEC_AT_BIND_ANNOTATION,
} from '../../../../api/objects/keys.ts';
import type { Command } from '../../../../model/objects/plan.ts';
import {
  planLiveChanges, readinessConditionsOf, readSentChanges, specChangesOf, specDigests, stateOf, withReverted,
  writeSentChanges, type LiveChanges,
} from '../../../../model/pod/live-changes.ts';
import {
  aDelegate, annotated, aProxy, frozen, onNode, withCondition, withMetadata, withSpec,
} from '../../../support/objects/builders.ts';

const BEFORE: PodSpec = {
  containers: [{ name: 'app', image: 'app:1' }, { name: 'side', image: 'side:1' }],
  initContainers: [{ name: 'init', image: 'init:1' }], tolerations: [{ key: 'own', operator: 'Exists' }],
};

/** A bound proxy whose spec became this after its bind. */
function changedTo(spec: Partial<PodSpec>, annotations: Record<string, string> = {}): Pod {
  const provider = { key: PROVIDER_KEY, operator: 'Equal', value: 'admiralty' } as const;
  const atBind = { ...BEFORE, tolerations: [provider] };
  const marks = { [SPEC_AT_BIND_ANNOTATION]: specDigests(atBind) };
  return frozen(
    aProxy(onNode('admiralty-c2'), withSpec(atBind), annotated({ ...marks, ...annotations }), withSpec(spec)),
  );
}

describe('specDigests', () => {
  it('are the same whether they were made before or not, however many others were made since', () => {
    const ofImage = (image: string): string => specDigests({ containers: [{ name: 'app', image }] });
    const images = ['app:1', 'x'.repeat(300)];
    const [first, again] = [images.map(ofImage), images.map(ofImage)];
    for (let index = 0; index < 1_500; index += 1) ofImage(`other:${index}`);
    assert.deepEqual([again, images.map(ofImage)], [first, first]);
    assert.notEqual(first[0], first[1]);
  });
});

describe('specChangesOf', () => {
  const provider = { key: PROVIDER_KEY, operator: 'Equal', value: 'admiralty' } as const;
  const added = { key: 'dedicated', operator: 'Exists' } as const;
  const cases: Record<string, readonly [proxy: Pod, changes: LiveChanges | undefined]> = {
    'nothing': [changedTo({}), undefined],
    'an image': [changedTo({ containers: [{ name: 'app', image: 'app:2' }, { name: 'side', image: 'side:1' }] }), {
      images: { app: 'app:2' },
    }],
    "an init container's image":
      [changedTo({ initContainers: [{ name: 'init', image: 'init:2' }] }), { images: { init: 'init:2' } }],
    'resources': [changedTo({ containers: [{ name: 'app', image: 'app:1', resources: { requests: { cpu: '2' } } }] }), {
      resources: { app: { requests: { cpu: '2' } } },
    }],
    'resources of the whole pod': [
      changedTo({ resources: { requests: { cpu: '2' } } }, {
        [SPEC_AT_BIND_ANNOTATION]:
          specDigests({ ...BEFORE, tolerations: [provider], resources: { requests: { cpu: '1' } } }),
      }),
      { podResources: { requests: { cpu: '2' } } },
    ],
    'a deadline': [changedTo({ activeDeadlineSeconds: 60 }), { activeDeadlineSeconds: 60 }],
    'a toleration': [changedTo({ tolerations: [provider, added] }), { tolerations: [added] }],
    'no toleration that admission gives': [
      changedTo({
        tolerations: [provider, { key: 'node.kubernetes.io/not-ready', operator: 'Exists', tolerationSeconds: 300 }],
      }),
      undefined,
    ],
    'no toleration that may have chosen the cluster': [
      changedTo({ tolerations: [provider, added] }, {
        [PROXY_CONSTRAINTS_ANNOTATION]: '{"tolerations": [{"key": "dedicated"}]}',
      }),
      undefined,
    ],
    'a toleration whose key is only a part of one that may have chosen it': [
      changedTo({ tolerations: [provider, added] }, {
        [PROXY_CONSTRAINTS_ANNOTATION]: '{"tolerations": [{"key": "example.com/dedicated"}]}',
      }),
      { tolerations: [added] },
    ],
    'no toleration that YAML names as one that may have chosen it': [
      changedTo({ tolerations: [provider, added] }, {
        [PROXY_CONSTRAINTS_ANNOTATION]: 'tolerations:\n- key: dedicated\n  operator: Exists\n',
      }),
      undefined,
    ],
    'no container that was put in':
      [changedTo({ containers: [...BEFORE.containers, { name: 'mesh', image: 'mesh:1' }] }), undefined],
    'nothing where the note of the bind cannot be read':
      [changedTo({ activeDeadlineSeconds: 60 }, { [SPEC_AT_BIND_ANNOTATION]: '{"containers":1}' }), undefined],
    'nothing where an older version noted one digest':
      [changedTo({ activeDeadlineSeconds: 60 }, { [SPEC_AT_BIND_ANNOTATION]: 'Zm9vYmFyYmF6cXV4' }), undefined],
    'nothing of a pod that was bound by an older version':
      [aProxy(onNode('n'), withSpec({ activeDeadlineSeconds: 60 })), undefined],
  };
  for (const [what, [proxy, changes]] of Object.entries(cases)) {
    it(`finds ${what}`, () => assert.deepEqual(specChangesOf(proxy, {}), changes));
  }
  it('finds labels that are changed, added and removed', () => {
    const labels = { app: 'web', tier: 'a', same: '' };
    const marks = { [SPEC_AT_BIND_ANNOTATION]: specDigests(BEFORE, labels) };
    const proxy = aProxy(onNode('n'), withSpec(BEFORE), annotated(marks));
    assert.equal(specChangesOf(proxy, labels), undefined);
    assert.deepEqual(specChangesOf(proxy, { app: 'db', role: 'primary', same: '' }), {
      labels: { tier: null, app: 'db', role: 'primary' },
    });
  });
});

describe('readinessConditionsOf', () => {
  const gate = withSpec({ readinessGates: [{ conditionType: 'a' }, { conditionType: 'b' }] });
  it('is missing where there are no gates', () => assert.equal(
    readinessConditionsOf(aProxy(withCondition({ type: 'a', status: 'True' }))), undefined,
  ));
  it('gives the conditions that are asked for', () => {
    assert.deepEqual(
      readinessConditionsOf(aProxy(
        gate, withCondition({ type: 'a', status: 'True', reason: 'R' }), withCondition({ type: 'c', status: 'True' }),
      )),
      { a: { status: 'True', reason: 'R' } },
    );
  });
});

describe('what is sent', () => {
  it('comes back as it was written', () => {
    const sent = { of: 'x', changes: { images: { app: 'app:2' } } };
    assert.deepEqual(readSentChanges(writeSentChanges(sent)), sent);
  });
  for (const text of [undefined, '', 'x', 'null', '{}', '{"of":1,"changes":{}}', '{"of":"x"}', '[]']) {
    it(`is nothing in ${text}`, () => assert.equal(readSentChanges(text), undefined));
  }
  it('has a state of its own for each change, and none for no change', () => {
    assert.equal(stateOf({}), '');
    assert.notEqual(stateOf({ images: { app: 'a' } }), stateOf({ images: { app: 'b' } }));
  });
  it('has the values of now for what was taken back', () => {
    const proxy = aProxy(withSpec(BEFORE));
    assert.deepEqual(withReverted({ images: { side: 'side:9' } }, { images: { app: 'app:7', gone: 'x' } }, proxy), {
      images: { app: 'app:1', side: 'side:9' },
    });
    const [asked, now] = [{ requests: { cpu: '2' } }, { requests: { cpu: '1' } }];
    assert.deepEqual(withReverted({}, { podResources: asked }, aProxy(withSpec({ ...BEFORE, resources: now }))), {
      podResources: now,
    });
    const labels = { role: 'primary', app: null, tier: 'b' };
    const labelled = aProxy(withSpec(BEFORE), withMetadata({ labels: { app: 'web' } }));
    assert.deepEqual(withReverted({ labels: { tier: 'c' } }, { labels }, labelled), {
      labels: { role: null, app: 'web', tier: 'c' },
    });
    const gates = { a: { status: 'True' }, b: { status: 'True' } } as const;
    assert.deepEqual(withReverted({ gates: { b: gates.b } }, { gates }, proxy), {
      gates: { a: { status: 'False' }, b: { status: 'True' } },
    });
  });
});

describe('planLiveChanges', () => {
  const delegate = aDelegate(withSpec(BEFORE));
  const plan = (changes: LiveChanges, pod = delegate) =>
    planLiveChanges(frozen(pod), writeSentChanges({ of: stateOf(changes), changes }));
  const told = (commands: readonly Command[]) => commands.map((command) => (
    command.kind === 'patch' ? [command.at.subresource ?? 'pod', command.patchType, { ...command.patch }] : command.kind
  ));
  const uid = 'delegate-uid';
  const noted = (changes: LiveChanges) =>
    ({ uid, annotations: { [SENT_CHANGES_ANNOTATION]: writeSentChanges({ of: stateOf(changes), changes }) } });

  it('writes an image by its container', () => {
    const changes = { images: { app: 'app:2', init: 'init:2', gone: 'x' } };
    assert.deepEqual(told(plan(changes)), [
      ['pod', 'strategic', {
        metadata: noted(changes),
        spec: { containers: [{ name: 'app', image: 'app:2' }], initContainers: [{ name: 'init', image: 'init:2' }] },
      }],
    ]);
  });

  it('resizes in place, and notes it last', () => {
    const changes = { resources: { app: { requests: { cpu: '2' } } } };
    assert.deepEqual(told(plan(changes)), [
      ['resize', 'strategic', {
        metadata: { uid }, spec: { containers: [{ name: 'app', resources: { requests: { cpu: '2' } } }] },
      }],
      ['pod', 'strategic', { metadata: noted(changes), spec: {} }],
    ]);
  });

  it('resizes the whole pod with its containers: neither may exceed the other', () => {
    const podResources = { requests: { cpu: '3' } };
    const changes = { resources: { app: { requests: { cpu: '2' } } }, podResources };
    assert.deepEqual(told(plan(changes)), [
      ['resize', 'strategic', {
        metadata: { uid },
        spec: { containers: [{ name: 'app', resources: { requests: { cpu: '2' } } }], resources: podResources },
      }],
      ['pod', 'strategic', { metadata: noted(changes), spec: {} }],
    ]);
  });

  it('sets and removes labels, but none that only Isthmus sets', () => {
    const labels = { app: 'db', tier: null, [PARENT_CLUSTER_LABEL]: 'another' };
    assert.deepEqual(told(plan({ labels })), [
      ['pod', 'strategic', { metadata: { uid, labels: { app: 'db', tier: null } } }],
      ['pod', 'strategic', { metadata: noted({ labels }), spec: {} }],
    ]);
  });

  it('writes once what was changed once, whatever became of it', () => {
    const before = {
      images: { app: 'app:2' }, resources: { app: { requests: { cpu: '2' } } }, activeDeadlineSeconds: 9,
      tolerations: [{ key: 'new', operator: 'Exists' }],
    } as const;
    const changes = { ...before, images: { app: 'app:2', side: 'side:2' } };
    const marks = { [SENT_CHANGES_ANNOTATION]: writeSentChanges({ of: stateOf(before), changes: before }) };
    assert.deepEqual(told(plan(changes, aDelegate(withSpec(BEFORE), annotated(marks)))), [
      ['pod', 'strategic', { metadata: noted(changes), spec: { containers: [{ name: 'side', image: 'side:2' }] } }],
    ]);
  });

  it('adds tolerations to those that are there, and a deadline', () => {
    const changes = {
      tolerations: [{ key: 'own', operator: 'Exists' }, { key: 'new', operator: 'Exists' }], activeDeadlineSeconds: 9,
    } as const;
    assert.deepEqual(told(plan(changes)), [
      ['pod', 'strategic', { metadata: { uid }, spec: { activeDeadlineSeconds: 9 } }],
      ['pod', 'strategic', {
        metadata: noted(changes),
        spec: { tolerations: [{ key: 'own', operator: 'Exists' }, { key: 'new', operator: 'Exists' }] },
      }],
    ]);
  });

  it('writes each field by itself: a target may reject one of them', () => {
    const changes = {
      images: { app: 'app:2' }, activeDeadlineSeconds: 9, tolerations: [{ key: 'new', operator: 'Exists' }],
    } as const;
    const specs = told(plan(changes)).map(([, , patch]) => Object.keys((patch as { readonly spec: object }).spec));
    assert.deepEqual(specs, [['containers'], ['activeDeadlineSeconds'], ['tolerations']]);
  });

  it('sets the conditions of gates in the write that records them, after all others', () => {
    const changes = { gates: { a: { status: 'True' } }, images: { app: 'app:2' } } as const;
    const gated = withSpec({ ...BEFORE, readinessGates: [{ conditionType: 'a' }] });
    assert.deepEqual(told(plan(changes, aDelegate(gated))), [
      ['pod', 'strategic', { metadata: { uid }, spec: { containers: [{ name: 'app', image: 'app:2' }] } }],
      ['status', 'strategic', { metadata: noted(changes), status: { conditions: [{ type: 'a', status: 'True' }] } }],
    ]);
    const isSet = aDelegate(gated, withCondition({ type: 'a', status: 'True' }));
    assert.deepEqual(told(plan(changes, isSet)).map(([subresource]) => subresource), ['pod']);
  });

  it('sets no other condition, whatever the source writes', () => {
    const gated = aDelegate(withSpec({ ...BEFORE, readinessGates: [{ conditionType: 'a' }] }));
    const gates = { a: { status: 'True', type: 'Ready' } as never, Ready: { status: 'True' } } as const;
    const [status] = told(plan({ gates }, gated));
    assert.deepEqual(status?.[2], {
      metadata: noted({ gates }), status: { conditions: [{ type: 'a', status: 'True' }] },
    });
  });

  it('writes nothing into a delegate that has it, whatever its admission made of it', () => {
    const changes = { images: { app: 'app:2' } };
    const pod = aDelegate(
      withSpec({ containers: [{ name: 'app', image: 'mirror/app:2' }] }), annotated(noted(changes).annotations),
    );
    assert.deepEqual(plan(changes, pod), []);
  });
});

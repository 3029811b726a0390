import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { EnvVar, Pod, PodSpec, StringMap, Volume } from '../../../../api/objects/core.ts';
import type { PodChaperon } from '../../../../api/kinds/pod-chaperon.ts';
import { toDelegatePod } from '../../../../delegate-controller/chaperon/make-delegate-pod.ts';
import { DELEGATIONS } from '../../../../model/delegate/delegation.ts';
import { toPodChaperon } from '../../../../model/delegate/pod-chaperon.ts';
import { downwardText } from '../../../../model/delegate/downward-api.ts';
import { aPod, annotated, frozen, labelled, withSpec, type Change } from '../../../support/objects/builders.ts';

const PARENT = { clusterId: 'source-uid', namespace: 'team-a', name: 'web-7d4b9-x2x4z', uid: 'proxy-uid' };
const INDEX = 'batch.kubernetes.io/job-completion-index';

function chaperonOf(...changes: Change<Pod>[]): PodChaperon {
  return toPodChaperon(frozen(aPod(...changes)), PARENT);
}

/** The delegate pod in both modes of delegation. */
function delegatesOf(...changes: Change<Pod>[]): readonly Pod[] {
  const chaperon = chaperonOf(...changes);
  return [toDelegatePod(chaperon), DELEGATIONS.Pod.toObject(chaperon) as Pod];
}

/** What a kubelet makes of a field (`pkg/fieldpath` ExtractFieldPathAsString). */
function fieldOf({ metadata }: Pod, path = ''): string {
  const [, map, key = ''] = /^metadata\.(labels|annotations)\['(.*)'\]$/.exec(path) ?? [];
  if (map !== undefined) return metadata[map as 'labels' | 'annotations']?.[key] ?? '';
  if (path === 'metadata.labels') return downwardText(metadata.labels ?? {});
  return path === 'metadata.annotations' ? downwardText(metadata.annotations ?? {}) : `its own ${path}`;
}

const environment = (paths: StringMap): EnvVar[] =>
  Object.entries(paths).map(([name, fieldPath]) => ({ name, valueFrom: { fieldRef: { fieldPath } } }));

function seenIn(delegate: Pod, kind: 'containers' | 'initContainers' = 'containers'): Record<string, string> {
  const { env = [] } = delegate.spec[kind]![0]!;
  const seen = env.map(({ name, valueFrom }) => [name, fieldOf(delegate, valueFrom?.fieldRef?.fieldPath)] as const);
  return Object.fromEntries(seen);
}

describe('the environment of a container', () => {
  const env = environment({
    JOB_COMPLETION_INDEX: `metadata.labels['${INDEX}']`, BY_ANNOTATION: `metadata.annotations['${INDEX}']`,
    APP: "metadata.labels['app']", ABSENT: "metadata.labels['absent']", NAME: 'metadata.name', UID: 'metadata.uid',
    NAMESPACE: 'metadata.namespace', NODE: 'spec.nodeName', HOST: 'status.hostIP', ADDRESS: 'status.podIP',
  });
  const changes = [
    labelled({ [INDEX]: '7', app: 'web' }), annotated({ [INDEX]: '7' }),
    withSpec({ containers: [{ name: 'app', env }], initContainers: [{ name: 'init', env }] }),
  ];

  it('shows the labels, annotations, name and UID of the source pod, and where it really runs', () => {
    for (const delegate of delegatesOf(...changes)) {
      const seen = {
        JOB_COMPLETION_INDEX: '7', BY_ANNOTATION: '7', APP: 'web', ABSENT: '', NAME: PARENT.name, UID: PARENT.uid,
        NAMESPACE: 'its own metadata.namespace', NODE: 'its own spec.nodeName', HOST: 'its own status.hostIP',
        ADDRESS: 'its own status.podIP',
      };
      assert.deepEqual(seenIn(delegate), seen);
      assert.deepEqual(seenIn(delegate, 'initContainers'), seen);
    }
  });

  it('finds a label that keeps its key in the target', () => {
    const kept = chaperonOf(...changes, annotated({
      'multicluster.admiralty.io/no-prefix-label-regexp': '^app=', 'multicluster.admiralty.io/elect': '',
    }));
    assert.equal(kept.spec.containers[0]?.env?.[2]?.valueFrom?.fieldRef?.fieldPath, "metadata.labels['app']");
    assert.equal(seenIn(toDelegatePod(kept))['APP'], 'web');
  });

  it('shows zone and region of the node where it really runs, unless the user has set such a label', () => {
    const zone = "metadata.labels['topology.kubernetes.io/zone']";
    const region = "metadata.labels['topology.kubernetes.io/region']";
    const spec = withSpec({ containers: [{ name: 'app', env: environment({ ZONE: zone, REGION: region }) }] });
    const ofNode = labelled({ 'topology.kubernetes.io/zone': 'eu-1a', 'topology.kubernetes.io/region': 'eu-1' });
    const seen = (...own: Change<Pod>[]) => delegatesOf(spec, ...own).map((delegate) => seenIn(ofNode(delegate)));
    const ofNodes = { ZONE: 'eu-1a', REGION: 'eu-1' };
    assert.deepEqual(seen(), [ofNodes, ofNodes]);
    const mine = { ...ofNodes, ZONE: 'mine' };
    assert.deepEqual(seen(labelled({ 'topology.kubernetes.io/zone': 'mine' })), [mine, mine]);
  });

  it('keeps everything else, and is the same object where nothing refers to the pod', () => {
    const others =
      [{ name: 'A', value: '$(B)' }, { name: 'C', valueFrom: { configMapKeyRef: { name: 'c', key: 'k' } } }];
    const containers = frozen([{ name: 'app', env: others as EnvVar[] }]);
    assert.equal(chaperonOf(withSpec({ containers })).spec.containers[0], containers[0]);
    const [first] = chaperonOf(withSpec({ containers: [{ name: 'app', env: [...others as EnvVar[], ...env] }] }))
      .spec.containers;
    assert.deepEqual(first?.env?.slice(0, 2), others);
  });
});

describe('a downward API volume', () => {
  const items = [
    { path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } },
    { path: 'annotations', fieldRef: { fieldPath: 'metadata.annotations' } },
    { path: 'name', fieldRef: { fieldPath: 'metadata.name' }, mode: 0o400 },
    { path: 'uid', fieldRef: { fieldPath: 'metadata.uid' } },
    { path: 'cpu', resourceFieldRef: { containerName: 'app', resource: 'limits.cpu' } },
  ];
  const volumes: readonly Volume[] = [
    { name: 'plain', downwardAPI: { items } },
    { name: 'projected', projected: { sources: [{ downwardAPI: { items } }, { secret: { name: 's' } }] } },
    { name: 'data' },
  ];
  const changes = [
    labelled({ app: 'web', 'a.io/tier': 'front' }),
    annotated({ note: 'says "hi"', 'multicluster.admiralty.io/elect': '' }),
    withSpec({ volumes }),
  ];

  it('shows the labels and annotations of the source pod, with their keys and none of ours', () => {
    for (const delegate of delegatesOf(...changes)) {
      const [plain, projected, data] = delegate.spec.volumes!;
      for (const shown of [plain!.downwardAPI!.items!, projected!.projected!.sources![0]!.downwardAPI!.items!]) {
        assert.deepEqual(shown.map(({ fieldRef }) => fieldRef && fieldOf(delegate, fieldRef.fieldPath)), [
          'a.io/tier="front"\napp="web"', 'note="says \\"hi\\""', PARENT.name, PARENT.uid, undefined,
        ]);
        assert.deepEqual(shown[2], { ...items[2], fieldRef: shown[2]!.fieldRef }, 'its mode stays');
      }
      assert.deepEqual(projected!.projected!.sources![1], { secret: { name: 's' } });
      assert.deepEqual(data, { name: 'data' });
    }
  });

  it('costs nothing where a pod has none', () => {
    const keys = Object.keys(chaperonOf(labelled({ app: 'web' })).metadata.annotations ?? {});
    assert.deepEqual(keys.filter((key) => key.includes('source-')), ['multicluster.admiralty.io/source-watches-pods']);
  });

  it('shows what the delegate has where the annotations are too long to be copied', () => {
    const { metadata, spec } = chaperonOf(annotated({ long: 'x'.repeat(100_000) }), withSpec({ volumes }));
    assert.equal(spec.volumes?.[0]?.downwardAPI?.items?.[1]?.fieldRef?.fieldPath, 'metadata.annotations');
    assert.ok(JSON.stringify(metadata.annotations).length < 101_000);
  });
});

describe('a map in a downward API file', () => {
  const texts: Record<string, string> = {
    'a tab\tand "quotes"': String.raw`"a tab\tand \"quotes\""`, 'back\\slash': String.raw`"back\\slash"`,
    'ä €, 日本 🚀': '"ä €, 日本 🚀"', '\u0000\u001b\u007f\u0085\u00ad': String.raw`"\x00\x1b\x7f\u0085\u00ad"`,
    'line\nfeed\r\u000b\u0007\b\f': String.raw`"line\nfeed\r\v\a\b\f"`, '\u{e0001}': String.raw`"\U000e0001"`,
  };
  for (const [value, text] of Object.entries(texts)) {
    it(`has ${text} as Go prints it`, () => assert.equal(downwardText({ key: value }), `key=${text}`));
  }

  it('has one line for each key, in order', () => {
    fc.assert(fc.property(fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), fc.string()), (map) => {
      const lines = downwardText(map).split('\n').filter((line) => line !== '');
      assert.deepEqual(lines.map((line) => line.split('=')[0]), Object.keys(map).toSorted());
    }));
  });
});

describe('the host name', () => {
  const hostname = (name: string, spec: Partial<PodSpec> = {}): string | undefined =>
    toPodChaperon(aPod(withSpec(spec)), { ...PARENT, name }).spec.hostname;
  const long = `${'a'.repeat(62)}-bcd`;
  const cases: Record<string, readonly [actual: string | undefined, expected: string | undefined]> = {
    'is the name of the source pod': [hostname('web-7d4b9-x2x4z'), 'web-7d4b9-x2x4z'],
    'is cut as a kubelet cuts it': [hostname(long), 'a'.repeat(62)],
    "is the user's": [hostname('web-0', { hostname: 'mine' }), 'mine'],
    "is not set beside the user's override": [hostname('web-0', { hostnameOverride: 'a.example.com' }), undefined],
    "is the node's on its network": [hostname('web-0', { hostNetwork: true }), undefined],
    "is the delegate's for a name with dots, which cannot be said": [hostname('web.example'), undefined],
  };
  for (const [sentence, [actual, expected]] of Object.entries(cases)) {
    it(sentence, () => assert.equal(actual, expected));
  }
});

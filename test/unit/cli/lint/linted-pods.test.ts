// Which pods of manifests are elected, and what is said of elections that have no effect.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import {
  ELECT_ANNOTATION, NAMESPACE_OPT_IN_LABEL, NAMESPACE_OPT_IN_VALUE, NOT_ELECTED, ADMIRALTY_PREFIX,
} from '../../../../api/objects/keys.ts';
import { electionRemarks, lintedPods, namespaceRemarks, namespacesIn } from '../../../../cli/lint/linted-pods.ts';
import type { Manifest } from '../../../../cli/translation/manifest.ts';
import { USER_POD_ANNOTATIONS } from '../../../../model/pod/pod-annotations.ts';

interface Given {
  readonly annotations?: Readonly<Record<string, string>>;
  /** Annotations of the workload itself. */
  readonly own?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly namespace?: string;
  readonly kind?: string;
}

const aWorkload = ({ annotations = {}, own = {}, labels = {}, namespace = 'shop',
  kind = 'Deployment' }: Given): Manifest => ({
  group: 'apps', version: 'v1', kind, name: 'web', namespace,
  fields: { metadata: { annotations: own }, spec: { template: { metadata: { annotations, labels }, spec: {} } } },
});
const aNamespace = (name: string, labels: Readonly<Record<string, string>>): Manifest =>
  ({ group: '', version: 'v1', kind: 'Namespace', name, fields: { metadata: { labels } } });
const OPTED_IN = aNamespace('shop', { [NAMESPACE_OPT_IN_LABEL]: NAMESPACE_OPT_IN_VALUE });

function lint(given: Given, ...namespaces: readonly Manifest[]) {
  const workload = aWorkload(given);
  const known = namespacesIn(namespaces);
  const pods = lintedPods(workload, known, 'default') ?? assert.fail('it makes pods');
  return { elected: pods.elected, messages: electionRemarks(pods, known).map(({ message }) => message) };
}

const elects = { [ELECT_ANNOTATION]: '' };

describe('pods of a workload', () => {
  it('are elected by their annotation, where their namespace has opted in or is not given', () => {
    for (const namespaces of [[], [OPTED_IN]]) {
      assert.deepEqual(lint({ annotations: elects }, ...namespaces), { elected: 'annotation', messages: [] });
    }
  });
  it('are not elected where their namespace is given and has not opted in, and that is said', () => {
    const { messages } = lint({ annotations: elects }, aNamespace('shop', {}));
    assert.match(messages.join(), /has not opted in/);
  });
  it('are never elected in a namespace of the system, and that is said', () => {
    const { elected, messages } = lint({ annotations: elects, namespace: 'kube-system' });
    assert.equal(elected, undefined);
    assert.match(messages.join(), /never elected/);
  });
  it('are not elected by the value that elects in Admiralty alone, and that is said', () => {
    const { elected, messages } = lint({ annotations: { [ELECT_ANNOTATION]: NOT_ELECTED } });
    assert.equal(elected, undefined);
    assert.match(messages.join(), /does not elect, although it does in Admiralty/);
  });
  it('are not elected by an annotation or label in another place, and that is said', () => {
    assert.match(lint({ own: elects }).messages.join(), /belongs in the annotations of the pod template/);
    assert.match(lint({ labels: elects }).messages.join(), /it has to be an annotation/);
  });
  it('are those of a workload alone', () => {
    const other = { ...aWorkload({}), group: '', kind: 'Service' };
    assert.equal(lintedPods(other, new Map(), 'default'), undefined);
  });
  it('are in the namespace that is given with -n where the manifest names none', () => {
    const { namespace: _none, ...workload } = aWorkload({});
    assert.equal(lintedPods(workload, new Map(), 'given')?.namespace, 'given');
  });
});

describe('a misspelt annotation', () => {
  const isNamed = (key: string): boolean => lint({ annotations: { [key]: '' } }).messages.some((text) =>
    text.includes('did you mean'));
  const at = fc.nat({ max: ELECT_ANNOTATION.length - 1 });

  it('is found with any one character missing, doubled or replaced', () => {
    fc.assert(fc.property(at, fc.constantFrom('x', 'q', '-'), (index, letter) => {
      const [before, after] = [ELECT_ANNOTATION.slice(0, index), ELECT_ANNOTATION.slice(index + 1)];
      for (const typo of [before + after, `${before}${ELECT_ANNOTATION[index]}${ELECT_ANNOTATION[index]}${after}`,
        before + letter + after]) {
        if (typo !== ELECT_ANNOTATION && !USER_POD_ANNOTATIONS.has(typo)) assert.equal(isNamed(typo), true, typo);
      }
    }), { numRuns: 120 });
  });
  it('is one under the prefix of Isthmus that users cannot write', () =>
    assert.equal(isNamed(`${ADMIRALTY_PREFIX}electd`), true));
  it('is none of another project, nor one that users write', () => {
    for (const key of ['example.com/elect', 'kubernetes.io/description', ...USER_POD_ANNOTATIONS]) {
      if (key !== ELECT_ANNOTATION) assert.equal(isNamed(key), false, key);
    }
  });
});

describe('labels of a Namespace', () => {
  const said = (labels: Readonly<Record<string, string>>) => namespaceRemarks(aNamespace('shop', labels)).length;
  it('that opt in or out are no mistake, and another value is one', () => {
    assert.deepEqual(['enabled', 'disabled', 'false', 'true', 'Enabled', ''].map((value) =>
      said({ [NAMESPACE_OPT_IN_LABEL]: value })), [
      0, 0, 0, 1, 1, 1,
    ]);
  });
  it('of others say nothing', () => assert.equal(said({ 'kubernetes.io/metadata.name': 'shop', app: 'x' }), 0));
  it('are those of Namespaces alone', () =>
    assert.deepEqual(namespaceRemarks({ ...aNamespace('shop', { [NAMESPACE_OPT_IN_LABEL]: 'x' }),
      group: 'example.com' }), []));
});

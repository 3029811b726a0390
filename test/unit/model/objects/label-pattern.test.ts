import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NO_PREFIX_LABEL_REGEXP_ANNOTATION, USE_SPEC_CONSTRAINTS_ANNOTATION } from '../../../../api/objects/keys.ts';
import type { Pod } from '../../../../api/objects/core.ts';
import { compileLabelPattern, MAX_PATTERN_LENGTH } from '../../../../model/objects/label-pattern.ts';
import { toPodChaperon } from '../../../../model/delegate/pod-chaperon.ts';

const PARENT = { clusterId: 'cluster', namespace: 'default', name: 'web', uid: 'uid' };

describe('a label pattern', () => {
  it('is matched anywhere in key=value', () => {
    const pattern = compileLabelPattern('^app=|=blue$');
    assert.ok(pattern.kind === 'pattern');
    assert.deepEqual(
      [['app', 'x'], ['team', 'blue'], ['my-app', 'x']].map(([key = '', value = '']) => pattern.matches(key, value)),
      [true, true, false],
    );
  });

  const invalid: Readonly<Record<string, readonly [string, RegExp]>> = {
    'a look-ahead': ['a(?=b)', /not a valid RE2 expression/],
    'an open parenthesis': ['(', /missing closing/],
    'a back reference': ['(a)\\1', /not a valid RE2 expression/],
    'too many characters': ['a'.repeat(MAX_PATTERN_LENGTH + 1), /513 characters; at most 512/],
    'too many repetitions': ['a{60}b{60}', /120 counted repetitions; at most 100/],
  };
  for (const [what, [expression, message]] of Object.entries(invalid)) {
    it(`with ${what} is rejected, and says why`, () => {
      const pattern = compileLabelPattern(expression);
      assert.match(pattern.kind === 'invalid' ? pattern.message : '', message);
    });
  }
});

describe('the wishes of a source pod for its delegate', () => {
  const pod: Pod = {
    metadata:
      { name: 'web', labels: { app: 'web', team: 'a' }, annotations: { [NO_PREFIX_LABEL_REGEXP_ANNOTATION]: '^app=' } },
    spec: {
      containers: [], nodeSelector: { a: 'b' }, tolerations: [{ operator: 'Exists' }], affinity: {},
      topologySpreadConstraints: [],
    },
  };

  it('labels that match keep their keys, others are moved', () => {
    const { labels = {} } = toPodChaperon(pod, PARENT).metadata;
    assert.equal(labels['app'], 'web');
    assert.equal(labels['team'], undefined);
    assert.equal(labels['multicluster.admiralty.io/team'], 'a');
  });

  it('constraints that have chosen the cluster do not go there', () => {
    const annotations = { [USE_SPEC_CONSTRAINTS_ANNOTATION]: '' };
    assert.deepEqual(
      Object.keys(toPodChaperon({ ...pod, metadata: { name: 'web', annotations } }, PARENT).spec),
      ['containers', 'hostname'],
    );
    assert.ok('nodeSelector' in toPodChaperon(pod, PARENT).spec);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import type { Service, StringMap } from '../../../../api/objects/core.ts';
import {
  NO_PREFIX_LABEL_REGEXP_ANNOTATION, ORIGINAL_SELECTOR_ANNOTATION, ADMIRALTY_PREFIX,
} from '../../../../api/objects/keys.ts';
import {
  formatSelector, originalSelector, rewrittenSelector,
} from '../../../../delegate-controller/copies/followed-service.ts';

const own = (key: string): string => ADMIRALTY_PREFIX + key;
const service = (selector: StringMap, annotations: StringMap = {}): Service =>
  ({ metadata: { annotations }, spec: { selector } });
const marked = (selector: StringMap, original: string, annotations: StringMap = {}): Service =>
  service(selector, { ...annotations, [ORIGINAL_SELECTOR_ANNOTATION]: original });

describe('the selector that the user means', () => {
  const keepsTier = { [NO_PREFIX_LABEL_REGEXP_ANNOTATION]: '^tier=' };
  const cases: Record<string, readonly [service: Service, original: StringMap]> = {
    'is what is there before the first rewriting': [service({ app: 'web' }), { app: 'web' }],
    'is what was saved, once rewritten': [marked({ [own('app')]: 'web' }, 'app=web'), { app: 'web' }],
    'is what was saved where some terms were kept':
      [marked({ [own('app')]: 'web', tier: 'front' }, 'app=web,tier=front', keepsTier), { app: 'web', tier: 'front' }],
    'is what was saved where a label for a mesh was rewritten before such labels were kept': [
      marked(
        { [own('app')]: 'web', 'service.istio.io.multicluster.admiralty.io/canonical-name': 'web' },
        'app=web,service.istio.io/canonical-name=web',
      ),
      { app: 'web', 'service.istio.io/canonical-name': 'web' },
    ],
    'is the same where such a one was applied again': [
      marked({ 'kuma.io/mesh': 'a', 'kuma.io.multicluster.admiralty.io/mesh': 'a' }, 'kuma.io/mesh=a'),
      { 'kuma.io/mesh': 'a' },
    ],
    'is the new one where it was replaced': [marked({ app: 'api' }, 'app=web'), { app: 'api' }],
    'is the new one where kubectl put it beside the old':
      [marked({ app: 'api', [own('app')]: 'web' }, 'app=web'), { app: 'api' }],
    'is the same where it was applied again': [marked({ app: 'web', [own('app')]: 'web' }, 'app=web'), { app: 'web' }],
    'is none of a Service without one': [{ metadata: {} }, {}],
  };
  for (const [what, [object, original]] of Object.entries(cases)) {
    it(what, () => assert.deepEqual(originalSelector(object), original));
  }
});

describe('rewriting a selector', () => {
  const label = fc.stringMatching(/^[a-z]([-a-z0-9.]{0,8}[a-z0-9])?$/);
  const selectors = fc.dictionary(
    fc.oneof(label, fc.constantFrom('istio.io/rev', 'kueue.x-k8s.io/queue-name'), fc.tuple(label, label).map(
      (parts) => parts.join('/'),
    )),
    fc.oneof(label, fc.constant('')),
  );

  it('comes to rest, and the original can always be found again', () => {
    fc.assert(
      fc.property(selectors, (selector) => {
        const rewritten = rewrittenSelector(service(selector));
        const again = marked(rewritten, formatSelector(selector));
        assert.deepEqual(new Map(Object.entries(originalSelector(again))), new Map(Object.entries(selector)));
        assert.deepEqual(rewrittenSelector(again), rewritten);
      }),
    );
  });
});

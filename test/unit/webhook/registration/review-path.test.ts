import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { WEBHOOK_PATHS } from '../../../../api/admission-rules.ts';
import type { WebhookConfiguration } from '../../../../api/resource-types.ts';
import {
  packagedWebhookConfiguration, validatingWebhookConfiguration, webhookConfiguration,
} from '../../../../manifests/objects/webhook-configuration.ts';
import {
  isSegmentDue, missingAddresses,
  namedSegments, newSegment, PLAIN, plainPathOf, routeOf, segmentData, storedSegment, writableAt, type PathTimes,
} from '../../../../webhook/registration/review-path.ts';
import { webPath } from '../../../support/objects/web-addresses.ts';

const [OURS, OLD] = ['a'.repeat(48), 'b'.repeat(48)];
const PODS = 'pods.isthmus.multicluster.admiralty.io';
const TIMES: PathTimes = { rollout: 60_000, spread: 3_000, overlap: 60_000, renew: 3_600_000 };
const byService = (path?: string): WebhookConfiguration => ({
  metadata: { name: 'isthmus' },
  webhooks: [{
    name: PODS,
    clientConfig:
      { service: { namespace: 'ns', name: 'isthmus-webhook', port: 443, ...(path !== undefined && { path }) } },
  }],
});
const byUrl = (url: string): WebhookConfiguration =>
  ({ metadata: { name: 'isthmus' }, webhooks: [{ name: PODS, clientConfig: { url } }] });

describe('a request', () => {
  const rows: Readonly<Record<string, readonly [target: string, open: readonly string[], path: string | undefined]>> = {
    'behind the segment is for the plain path': [`/${OURS}/mutate--v1-pod`, [OURS], '/mutate--v1-pod'],
    'as API servers send it, with a query': [`/${OURS}/mutate--v1-pod?timeout=5s`, [OURS], '/mutate--v1-pod'],
    'behind the segment before, which is still open': [`/${OLD}/validate--targets`, [OURS, OLD], '/validate--targets'],
    'behind another segment is nothing': [`/${OLD}/mutate--v1-pod`, [OURS], undefined],
    'behind half of it is nothing': [`/${OURS.slice(1)}/mutate--v1-pod`, [OURS], undefined],
    'on a plain path is nothing': ['/mutate--v1-pod', [OURS], undefined],
    'on a plain path is let in while that is open': ['/mutate--v1-pod?timeout=5s', [OURS, PLAIN], '/mutate--v1-pod'],
    'behind an empty segment is nothing, even then': ['//mutate--v1-pod', [OURS, PLAIN], undefined],
    'with nothing open is nothing': ['/mutate--v1-pod', [], undefined],
    'without a slash is nothing': ['*', [OURS], undefined],
    'that is empty is nothing': ['', [OURS], undefined],
  };
  for (const [what, [target, open, path]] of Object.entries(rows)) {
    it(what, () => assert.equal(plainPathOf(target, open), path));
  }

  it('leads to what is public whatever is open, and else to where it is let in, or nowhere', () => {
    assert.deepEqual(
      ['/readyz', '/metrics', '/metrics/x', '/mutate--v1-pod', `/${OURS}/validate--targets`].map(
        (target) => routeOf(target, [OURS]),
      ),
      ['/readyz', '/metrics', '/-', '/-', '/validate--targets'],
    );
  });

  it('is let in behind no segment but ours, whatever is tried', () => {
    fc.assert(fc.property(webPath, (path) => assert.equal(plainPathOf(path, [OURS]), undefined)));
  });
});

describe('the addresses in a configuration', () => {
  it('get the segment where they have none, another one, or the plain path, and nothing else is ours', () => {
    for (const path of [undefined, '/mutate--v1-pod', `/${OLD}/mutate--v1-pod`, '/whatever']) {
      assert.deepEqual(missingAddresses(byService(path), OURS), [
        { name: PODS, clientConfig: { service: { path: `/${OURS}/mutate--v1-pod` } } },
      ], path);
    }
    for (const path of ['/mutate--v1-pod', `/${OLD}/mutate--v1-pod`]) {
      assert.deepEqual(missingAddresses(byUrl(`https://h:9443${path}`), OURS), [
        { name: PODS, clientConfig: { url: `https://h:9443/${OURS}/mutate--v1-pod` } },
      ]);
    }
  });

  it('are left alone where they have it, where the path of a URL is somebody\'s own, and where a webhook is not ours',
    () => {
    for (const configuration of [
      byService(`/${OURS}/mutate--v1-pod`), byUrl(`https://h/${OURS}/mutate--v1-pod`),
      byUrl('https://proxy.example/isthmus/pods'),
    ]) {
      assert.deepEqual(missingAddresses(configuration, OURS), []);
    }
    assert.deepEqual(
      missingAddresses(
        { metadata: {}, webhooks: [{ name: 'other.example', clientConfig: { url: 'https://h/mutate--v1-pod' } }] },
        OURS,
      ),
      [],
    );
  });

  const named: Readonly<Record<string, readonly [configuration: WebhookConfiguration, segments: readonly string[]]>> = {
    'no path names nothing': [byService(), []],
    'a plain path names that': [byService('/mutate--v1-pod'), [PLAIN]],
    'a path behind a segment names the segment': [byUrl(`https://h/${OLD}/mutate--v1-pod`), [OLD]],
    'a segment that could be guessed does not count': [byService('/short/mutate--v1-pod'), []],
    'a URL of somebody\'s own leads to plain paths': [byUrl('https://proxy.example/isthmus/pods'), [PLAIN]],
    'no webhooks name nothing': [{ metadata: {} }, []],
  };
  for (const [what, [configuration, segments]] of Object.entries(named)) {
    it(what, () => assert.deepEqual(namedSegments(configuration), segments));
  }

  it('are written at once where nothing is asked yet, once all replicas know them, and in a rollout not before it is ' +
    'over', () => {
    const stored = { segment: OURS, since: 1_000_000 };
    const at = (configuration: WebhookConfiguration): number => writableAt(configuration, stored, TIMES, 990_000);
    assert.deepEqual([at(byService()), at(byService(`/${OLD}/mutate--v1-pod`)), at(byService('/mutate--v1-pod'))], [
      0, 1_003_000, 1_050_000,
    ]);
  });
});

describe('the manifests', () => {
  const addresses = [{ installNamespace: 'ns', acceptsLiqoLabels: true }, {
    installNamespace: 'ns', acceptsLiqoLabels: true, webhookUrl: 'https://h:9443/mutate--v1-pod',
  }];
  for (const address of addresses) {
    it(`name no webhook of ${address.webhookUrl ?? 'the Service'} that would not get its path`, () => {
      const configurations =
        [webhookConfiguration(address), packagedWebhookConfiguration(address), validatingWebhookConfiguration(address)];
      for (const { webhooks = [], ...rest } of configurations) {
        assert.deepEqual(
          missingAddresses({ ...rest, webhooks }, OURS).map(({ name }) => name), webhooks.map(({ name }) => name),
        );
        for (const { name, clientConfig: { url, service } } of webhooks) assert.equal(
          url === undefined ? service?.path : new URL(url).pathname,
          url === undefined ? undefined : WEBHOOK_PATHS[name],
        );
      }
    });
  }
});

describe('the segment', () => {
  it('comes back from its Secret', () => {
    const stored = { segment: newSegment(randomBytes), since: 1_700_000_000_000 };
    assert.deepEqual(storedSegment({ metadata: {}, data: segmentData(stored) }), stored);
  });

  it('is none where the Secret has none, or one that could be guessed', () => {
    const data = (path: string) => ({ metadata: {}, data: { path: Buffer.from(path).toString('base64') } });
    assert.deepEqual(
      [storedSegment({ metadata: {} }), storedSegment(data('')), storedSegment(data('short')), storedSegment(
        data(`${OURS}/..`),
      )],
      [undefined, undefined, undefined, undefined],
    );
    assert.deepEqual(storedSegment(data(OURS)), { segment: OURS, since: 0 }, 'without a time it is old');
  });

  const due: Readonly<Record<string, readonly [since: number | undefined, now: number, isDue: boolean]>> = {
    'there is none': [undefined, 0, true],
    'is new': [10_000_000, 10_000_001, false],
    'is an hour old': [10_000_000, 13_600_000, true],
    'is from before this process, so errors may have named it': [9_000_000, 10_000_001, true],
    'was made by another replica of the same rollout': [9_960_000, 10_000_001, false],
  };
  for (const [what, [since, now, isDue]] of Object.entries(due)) {
    it(`${what}: ${isDue ? 'a new one is due' : 'it stays'}`, () => assert.equal(
      isSegmentDue(since === undefined ? undefined : { segment: OURS, since }, TIMES, 10_000_000, now), isDue,
    ));
  }
});

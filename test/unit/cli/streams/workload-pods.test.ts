// Which pod `logs deploy/web` means.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ORIGINAL_SELECTOR_ANNOTATION } from '../../../../api/objects/keys.ts';
import { AnsweringApiServer } from '../../../support/doubles/answering-api-server.ts';
import { aProxy, inPhase, labelled, named } from '../../../support/objects/builders.ts';
import { isthmusHere } from '../../../support/processes/command-in-process.ts';
import { servedSource } from '../../../support/doubles/served-source.ts';
import { parsePodChoice } from '../../../../cli/streams/workload-pods.ts';

describe('a pod', () => {
  for (const argument of ['web', 'pod/web', 'po/web', 'pods/web']) {
    it(`is ${argument}`, () => assert.deepEqual(parsePodChoice(argument), { kind: 'pod', name: 'web' }));
  }
  for (const [argument, plural] of Object.entries({
    'deploy/web': 'deployments', 'Deployment/web': 'deployments', 'sts/web': 'statefulsets', 'rs/web': 'replicasets',
    'ds/web': 'daemonsets', 'job/web': 'jobs', 'svc/web': 'services',
  })) {
    it(`of ${argument} is one of its ${plural}`, () => {
      const choice = parsePodChoice(argument);
      assert.equal(choice.kind === 'workload' && choice.type.plural, plural);
    });
  }
  for (const argument of ['', 'pod/', 'pod/a/b', 'ingress/web', '/web']) {
    it(`is not ${JSON.stringify(argument)}`, () => assert.throws(
      () => parsePodChoice(argument), /A pod is NAME, pod\/NAME/,
    ));
  }
});

describe('logs of a workload', () => {
  let server: AnsweringApiServer;
  before(async () => {
    const metadata = (name: string) => ({ namespace: 'team-a', name });
    server = await AnsweringApiServer.start(servedSource([], {
      deployments: [{ metadata: metadata('web'), spec: { selector: { matchLabels: { app: 'web' } } } }, {
        metadata: metadata('empty'), spec: { selector: { matchLabels: { app: 'no' } } },
      }] as never,
      services: [{ metadata: metadata('web'), spec: { selector: { app: 'web' } } }, {
        metadata: { ...metadata('followed'), annotations: { [ORIGINAL_SELECTOR_ANNOTATION]: 'app=web' } },
        spec: { selector: { 'multicluster.admiralty.io/app': 'web' } },
      }] as never,
      pods: [
        aProxy(named('web-1'), labelled({ app: 'web' }), inPhase('Pending')),
        aProxy(named('web-2'), labelled({ app: 'web' }), inPhase('Running')), aProxy(named('db')),
      ],
    }));
  });
  after(() => server.stop());
  const logs = async (what: string) =>
    isthmusHere('logs', what, '-n', 'team-a', '--kubeconfig', await server.kubeconfig());

  for (const what of ['deploy/web', 'svc/web', 'svc/followed']) {
    it(`${what} takes a running pod and says which`, async () => {
      const { stderr } = await logs(what);
      assert.match(
        stderr, /^Found 2 pods, using pod\/web-2\nisthmus: error \(NotFound\): Pod web-2 is on no virtual node/,
      );
    });
  }
  it('says that there is no such workload', async () => {
    assert.equal(
      (await logs('deploy/nope')).stderr,
      'isthmus: error (NotFound): There is no Deployment nope in namespace team-a.\n',
    );
  });
  it('says that none of its pods is elected', async () => {
    assert.equal(
      (await logs('deploy/empty')).stderr,
      'isthmus: error (NotFound): Deployment empty in namespace team-a has no elected pod.\n',
    );
  });
});

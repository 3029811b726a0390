// The controller of exports against a scripted API server.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import {
  MANAGED_BY_LABEL, SERVICE_DISCOVERY_MANAGER, type ServiceExport,
} from '../../../api/kinds/service-discovery.ts';
import type { ClustersetState, KnownExport } from '../../../service-discovery/clusterset-state.ts';
import { startServices } from '../../../service-discovery/services-controller.ts';
import { ScriptedApiServer, SILENT } from '../../support/doubles/scripted-api-server.ts';

const AT = { namespace: 'shop', name: 'web' };

it('an export that is asked for no more ends also where it cannot be published', { timeout: 10_000 }, async (t) => {
  const server = await ScriptedApiServer.start();
  const stopped = new AbortController();
  t.after(async () => {
    stopped.abort();
    await server.stop();
  });
  const serviceExport: ServiceExport = {
    apiVersion: 'multicluster.x-k8s.io/v1beta1', kind: 'ServiceExport',
    metadata: { ...AT, uid: 'e1', labels: { [MANAGED_BY_LABEL]: SERVICE_DISCOVERY_MANAGER } },
  };
  const known: KnownExport = {
    serviceExport, slices: [], stored: undefined, former: [],
    service: { metadata: { ...AT, uid: 's1' }, spec: { clusterIP: '10.0.0.1', ports: [{ port: 80 }] } },
  };
  const state = {
    clusterId: 'eu', installNamespace: 'isthmus-system', synced: async () => undefined, exportOf: () => known,
    hasNamespace: () => false, view: () => undefined,
    onChange: (listener: (key: string) => void) => listener('shop/web'),
  } as unknown as ClustersetState;
  startServices({ client: server.client, state, exportsFollowedServices: false, logger: SILENT }, stopped.signal);
  const asked: string[] = [];
  while (!asked.some((one) => one.startsWith('DELETE'))) {
    const { method, path } = await server.next().then((exchange) => {
      const isDeletion = exchange.method === 'DELETE';
      exchange.answer(isDeletion ? 200 : 422, { kind: 'Status', reason: 'Invalid', message: 'not so' });
      return exchange;
    });
    asked.push(`${method} ${path}`);
    if (asked.length > 2) break;
  }
  assert.match(asked.at(-1) ?? '', /^DELETE .*\/namespaces\/shop\/serviceexports\/web$/);
});

// Exports as tests want them: a Service `web` in namespace `shop`, with what differs named.
import type { ExportedService } from '../../../api/kinds/service-discovery.ts';

/** An export of `web` by a cluster. */
export function exportOf(clusterID: string, spec: Partial<ExportedService['spec']> = {}): ExportedService {
  const { namespace = 'shop', name = 'web' } = spec;
  return {
    metadata: { namespace: 'isthmus-system', name: `${clusterID}.${namespace}.${name}` },
    spec: {
      clusterID, namespace, name, exportedAt: '2026-01-01T00:00:00Z',
      type: 'ClusterSetIP', ports: [{ name: 'http', protocol: 'TCP', port: 80 }], sessionAffinity: 'None',
      slices: [{
        addressType: 'IPv4', ports: [{ name: 'http', protocol: 'TCP', port: 8080 }],
        endpoints: [{ address: '10.1.0.5', ready: true }],
      }],
      ...spec,
    },
  };
}

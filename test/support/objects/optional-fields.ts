// Pods with a field that some supported API server drops, by the path of the field as `createPod` names it.
import type { Container, PodSpec } from '../../../api/objects/core.ts';

const main: Container = { name: 'main', image: 'i' };
const withVolume = (source: object, mount: object = {}): PodSpec => ({
  containers: [{ ...main, volumeMounts: [{ name: 'v', mountPath: '/v', ...mount }] }],
  volumes: [{ name: 'v', ...source }],
});
const signed = { signerName: 'example.com/signer', path: 'file.pem' };
const claim = { name: 'gpu', resourceClaimTemplateName: 'one-gpu' };

/** Specs by what they have. */
export const OPTIONAL_FIELDS: Readonly<Record<string, PodSpec>> = {
  'spec.hostUsers': { containers: [main], hostUsers: false } as PodSpec,
  'spec.resources': { containers: [main], resources: { requests: { cpu: '1' } } },
  'spec.resourceClaims': { containers: [main], resourceClaims: [claim] } as PodSpec,
  'spec.hostnameOverride': { containers: [main], hostnameOverride: 'db.example' },
  'spec.securityContext.supplementalGroupsPolicy':
    { containers: [main], securityContext: { supplementalGroupsPolicy: 'Strict' } } as PodSpec,
  'securityContext.procMount of container main': {
    containers: [{ ...main, securityContext: { procMount: 'Unmasked' } } as Container], hostUsers: false,
  } as PodSpec,
  'lifecycle.stopSignal of container main':
    { containers: [{ ...main, lifecycle: { stopSignal: 'SIGUSR1' } } as Container], os: { name: 'linux' } } as PodSpec,
  'image of volume v': withVolume({ image: { reference: 'example/weights:1' } }),
  'projected.sources[].clusterTrustBundle of volume v':
    withVolume({ projected: { sources: [{ clusterTrustBundle: { ...signed, labelSelector: {} } }] } }),
  'projected.sources[].podCertificate of volume v': withVolume({
    projected: {
      sources: [{
        podCertificate: { signerName: signed.signerName, keyType: 'ED25519', credentialBundlePath: signed.path },
      }],
    },
  }),
  'recursiveReadOnly of volume v in container main':
    withVolume({ emptyDir: {} }, { readOnly: true, recursiveReadOnly: 'Enabled' }),
};

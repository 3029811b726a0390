// How lists and watches select the proxy pods and the virtual nodes of a source.
import { PROVIDER_KEY, PROVIDER_VALUE, PROXY_SCHEDULER } from '../../api/objects/keys.ts';

/** All proxy pods. */
export const PROXY_PODS = { fieldSelector: `spec.schedulerName=${PROXY_SCHEDULER}` } as const;
/** All virtual nodes. */
export const VIRTUAL_NODES = { labelSelector: `${PROVIDER_KEY}=${PROVIDER_VALUE}` } as const;

// Istio's injector redirects a pod's probes and lifecycle hooks to its agent and stores the originals in an environment
// variable of the sidecar (istio `pkg/kube/inject` app_probe, annotation sidecar.istio.io/rewriteAppHTTPProbers).
// Without the sidecar nothing would answer them, so the originals are restored first. Pure.
import type { Container, Pod } from '../../api/objects/core.ts';
import { isRecord, parsedRecord } from '../../model/objects/json-values.ts';

/** The variable; its value is JSON that maps the agent's paths to the original probes. */
const PROBERS_VARIABLE = 'ISTIO_KUBE_APP_PROBERS';
const PROBES = ['livenessProbe', 'readinessProbe', 'startupProbe'] as const;
const HOOKS = ['preStop', 'postStart'] as const;
/** Handlers: a probe or a hook has one of these. */
const HANDLERS = ['httpGet', 'tcpSocket', 'grpc'] as const;

type Json = Readonly<Record<string, unknown>>;
type WithVariables = { readonly env?: readonly { readonly name: string; readonly value?: string }[] };
type Probers = ReadonlyMap<string, Json>;

/** The pod with its original probes; the same object when they were not rewritten, or when the variable is invalid. */
export function withOwnProbes(pod: Pod): Pod {
  const { containers, initContainers = [] } = pod.spec;
  const probers = probersOf([...containers, ...initContainers]);
  if (probers.size === 0) return pod;
  const restored = (container: Container): Container => withProbes(container, probers);
  const spec = {
    ...pod.spec, containers: containers.map(restored),
    ...(pod.spec.initContainers && { initContainers: initContainers.map(restored) }),
  };
  return { ...pod, spec };
}

function probersOf(containers: readonly Container[]): Probers {
  const values = containers.flatMap((container) => {
    const { env = [] } = container as WithVariables;
    return env.filter(({ name }) => name === PROBERS_VARIABLE).map(({ value }) => value ?? '');
  });
  const entries = values.flatMap((value) => Object.entries(parsedRecord(value)));
  return new Map(entries.flatMap(([path, prober]) => (isRecord(prober) ? [[path, prober] as const] : [])));
}

function withProbes(container: Container, probers: Probers): Container {
  const fields = withOriginals(container as unknown as Json, PROBES, probers);
  const { lifecycle } = fields;
  const hooks = isRecord(lifecycle) ? withOriginals(lifecycle, HOOKS, probers) : lifecycle;
  return (hooks === lifecycle ? fields : { ...fields, lifecycle: hooks }) as unknown as Container;
}

/** The object with the originals in these fields; the same object when none was redirected. */
function withOriginals(object: Json, fields: readonly string[], probers: Probers): Json {
  const restored = fields.flatMap((field) => {
    const probe = object[field];
    const own = isRecord(probe) ? ownProbe(probe, probers) : undefined;
    return own === undefined ? [] : [[field, own] as const];
  });
  return restored.length === 0 ? object : { ...object, ...Object.fromEntries(restored) };
}

/** Thresholds and timings stay: Istio changes only the handler. */
function ownProbe(probe: Json, probers: Probers): Json | undefined {
  const asked = probe['httpGet'];
  const prober = isRecord(asked) ? probers.get(String(asked['path'])) : undefined;
  const handler = HANDLERS.find((name) => isRecord(prober?.[name]));
  if (prober === undefined || handler === undefined) return undefined;
  const { httpGet: _rewritten, ...rest } = probe;
  return { ...rest, [handler]: prober[handler] };
}

// Istio's injector points the probes of a pod at its own agent, and keeps what they were in an environment variable of its container
// (istio `pkg/kube/inject` app_probe, annotation sidecar.istio.io/rewriteAppHTTPProbers). With the sidecar gone from the source manifest
// nobody would answer there, so the probes are put back before it goes. Pure.
import type { Container, Pod } from '../../api/objects/core.ts';

/** The variable; its value is JSON: the path that the agent answers to what was probed before. */
const PROBERS_VARIABLE = 'ISTIO_KUBE_APP_PROBERS';
const PROBES = ['livenessProbe', 'readinessProbe', 'startupProbe'] as const;
/** How a probe asks: one of these is in it. */
const HANDLERS = ['httpGet', 'tcpSocket', 'grpc'] as const;

type Json = Readonly<Record<string, unknown>>;
type WithVariables = { readonly env?: readonly { readonly name: string; readonly value?: string }[] };
type Probers = ReadonlyMap<string, Json>;

/** The pod with its own probes; the very same object when they were not rewritten, or when the variable cannot be read. */
export function withOwnProbes(pod: Pod): Pod {
  const { containers, initContainers = [] } = pod.spec;
  const probers = probersOf([...containers, ...initContainers]);
  if (probers.size === 0) return pod;
  const restored = (container: Container): Container => withProbes(container, probers);
  const spec = { ...pod.spec, containers: containers.map(restored), ...(pod.spec.initContainers && { initContainers: initContainers.map(restored) }) };
  return { ...pod, spec };
}

function probersOf(containers: readonly Container[]): Probers {
  const values = containers.flatMap((container) => {
    const { env = [] } = container as WithVariables;
    return env.filter(({ name }) => name === PROBERS_VARIABLE).map(({ value }) => value ?? '');
  });
  const entries = values.flatMap((value) => Object.entries(parseObject(value)));
  return new Map(entries.flatMap(([path, prober]) => (isObject(prober) ? [[path, prober] as const] : [])));
}

function withProbes(container: Container, probers: Probers): Container {
  const fields = container as unknown as Json;
  const restored = PROBES.flatMap((field) => {
    const probe = fields[field];
    const own = isObject(probe) ? ownProbe(probe, probers) : undefined;
    return own === undefined ? [] : [[field, own] as const];
  });
  return restored.length === 0 ? container : { ...container, ...Object.fromEntries(restored) };
}

/** Thresholds and times stay as the probe has them: Istio changes only how it asks. */
function ownProbe(probe: Json, probers: Probers): Json | undefined {
  const asked = probe['httpGet'];
  const prober = isObject(asked) ? probers.get(String(asked['path'])) : undefined;
  const handler = HANDLERS.find((name) => isObject(prober?.[name]));
  if (prober === undefined || handler === undefined) return undefined;
  const { httpGet: _rewritten, ...rest } = probe;
  return { ...rest, [handler]: prober[handler] };
}

function parseObject(text: string): Json {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

// A kubelet's page of resource metrics as metrics-server reads it, so that tests see what kubectl top would show.
import assert from 'node:assert/strict';

/** One container, as PodMetrics shows it. */
export interface ShownUsage {
  /** `namespace/pod/container`. */
  readonly container: string;
  readonly nanoCores: number;
  readonly memoryBytes: number;
}

const LINE = /^(container_\w+)\{container="([^"]+)",namespace="([^"]+)",pod="([^"]+)"\} (\S+)(?: (\d+))?$/;
/** Least time since a start that metrics-server reckons with, in s. */
const LEAST_SECONDS = 10;

/**
 * What metrics-server (`pkg/storage/pod.go`) makes of the page without having seen another one, which it does for
 * containers that started less than its resolution ago. Fails when some container is not such.
 */
export function readResourceMetrics(page: string, resolutionSeconds: number): readonly ShownUsage[] {
  const figures = new Map<string, Map<string, { readonly value: number; readonly at: number }>>();
  for (const line of page.split('\n').filter((text) => text.startsWith('container_'))) {
    const [, name = '', container, namespace, pod, value, at] = LINE.exec(line) ?? assert
      .fail(`no line of metrics: ${line}`);
    const key = `${namespace}/${pod}/${container}`;
    figures.set(key, (figures.get(key) ?? new Map()).set(name, { value: Number(value), at: Number(at) }));
  }
  return [...figures].map(([container, known]) => {
    const cpu = known.get('container_cpu_usage_seconds_total') ?? assert.fail('no CPU time');
    const memory = known.get('container_memory_working_set_bytes') ?? assert.fail('no memory');
    const start = (known.get('container_start_time_seconds') ?? assert.fail('no start')).value;
    // the start is a float of nanoseconds there (`decode.go`)
    const span = Number(BigInt(cpu.at) * 1_000_000n - BigInt(Math.trunc(start * 1e9))) / 1e9;
    assert.ok(span >= LEAST_SECONDS && span < resolutionSeconds, `${span} s since the start`);
    return { container, nanoCores: Math.trunc(Math.trunc(cpu.value * 1e9) / span), memoryBytes: memory.value };
  });
}

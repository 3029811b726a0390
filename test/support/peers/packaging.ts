// helm and kubectl as tests run them: the programs themselves, with what they print and the code that they end with.
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';
import type { KubernetesObject } from '../../../api/objects/core.ts';
import { environment } from '../../../process/config.ts';
import { ensurePackagingTools, type PackagingTools } from '../../../sandbox/build/packaging-tools.ts';

/** The chart's folder in the checkout. */
export const CHART = fileURLToPath(new URL('../../../../manifests/helm/isthmus', import.meta.url));
/** The folder of the Kustomize files. */
export const KUSTOMIZE = fileURLToPath(new URL('../../../../manifests/kustomize', import.meta.url));

/** What a program printed, and the code that it ended with. */
export interface Ended {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}

/** One run of a tool. */
export interface ToolRun {
  readonly kubeconfig?: string;
  readonly input?: string;
  /** Sends it SIGINT, as Ctrl-C does, once it aborts. */
  readonly interrupted?: AbortSignal;
}

/** helm and kubectl. */
export class Packaging {
  readonly #tools: PackagingTools;

  private constructor(tools: PackagingTools) {
    this.#tools = tools;
  }

  /** The tools, built when they are not there. */
  static async open(signal: AbortSignal): Promise<Packaging> {
    return new Packaging(await ensurePackagingTools(environment(), () => undefined, signal));
  }

  /** Runs helm. */
  helm(args: readonly string[], run: ToolRun = {}): Promise<Ended> {
    return ended(this.#tools.helm, args, run);
  }

  /** Runs kubectl. */
  kubectl(args: readonly string[], run: ToolRun = {}): Promise<Ended> {
    return ended(this.#tools.kubectl, args, run);
  }

  /** The chart's objects with these values (`a.b=c`), hooks included. Throws what helm says when it refuses. */
  async render(values: readonly string[] = [], namespace = 'isthmus-system'): Promise<readonly KubernetesObject[]> {
    const { stdout, stderr, code } = await this.helm(
      ['template', 'isthmus', CHART, '--namespace', namespace, ...values.flatMap((value) => ['--set', value])],
    );
    if (code !== 0) throw new Error(stderr);
    return documents(stdout);
  }
}

/** The objects of a YAML stream. */
export function documents(text: string): readonly KubernetesObject[] {
  return parseAllDocuments(text).map((document) => document.toJS() as KubernetesObject | null)
    .filter((object) => object !== null);
}

/** `Kind namespace/name`. */
export function nameOf({ kind, metadata: { namespace, name } }: KubernetesObject): string {
  return namespace === undefined ? `${kind} ${name}` : `${kind} ${namespace}/${name}`;
}

/** A tool ends before its garbage is worth collecting, which is a sixth of its time; in a gigabyte at most. */
const WITHOUT_COLLECTIONS = { GOGC: 'off', GOMEMLIMIT: '1GiB' } as const;

function ended(
  [program, tool]: readonly [string, string], args: readonly string[],
  { kubeconfig, input, interrupted: signal }: ToolRun,
): Promise<Ended> {
  const { inherited } = environment();
  const env = { ...inherited, ...WITHOUT_COLLECTIONS, ...(kubeconfig !== undefined && { KUBECONFIG: kubeconfig }) };
  return new Promise((resolve, reject) => {
    const options = { env, maxBuffer: 64 * 1024 * 1024 };
    const child = execFile(program, [tool, ...args], options, (error, stdout, stderr) => {
      if (error === null) resolve({ stdout, stderr, code: 0 });
      else if (typeof error.code === 'number') resolve({ stdout, stderr, code: error.code });
      else reject(error);
    });
    signal?.addEventListener('abort', () => child.kill('SIGINT'), { once: true });
    child.stdin?.end(input);
  });
}

// What containers see of their pod: downward API fields in environment and volumes, and the host name. A delegate has a
// name, UID and label keys of its own; its containers see those of the source pod. Fields are redirected to where the
// delegate has the source pod's value, so no value is copied into the spec.
import type { Container, DownwardItem, PodSpec, StringMap, Volume } from '../../api/objects/core.ts';
import {
  PARENT_NAME_ANNOTATION, PARENT_UID_LABEL, SOURCE_ANNOTATIONS_ANNOTATION, SOURCE_LABELS_ANNOTATION,
} from '../../api/objects/keys.ts';
import { isDnsLabel } from '../naming/label-syntax.ts';
import { LABELS_OF_NODES } from '../proxy/admission-record.ts';

/** The pod as its containers see it. */
export interface SourcePodFields {
  readonly name: string;
  readonly labels: StringMap;
  /** Those of the user and of others, not those of Isthmus. */
  readonly annotations: StringMap;
  /** The key that a label has on the delegate. */
  readonly delegateKey: (key: string) => string;
}

/** The delegate's spec, and annotations of the delegate that it refers to. */
export interface RedirectedSpec {
  readonly spec: PodSpec;
  readonly annotations: StringMap;
}

/** Maximum length of a map as text: all annotations of an object together have 256 KiB (apimachinery validation). */
const MAX_MAP_TEXT = 96 * 1_024;

/** Redirects what the containers see of their pod. */
export function redirectDownwardApi(spec: PodSpec, pod: SourcePodFields): RedirectedSpec {
  const redirection = new Redirection(pod);
  const hostname = hostnameOf(spec, pod.name);
  return {
    spec: {
      ...spec, ...(hostname !== undefined && { hostname }),
      containers: spec.containers.map((container) => redirection.container(container)),
      ...(spec.initContainers && { initContainers: spec.initContainers.map((one) => redirection.container(one)) }),
      ...(spec.volumes && { volumes: spec.volumes.map((volume) => redirection.volume(volume)) }),
    },
    annotations: redirection.annotations,
  };
}

class Redirection {
  /** Annotations that the delegate has only because fields are redirected to them. */
  readonly annotations: Record<string, string> = {};
  readonly #pod: SourcePodFields;

  constructor(pod: SourcePodFields) {
    this.#pod = pod;
  }

  container(container: Container): Container {
    if (!Array.isArray(container.env) || !container.env.some(({ valueFrom }) => valueFrom?.fieldRef)) return container;
    return {
      ...container,
      env: container.env.map((variable) => {
        const fieldRef = variable.valueFrom?.fieldRef;
        return fieldRef === undefined
          ? variable
          : { ...variable, valueFrom: { ...variable.valueFrom, fieldRef: this.#field(fieldRef) } };
      }),
    };
  }

  volume(volume: Volume): Volume {
    const { downwardAPI, projected } = volume;
    if (downwardAPI?.items) return { ...volume, downwardAPI: this.#items(downwardAPI) };
    if (!projected?.sources?.some((source) => source.downwardAPI?.items)) return volume;
    const sources = projected.sources.map((source) => (
      source.downwardAPI?.items ? { ...source, downwardAPI: this.#items(source.downwardAPI) } : source
    ));
    return { ...volume, projected: { ...projected, sources } };
  }

  #items<T extends { readonly items?: readonly DownwardItem[] }>(source: T): T {
    const items = source.items?.map((item) => (
      item.fieldRef === undefined ? item : { ...item, fieldRef: this.#field(item.fieldRef) }
    ));
    return { ...source, items };
  }

  #field<T extends { readonly fieldPath: string }>(ref: T): T {
    const fieldPath = this.#path(ref.fieldPath);
    return fieldPath === ref.fieldPath ? ref : { ...ref, fieldPath };
  }

  /**
   * Namespace and the keys of annotations are the same; node, its zone and region, and addresses are those where the
   * containers run.
   */
  #path(path: string): string {
    if (path === 'metadata.name') return annotationPath(PARENT_NAME_ANNOTATION);
    if (path === 'metadata.uid') return `metadata.labels['${PARENT_UID_LABEL}']`;
    if (path === 'metadata.labels') return this.#labels() ?? path;
    if (path === 'metadata.annotations') return this.#annotations() ?? path;
    const [, key] = /^metadata\.labels\['(.*)'\]$/s.exec(path) ?? [];
    if (key === undefined || (LABELS_OF_NODES.includes(key) && !Object.hasOwn(this.#pod.labels, key))) return path;
    return `metadata.labels['${this.#pod.delegateKey(key)}']`;
  }

  #labels(): string | undefined {
    const text = downwardText(this.#pod.labels);
    if (text.length > MAX_MAP_TEXT) return undefined;
    this.annotations[SOURCE_LABELS_ANNOTATION] = text;
    return annotationPath(SOURCE_LABELS_ANNOTATION);
  }

  #annotations(): string | undefined {
    const text = downwardText(this.#pod.annotations);
    if (text.length > MAX_MAP_TEXT) return undefined;
    this.annotations[SOURCE_ANNOTATIONS_ANNOTATION] = text;
    return annotationPath(SOURCE_ANNOTATIONS_ANNOTATION);
  }
}

function annotationPath(key: string): string {
  return `metadata.annotations['${key}']`;
}

/** A map as a kubelet writes it into a file: a line `key="value"` for each key in order (`pkg/fieldpath` FormatMap). */
export function downwardText(map: StringMap): string {
  return Object.keys(map).toSorted().map((key) => `${key}=${quoted(map[key] ?? '')}`).join('\n');
}

const ESCAPES: Readonly<Record<string, string>> = {
  '\u0007': '\\a', '\b': '\\b', '\f': '\\f', '\n': '\\n', '\r': '\\r', '\t': '\\t', '\v': '\\v', '\\': '\\\\',
  '"': '\\"',
};
/** What Go considers printable (`unicode.IsPrint`). */
const PRINTABLE = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u;

/** A string literal of Go (`strconv.Quote`). */
function quoted(value: string): string {
  return `"${Array.from(value, quotedCharacter).join('')}"`;
}

function quotedCharacter(character: string): string {
  const escape = ESCAPES[character];
  if (escape !== undefined) return escape;
  if (PRINTABLE.test(character)) return character;
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x80) return `\\x${hex(code, 2)}`;
  return code > 0xff_ff ? `\\U${hex(code, 8)}` : `\\u${hex(code, 4)}`;
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, '0');
}

const MAX_HOST_NAME = 63;

/**
 * The host name that a kubelet derives from the name of the pod. Undefined if the user has set one, if it is that of
 * the node, and for a name with dots, which `spec.hostname` does not allow.
 */
function hostnameOf({ hostname, hostnameOverride, hostNetwork }: PodSpec, name: string): string | undefined {
  if (hostname || hostnameOverride || hostNetwork) return undefined;
  const cut = name.slice(0, MAX_HOST_NAME).replace(/[-.]+$/, '');
  return isDnsLabel(cut) ? cut : undefined;
}

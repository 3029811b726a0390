// What the admission policies of a target say of what sources and bearers of invitations could try, request by request.
// That an API server reads the same from them is held by integration tests.
import { describe } from 'node:test';
import {
  SENT_CHANGES_ANNOTATION, CHAPERON_FINALIZER, PARENT_CLUSTER_LABEL, PARENT_UID_LABEL, RUN_ONCE_FINALIZER,
} from '../../../../api/objects/keys.ts';
import { sourcePolicies } from '../../../../manifests/policies/source-policy.ts';
import type { AskedPermission } from '../../../support/objects/cel.ts';
import type { WriteRequest } from '../../../support/objects/policy-verdicts.ts';
import { create, isSource, judged, meta, OURS, remove, update } from './judged-requests.ts';

const THEIRS = { [PARENT_CLUSTER_LABEL]: 'c2' };
/** A source that has not said which cluster it is: it owns any. */
const isAnySource = ({ resource, verb }: AskedPermission): boolean =>
  resource === 'sourceidentities' && (verb === 'confined' || verb === 'own');
const isLeaving = (asked: AskedPermission): boolean => asked.resource !== 'podchaperons' && isSource(asked);

describe('what a source writes in a target: the policies', () => {
  const OWN_ONLY = /only write objects with its own identity/;
  const NOT_ALLOWED = /^NamespaceNotAllowed/;
  const chaperon = (spec: object, annotations?: object, finalizers?: readonly string[]) =>
    ({ ...meta(OURS, { ...(annotations && { annotations }), ...(finalizers && { finalizers }) }), spec });
  const lease = (name: string, labels: object = OURS) => meta(labels, { name });
  const secret = (more: object = {}, annotations?: object) =>
    ({ ...meta(OURS, annotations && { annotations }), ...more });
  const owned = (name: string) => meta(OURS, { ownerReferences: [{ name }] });
  const token = 'kubernetes.io/service-account-token';
  judged(sourcePolicies('ns'), {
    'its own PodChaperon': [create('podchaperons', meta(OURS)), undefined],
    'a PodChaperon of another source': [create('podchaperons', meta(THEIRS)), OWN_ONLY],
    'a pod without a source': [create('pods', meta({ app: 'web' })), OWN_ONLY],
    'a pod without labels': [create('pods', meta()), OWN_ONLY],
    'to take over an object by its label': [update('configmaps', meta(THEIRS), meta(OURS)), OWN_ONLY],
    'to give an object away': [update('configmaps', meta(OURS), meta(THEIRS)), OWN_ONLY],
    'to take over a pod by its status': [update('pods/status', meta(), meta(OURS)), OWN_ONLY],
    'to resize a pod of others': [update('pods/resize', meta(THEIRS), meta(THEIRS)), OWN_ONLY],
    'the deletion of what is not its own': [remove('services', meta()), OWN_ONLY],
    'the deletion of its own': [remove('services', meta(OURS)), undefined],
    'any object, of a source that owns any': [create('configmaps', meta(), { can: isAnySource }), undefined],
    'a Secret that no source has made, of a source that owns any':
      [create('secrets', meta(), { can: isAnySource }), OWN_ONLY],
    'a Secret that some source has made, of a source that owns any':
      [create('secrets', meta({ [PARENT_UID_LABEL]: 'u' }), { can: isAnySource }), undefined],
    'everything to administrators, whose wildcards have the mark, too':
      [create('pods', meta(), { can: () => true }), undefined],
    'everything to whoever has no mark': [create('pods', meta(), { can: () => false }), undefined],

    'a pod in a namespace of the cluster': [create('pods', meta(OURS), { namespace: 'kube-public' }), NOT_ALLOWED],
    'a pod beside Isthmus': [create('pods', meta(OURS), { namespace: 'ns' }), NOT_ALLOWED],
    'a Secret among the kubeconfigs of targets':
      [create('secrets', meta(OURS), { namespace: 'ns-targets' }), NOT_ALLOWED],
    'the deletion of what it has there': [remove('pods', meta(OURS), { namespace: 'kube-system' }), undefined],
    'to let a PodChaperon go there': [
      update('podchaperons', chaperon({ a: 1 }, {}, ['x/y']), chaperon({ a: 1 }, {}), { namespace: 'ns' }), undefined,
    ],
    'to change what a PodChaperon there runs':
      [update('podchaperons', chaperon({ a: 1 }), chaperon({ a: 2 }), { namespace: 'ns' }), NOT_ALLOWED],

    'a change of what runs, while it may create':
      [update('podchaperons', chaperon({ a: 1 }), chaperon({ a: 2 })), undefined],
    'a change of what runs, once it may not':
      [update('podchaperons', chaperon({ a: 1 }), chaperon({ a: 2 }), { can: isLeaving }), /only delete it/],
    'a change that is carried to what runs, once it may not': [
      update('podchaperons', chaperon({}), chaperon({}, { [SENT_CHANGES_ANNOTATION]: '{}' }), { can: isLeaving }),
      /only delete it/,
    ],
    'to take back a carried change, once it may not': [
      update('podchaperons', chaperon({}, { [SENT_CHANGES_ANNOTATION]: '{}' }), chaperon({}), { can: isLeaving }),
      /only delete it/,
    ],
    'another annotation, once it may not': [
      update('podchaperons', chaperon({}), chaperon({}, { a: 'b' }), { can: isLeaving }), undefined,
    ],
    'to take the finalizer of the target off':
      [update('podchaperons', chaperon({}, {}, [CHAPERON_FINALIZER]), chaperon({}, {}, [])), /may not take finalizer/],
    'to keep that finalizer and take another off': [
      update('podchaperons', chaperon({}, {}, [CHAPERON_FINALIZER, 'x/y']), chaperon({}, {}, [CHAPERON_FINALIZER])),
      undefined,
    ],

    'a Secret of pods': [create('secrets', secret({ type: 'kubernetes.io/tls' })), undefined],
    'a Secret without a type': [create('secrets', secret()), undefined],
    'a Secret that the target fills with a token': [create('secrets', secret({ type: token })), /Secrets of the types/],
    'a Secret with which a node would join':
      [create('secrets', secret({ type: 'bootstrap.kubernetes.io/token' })), /Secrets of the types/],
    'a Secret of an account': [
      create('secrets', secret({}, { 'kubernetes.io/service-account.name': 'default' })), /Secrets of the types/,
    ],
    'to change a Secret that holds a token':
      [update('secrets', secret({ type: token }), secret()), /Secrets of the types/],
    'the deletion of a Secret that holds a token': [remove('secrets', secret({ type: token })), /Secrets of the types/],

    'a finalizer that nobody removes': [create('configmaps', meta(OURS, { finalizers: ['x/y'] })), /add no finalizer/],
    'the finalizers of a delegate':
      [create('pods', meta(OURS, { finalizers: [RUN_ONCE_FINALIZER, CHAPERON_FINALIZER] })), undefined],
    'to keep a finalizer that somebody has added': [
      update('pods', meta(OURS, { finalizers: ['x/y'] }), meta(OURS, { finalizers: ['x/y'] })), undefined,
    ],
    'an owner, with which others would delete it': [
      create('pods', meta(OURS, { ownerReferences: [{ kind: 'Node', name: 'n' }] })), /set no owner references/,
    ],
    'to change an owner': [update('pods', owned('a'), owned('b')), /set no owner references/],
    'to keep an owner': [update('pods', owned('a'), owned('a')), undefined],
    'a Service that catches the traffic of an address':
      [create('services', { ...meta(OURS), spec: { externalIPs: ['192.0.2.1'] } }), /no externalIPs/],
    'a Service with an empty list of them':
      [create('services', { ...meta(OURS), spec: { externalIPs: [] } }), undefined],

    'its own lease': [create('sourceleases', lease('source-c1')), undefined],
    'the lease of its candidates': [create('sourceleases', lease('candidates-c1')), undefined],
    'the lease of another source, under its own label':
      [create('sourceleases', lease('source-c2')), /of another source/],
    'the candidates of another source': [update('sourceleases', lease('candidates-c2'), lease('candidates-c2')),
      /of another source/],
    'a lease whose name begins like its own': [create('sourceleases', lease('source-c1-2')), /of another source/],
    'a lease of another name': [create('sourceleases', lease('x')), undefined],

    'a token of a day': [create('serviceaccounts/token', { spec: { expirationSeconds: 86_400 } }), undefined],
    'a token of more than a day':
      [create('serviceaccounts/token', { spec: { expirationSeconds: 86_401 } }), /at most 86400 s/],
    'a token without an end': [create('serviceaccounts/token', { spec: {} }), /at most 86400 s/],
  });
});

describe('what the bearer of an invitation asks for: the policies', () => {
  const user = 'system:serviceaccount:ns:isthmus-invitation-berlin';
  const asked = (name: string, more: object = {}, metadata: object = {}): WriteRequest => create('joinrequests', {
    metadata: { name, ...metadata }, spec: { invitation: 'invitation-berlin' }, ...more,
  }, { user });
  const ALONE = /JoinRequests may be made for it alone/;
  judged(sourcePolicies('ns'), {
    'a request for itself': [asked('invitation-berlin-0'), undefined],
    'the last of its names': [asked('invitation-berlin-9'), undefined],
    'more requests than there are names': [asked('invitation-berlin-10'), ALONE],
    'a name that begins with its own': [asked('invitation-berlin-0-x'), ALONE],
    'a name that ends with its own': [asked('x-invitation-berlin-0'), ALONE],
    'a name without a number': [asked('invitation-berlin'), ALONE],
    'a request for another invitation':
      [asked('invitation-berlin-0', { spec: { invitation: 'invitation-rome' } }), ALONE],
    'a request that stays': [asked('invitation-berlin-0', {}, { finalizers: ['x/y'] }), ALONE],
    'a request with an owner': [asked('invitation-berlin-0', {}, { ownerReferences: [] }), ALONE],
    'requests of others, who need permission for them':
      [create('joinrequests', meta(), { user: 'system:serviceaccount:ns:isthmus-peering' }), undefined],
    'requests of an account of that name elsewhere': [
      create('joinrequests', meta(), { user: 'system:serviceaccount:ns-2:isthmus-invitation-berlin' }), undefined,
    ],
  });
});

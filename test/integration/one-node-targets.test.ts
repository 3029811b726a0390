// Suites that share a world whose targets have one node each, in this order: the last takes Isthmus out of the second
// target.
import './shared/resource-share.test.ts';
import './shared/follow.test.ts';
import './shared/kubelet-api.test.ts';
import './shared/autoscaled-target.test.ts';
import './shared/preemption.test.ts';
import './shared/delegate-life.test.ts';

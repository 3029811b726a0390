// Suites that share a source with the webhook in this process, in this order: the first expects that no webhook has run
// yet, the last one leaves a configuration without a URL.
import './admission/elected-wrongly.test.ts';
import './admission/field-tracking.test.ts';
import './admission/webhook-pods.test.ts';
import './admission/webhook-injectors.test.ts';
import './admission/webhook-liqo.test.ts';
import './admission/webhook-certificates.test.ts';
import './admission/webhook-path.test.ts';

import { RequestSigner } from '../../core/agents/request-signer.ts'
import { Renderer } from '../../core/browser/renderer.ts'
import type { Clock } from '../../core/clock.ts'
import { createBackends } from '../../core/egress/backends.ts'
import { createEgress } from '../../core/egress/egress.ts'
import type { SecretKeys } from '../../core/secret-keys/secret-keys.ts'
import type { HubOptions } from './options.ts'

interface EgressDeps {
  readonly secretKeys: SecretKeys
  readonly clock: Clock
  readonly scope: AsyncDisposableStack
}

/**
 * Opens the clients for other hosts, which sign each request, for upstreams, whose requests share
 * signatures, and for the operator's own hosts, which need none.
 */
export function openEgress(options: HubOptions, { secretKeys, clock, scope }: EgressDeps) {
  const userAgent = `AgentHub/${options.version}`
  const keys = () => secretKeys.signingKeys('request-signatures')
  const requestSigner = new RequestSigner({ keys, origin: options.baseUrl, clock })
  const sign = requestSigner.headersFor.bind(requestSigner)
  const egress = createEgress({ ...options.egress, userAgent, sign })
  const backends = createBackends({ origins: options.pluginHosts, userAgent })
  const signShared = requestSigner.sharedHeadersFor.bind(requestSigner)
  const toUpstreams = {
    http: createEgress({ ...options.egress, userAgent, sign: signShared }),
    backends,
  }
  const browser = openBrowser(options, userAgent, sign)
  scope.defer(async () => {
    await Promise.all([egress, toUpstreams.http, backends, browser].map((each) => each.close()))
  })
  return { userAgent, requestSigner, egress, toUpstreams, backends, browser }
}

/** Opens the renderer. Its user agent names the browser and the hub. */
const openBrowser = (
  { browser, egress, log }: HubOptions,
  hub: string,
  sign: RequestSigner['headersFor'],
): Renderer =>
  new Renderer({
    ...browser,
    ...egress,
    sign,
    userAgent: `Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (compatible; ${hub})`,
    log: (message, fields) => log.warn({ ...fields }, message),
  })

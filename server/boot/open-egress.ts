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

/** Opens the ways to other hosts, signed, and to the operator's own, which need no signature. */
export function openEgress(options: HubOptions, { secretKeys, clock, scope }: EgressDeps) {
  const userAgent = `AgentHub/${options.version}`
  const keys = () => secretKeys.signingKeys('request-signatures')
  const requestSigner = new RequestSigner({ keys, origin: options.baseUrl, clock })
  const sign = requestSigner.headersFor.bind(requestSigner)
  const egress = createEgress({ ...options.egress, userAgent, sign })
  const backends = createBackends({ origins: options.pluginHosts, userAgent })
  const browser = openBrowser(options, userAgent, sign)
  scope.defer(async () => {
    await Promise.all([egress.close(), backends.close(), browser.close()])
  })
  return { userAgent, requestSigner, egress, backends, browser }
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

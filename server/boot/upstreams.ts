import type { Pool } from 'pg'
import { injectedUpstreams } from '../../core/catalog/upstreams/injection.ts'
import type { Config } from '../../core/config.ts'
import { SealingKeys } from '../../core/crypto/sealing.ts'
import type { SigningKey } from '../../core/crypto/signing-key.ts'
import type { Egress } from '../../core/egress/http.ts'
import type { Log } from '../../core/log.ts'
import type { Upstreams } from '../../core/plugin/upstreams.ts'
import { providerServiceRoutes } from '../rest/provider/services/index.ts'
import type { AnyRoute } from '../rest/route.ts'
import type { Core, HubOptions } from './options.ts'

interface UpstreamOptions {
  readonly listing: Config['listing']
  readonly signingKey: SigningKey
  readonly sandbox: boolean
  readonly pluginHosts: readonly string[]
  readonly log: Log
}

/**
 * Creates the keys that encrypt upstream credentials; one derived from the signing key decrypts.
 */
export function createSealingKeys({
  listing,
  signingKey,
}: Pick<UpstreamOptions, 'listing' | 'signingKey'>): SealingKeys {
  const derived = {
    id: `signing-${signingKey.id.slice(0, 16)}`,
    secret: signingKey.deriveSecret('upstream-secrets'),
  }
  const [first = derived, ...others] = listing.sealingKeys
  return new SealingKeys([first, ...others, ...(first === derived ? [] : [derived])])
}

/** Returns local origins where upstreams may be: none in production. */
const localOrigins = ({ sandbox, pluginHosts }: UpstreamOptions): readonly string[] =>
  sandbox ? pluginHosts : []

export const openUpstreams = (
  options: UpstreamOptions,
  deps: { readonly pool: Pool; readonly http: Egress; readonly backends: Egress },
): Upstreams =>
  injectedUpstreams({
    ...deps,
    keys: createSealingKeys(options),
    localOrigins: localOrigins(options),
    log: options.log,
  })

export const upstreamRoutes = (
  core: Core,
  options: UpstreamOptions & Pick<HubOptions, 'egress'>,
  proxyUrl: () => string,
): readonly AnyRoute[] =>
  providerServiceRoutes({
    ...core,
    ...core.discovery,
    listing: options.listing,
    keys: createSealingKeys(options),
    rules: options.egress,
    localOrigins: localOrigins(options),
    proxyUrl,
  })

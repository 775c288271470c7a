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

interface Options {
  readonly listing: Config['listing']
  readonly signingKey: SigningKey
  readonly sandbox: boolean
  readonly pluginHosts: readonly string[]
  readonly log: Log
}

/** The keys that seal secrets of owners; that of the signing key opens what it sealed before. */
export function sealingKeysOf({
  listing,
  signingKey,
}: Pick<Options, 'listing' | 'signingKey'>): SealingKeys {
  const derived = {
    id: `signing-${signingKey.id.slice(0, 16)}`,
    secret: signingKey.deriveSecret('upstream-secrets'),
  }
  const [first = derived, ...others] = listing.sealingKeys
  return new SealingKeys([first, ...others, ...(first === derived ? [] : [derived])])
}

/** Where owners may have their APIs besides the internet: nowhere, where money is real. */
const localOriginsOf = ({ sandbox, pluginHosts }: Options): readonly string[] =>
  sandbox ? pluginHosts : []

/** What the plugin of upstreams is lent. */
export const openUpstreams = (
  options: Options,
  ways: { readonly pool: Pool; readonly http: Egress; readonly backends: Egress },
): Upstreams =>
  injectedUpstreams({
    ...ways,
    keys: sealingKeysOf(options),
    localOrigins: localOriginsOf(options),
    log: options.log,
  })

/** Where owners list their APIs. */
export const upstreamRoutes = (
  core: Core,
  options: Options & Pick<HubOptions, 'egress'>,
  proxyUrl: () => string,
): readonly AnyRoute[] =>
  providerServiceRoutes({
    ...core,
    ...core.discovery,
    listing: options.listing,
    keys: sealingKeysOf(options),
    rules: options.egress,
    localOrigins: localOriginsOf(options),
    proxyUrl,
  })

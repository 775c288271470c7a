import type { Pool } from 'pg'
import { injectedUpstreams } from '../../core/catalog/upstreams/injection.ts'
import type { Config } from '../../core/config.ts'
import { SealingKeys } from '../../core/crypto/sealing.ts'
import type { Egress } from '../../core/egress/http.ts'
import type { Log } from '../../core/log.ts'
import type { Upstreams } from '../../core/plugin/upstreams.ts'
import type { SecretKeys } from '../../core/secret-keys/secret-keys.ts'
import { providerServiceRoutes } from '../rest/provider/services/index.ts'
import type { AnyRoute } from '../rest/route.ts'
import type { Core, HubOptions } from './options.ts'

interface UpstreamOptions {
  readonly listing: Config['listing']
  readonly secretKeys: Pick<SecretKeys, 'of'>
  readonly sandbox: boolean
  readonly pluginHosts: readonly string[]
  readonly log: Log
}

/** Creates the keys that encrypt upstream credentials: the operator's first, then the hub's own. */
export function createSealingKeys({
  listing,
  secretKeys,
}: {
  readonly listing: Pick<Config['listing'], 'sealingKeys'>
  readonly secretKeys: Pick<SecretKeys, 'of'>
}): SealingKeys {
  const own = secretKeys.of('upstream-credentials')
  return new SealingKeys(() => [
    ...listing.sealingKeys,
    ...own.valid.map(({ id, material: secret }) => ({ id, secret })),
  ])
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

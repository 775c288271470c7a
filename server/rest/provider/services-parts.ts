import type { Pool } from 'pg'
import { z } from 'zod'
import { canonicalUrl, type UrlRules } from '../../../core/catalog/listings/discovery/canonical.ts'
import { REASONS } from '../../../core/catalog/listings/reasons.ts'
import type { Catalog } from '../../../core/catalog/services/catalog.ts'
import type { ListingSettings } from '../../../core/catalog/upstreams/settings.ts'
import type { UpstreamInfo } from '../../../core/catalog/upstreams/store.ts'
import type { Clock } from '../../../core/clock.ts'
import type { SealingKeys } from '../../../core/crypto/sealing.ts'
import type { Egress } from '../../../core/egress/http.ts'
import { Fault } from '../../../core/errors.ts'
import type { Log } from '../../../core/log.ts'
import { viewOf } from './services-view.ts'

/** What the routes of an owner's services work with. */
export interface ServicePorts {
  readonly pool: Pool
  readonly catalog: Pick<Catalog, 'refresh' | 'preview'>
  readonly listing: ListingSettings
  readonly keys: SealingKeys
  /** What may be listed, beside the origins here. */
  readonly rules: UrlRules
  readonly localOrigins: readonly string[]
  /** The ways to documents of owners. */
  readonly egress: Pick<Egress, 'request'>
  readonly backends: Pick<Egress, 'request'>
  readonly clock: Clock
  readonly log: Log
  /** Where services are called. */
  readonly proxyUrl: () => string
}

export const slug = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,38}[a-z0-9]$/, '2 to 40 of a-z, 0-9, inner hyphens')
export const baseUrl = z.string().min(1).max(500).meta({
  description: 'Where your API is; paths of endpoints are added to it. https in production.',
})
/** The catalogue follows at once here, and within a second everywhere. */
export async function changed(ports: ServicePorts, info: UpstreamInfo) {
  await ports.catalog.refresh(info.slug)
  return { body: await viewOf(ports, info) }
}

/**
 * The one spelling of a base URL.
 * @throws Fault `validation_failed` for what the hub would not ask
 */
export function baseOf(text: string, { rules, localOrigins }: ServicePorts): string {
  const found = urlOf(text, rules, localOrigins)
  const url = found.url === undefined ? undefined : new URL(found.url)
  if (url && url.search === '' && url.hash === '') {
    return `${url.origin}${url.pathname.replace(/\/+$/, '')}`
  }
  const message = found.why ?? 'has a query: paths are added to it'
  throw new Fault('validation_failed', `/base_url: ${message}`, {
    extras: { issues: [{ path: '/base_url', message }] },
  })
}

/** An address of an owner's, if the hub may ask it; else why not. */
export function urlOf(text: string, rules: UrlRules, localOrigins: readonly string[]) {
  const local = URL.parse(text)
  const isPlain = local && local.username === '' && local.password === ''
  if (isPlain && localOrigins.includes(local.origin)) return { url: local.href, local: true }
  const found = canonicalUrl(text, rules)
  return typeof found === 'string'
    ? { url: undefined, why: REASONS[found] }
    : { url: found.url, local: false }
}

import { z } from 'zod'
import { canonicalUrl } from '../../../../core/catalog/listings/discovery/canonical-url.ts'
import { REASONS } from '../../../../core/catalog/listings/reasons.ts'
import type { TargetRules } from '../../../../core/egress/target.ts'
import { inputFault } from '../../input-errors.ts'
import type { ServiceDeps } from './deps.ts'

export const baseUrl = z.string().min(1).max(500).meta({
  description: 'Base URL of your API, to which endpoint paths are appended. https in production.',
})

/**
 * Normalizes a base URL.
 * @param explain returns the message of an error @defaultValue the error itself
 * @throws Fault `validation_failed` if the hub must not call it
 */
export function parseBaseUrl(
  text: string,
  { rules, localOrigins }: ServiceDeps,
  explain = (error: string) => error,
): string {
  const found = checkUrl(text, rules, localOrigins)
  const url = found.url === undefined ? undefined : new URL(found.url)
  if (url && url.search === '' && url.hash === '') {
    return `${url.origin}${url.pathname.replace(/(?<!\/)\/+$/, '')}`
  }
  throw inputFault('/base_url', explain(found.error ?? 'must not have a query or fragment'))
}

/** Checks whether the hub may call a URL. Returns its normalized form, or the error. */
export function checkUrl(text: string, rules: TargetRules, localOrigins: readonly string[]) {
  const local = URL.parse(text)
  const isPlain = local && local.username === '' && local.password === ''
  if (isPlain && localOrigins.includes(local.origin)) return { url: local.href, local: true }
  const found = canonicalUrl(text, rules)
  return typeof found === 'string'
    ? { url: undefined, error: REASONS[found] }
    : { url: found.url, local: false }
}

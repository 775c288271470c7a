import { readFileSync } from 'node:fs'
import type { Pool } from 'pg'
import { listIncidents } from '../../core/catalog/services/incidents.ts'
import { listServices } from '../../core/catalog/services/published-services.ts'
import { listReportedIncidents } from '../../core/catalog/services/reported-incidents.ts'
import { type Clock, daysBefore } from '../../core/clock.ts'
import { packagePath } from '../../core/release.ts'
import { readPackage } from '../downloads/package.ts'
import { html } from './html.ts'
import { INCIDENT_FEED, incidentFeed } from './incidents.ts'
import { DOCS_TABS, MAIN_LINKS } from './navigation.ts'

export interface SiteFileDeps {
  readonly pool: Pool
  readonly clock: Clock
  readonly baseUrl: () => string
  readonly version: string
  /** URL for reports of vulnerabilities; undefined: there is no `security.txt`. */
  readonly securityContact?: string | undefined
}

/** File at a path that browsers, crawlers or npm know. */
export interface SiteFile {
  readonly type: string
  readonly cacheSeconds: number
  readonly read: () => Promise<Buffer | string>
}

const MINUTE = 60
const HOUR = 3_600
const DAY = 24 * HOUR
/** Entries of a sitemap are limited to 50,000. */
const MAX_SERVICES = 40_000
/** Days for which `security.txt` is valid from each request. */
const SECURITY_DAYS = 180
const PERSONAL_PATHS = [
  '/account',
  '/provider',
  '/finance',
  '/admin',
  '/sign-in',
  '/topup',
  '/go',
  '/v1/',
]

/** Files of the site by path. */
export function siteFiles(deps: SiteFileDeps): ReadonlyMap<string, SiteFile> {
  const { version, securityContact } = deps
  const text = (read: SiteFile['read']): SiteFile => ({
    type: 'text/plain; charset=utf-8',
    cacheSeconds: HOUR,
    read,
  })
  const archive = (cacheSeconds: number): SiteFile => ({
    type: 'application/gzip',
    cacheSeconds,
    read: readPackage,
  })
  return new Map([
    ['/favicon.ico', image('favicon.ico', 'image/x-icon')],
    ['/apple-touch-icon.png', image('apple-touch-icon.png', 'image/png')],
    ['/robots.txt', text(async () => robotsTxt(deps.baseUrl()))],
    [
      '/sitemap.xml',
      { type: 'application/xml; charset=utf-8', cacheSeconds: HOUR, read: () => sitemap(deps) },
    ],
    [
      INCIDENT_FEED,
      {
        type: 'application/rss+xml; charset=utf-8',
        cacheSeconds: MINUTE,
        read: async () =>
          incidentFeed(
            await listIncidents(deps.pool),
            await listReportedIncidents(deps.pool),
            deps.baseUrl(),
          ),
      },
    ],
    ...(securityContact === undefined
      ? []
      : [['/.well-known/security.txt', text(async () => securityTxt(deps))] as const]),
    [packagePath(version), archive(HOUR)],
    ['/downloads/agenthub.tgz', archive(0)],
  ])
}

function image(name: string, type: string): SiteFile {
  const bytes = readFileSync(new URL(`./assets/${name}`, import.meta.url))
  return { type, cacheSeconds: DAY, read: async () => bytes }
}

const robotsTxt = (baseUrl: string): string =>
  `User-agent: *\n${PERSONAL_PATHS.map((path) => `Disallow: ${path}\n`).join('')}
Sitemap: ${baseUrl}/sitemap.xml\n`

/** Sitemap of public pages (sitemaps.org). */
async function sitemap({ pool, baseUrl }: SiteFileDeps): Promise<string> {
  const services = await listServices(pool, { limit: MAX_SERVICES, after: undefined })
  const { Account: _, ...links } = MAIN_LINKS
  const paths = new Set(['/', ...Object.values(links), ...Object.values(DOCS_TABS.pages)])
  const all = [...paths, ...services.map(({ slug }) => `/services/${slug}`)]
  return html`<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
${all.map((path) => html`<url><loc>${baseUrl()}${path}</loc></url>\n`)}</urlset>\n`.text
}

/** `security.txt` (RFC 9116). */
function securityTxt({ baseUrl, clock, securityContact }: SiteFileDeps): string {
  const expires = daysBefore(clock.now(), -SECURITY_DAYS)
  return `Contact: ${securityContact}
Expires: ${expires.toISOString()}
Preferred-Languages: en
Canonical: ${baseUrl()}/.well-known/security.txt
`
}

import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import nock from 'nock'
import {
  ACCOUNT_TABS,
  ADMIN_TABS,
  FINANCE_TABS,
  SELLING_TABS,
} from '../../server/web/navigation.ts'
import { openTestSites } from '../core/catalog/fixture.ts'
import { createAdmin } from '../server/rest/finance/fixture.ts'
import { createStaff, createVisitor } from '../server/staff/fixture.ts'
import { openAccount } from '../server/web/account-fixture.ts'
import { pathsOf } from '../server/web/page-paths.ts'
import { openBrowser } from './chromium.ts'
import { startTestHub } from './hub.ts'
import { stopSharedCluster } from './postgres.ts'
import { openSeller } from './screenshots-seller.ts'
import { openStaff } from './screenshots-staff.ts'

/** Pixels; the browser cannot capture a taller page. */
const MAX_HEIGHT = 8_000
const FOLDER = join(import.meta.dirname, '../../.screenshots')
const VARIANTS = {
  light: { width: 1_200, scheme: 'light' },
  dark: { width: 1_200, scheme: 'dark' },
  phone: { width: 320, scheme: 'light' },
  print: { width: 680, scheme: 'light', media: 'print' },
} as const
/** Selects pages by parts of their file names: `npm run screenshots -- account`. */
const selected = process.argv.slice(2)
/** Time for which the hub caches trends. */
const TRENDS_MS = 60_000
/** Pages by the stem of their file names. */
const counts = new Map<string, number>()

/** Takes screenshots of every page, light, dark, on a phone and in print: `npm run screenshots`. */
nock.restore() // the fixtures load it; its interceptors would break the guarded egress
const sites = await openTestSites()
const admin = createAdmin()
const config = { sandboxHosts: sites.sandboxHosts, admins: [admin.wallet], jobs: true }
const hub = await startTestHub({ config })
const browser = await openBrowser()
try {
  if (selected.length === 0) await rm(FOLDER, { recursive: true, force: true })
  await mkdir(FOLDER, { recursive: true })
  const pagesOf = (...areas: readonly { readonly pages: Readonly<Record<string, string>> }[]) => [
    ...new Set(areas.flatMap((area) => Object.values(area.pages))),
  ]
  const staffOfNothing = await createStaff(hub, admin, 'eve@house.example', 'admin')
  await capture(pagesOf(FINANCE_TABS, ADMIN_TABS), staffOfNothing.cookie, 'empty-')
  const newcomer = await createVisitor(hub, 'new@house.example')
  await capture(pagesOf(ACCOUNT_TABS, SELLING_TABS), newcomer.cookie, 'empty-')
  const { client } = await hub.agent()
  for (let i = 0; i < 5; i++) await client.call('analysis', '/sentiment', { text: 'Lovely staff.' })
  const account = await openAccount(hub, sites)
  const signedOut = [...(await pathsOf(hub)), '/sign-in', '/nowhere']
  await plantMonth(hub)
  const own = [...account.paths, ...(await openSeller(hub, sites, account))]
  const { staff, paths: staffPaths } = await openStaff(hub, admin, account)
  await capture(signedOut)
  await capture(own, account.person.cookie)
  hub.advanceCaches(TRENDS_MS)
  await capture(staffPaths, staff.cookie)
} finally {
  await browser.close()
  await hub.close()
  sites.close()
  await stopSharedCluster()
}
process.stdout.write(`${FOLDER}\n`)

/** Takes screenshots of pages in all variants. @param prefix of the names of their files */
async function capture(paths: readonly string[], cookie?: string, prefix = ''): Promise<void> {
  for (const path of paths) {
    const base = `${prefix}${stemOf(path)}`
    const count = (counts.get(base) ?? 0) + 1
    counts.set(base, count)
    const stem = count === 1 ? base : `${base}-${count}`
    if (selected.length > 0 && !selected.some((part) => stem.includes(part))) continue
    for (const [variant, options] of Object.entries(VARIANTS)) {
      await shoot(path, `${stem}-${variant}.png`, options, cookie)
    }
  }
}

interface Variant {
  readonly width: number
  readonly scheme: string
  readonly media?: string
}

async function shoot(
  path: string,
  file: `${string}.png`,
  { width, scheme, media }: Variant,
  cookie: string | undefined,
): Promise<void> {
  const context = await browser.createBrowserContext()
  const page = await context.newPage()
  const [name = '', value = ''] = cookie?.split('=') ?? []
  if (cookie) await context.setCookie({ name, value, domain: '127.0.0.1' })
  await page.setViewport({ width, height: 900 })
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }])
  if (media !== undefined) await page.emulateMediaType(media)
  await page.goto(`${hub.url}${path}`)
  const height = Number(await page.evaluate('document.documentElement.scrollHeight'))
  const clip = { x: 0, y: 0, width, height: Math.min(height, MAX_HEIGHT) }
  await page.screenshot({ path: join(FOLDER, file), clip, captureBeyondViewport: true })
  await context.close()
}

/** File name of a page, without the ids in its path. */
function stemOf(path: string): string {
  const stem = path
    .replaceAll(/(?:key|whk|dom|ext)_\w+|[\da-f]{8}-[\da-f-]{27}|0x[\da-f]{64}/g, 'id')
    .replaceAll(/[^\w]+/g, '-')
    .replaceAll(/^-|-$/g, '')
  return stem || 'home'
}

/** Inserts daily figures of the last month, so that charts have content. */
async function plantMonth({ database: { admin } }: typeof hub): Promise<void> {
  await admin.query(
    `INSERT INTO hub.service_day
     SELECT s.slug, (now() AT TIME ZONE 'UTC')::date - d, c, c - (d = 9)::integer * 7, c, 0, c * 30
     FROM hub.service s, generate_series(1, 29) d, LATERAL (SELECT 60 + d * 37 % 50 AS c) n
     WHERE s.slug IN ('analysis', 'tenders') AND d % 11 > 0 ON CONFLICT DO NOTHING`,
  )
}

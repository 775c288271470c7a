import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import nock from 'nock'
import { ACCOUNT_TABS, SELLING_TABS } from '../../server/web/navigation.ts'
import { openTestSites } from '../core/catalog/fixture.ts'
import { createAdmin } from '../server/rest/finance/fixture.ts'
import { createVisitor } from '../server/staff/fixture.ts'
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
}
/** Selects pages by parts of their file names: `npm run screenshots -- account`. */
const selected = process.argv.slice(2)

/** Takes screenshots of every page in light, dark and phone width: `npm run screenshots`. */
nock.restore() // the fixtures load it; its interceptors would break the guarded egress
const sites = await openTestSites()
const admin = createAdmin()
const config = { sandboxHosts: sites.sandboxHosts, admins: [admin.wallet], jobs: true }
const hub = await startTestHub({ config })
const browser = await openBrowser()
try {
  if (selected.length === 0) await rm(FOLDER, { recursive: true, force: true })
  await mkdir(FOLDER, { recursive: true })
  const { client } = await hub.agent()
  for (let i = 0; i < 5; i++) await client.call('analysis', '/sentiment', { text: 'Lovely staff.' })
  const account = await openAccount(hub, sites)
  const signedOut = [...(await pathsOf(hub)), '/sign-in', '/nowhere']
  await plantMonth(hub)
  const own = [...account.paths, ...(await openSeller(hub, sites, account))]
  const { staff, paths: staffPaths } = await openStaff(hub, admin, account)
  const cookieFor = (path: string) => {
    if (signedOut.includes(path)) return undefined
    return staffPaths.includes(path) ? staff.cookie : account.person.cookie
  }
  const stemOf = (path: string) =>
    path
      .replaceAll(/(?:key|whk|dom|ext)_\w+|[\da-f]{8}-[\da-f-]{27}|0x[\da-f]{64}/g, 'id')
      .replaceAll(/[^\w]+/g, '-')
      .replaceAll(/^-|-$/g, '') || 'home'
  const newcomer = await createVisitor(hub, 'new@house.example')
  const pages = [
    ...[...signedOut, ...own, ...staffPaths].map((path) => {
      return { path, stem: stemOf(path), cookie: cookieFor(path) }
    }),
    ...[ACCOUNT_TABS, SELLING_TABS]
      .flatMap((area) => Object.values(area.pages))
      .map((path) => ({ path, stem: `empty-${stemOf(path)}`, cookie: newcomer.cookie })),
  ]
  const counts = new Map<string, number>()
  for (const { path, stem: base, cookie } of pages) {
    const count = (counts.get(base) ?? 0) + 1
    counts.set(base, count)
    const stem = count === 1 ? base : `${base}-${count}`
    if (selected.length > 0 && !selected.some((part) => stem.includes(part))) continue
    for (const [variant, { width, scheme }] of Object.entries(VARIANTS)) {
      const context = await browser.createBrowserContext()
      const page = await context.newPage()
      const [name = '', value = ''] = cookie?.split('=') ?? []
      if (cookie) await context.setCookie({ name, value, domain: '127.0.0.1' })
      await page.setViewport({ width, height: 900 })
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }])
      await page.goto(`${hub.url}${path}`)
      const file: `${string}.png` = `${stem}-${variant}.png`
      const height = Number(await page.evaluate('document.documentElement.scrollHeight'))
      const clip = { x: 0, y: 0, width, height: Math.min(height, MAX_HEIGHT) }
      await page.screenshot({ path: join(FOLDER, file), clip, captureBeyondViewport: true })
      await context.close()
    }
  }
} finally {
  await browser.close()
  await hub.close()
  sites.close()
  await stopSharedCluster()
}
process.stdout.write(`${FOLDER}\n`)

/** Inserts daily figures of the last month, so that charts have content. */
async function plantMonth({ database: { admin } }: typeof hub): Promise<void> {
  await admin.query(
    `INSERT INTO hub.service_day
     SELECT s.slug, (now() AT TIME ZONE 'UTC')::date - d, c, c - (d = 9)::integer * 7, c, 0, c * 30
     FROM hub.service s, generate_series(1, 29) d, LATERAL (SELECT 60 + d * 37 % 50 AS c) n
     WHERE s.slug IN ('analysis', 'tenders') AND d % 11 > 0 ON CONFLICT DO NOTHING`,
  )
}

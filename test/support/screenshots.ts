import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { openSites } from '../core/catalog/fixture.ts'
import { makeAdmin } from '../server/rest/finance/world.ts'
import { openAccount } from '../server/web/account-fixture.ts'
import { pathsOf } from '../server/web/page-paths.ts'
import { openBrowser } from './chromium.ts'
import { startTestHub } from './hub.ts'
import { stopSharedCluster } from './postgres.ts'
import { openSeller } from './screenshots-seller.ts'
import { openHouse } from './screenshots-staff.ts'

/** A longer page is no picture that a browser can make. */
const HEIGHT_MAX = 8_000
const FOLDER = join(import.meta.dirname, '../../.screenshots')
const LOOKS = {
  light: { width: 1_200, scheme: 'light' },
  dark: { width: 1_200, scheme: 'dark' },
  phone: { width: 390, scheme: 'light' },
}
/** Parts of their names, if not all pages are wanted: `npm run screenshots -- account`. */
const wanted = process.argv.slice(2)

/** Takes a picture of every page, in light, dark and phone width: `npm run screenshots`. */
const sites = await openSites()
const admin = makeAdmin()
const config = { sandboxHosts: sites.sandboxHosts, admins: [admin.wallet] }
const hub = await startTestHub({ config })
const browser = await openBrowser()
try {
  if (wanted.length === 0) await rm(FOLDER, { recursive: true, force: true })
  await mkdir(FOLDER, { recursive: true })
  const { client } = await hub.agent()
  for (let i = 0; i < 5; i++) await client.call('analysis', '/sentiment', { text: 'Lovely staff.' })
  const account = await openAccount(hub, sites)
  const signedOut = [...(await pathsOf(hub)), '/sign-in', '/nowhere']
  await plantMonth(hub)
  const own = [...account.paths, ...(await openSeller(hub, sites, account))]
  const { staff, paths: house } = await openHouse(hub, admin, account)
  const cookieFor = (path: string) => {
    if (signedOut.includes(path)) return undefined
    return house.includes(path) ? staff.cookie : account.person.cookie
  }
  const pages = [...signedOut, ...own, ...house].map((path) => ({
    path,
    stem:
      path
        .replaceAll(/(?:key|whk|dom|ext)_\w+|[\da-f]{8}-[\da-f-]{27}|0x[\da-f]{64}/g, 'id')
        .replaceAll(/[^\w]+/g, '-')
        .replaceAll(/^-|-$/g, '') || 'home',
    cookie: cookieFor(path),
  }))
  const times = new Map<string, number>()
  for (const { path, stem: alike, cookie } of pages) {
    const time = (times.get(alike) ?? 0) + 1
    times.set(alike, time)
    const stem = time === 1 ? alike : `${alike}-${time}`
    if (wanted.length > 0 && !wanted.some((part) => stem.includes(part))) continue
    for (const [look, { width, scheme }] of Object.entries(LOOKS)) {
      const context = await browser.createBrowserContext()
      const page = await context.newPage()
      const [name = '', value = ''] = cookie?.split('=') ?? []
      if (cookie) await context.setCookie({ name, value, domain: '127.0.0.1' })
      await page.setViewport({ width, height: 900 })
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }])
      await page.goto(`${hub.url}${path}`)
      const file: `${string}.png` = `${stem}-${look}.png`
      const height = Number(await page.evaluate('document.documentElement.scrollHeight'))
      const clip = { x: 0, y: 0, width, height: Math.min(height, HEIGHT_MAX) }
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

/** Figures of the days before, so that charts are seen as they are. */
async function plantMonth({ database: { admin } }: typeof hub): Promise<void> {
  await admin.query(
    `INSERT INTO hub.service_day
     SELECT s.slug, (now() AT TIME ZONE 'UTC')::date - d, c, c - (d = 9)::integer * 7, c, 0, c * 30
     FROM hub.service s, generate_series(1, 29) d, LATERAL (SELECT 60 + d * 37 % 50 AS c) n
     WHERE s.slug IN ('analysis', 'tenders') AND d % 11 > 0 ON CONFLICT DO NOTHING`,
  )
}

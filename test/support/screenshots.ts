import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { ADMIN, FINANCE } from '../../server/web/areas.ts'
import { openSites } from '../core/catalog/world.ts'
import { makeAdmin } from '../server/finance-world.ts'
import { colleague } from '../server/staff/world.ts'
import { openAccount } from '../server/web/account.ts'
import { pathsOf } from '../server/web/paths.ts'
import { startTestHub } from './hub.ts'
import { openBrowser } from './own-browser.ts'
import { stopSharedCluster } from './postgres.ts'

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
  await mkdir(FOLDER, { recursive: true })
  const { client } = await hub.agent()
  for (let i = 0; i < 5; i++) await client.call('analysis', '/sentiment', { text: 'Lovely staff.' })
  const account = await openAccount(hub, sites)
  const signedOut = [...(await pathsOf(hub)), '/sign-in', '/nowhere']
  const staff = await colleague(hub, admin, 'ann@house.example', 'admin')
  const house = [...new Set([FINANCE, ADMIN].flatMap((area) => Object.values(area.pages)))]
  house.push('/finance/accounts/liabilities:holds', '/admin?slug=echo')
  const cookieFor = (path: string) => {
    if (signedOut.includes(path)) return undefined
    return house.includes(path) ? staff.cookie : account.person.cookie
  }
  const pages = [...signedOut, ...account.paths, ...house].map((path) => ({
    path,
    stem:
      path
        .split('?key')[0]!
        .replaceAll(/[^\w]+/g, '-')
        .replaceAll(/^-|-$/g, '') || 'home',
    cookie: cookieFor(path),
  }))
  for (const { path, stem, cookie } of pages) {
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

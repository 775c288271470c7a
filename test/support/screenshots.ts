import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { pathsOf } from '../server/web/paths.ts'
import { startTestHub } from './hub.ts'
import { openBrowser } from './own-browser.ts'
import { stopSharedCluster } from './postgres.ts'

const FOLDER = join(import.meta.dirname, '../../.screenshots')
const LOOKS = {
  light: { width: 1_200, scheme: 'light' },
  dark: { width: 1_200, scheme: 'dark' },
  phone: { width: 390, scheme: 'light' },
}

/** Takes a picture of every page, in light, dark and phone width: `npm run screenshots`. */
const hub = await startTestHub()
const browser = await openBrowser()
try {
  await mkdir(FOLDER, { recursive: true })
  const { client } = await hub.agent()
  for (let i = 0; i < 5; i++) await client.call('analysis', '/sentiment', { text: 'Lovely staff.' })
  for (const path of await pathsOf(hub)) {
    for (const [look, { width, scheme }] of Object.entries(LOOKS)) {
      const page = await browser.newPage()
      await page.setViewport({ width, height: 900 })
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }])
      await page.goto(`${hub.url}${path}`)
      const stem = path.replaceAll(/[^\w]+/g, '-').replaceAll(/^-|-$/g, '') || 'home'
      const name: `${string}.png` = `${stem}-${look}.png`
      await page.screenshot({ path: join(FOLDER, name), fullPage: true })
      await page.close()
    }
  }
} finally {
  await browser.close()
  await hub.close()
  await stopSharedCluster()
}
process.stdout.write(`${FOLDER}\n`)

import { expect } from 'chai'
import type { useTabs } from './tabs.ts'

/** Height of a phone's window, in CSS pixels. */
const PHONE_HEIGHT = 800

/** Tests of the catalog on narrow and wide screens. */
export function catalogTests(tabs: ReturnType<typeof useTabs>): void {
  for (const scripts of [true, false]) {
    it(`show hits before filters on a phone, ${scripts ? 'with' : 'without'} scripts`, async () => {
      const { page, go, emulate, close } = await tabs.open({ scripts, width: 320 })
      await go('/services')
      const isShown = (selector: string) =>
        page.$eval(selector, (each) => each.checkVisibility({ contentVisibilityAuto: true }))
      const top = await page.$eval('.card h2', (name) => name.getBoundingClientRect().top)
      expect(top).to.be.below(PHONE_HEIGHT)
      expect(await isShown('.facets a')).to.equal(false)
      await page.click('.facets summary')
      expect(await isShown('.facets a')).to.equal(true)
      await Promise.all([page.waitForNavigation(), page.click('.facets a[href*="type=native"]')])
      expect(await page.$eval('.facets summary', (each) => each.textContent)).to.include('1 chosen')
      await emulate({ width: 1_200 })
      await go('/services')
      expect(await isShown('.facets a'), 'beside the hits').to.equal(true)
      await close()
    })
  }
}

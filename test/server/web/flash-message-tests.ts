import { expect } from 'chai'
import type { Person } from '../../support/person.ts'
import type { useTabs } from './tabs.ts'

/** Tests that the result of a form is visible, also after following an anchor on its page. */
export function flashMessageTests(tabs: ReturnType<typeof useTabs>, person: () => Person): void {
  for (const scripts of [true, false]) {
    const how = scripts ? 'with' : 'without'
    it(`the result of a form is visible and focused on a phone, ${how} JavaScript`, async () => {
      const tab = await tabs.open({ scripts, cookie: person().cookie, width: 360 })
      const { page, send } = tab
      const assertSeen = async (words: string) => {
        const message = await page.waitForSelector('#flash:focus') // and announced
        expect(await message!.evaluate((box) => box.textContent)).to.include(words)
        expect(await message!.isIntersectingViewport({ threshold: 1 }), words).to.equal(true)
      }
      await tab.go('/finance/adjustments#new')
      const adjustment = { credit: 'equity:opening', amount: '0.01', reason: `test ${how}` }
      await send('adjust', { ...adjustment, debit: 'nowhere', amount: '0.0000001' })
      await assertSeen('Not saved')
      const errorLink = '#flash a'
      const field = await page.$eval(errorLink, (link) => link.getAttribute('href'))
      await page.click(errorLink)
      await page.waitForSelector(`${field}:focus`)
      await send('adjust', { ...adjustment, debit: 'nowhere' })
      await assertSeen('No such account: nowhere')
      expect(
        await page.$eval('#flash', (box) => box.textContent),
        'names the error itself',
      ).not.to.include('highlighted')
      await send('adjust', { debit: 'expenses:free-tier' })
      await assertSeen('Adjustment posted.')
      await tab.close()
    })
  }
}

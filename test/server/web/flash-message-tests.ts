import { expect } from 'chai'
import type { Person } from '../../support/person.ts'
import type { useTabs } from './tabs.ts'

/** What became of a form is seen, also by who has followed a link to a part of its page. */
export function toldTests(tabs: ReturnType<typeof useTabs>, person: () => Person): void {
  for (const scripts of [true, false]) {
    const how = scripts ? 'with' : 'without'
    it(`what became of a corrected form is seen; on a phone, ${how} JavaScript`, async () => {
      const tab = await tabs.open({ scripts, cookie: person().cookie, width: 360 })
      const { page, send } = tab
      const assertSeen = async (words: string) => {
        const said = await page.waitForSelector('#flash:focus') // and so it is read out
        expect(await said!.evaluate((box) => box.textContent)).to.include(words)
        expect(await said!.isIntersectingViewport({ threshold: 1 }), words).to.equal(true)
      }
      await tab.go('/finance/adjustments#new')
      const order = { credit: 'equity:opening', amount: '0.01', reason: `told ${how}` }
      await send('adjust', { ...order, debit: 'nowhere', amount: '0.0000001' })
      await assertSeen('Nothing was changed')
      const marked = '#flash a'
      const field = await page.$eval(marked, (link) => link.getAttribute('href'))
      await page.click(marked)
      await page.waitForSelector(`${field}:focus`)
      await send('adjust', { ...order, debit: 'nowhere' })
      await assertSeen('No such account: nowhere')
      expect(await page.$eval('#flash', (box) => box.textContent), 'it says it').not.to.include(
        'See ',
      )
      await send('adjust', { debit: 'expenses:free-tier' })
      await assertSeen('The adjustment is booked.')
      await tab.close()
    })
  }
}

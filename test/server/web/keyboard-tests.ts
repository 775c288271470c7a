import { expect } from 'chai'
import type { TestHub } from '../../support/hub.ts'
import type { useTabs } from './tabs.ts'

/** Tests of public pages without a mouse, and without scripts. */
export function keyboardTests(hub: () => TestHub, tabs: ReturnType<typeof useTabs>): void {
  it('let keyboard users find a service and copy a call', async () => {
    const { page, errors, close } = await tabs.open()
    const clipboard = ['clipboard-read', 'clipboard-sanitized-write'] as const
    await page.browserContext().overridePermissions(hub().url, [...clipboard])
    /** Presses Tab until the element with this name has the focus; every stop shows its focus. */
    const tabTo = async (name: string) => {
      for (let i = 0; i < 40; i++) {
        await page.keyboard.press('Tab')
        const [label, outline] = (await page.evaluate(FOCUSED)) as [string, string]
        expect(outline, label).to.equal('solid')
        if (label === name) return
      }
      expect.fail(`nothing is named ${name}`)
    }
    await page.goto(hub().url)
    await page.keyboard.down('Control')
    await page.keyboard.press('k')
    await page.keyboard.up('Control')
    await page.keyboard.type('finance')
    await page.waitForSelector('#palette .targets a')
    await page.keyboard.press('ArrowDown')
    await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')])
    expect(page.url()).to.equal(`${hub().url}/docs/finance`)
    await page.goto(hub().url)
    await tabTo('What the API should do')
    await page.keyboard.type('sentiment')
    await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')])
    await tabTo('Analysis')
    await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')])
    await tabTo('POST /sentiment') // link from the table to the endpoint
    await page.keyboard.press('Enter')
    await tabTo('Copy: curl for POST /sentiment')
    await page.keyboard.press('Enter')
    await page.waitForSelector('[aria-label="Copied: curl for POST /sentiment"]:focus')
    const copied = String(await page.evaluate('navigator.clipboard.readText()'))
    expect(copied).to.match(/^curl -i '.*\/proxy\/analysis\/sentiment'/)
    expect(errors).to.deep.equal([])
    await close()
  })

  it('have shortcuts, which `?` lists and which can be switched off', async () => {
    const { page, errors, close } = await tabs.open()
    const press = async (...keys: readonly string[]) => {
      for (const key of keys) await page.keyboard.press(key as 'g')
    }
    await page.goto(hub().url)
    await press('?')
    await page.waitForSelector('#shortcuts:popover-open')
    await press('Escape')
    await Promise.all([page.waitForNavigation(), press('g', 's')])
    expect(page.url()).to.equal(`${hub().url}/services`)
    await press('/', 'g', 'd')
    expect(await page.$eval('main [name=q]', (input) => input.value), 'typed').to.equal('gd')
    await page.goto(hub().url)
    await press('?')
    await page.click('#single-keys')
    await page.reload()
    await press('?', '/', 'g', 's')
    expect(await page.$('#shortcuts:popover-open'), 'switched off').to.equal(null)
    expect(page.url()).to.equal(`${hub().url}/`)
    await page.click('[popovertarget=palette]')
    await page.click('#palette > button')
    await page.waitForSelector('#shortcuts:popover-open')
    await page.click('#single-keys')
    await press('Escape')
    await Promise.all([page.waitForNavigation(), press('g', 'd')])
    expect(page.url()).to.equal(`${hub().url}/docs`)
    expect(errors).to.deep.equal([])
    await close()
  })

  it('let visitors find a service without JavaScript', async () => {
    const { page, close } = await tabs.open({ scripts: false })
    await page.goto(hub().url)
    await page.type('main input[name=q]', 'sentiment')
    await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')])
    await Promise.all([page.waitForNavigation(), page.click('.list a')])
    expect(page.url()).to.equal(`${hub().url}/services/analysis`)
    await page.click('[popovertarget=palette]')
    await page.keyboard.type('echo')
    await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')])
    expect(page.url()).to.equal(`${hub().url}/services/echo`)
    await close()
  })
}

/** Name and outline style of the focused element. */
const FOCUSED = `(() => {
  const element = document.activeElement
  const label = element.getAttribute('aria-label') ?? element.textContent.trim()
  return [label, getComputedStyle(element).outlineStyle]
})()`

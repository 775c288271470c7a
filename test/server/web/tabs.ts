import { expect } from 'chai'
import type { Browser, Page } from 'puppeteer-core'
import { openBrowser } from '../../support/chromium.ts'
import { injectAxe, violations } from './axe.ts'

/** Ids of more than one element: labels and links would refer to the first only. */
const DUPLICATE_IDS = `[...document.querySelectorAll('[id]')].map(({ id }) => id)
  .filter((id, i, all) => all.indexOf(id) < i)`

/** Tables that scroll sideways. */
const CLIPPED_TABLES = `[...document.querySelectorAll('.table-box')].filter((table) =>
  table.scrollWidth > table.clientWidth).map((table) => table.ariaLabel)`

/** Pixels by which the page is wider than the window. */
const OVERFLOW = 'document.documentElement.scrollWidth - innerWidth'

/** Interactive elements that are visible in print. */
const PRINTED_CONTROLS = `[...document.querySelectorAll(
  ':is(.main-nav, .sidebar) ul, form, button')]
  .filter((each) => each.checkVisibility()).map((each) => each.outerHTML)`

/** Bytes of a page as they were sent: compressed, with its style sheet and scripts. */
const WEIGHT = `[...performance.getEntriesByType('navigation'),
  ...performance.getEntriesByType('resource').filter((each) => each.initiatorType !== 'img')]
  .reduce((bytes, { encodedBodySize }) => bytes + encodedBodySize, 0)`
const WEIGHT_MAX = 30_720

/** Sum of the layout shifts since the page was opened, without those that a visitor caused. */
export const LAYOUT_SHIFT = `new Promise((resolve) => {
  let sum = 0
  new PerformanceObserver((list) => {
    for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) sum += value
  }).observe({ type: 'layout-shift', buffered: true })
  requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => resolve(sum))))
})`

/** Too little to be seen: the share of the window that moves, times the share by which it does. */
const SHIFT_MAX = 0.001
/** A busy browser may draw half a table first; what the page itself moves is moved each time. */
const LOADS_MAX = 3

/** Width of the narrowest phones, in CSS pixels. */
const PHONE_WIDTH = 320
/** Width of A4 without margins, in CSS pixels. */
const PAPER_WIDTH = 680

export interface TabOptions {
  readonly scheme?: string
  readonly width?: number
  /** @defaultValue true */
  readonly scripts?: boolean
  /** A cookie, `name=value`. */
  readonly cookie?: string
}

/** One browser for all tests of a `describe`; each tab has its own cookies. */
export function useTabs(url: () => string) {
  let browser: Browser
  let networks = 0 // rate limits count visitors by network: each tab gets its own
  before(async () => {
    browser = await openBrowser()
  })
  after(() => browser.close()) // before the hub, which waits for its connections

  /** Opens a tab. `errors` collects console errors and requests to other hosts. */
  async function open({ scripts = true, cookie, ...initial }: TabOptions = {}) {
    const context = await browser.createBrowserContext()
    const page = await context.newPage()
    const errors: string[] = []
    const emulate = async ({ scheme = 'light', width = 1_200 }: TabOptions) => {
      await page.setViewport({ width, height: 800 })
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }])
    }
    await emulate(initial)
    await page.setJavaScriptEnabled(scripts)
    await page.setExtraHTTPHeaders({ 'x-forwarded-for': `10.0.${++networks}.1` })
    const [name = '', value = ''] = cookie?.split('=') ?? []
    if (cookie) await context.setCookie({ name, value, domain: '127.0.0.1', httpOnly: true })
    page.on('console', (message) => {
      if (message.type() === 'error') errors.push(message.text())
    })
    page.on('pageerror', (error) => errors.push(String(error)))
    page.on('request', (request) => {
      const isHere = request.url().startsWith(url()) || request.url().startsWith('data:')
      if (!isHere) errors.push(`requested ${request.url()}`)
    })
    return {
      page,
      errors,
      emulate,
      go: (path: string) => page.goto(`${url()}${path}`),
      text: () => page.$eval('main', (element) => element.textContent),
      /** Text of the dialog within the page. */
      dialog: () => page.$eval('dialog[open]', (element) => element.textContent),
      /** Fills in fields by name, submits their form and returns the text of the next page. */
      send: (act: string, fields: Readonly<Record<string, string>> = {}) => send(page, act, fields),
      /** Opens the menu of a row, clicks a link or button in it and waits for the next page. */
      choose: (row: string, selector: string) => choose(page, row, selector),
      close: () => context.close(),
    }
  }

  /** Asserts that a page is accessible, light and steady, fits phone and paper, without errors. */
  async function assertAccessible(tab: Tab, path: string, status = 200): Promise<void> {
    const { page, errors, emulate, go } = tab
    const assertNone = async (expression: string, what: string) =>
      expect(await page.evaluate(expression), `${path} ${what}`).to.deep.equal([])
    const assertFits = async (what: string) =>
      expect(await page.evaluate(OVERFLOW), `${path} ${what}`).to.be.at.most(0)
    const assertClean = async (run: Parameters<typeof violations>[1], where = '') =>
      expect(await violations(page, run), `${path}${where}`).to.deep.equal([])
    await page.setBypassCSP(true) // for axe
    await emulate({ scheme: 'light', width: 1_200 })
    let shift = SHIFT_MAX
    for (let loads = 0; loads < LOADS_MAX && shift >= SHIFT_MAX; loads++) {
      expect((await go(path))?.status(), path).to.equal(status)
      shift = Number(await page.evaluate(LAYOUT_SHIFT))
    }
    expect(shift, `${path} shifts its layout`).to.be.below(SHIFT_MAX)
    expect(await page.evaluate(WEIGHT), `${path} is heavy`).to.be.within(1, WEIGHT_MAX)
    await assertNone(DUPLICATE_IDS, 'has duplicate ids')
    await assertNone(CLIPPED_TABLES, 'hides a column')
    await emulate({ width: PAPER_WIDTH })
    await page.emulateMediaType('print')
    await assertNone(PRINTED_CONTROLS, 'prints controls')
    await assertFits('is wider than paper')
    await page.emulateMediaType('screen')
    await emulate({ width: PHONE_WIDTH })
    await assertFits('scrolls sideways')
    await assertNone(CLIPPED_TABLES, 'hides a column on a phone')
    await injectAxe(page)
    await assertClean('targets', ', on a phone')
    await emulate({ scheme: 'dark', width: 1_200 })
    await assertClean('contrast', ', dark')
    await emulate({ scheme: 'light', width: 1_200 })
    await assertClean('contrast')
    await assertClean('targets')
    await assertClean('structure')
    const unexpected = errors.filter((text) => status === 200 || !text.includes(String(status)))
    expect(unexpected, path).to.deep.equal([])
  }
  type Tab = Awaited<ReturnType<typeof open>>

  return { open, assertAccessible }
}

async function choose(page: Page, row: string, selector: string): Promise<void> {
  const button = `button[aria-label="Actions for ${row}"]`
  await page.click(button)
  const id = await page.$eval(button, (each) => each.getAttribute('popovertarget'))
  await Promise.all([page.waitForNavigation(), page.click(`[id="${id}"]:popover-open ${selector}`)])
}

async function send(page: Page, act: string, fields: Readonly<Record<string, string>>) {
  const form = `form:has(> input[name=act][value=${act}])`
  const summary = await page.$(`details:not([open]):has(input[name=act][value=${act}]) > summary`)
  await summary?.click()
  const closed = await page.$(
    `dialog:not([open], :popover-open):has(input[name=act][value=${act}])`,
  )
  const id = await closed?.evaluate((dialog) => dialog.id)
  if (id !== undefined) {
    const button = `[popovertarget="${id}"]:not([popovertargetaction])`
    const menu = await page.$eval(
      button,
      (each) => each.closest('[popover]:not(:popover-open)')?.id,
    )
    if (menu) await page.click(`[popovertarget="${menu}"]`)
    await page.click(button)
  }
  for (const [name, value] of Object.entries(fields)) {
    const field = await page.$(`${form} [name="${name}"]`)
    expect(field, `${act} has ${name}`).not.to.equal(null)
    const tag = await field!.evaluate(
      (element) => `${element.tagName} ${element.getAttribute('type')}`,
    )
    if (tag.startsWith('SELECT')) await field!.select(value)
    else if (tag === 'INPUT checkbox') {
      const folded = await page.$(`${form} details:not([open]):has([name="${name}"]) > summary`)
      await folded?.click()
      await field!.click()
    } else await field!.evaluate((input, text) => Object.assign(input, { value: text }), value)
  }
  await Promise.all([page.waitForNavigation(), page.click(`${form} button[type=submit]`)])
  return page.$eval('main', (element) => element.textContent)
}

import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import type { Browser, Page } from 'puppeteer-core'
import { openBrowser } from '../../support/chromium.ts'

const AXE = fileURLToPath(import.meta.resolve('axe-core/axe.min.js'))

/** Keeps one of the dozens of similar operations in a section of the API reference. */
const KEEP_FIRST_ARTICLE =
  "document.querySelectorAll('article ~ article').forEach((more) => more.remove())"

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

/** Strictness of `assertAccessible`. */
interface TabChecks {
  /** @defaultValue 360 */
  readonly phoneWidth?: number
  /** True to require targets of 24 px. */
  readonly targets?: boolean
}

/** Width of A4 without margins, in CSS pixels. */
const PAPER_WIDTH = 680

interface Violation {
  readonly id: string
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
}

export interface TabOptions {
  readonly scheme?: string
  readonly width?: number
  /** @defaultValue true */
  readonly scripts?: boolean
  /** A cookie, `name=value`. */
  readonly cookie?: string
}

const CONTRAST = `{ runOnly: ['color-contrast'] }`
/** All rules, also that targets are at least 24 px large or apart (WCAG 2.2, 2.5.8). */
const ALL_RULES = `{ rules: { 'target-size': { enabled: true } } }`
const TARGET_SIZE = `{ runOnly: ['target-size'] }`

/** One browser for all tests of a `describe`; each tab has its own cookies. */
export function useTabs(url: () => string, { phoneWidth = 360, targets = false }: TabChecks = {}) {
  let browser: Browser
  let axe: string
  let networks = 0 // rate limits count visitors by network: each tab gets its own
  before(async function () {
    this.timeout(120_000)
    axe = await readFile(AXE, 'utf8')
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
      /** Fills in fields by name, submits their form and returns the text of the next page. */
      send: (act: string, fields: Readonly<Record<string, string>> = {}) => send(page, act, fields),
      close: () => context.close(),
    }
  }

  /** @param rules options of axe: all rules, or only those that depend on colors or widths */
  async function violations(page: Page, rules: string): Promise<string[]> {
    await page.evaluate(`globalThis.axe || (() => { ${axe} })()`)
    await page.evaluate(KEEP_FIRST_ARTICLE)
    const found = (await page.evaluate(`axe.run(${rules})`)) as { violations: Violation[] }
    return found.violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html}`))
  }

  /** Asserts that a page is accessible, fits phone and paper, and logs no errors. */
  async function assertAccessible(tab: Tab, path: string, status = 200): Promise<void> {
    const { page, errors, emulate, go } = tab
    await page.setBypassCSP(true) // for axe
    await emulate({ scheme: 'light', width: 1_200 })
    expect((await go(path))?.status(), path).to.equal(status)
    expect(await violations(page, targets ? ALL_RULES : ''), path).to.deep.equal([])
    expect(await page.evaluate(DUPLICATE_IDS), `${path} has duplicate ids`).to.deep.equal([])
    expect(await page.evaluate(CLIPPED_TABLES), `${path} hides a column`).to.deep.equal([])
    await emulate({ width: PAPER_WIDTH })
    await page.emulateMediaType('print')
    expect(await page.evaluate(PRINTED_CONTROLS), `${path}, printed`).to.deep.equal([])
    expect(await page.evaluate(OVERFLOW), `${path} is wider than paper`).to.be.at.most(0)
    await page.emulateMediaType('screen')
    await emulate({ scheme: 'dark', width: 1_200 })
    expect(await violations(page, CONTRAST), `${path}, dark`).to.deep.equal([])
    await emulate({ width: phoneWidth })
    expect(await page.evaluate(OVERFLOW), `${path} scrolls sideways`).to.be.at.most(0)
    const small = targets ? await violations(page, TARGET_SIZE) : []
    expect(small, `${path}, on a phone`).to.deep.equal([])
    expect(await page.evaluate(CLIPPED_TABLES), `${path} hides a column on a phone`).to.deep.equal(
      [],
    )
    const unexpected = errors.filter((text) => status === 200 || !text.includes(String(status)))
    expect(unexpected, path).to.deep.equal([])
  }
  type Tab = Awaited<ReturnType<typeof open>>

  return { open, assertAccessible }
}

async function send(page: Page, act: string, fields: Readonly<Record<string, string>>) {
  const form = `form:has(> input[name=act][value=${act}])`
  const summary = await page.$(`details:not([open]):has(input[name=act][value=${act}]) > summary`)
  await summary?.click()
  for (const [name, value] of Object.entries(fields)) {
    const field = await page.$(`${form} [name="${name}"]`)
    expect(field, `${act} has ${name}`).not.to.equal(null)
    const tag = await field!.evaluate(
      (element) => `${element.tagName} ${element.getAttribute('type')}`,
    )
    if (tag.startsWith('SELECT')) await field!.select(value)
    else if (tag === 'INPUT checkbox') await field!.click()
    else await field!.evaluate((input, text) => Object.assign(input, { value: text }), value)
  }
  await Promise.all([page.waitForNavigation(), page.click(`${form} button[type=submit]`)])
  return page.$eval('main', (element) => element.textContent)
}

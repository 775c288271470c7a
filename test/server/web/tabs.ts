import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import type { Browser, Page } from 'puppeteer-core'
import { openBrowser } from '../../support/chromium.ts'

const AXE = fileURLToPath(import.meta.resolve('axe-core/axe.min.js'))

/** A section of the reference has dozens of operations alike. */
const ONE_OF_EACH =
  "document.querySelectorAll('article ~ article').forEach((more) => more.remove())"

/** Ids that more than one element has: labels and links would lead to the first of them. */
const TWICE = `[...document.querySelectorAll('[id]')].map(({ id }) => id)
  .filter((id, i, all) => all.indexOf(id) < i)`

/** Tables that hide a part of themselves at the side. */
const CUT = `[...document.querySelectorAll('.table-box')].filter((table) =>
  table.scrollWidth > table.clientWidth).map((table) => table.ariaLabel)`

const OVER = 'document.documentElement.scrollWidth - innerWidth'

/** What is of no use on paper. */
const UNPRINTED = `[...document.querySelectorAll(':is(.main-nav, .tabs) ul, form, button')]
  .filter((each) => each.checkVisibility()).map((each) => each.outerHTML)`

/** A4 between its margins, in pixels of CSS. */
const PAPER = 680

interface Violation {
  readonly id: string
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[]
}

export interface Look {
  readonly scheme?: string
  readonly width?: number
  /** @defaultValue true */
  readonly scripts?: boolean
  /** A cookie, `name=value`. */
  readonly cookie?: string
}

const CONTRAST = `{ runOnly: ['color-contrast'] }`

/** One browser for all tests of a `describe`; each tab has cookies of its own. */
export function useTabs(url: () => string) {
  let browser: Browser
  let axe: string
  let networks = 0 // callers without a key are counted by network: each tab is of its own
  before(async function () {
    this.timeout(120_000)
    axe = await readFile(AXE, 'utf8')
    browser = await openBrowser()
  })
  after(() => browser.close()) // before the hub, which waits for its connections

  /** A tab; what its pages complain of, and whom they ask, is kept. */
  async function open({ scripts = true, cookie, ...first }: Look = {}) {
    const context = await browser.createBrowserContext()
    const page = await context.newPage()
    const wrong: string[] = []
    const look = async ({ scheme = 'light', width = 1_200 }: Look) => {
      await page.setViewport({ width, height: 800 })
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }])
    }
    await look(first)
    await page.setJavaScriptEnabled(scripts)
    await page.setExtraHTTPHeaders({ 'x-forwarded-for': `10.0.${++networks}.1` })
    const [name = '', value = ''] = cookie?.split('=') ?? []
    if (cookie) await context.setCookie({ name, value, domain: '127.0.0.1', httpOnly: true })
    page.on('console', (message) => {
      if (message.type() === 'error') wrong.push(message.text())
    })
    page.on('pageerror', (error) => wrong.push(String(error)))
    page.on('request', (request) => {
      const isHere = request.url().startsWith(url()) || request.url().startsWith('data:')
      if (!isHere) wrong.push(`asked ${request.url()}`)
    })
    return {
      page,
      wrong,
      look,
      go: (path: string) => page.goto(`${url()}${path}`),
      text: () => page.$eval('main', (element) => element.textContent),
      /** Fills fields in, by the name of each, and sends their form. */
      send: (act: string, fields: Readonly<Record<string, string>> = {}) => send(page, act, fields),
      close: () => context.close(),
    }
  }

  /** @param rules all of them, or those alone that depend on the colours */
  async function violations(page: Page, rules: string): Promise<string[]> {
    await page.evaluate(`globalThis.axe || (() => { ${axe} })()`)
    await page.evaluate(ONE_OF_EACH)
    const found = (await page.evaluate(`axe.run(${rules})`)) as { violations: Violation[] }
    return found.violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html}`))
  }

  /** No fault for assistive software, fits a phone, asks nobody else, complains of nothing. */
  async function assertSound(tab: Tab, path: string, status = 200): Promise<void> {
    const { page, wrong, look, go } = tab
    await page.setBypassCSP(true) // for axe alone
    await look({ scheme: 'light', width: 1_200 })
    expect((await go(path))?.status(), path).to.equal(status)
    expect(await violations(page, ''), path).to.deep.equal([])
    expect(await page.evaluate(TWICE), `${path} has ids twice`).to.deep.equal([])
    expect(await page.evaluate(CUT), `${path} hides a column`).to.deep.equal([])
    await look({ width: PAPER })
    await page.emulateMediaType('print')
    expect(await page.evaluate(UNPRINTED), `${path}, printed`).to.deep.equal([])
    expect(await page.evaluate(OVER), `${path} is wider than paper`).to.be.at.most(0)
    await page.emulateMediaType('screen')
    await look({ scheme: 'dark', width: 1_200 })
    expect(await violations(page, CONTRAST), `${path}, dark`).to.deep.equal([])
    await look({ width: 360 })
    expect(await page.evaluate(OVER), `${path} is scrolled sideways`).to.be.at.most(0)
    expect(await page.evaluate(CUT), `${path} hides a column on a phone`).to.deep.equal([])
    const expected = wrong.filter((text) => status === 200 || !text.includes(String(status)))
    expect(expected, path).to.deep.equal([])
  }
  type Tab = Awaited<ReturnType<typeof open>>

  return { open, assertSound }
}

async function send(page: Page, act: string, fields: Readonly<Record<string, string>>) {
  const form = `form:has(> input[name=act][value=${act}])`
  const fold = await page.$(`details:not([open]):has(input[name=act][value=${act}]) > summary`)
  await fold?.click()
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
}

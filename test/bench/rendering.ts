import { availableParallelism } from 'node:os'
import nock from 'nock'
import { ProcessGroup } from '../../core/browser/watchdog.ts'
import { elapsedMs } from '../../core/clock.ts'
import { readConfig } from '../../core/config.ts'
import { createEgress } from '../../core/egress/egress.ts'
import { read } from '../../plugins/content/extract/index.ts'
import { openRenderer } from '../support/renderer-fixture.ts'
import { atLeast, type Report } from './report.ts'

const WARM = 12
const PAGES = { browser: 120, static: 1_500 }
const CALLERS = 8
/** Request of a gateway caller: each of these pages in turn, with its article. */
const PATHS = ['/plain', '/arabic', '/japanese', '/consent']

/**
 * Pages per second and latencies, warm, with the hub's default number of browsers and without one.
 */
export async function rendering(): Promise<Report> {
  nock.restore() // part of the test site
  const { browsers } = readConfig({}).browser
  const { site, renderer, close } = await openRenderer({ browsers, limits: {} })
  const egress = createEgress({ userAgent: 'bench', sandboxHosts: site.hosts })
  const urlOf = (turn: number): string => `http://owner.test${PATHS[turn % PATHS.length]}`
  const browser = async (turn: number): Promise<void> => {
    await read(await renderer.render({ url: urlOf(turn) }))
  }
  const fast = async (turn: number): Promise<void> => {
    const url = urlOf(turn)
    const { body, headers } = await egress.request({ url, method: 'GET' })
    await read({ url, body, contentType: String(headers['content-type']) })
  }
  try {
    await serve(fast, PATHS.length * WARM)
    const still = await serve(fast, PAGES.static)
    await serve(browser, WARM)
    const moving = await serve(browser, PAGES.browser)
    const processes = await Promise.all(
      renderer.pids.map((pid) => new ProcessGroup(pid).processes()),
    )
    const bytes = processes.flat().reduce((sum, each) => sum + each.bytes, 0)
    return {
      name: 'rendering',
      figures: {
        'browser: pages per second': moving.perSecond,
        'browser: p50 ms': moving.p50,
        'browser: p99 ms': moving.p99,
        'browser: own memory, MB': Math.round(bytes / 1_000_000),
        'static: pages per second': still.perSecond,
        'static: p50 ms': still.p50,
        'static: p99 ms': still.p99,
        'hub: RSS, MB': Math.round(process.memoryUsage().rss / 1_000_000),
        processors: availableParallelism(),
      },
      targets: [
        atLeast('browser pages per second', moving.perSecond, 8),
        atLeast('static pages per second', still.perSecond, 150),
      ],
    }
  } finally {
    await egress.close()
    await close()
  }
}

/**
 * Serves pages to concurrent callers, each of which requests the next page after the previous one.
 */
async function serve(page: (turn: number) => Promise<void>, count: number) {
  const took: number[] = []
  let turn = 0
  const start = elapsedMs()
  const caller = async (): Promise<void> => {
    while (turn < count) {
      const start = elapsedMs()
      await page(turn++)
      took.push(elapsedMs() - start)
    }
  }
  await Promise.all(Array.from({ length: CALLERS }, caller))
  const perSecond = round((count * 1_000) / (elapsedMs() - start))
  const sorted = took.toSorted((a, b) => a - b)
  const at = (share: number): number => round(sorted[Math.floor((sorted.length - 1) * share)] ?? 0)
  return { perSecond, p50: at(0.5), p99: at(0.99) }
}

const round = (value: number): number => Math.round(value * 10) / 10

import { availableParallelism } from 'node:os'
import { monitorEventLoopDelay, performance } from 'node:perf_hooks'
import { embedded } from '../../../plugins/analysis/embedded.ts'
import { answer } from '../../../plugins/analysis/envelope.ts'
import type { Request } from '../../../plugins/analysis/request.ts'
import { WorkerPool } from '../../../plugins/analysis/worker-pool.ts'
import { atMost, type Report } from '../report.ts'
import { ADVERSARIAL, plainText } from './inputs.ts'

const KB = 1_024
const LARGE = 50 * KB
const WORKER = new URL('../../../plugins/analysis/worker.ts', import.meta.url)
/** Text sizes and the number of runs for each. */
const RUNS = [
  [KB, 60],
  [LARGE, 6],
] as const

/** The four analysis requests for a text. */
const requestsFor = (text: string): Request[] => [
  { id: '1', endpoint: 'extract-entities', input: { text } },
  { id: '2', endpoint: 'sentiment', input: { text } },
  {
    id: '3',
    endpoint: 'classify',
    input: { text, categories: ['business', 'sports', 'politics', 'science', 'health'] },
  },
  { id: '4', endpoint: 'analyze', input: { text, instructions: 'Give a summary and keywords.' } },
]

const cpuOf = (work: () => unknown): number => {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

const quantile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
const tenths = (value: number): number => Math.round(value * 10) / 10

/**
 * Speed of the embedded engine: CPU time per call (unaffected by other load), throughput and memory
 * of one thread, adversarial inputs compared with plain text, and event loop delays while the
 * worker pool is busy.
 */
export async function analysisSpeed(): Promise<Report> {
  for (const request of requestsFor(plainText(KB, 0))) answer(embedded, request)
  const figures: Record<string, number> = {}
  for (const [size, runs] of RUNS) Object.assign(figures, timesOf(size, runs))
  const hostile = hostileRatio()
  const delay = await longestDelay()
  figures['resident memory, MB'] = Math.round(process.memoryUsage().rss / 2 ** 20)
  figures['slowest hostile input, ms'] = tenths(hostile.slowest)
  figures['slowest hostile input, times plain text'] = tenths(hostile.ratio)
  figures['event loop, longest wait with the pool at work, ms'] = tenths(delay.working)
  figures['event loop, longest wait while idle, ms'] = tenths(delay.idle)
  console.error(`slowest hostile input: ${hostile.name}`)
  return {
    name: 'analysis-speed',
    figures,
    targets: [
      atMost(
        'slowest of 30 hostile 50 KB inputs, times plain text of that size',
        tenths(hostile.ratio),
        2,
      ),
      atMost(
        'longest wait of the event loop while the pool analyzes, ms',
        tenths(delay.working),
        20,
      ),
    ],
  }
}

const timesOf = (size: number, runs: number): Record<string, number> => {
  const figures: Record<string, number> = {}
  const kb = size / KB
  for (const at of [0, 1, 2, 3]) {
    const { endpoint = '' } = requestsFor('x')[at] ?? {}
    const turns: readonly number[] = [...Array(runs).keys()]
    const times = turns.map((turn) => {
      const request = requestsFor(plainText(size, turn))[at]
      return request === undefined ? 0 : cpuOf(() => answer(embedded, request))
    })
    times.sort((a, b) => a - b)
    const total = times.reduce((sum, one) => sum + one, 0)
    figures[`${endpoint} ${kb} KB p50, CPU ms`] = tenths(quantile(times, 0.5))
    figures[`${endpoint} ${kb} KB p99, CPU ms`] = tenths(quantile(times, 0.99))
    figures[`${endpoint} ${kb} KB, per CPU second`] = tenths((1_000 * times.length) / total)
  }
  return figures
}

/**
 * Returns the slowest adversarial input of each endpoint relative to plain text, and the worst of
 * these.
 */
const hostileRatio = (): { name: string; slowest: number; ratio: number } => {
  let worst = { name: '', slowest: 0, ratio: 0 }
  for (const at of [0, 1, 2, 3]) {
    const take = (text: string): number => {
      const request = requestsFor(text)[at]
      const once = (): number =>
        request === undefined ? 0 : cpuOf(() => answer(embedded, request))
      return Math.min(once(), once(), once())
    }
    const plain = [0, 1, 2].map((turn) => take(plainText(LARGE, turn))).sort((a, b) => a - b)
    for (const [name, text] of ADVERSARIAL) {
      const slowest = take(text)
      const ratio = slowest / (plain[1] ?? 1)
      const endpoint = requestsFor('x')[at]?.endpoint
      if (ratio > worst.ratio) worst = { name: `${endpoint}: ${name}`, slowest, ratio }
    }
  }
  return worst
}

/** Returns the longest event loop delay of this process: idle, and with every pool worker busy. */
const longestDelay = async (): Promise<{ idle: number; working: number }> => {
  const pool = new WorkerPool(WORKER, {
    size: Math.max(1, availableParallelism() - 1),
    queue: 64,
    deadlineMs: 60_000,
  })
  const signal = AbortSignal.timeout(120_000)
  const requests = requestsFor(plainText(LARGE, 3))
  await pool.run(requests[0], signal)
  const idle = await waitOf(() => new Promise((resolve) => setTimeout(resolve, 1_000)))
  const working = await waitOf(() =>
    Promise.all(requests.map((request) => pool.run(request, signal))),
  )
  await pool.close()
  return { idle, working }
}

/** Longest event loop delay, in milliseconds. */
const waitOf = async (work: () => Promise<unknown>): Promise<number> => {
  const histogram = monitorEventLoopDelay({ resolution: 1 })
  histogram.enable()
  const began = performance.eventLoopUtilization()
  await work()
  performance.eventLoopUtilization(began)
  histogram.disable()
  return histogram.max / 1e6
}
